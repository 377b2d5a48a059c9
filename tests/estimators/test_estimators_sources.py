"""Rows in files give the digits of rows in arrays; what is not whole is refused by name."""

import gc
import tempfile
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from estimator_cases import same_fit

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceModelAverager,
    Factor,
    Group,
    RowSource,
)

pa = pytest.importorskip("pyarrow")
csv, ds, feather, pq = (
    pytest.importorskip(f"pyarrow.{name}") for name in ("csv", "dataset", "feather", "parquet")
)


def frame(rng, n=60):
    """Numbers of every size, whole numbers, few values."""
    return pd.DataFrame(
        {
            "a": rng.standard_normal(n) * 10.0 ** rng.integers(-3, 3, n),
            "b": rng.integers(-5, 5, n),
            "y": rng.standard_normal(n),
            "kind": rng.choice(["red", "green"], n),
            "count": rng.poisson(2.0, n),
            "w": rng.integers(0, 3, n).astype(float),
            "exposure": rng.uniform(-1, 1, n),
        }
    )


def folder(table, path):
    """Three Parquet files of several row groups."""
    path.mkdir()
    for k, piece in enumerate(np.array_split(np.arange(len(table)), 3)):
        one = pa.Table.from_pandas(table.iloc[piece], preserve_index=False)
        pq.write_table(one, path / f"part-{k}.parquet", row_group_size=7)
    return path


def file(table, path, write):
    write(pa.Table.from_pandas(table, preserve_index=False), path)
    return path


