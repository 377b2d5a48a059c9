"""Levels of an analysis of variance, and of text files: which are one, and which are two."""

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianLinearRegression, Factor, Group, RowSource
from sgevidence.hypothesis_tests import anova

N = 36


@pytest.fixture(scope="module")
def y():
    return np.random.default_rng(584).standard_normal(N) + (np.arange(N) % 3 == 1)


def column(levels, kind):
    cells = [levels[k % len(levels)] for k in range(N)]
    if kind == "list":
        return cells
    if kind == "frame":
        return pd.Series(cells, dtype=object)
    found = np.empty(N, dtype=object)
    found[:] = cells
    return found


@pytest.mark.parametrize("kind", ["list", "frame", "array"])
@pytest.mark.parametrize(
    "levels", [[1, "1", 2], ["1", 1.0, True + 1], ["01", "1", "1.0"], [b"1", "1", 1], [0, "0", "00"]]
)
@pytest.mark.parametrize("role", ["factors", "subjects"])
def test_levels_are_what_python_calls_equal(y, kind, levels, role):
    plain = column(["a", "b", "c"], "list")
    if role == "factors":
        found, expected = (anova(y, {"f": one}) for one in (column(levels, kind), plain))
    else:
        other = {"f": np.arange(N) // 3 % 2}
        found, expected = (anova(y, other, subjects=one) for one in (column(levels, kind), plain))
    assert found["log_bayes_factor"].tolist() == pytest.approx(
        expected["log_bayes_factor"].tolist(), abs=1e-9
    )


def test_numbers_of_several_types_are_one_level(y):
    mixed = [1, 1.0, 2, np.int64(2), 3, np.float32(3)] * 6
    found, expected = anova(y, {"f": mixed}), anova(y, {"f": [1, 1, 2, 2, 3, 3] * 6})
    assert found["log_bayes_factor"][0] == pytest.approx(expected["log_bayes_factor"][0], abs=1e-12)


def test_factors_of_one_name_are_refused(y):
    a, b = np.arange(N) % 2, np.arange(N) % 3
    twice = pd.DataFrame(np.column_stack([a, b]), columns=["f", "f"])
    for factors in ({1: a, "1": b}, twice):
        with pytest.raises(ValueError, match="two factors are named"):
            anova(y, factors)


@pytest.mark.parametrize("what", ["y", "f", "subjects"])
def test_masks_are_refused(y, what):
    arrays = {"y": y, "f": np.arange(N) % 3, "subjects": np.arange(N) // 2 % 6}
    arrays[what] = np.ma.masked_array(arrays[what], mask=np.arange(N) == 4)
    with pytest.raises(ValueError, match=f"{what}.* is a masked array"):
        anova(arrays["y"], {"f": arrays["f"]}, subjects=arrays["subjects"])
    arrays[what] = np.ma.masked_array(arrays[what].data)
    assert np.isfinite(
        anova(arrays["y"], {"f": arrays["f"]}, subjects=arrays["subjects"])["log_bayes_factor"][0]
    )


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_levels_and_those_that_are_none_are_refused(y, missing):
    with pytest.raises(ValueError, match="the factor 'f' has missing values"):
        anova(y, {"f": column(["a", "b", missing], "frame")})
    with pytest.raises(TypeError, match="the factor 'f' has entries that are no levels"):
        anova(y, {"f": column([[1], [2]], "array")})


@pytest.mark.parametrize("ending, sep", [("csv", ","), ("tsv", "\t"), ("txt", ",")])
@pytest.mark.parametrize(
    "levels", [["01", "1", "1e0"], ["1", "2", "1.0"], ["007", "7", "+7"], ["true", "1", "True"]]
)
@pytest.mark.parametrize("term", [Factor, Group])
def test_levels_of_text_files_are_text_as_it_is_written(y, tmp_path, ending, sep, levels, term):
    pytest.importorskip("pyarrow")
    cells, path = column(levels, "list"), tmp_path / f"rows.{ending}"
    lines = [sep.join(["f", "y"]), *(sep.join([one, repr(float(v))]) for one, v in zip(cells, y))]
    path.write_text("\n".join(lines))
    model = BayesianLinearRegression(terms=[term("f")], columns=[], random_state=0)
    read = RowSource(path, target="y", factors=["f"])
    expected = BayesianLinearRegression(terms=[term("f")], columns=[], random_state=0)
    expected = expected.fit(pd.DataFrame({"f": cells}), y)
    assert model.fit(read).log_evidence_ == pytest.approx(expected.log_evidence_, abs=1e-9)
    assert sorted(model.effects_["level"]) == sorted(levels)
    for part in (pd.DataFrame({"f": cells}), RowSource(path, columns=["f"], factors=["f"])):
        assert np.allclose(model.predict(part), expected.predict(pd.DataFrame({"f": cells})))
