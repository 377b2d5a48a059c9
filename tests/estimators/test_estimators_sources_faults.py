"""Rows through any door give the same answer, and a fault at any read leaves the model as it was."""

import shutil
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from sgevidence import SGAIS, BayesianLinearRegression, BayesianSoftmaxRegression, RowSource

pa = pytest.importorskip("pyarrow")
csv, feather, pq = (pytest.importorskip(f"pyarrow.{name}") for name in ("csv", "feather", "parquet"))
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

#: Few values, whole numbers, repeated rows and numbers of any size within what a regression takes.
NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1]),
    st.integers(-(2**53), 2**53).map(float),
    st.floats(-1e12, 1e12, allow_subnormal=True),
)


@st.composite
def tables(draw):
    """Rows, where they are cut into files, and rows of a row group."""
    n = draw(st.integers(2, 12))
    rows = draw(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=n, max_size=n))
    twice = draw(st.integers(0, n))
    table = pd.DataFrame([*rows, *rows[:twice]], columns=["a", "b", "y"])
    cuts = sorted(draw(st.lists(st.integers(0, len(table)), max_size=3)))
    return table, [0, *cuts, len(table)], draw(st.integers(1, 5))


def written(table, cuts, size, form, path):
    """A folder of one file for each cut, some without a row."""
    path.mkdir()
    writers = {
        "csv": csv.write_csv,
        "parquet": lambda part, file: pq.write_table(part, file, row_group_size=size),
        "feather": lambda part, file: feather.write_feather(part, file, chunksize=size),
    }
    for k, (start, stop) in enumerate(pairwise(cuts)):
        part = pa.Table.from_pandas(table.iloc[start:stop], preserve_index=False)
        writers[form](part, path / f"part-{k}.{form}")
    return path


def answer(fit):
    """Log evidence and coefficients, or the words of a refusal."""
    try:
        model = fit(BayesianLinearRegression(coef_scale=1e3, random_state=0, standardize=False))
    except ValueError as error:
        return type(error)
    return model.log_evidence_, model.coef_.tolist()


@pytest.mark.filterwarnings("ignore::sgevidence.exceptions.EvidenceWarning")
@hypothesis.settings(max_examples=6, deadline=None, database=None)
@hypothesis.given(given=tables())
def test_the_same_rows_through_every_door_give_the_same_answer(given, tmp_path_factory):
    table, cuts, size = given
    expected = answer(lambda model: model.fit(table[["a", "b"]], table["y"]))
    base = tmp_path_factory.mktemp("doors")
    for form in ("csv", "parquet", "feather"):
        source = RowSource(written(table, cuts, size, form, base / form), target="y", columns=["a", "b"])
        assert answer(lambda model: model.fit(source)) == expected, form  # noqa: B023
        assert answer(lambda model: model.partial_fit(source)) == expected, form  # noqa: B023
    shutil.rmtree(base)


def test_a_fault_at_any_read_leaves_the_model_as_it_was(rng, tmp_path, monkeypatch):
    """The disk fails, or somebody interrupts, in any pass of a fit by sums."""
    table = pd.DataFrame(rng.standard_normal((300, 2)), columns=["a", "b"])
    table["y"] = rng.permutation(np.arange(300) % 2)
    source = RowSource(written(table, [0, 100, 300], 50, "parquet", tmp_path / "rows"), target="y")
    n_reads, fails_at = [0], [np.inf]

    def failing(method):
        def read(self, *given):
            n_reads[0] += 1
            if n_reads[0] == fails_at[0]:
                raise error("the disk has failed")
            return method(self, *given)

        return read

    for name in ("_whole", "part"):  # of the files, and of every pass over their copy
        monkeypatch.setattr(RowSource, name, failing(getattr(RowSource, name)))
    model = BayesianSoftmaxRegression(sampler=SGAIS(reservoir_size=60), random_state=0).fit(source)
    before, n_whole = dict(vars(model)), n_reads[0]
    assert n_whole > 10  # several passes over the parts
    for k, at in enumerate(np.linspace(1, n_whole, 8).astype(int)):
        error = (OSError, KeyboardInterrupt)[k % 2]
        n_reads[0], fails_at[0] = 0, at
        with pytest.raises((OSError, ValueError, KeyboardInterrupt), match="the disk has failed"):
            model.fit(source)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())
    fails_at[0] = np.inf
    assert model.fit(source).log_evidence_ == before["log_evidence_"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    "roles, lost",
    [
        ({"target": "price"}, "'price'"),
        ({"target": "y", "sample_weight": "w"}, "'w'"),
        ({"target": "y", "columns": ["size_", "y2"]}, "'size_', 'size' is near"),
        ({"target": "y", "factors": ["town "]}, "'town ', 'town' is near"),
    ],
)
def test_a_column_that_a_file_lacks_is_named_before_text_beside_it(tmp_path, ending, roles, lost):
    table = pd.DataFrame({"size": [1.0, 2.0, 4.0], "town": ["a", "b", "a"], "y": [1.0, 3.0, 2.0]})
    path = tmp_path / f"rows.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    with pytest.raises(
        ValueError, match=rf"rows.{ending}: no column {lost}: its columns are \['size', 'town', 'y'\]"
    ):
        BayesianLinearRegression().fit(RowSource(path, **roles))


def test_text_beside_a_column_of_true_and_false_is_named(tmp_path):
    table = pd.DataFrame({"member": [True, False, True], "town": ["a", "b", "a"], "y": [1.0, 3.0, 2.0]})
    table.to_csv(path := tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match=r"column 'town' has text, 'a' in row 0"):
        BayesianLinearRegression().fit(RowSource(path, target="y"))