DOORS = {
    "csv": lambda table, path: file(table, path / "rows.csv", csv.write_csv),
    "parquet": lambda table, path: folder(table, path / "rows"),
    "feather": lambda table, path: file(table, path / "rows.feather", feather.write_feather),
    "paths": lambda table, path: [folder(table, path / "rows")],
    "dataset": lambda table, path: ds.dataset(folder(table, path / "rows")),
    "memory": lambda table, path: ds.dataset(pa.Table.from_pandas(table, preserve_index=False)),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_digits_of_the_array(door, rng, tmp_path):
    table = frame(rng)
    path, X, y = DOORS[door](table, tmp_path), table[["b", "a"]], table["y"]
    source = RowSource(path, target="y", columns=["b", "a"], sample_weight="w")
    sampler = SGAIS(proposal=None, n_particles=20, max_particles=20)
    for params in (dict(), dict(noise_std=1.0, sampler=sampler)):
        ours, theirs = (BayesianLinearRegression(random_state=0, **params) for _ in range(2))
        same_fit(ours.fit(source), theirs.fit(X, y, table["w"]))
    assert ours.feature_names_in_.tolist() == ["b", "a"]
    np.testing.assert_array_equal(ours.predict(source), theirs.predict(X))
    assert ours.score(source) == theirs.score(X, y, table["w"])
    np.testing.assert_array_equal(ours.score_samples(source), theirs.score_samples(X, y))
    assert ours.log_predictive(source) == theirs.log_predictive(X, y)
    np.testing.assert_array_equal(ours.sample_y(source, random_state=0), theirs.sample_y(X, random_state=0))
    part = source.read()
    np.testing.assert_array_equal(np.asarray(part.X), X.to_numpy(dtype=float))
    assert part.y.tolist() == y.tolist()


@pytest.mark.parametrize("door", ["csv", "parquet"])
def test_labels_counts_and_offsets(door, rng, tmp_path):
    table = frame(rng)
    table["a"], table["b"] = table["a"] / 1e3, table["b"] / 10
    path, X = DOORS[door](table, tmp_path), table[["a", "b"]]
    source = RowSource(path, target="kind", columns=["a", "b"])
    ours, theirs = BayesianSoftmaxRegression(random_state=0), BayesianSoftmaxRegression(random_state=0)
    same_fit(ours.fit(source), theirs.fit(X, table["kind"]))
    assert ours.classes_.tolist() == ["green", "red"]
    assert ours.predict(source).tolist() == theirs.predict(X).tolist()
    assert ours.score(source) == theirs.score(X, table["kind"])
    source = RowSource(path, target="count", columns=["a", "b"], offset="exposure")
    ours, theirs = BayesianGLM(random_state=0), BayesianGLM(random_state=0)
    same_fit(ours.fit(source), theirs.fit(X, table["count"], offset=table["exposure"]))
    np.testing.assert_array_equal(ours.predict(source), theirs.predict(X, offset=table["exposure"]))
    assert ours.score(source) == theirs.score(X, table["count"], offset=table["exposure"])
    np.testing.assert_array_equal(
        ours.score_samples(source), theirs.score_samples(X, table["count"], offset=table["exposure"])
    )


def test_trials(rng, tmp_path):
    table = frame(rng)
    table["trials"], X = table["count"] + 2, table[["b"]]
    source = RowSource(DOORS["csv"](table, tmp_path), target="count", columns=["b"], trials="trials")
    ours, theirs = BayesianGLM("binomial", random_state=0), BayesianGLM("binomial", random_state=0)
    same_fit(ours.fit(source), theirs.fit(X, table["count"], trials=table["trials"]))
    np.testing.assert_array_equal(ours.predict(source), theirs.predict(X, trials=table["trials"]))


def test_densities_and_averages(rng, tmp_path):
    table = frame(rng)[["a", "b"]]
    source = RowSource(DOORS["parquet"](table, tmp_path))
    ours, theirs = BayesianGMM(1, random_state=0), BayesianGMM(1, random_state=0)
    same_fit(ours.fit(source), theirs.fit(table))
    assert ours.score(source) == theirs.score(table)
    models = [("narrow", BayesianGMM(1)), ("wide", BayesianGMM(1, mean_scale=5.0))]
    ours, theirs = (EvidenceModelAverager(models, random_state=0) for _ in range(2))
    assert ours.fit(source).log_evidence_ == theirs.fit(table).log_evidence_
    np.testing.assert_array_equal(ours.score_samples(source), theirs.score_samples(table))
    assert ours.partial_fit(source).log_evidence_ == theirs.partial_fit(table).log_evidence_


@pytest.mark.parametrize("size", [7, 20, 60, 100])
def test_partial_fit_takes_batches_whatever_the_files_are(size, rng, tmp_path, rows_of_call):
    rows_of_call(size)
    table = frame(rng)
    X, y = table[["a", "b"]], table["y"]
    theirs = BayesianLinearRegression(random_state=0)
    for start in range(0, 60, size):
        theirs.partial_fit(X[start : start + size], y[start : start + size])
    for door in ("csv", "parquet"):
        source = RowSource(DOORS[door](table, tmp_path), target="y", columns=["a", "b"])
        same_fit(BayesianLinearRegression(random_state=0).partial_fit(source), theirs)


def test_rows_of_a_file_pass_through_memory(tmp_path, rows_of_call):
    """pyarrow's default keeps every byte of a Parquet file until its last row."""
    pa, n = pytest.importorskip("pyarrow"), 1_000_000
    rows_of_call(50_000)
    table = pa.table({name: np.random.default_rng(k).normal(size=n) for k, name in enumerate("abcd")})
    pa.parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=50_000)
    size, before = table.nbytes, pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in RowSource(tmp_path / "rows.parquet").batches()]
    assert len(held) == 20 and max(held) < 0.75 * size


def test_a_file_is_parsed_once_where_its_copy_has_room(rng, tmp_path, monkeypatch, rows_of_call):
    rows_of_call(70)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X = rng.standard_normal((300, 2))
    y = np.where(X[:, 0] + rng.standard_normal(300) > 0, "up", "down")
    pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    model = BayesianSoftmaxRegression(sampler=SGAIS(reservoir_size=60), random_state=0)
    n_passes, tables = [0], RowSource._tables

    def counted(self, *given):
        n_passes[0] += 1
        return tables(self, *given)

    monkeypatch.setattr(RowSource, "_tables", counted)
    evidence = model.fit(RowSource(tmp_path / "rows.csv", target="y")).log_evidence_
    assert n_passes[0] == 1
    assert [left.name for left in tmp_path.iterdir()] == ["rows.csv"]

    def full(*given):
        raise OSError("no space left on device")

    monkeypatch.setattr(pa.ipc, "new_file", full)
    assert model.fit(RowSource(tmp_path / "rows.csv", target="y")).log_evidence_ == evidence
    assert n_passes[0] > 5
    assert [left.name for left in tmp_path.iterdir()] == ["rows.csv"]


def test_an_error_in_a_later_batch_takes_back_all(rng, tmp_path, rows_of_call):
    rows_of_call(10)
    table = frame(rng)
    table.loc[50, "a"] = np.nan
    source = RowSource(DOORS["parquet"](table, tmp_path), target="y", columns=["a", "b"])
    model = BayesianLinearRegression()
    with pytest.raises(ValueError, match=r"part-2.parquet: column 'a' has no value in row 10"):
        model.partial_fit(source)
    assert not hasattr(model, "log_evidence_")


def test_any_numbers_come_through_csv_and_parquet_as_they_are(rng, tmp_path):
    floats = [0.1, 1 / 3, 5e-324, -1e99, 0.0, *rng.standard_normal(20) * 10.0 ** rng.integers(-90, 90, 20)]
    integers = [2**53 + 1, -(2**60), 0, *rng.integers(-(2**62), 2**62, 22)]
    table = pd.DataFrame({"a": floats, "b": integers})
    for name, write in (("rows.csv", csv.write_csv), ("rows.parquet", pq.write_table)):
        X = RowSource(file(table, tmp_path / name, write)).read().X
        np.testing.assert_array_equal(np.asarray(X), table.to_numpy(dtype=float))


@pytest.mark.parametrize(
    "targets, expected",
    [
        (["1\n 2", "0.5"], [1.0, 2.0, 0.5]),
        (["", "9007199254740993"], [9007199254740993]),  # labels to the last digit
        (["a", "1"], ["a", "1"]),
        (["0.5", "2"], [0.5, 2.0]),
    ],
)
def test_targets_of_several_text_files_have_one_type(targets, expected, tmp_path):
    """The first file showed whole numbers, and fractions in a later one were an error."""
    for k, text in enumerate(targets):
        rows = [f"{j},{y}" for j, y in enumerate(text.split("\n"))] if text else []
        (tmp_path / f"part-{k}.csv").write_text("\n".join(["a,y", *rows]) + "\n")
    source = RowSource(tmp_path, target="y")
    assert source.read().y.tolist() == expected
    assert np.concatenate([part.y for part in source.batches()]).tolist() == expected
    (tmp_path / "part-9.csv").write_text("a,y\n1,words\n")
    if expected != ["a", "1"]:
        with pytest.raises(ValueError, match=r"part-9.csv: .*words"):
            source.read()


# -- what is not whole ------------------------------------------------------------------------------


@pytest.mark.parametrize("door", ["csv", "parquet", "memory"])
@pytest.mark.parametrize("column", ["a", "b", "y", "kind", "w", "exposure"])
def test_missing_values_are_named_or_left_out_and_counted(door, column, rng, tmp_path):
    table = frame(rng)
    table[column] = table[column].astype(object)
    table.loc[[25, 33, 59], column] = None
    table[column] = table[column].convert_dtypes()
    roles = {"y": "target", "kind": "target", "w": "sample_weight", "exposure": "offset"}
    given = {roles[column]: column} if column in roles else {}
    path = DOORS[door](table, tmp_path)
    where = (
        "rows.csv.* row 25,.* in 2 more"
        if door == "csv"
        else "part-1.parquet.* row 5,"
        if door == "parquet"
        else "row 25"
    )
    with pytest.raises(ValueError, match=f"(?s)column '{column}' has no value") as caught:
        RowSource(path, columns=["a", "b"], **given).read()
    assert caught.match(where)
    source = RowSource(path, columns=["a", "b"], dropna=True, **given)
    assert len(source.read().X) == 57 and source.n_dropped == 3
    assert len(source.read(only_X=True).X) == (57 if column in ("a", "b", "exposure") else 60)


def test_a_nan_is_a_missing_value_and_infinity_is_an_error(rng, tmp_path):
    table = frame(rng)[["a", "b"]]
    table.loc[3, "a"] = np.nan
    path = file(table, tmp_path / "rows.arrow", feather.write_feather)
    with pytest.raises(ValueError, match=r"rows.arrow: column 'a' has no value in row 3"):
        BayesianGMM(1, covariance_type="full").fit(RowSource(path))
    assert BayesianGMM(1).fit(RowSource(path, dropna=True)).n_samples_seen_ == 59
    table.loc[3, "a"] = np.inf
    path = file(table, tmp_path / "rows.arrow", feather.write_feather)
    with pytest.raises(ValueError, match=r"rows.arrow: column 'a' is infinite in row 3"):
        BayesianGMM(1).fit(RowSource(path, dropna=True))


@pytest.mark.parametrize(
    "text, words",
    [
        ("a,b\n1,2\n3,x\n", r"rows.csv.*'x'"),
        ("a,b\n1,2\n3\n", r"rows.csv.*Expected 2 columns, got 1"),
        ("a,a\n1,2\n", "rows.csv"),
        ("", "rows.csv.*[Ee]mpty"),
        ("a,b\n", "rows.csv|0 sample"),
        ("a,b\n1,2020-01-01\n", "rows.csv.*'2020-01-01'"),
    ],
)
def test_tables_that_are_none_are_named(text, words, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        BayesianGMM(1).fit(RowSource(path))


def test_columns_of_another_kind_are_named(rng, tmp_path):
    table = frame(rng).assign(day=pd.date_range("2020", periods=60))
    path = file(table, tmp_path / "rows.parquet", pq.write_table)
    for column, words in (
        ("kind", "has type (large_)?string, .* in row 0 .* and must be numbers"),
        ("day", "dates such as the days since"),
    ):
        with pytest.raises(ValueError, match=f"rows.parquet: column '{column}'.*{words}"):
            RowSource(path, columns=["a", column]).read()
    with pytest.raises(ValueError, match=r"'day'.* neither a number nor a label"):
        RowSource(path, target="day", columns=["a"]).read()
    with pytest.raises(ValueError, match=r"rows.parquet: no column 'z': its columns are \['a', "):
        RowSource(path, columns=["a", "z"]).read()
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": [1.0]}), other)
    with pytest.raises(ValueError, match=r"other.parquet: no column 'b'"):
        RowSource([path, other], columns=["a", "b"]).read()
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"damaged.parquet"):
        RowSource(damaged).read()


def test_paths_that_say_nothing_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere.csv"):
        RowSource(tmp_path / "nowhere.csv").read()
    with pytest.raises(ValueError, match="has no files"):
        RowSource(tmp_path).read()
    (tmp_path / "rows.xlsx").write_text("")
    with pytest.raises(ValueError, match=r"must be of one format.*got \['.xlsx'\]"):
        RowSource(tmp_path).read()


@pytest.mark.parametrize("columns", [None, ["a", "kind"]])
def test_a_formula_reads_the_columns_of_a_file(rng, tmp_path, columns):
    pytest.importorskip("formulae")
    table = frame(rng)
    source = RowSource(DOORS["csv"](table, tmp_path), target="y", columns=columns, factors=["kind"])
    fits = [BayesianLinearRegression(formula="y ~ a + kind").fit(rows) for rows in (source, table)]
    assert fits[0].log_evidence_ == fits[1].log_evidence_


def test_roles_and_arguments_that_contradict_each_other(rng, tmp_path):
    table = frame(rng)
    path = DOORS["csv"](table, tmp_path)
    with pytest.raises(ValueError, match=r"columns \['y'\] have two roles"):
        RowSource(path, target="y", columns=["a", "y"])
    source = RowSource(path, target="y", columns=["a"])
    for more, role in (
        (dict(y=table["y"]), "target"),
        (dict(y=None, sample_weight=table["w"]), "sample_weight"),
    ):
        with pytest.raises(ValueError, match=f"given beside a RowSource: name its column there, {role}="):
            BayesianLinearRegression().fit(source, **more)
    with pytest.raises(ValueError, match="name its column there, offset="):
        BayesianGLM().fit(RowSource(path, target="count", columns=["a"]), offset=1.0)
    with pytest.raises(ValueError, match="has offset, of which BayesianLinearRegression has no use"):
        BayesianLinearRegression().fit(RowSource(path, target="y", columns=["a"], offset="exposure"))
    with pytest.raises(ValueError, match="requires y to be passed"):
        BayesianLinearRegression().fit(RowSource(path, columns=["a"]))
    assert repr(source) == f"RowSource({path!r}, target='y', columns=['a'])"


def test_pyarrow_missing_is_said(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install pyarrow"):
        RowSource("rows.csv")


@pytest.mark.parametrize(
    "family, offset",
    [
        ("linear", None),
        pytest.param("poisson", "exposure", marks=pytest.mark.slow),
        pytest.param("poisson", None, marks=pytest.mark.slow),
    ],
)
def test_more_groups_than_the_reservoir_holds(family, offset, rng, tmp_path):
    """Levels that no row of the sample has; units are those of the numbers, and not of numbers of levels."""
    g = np.repeat([f"g{k:02}" for k in range(50)], 3)
    table = pd.DataFrame({"x": rng.normal(5.0, 2.0, 150), "g": rng.permutation(g)})
    table["exposure"], table["y"] = rng.uniform(0.5, 2.0, 150), rng.poisson(3.0, 150)
    table.to_csv(tmp_path / "rows.csv", index=False)
    known = {} if offset is None else {"offset": table["exposure"]}
    for terms in ([Group("g")], [Factor("g")]):
        params = dict(terms=terms, random_state=0, sampler=SGAIS(reservoir_size=40))
        make = BayesianLinearRegression if family == "linear" else partial(BayesianGLM, family)
        source = RowSource(tmp_path / "rows.csv", "y", ["x", "g"], factors=["g"], offset=offset)
        ours = make(**params).fit(source)
        theirs = make(**params).fit(table[["x", "g"]], table["y"], **known)
        error = np.hypot(ours.log_evidence_std_, theirs.log_evidence_std_)
        of_means = 0.02 if terms == [Factor("g")] else 1e-6  # contrasts are measured from means of the sample
        assert abs(ours.log_evidence_ - theirs.log_evidence_) < 4 * error + of_means
        assert ours.data_fingerprint_ == theirs.data_fingerprint_
        np.testing.assert_allclose(ours.units_.center, theirs.units_.center)
        assert ours.units_.y_center == pytest.approx(theirs.units_.y_center)


def test_the_copy_of_files_goes_in_silence(rng, tmp_path, monkeypatch):
    """It goes with its collection, and no warning speaks of a directory that is left."""
    table = frame(rng, 400)
    table.to_csv(tmp_path / "rows.csv", index=False)
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    source = RowSource(tmp_path / "rows.csv", target="y", columns=["a", "b"])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        model = BayesianLinearRegression(sampler=SGAIS(reservoir_size=100), random_state=0).fit(source)
        assert model.n_samples_seen_ == 400
        gc.collect()
    assert not list(copies.iterdir()) and not [one for one in said if one.category is ResourceWarning]
