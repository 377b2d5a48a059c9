"""What a comparison prints: eighty columns, right digits, a word where there is doubt."""

import re
import sys

import numpy as np
import pytest
from shown_evidence import evidence

from sgevidence import compare

MODELS = {
    "a name that is far too long to stand in full beside all of the numbers": evidence(-10.0, 0.3),
    "near": evidence(-10.5, 0.4),
    "exact": evidence(-12.345, 0.0),
    "sure": evidence(-15.0, 0.004),
    "warned": evidence(-2000.0, 3.25, warnings_=["poor chains"]),
}
EXPECTED = """
                         log evidence ± error  probability  Bayes factor   doubt
a name that is far too        -10.00 ± 0.30         0.585             1
  long to stand in full
  beside all of the
  numbers
near                            -10.50 ± 0.40         0.355          0.61    open
exact                           -12.35 ± 0            0.056         0.096
sure                            -15.00 ± <0.01        0.004        0.0067
warned                        -2000.00 ± 3.25        <0.001        1e-864  warned
warned: the fit doubts its own evidence; column 'warnings' says why.
open: the errors leave open whether this model or the best has more evidence.
"""


def check(table):
    assert max(map(len, repr(table).splitlines())) <= 80
    found = [line.split() for line in repr(table).splitlines()]
    assert found == [line.split() for line in EXPECTED.strip("\n").splitlines()]


@pytest.mark.parametrize("pandas", [True, False])
def test_a_comparison_prints_in_eighty_columns(pandas, monkeypatch):
    if not pandas:
        monkeypatch.setitem(sys.modules, "pandas", None)
    table = compare(MODELS)
    check(table)
    assert str(table) == repr(table)
    html = table._repr_html_()
    assert html.count("<tr>") == 6 and "&lt;0.001" in html and "open" in html and html.count("<p>") == 2
    assert "difference_std" in repr(table[["difference", "difference_std"]])  # a part prints as usual
    assert "difference_std" in table[["difference", "difference_std"]]._repr_html_()
    assert "rank" in table.round(1).to_string()
    certain = compare({"one": evidence(-1.0), "other": evidence(-9.0)})
    assert "doubt" not in repr(certain) and len(repr(certain).splitlines()) == 3


def searched(grid):
    """A finished search over parameters, without its fits."""
    n = len(grid)
    scores = {
        "log_evidence": -np.arange(n),
        "log_evidence_std": np.full(n, 0.1),
        "n_samples_seen": np.ones(n),
    }
    return {"params": grid} | {f"mean_test_{name}": values for name, values in scores.items()}


def test_parameters_of_a_search_have_columns_of_their_own():
    kinds = ["diag", "full", "spherical"]
    table = compare(searched([{"gmm__covariance_type": kind, "gmm__n_components": 2} for kind in kinds]))
    assert table["n_components"].tolist() == [2, 2, 2] and table["covariance_type"].tolist() == kinds
    lines = repr(table).splitlines()
    assert lines[0].split()[:2] == ["covariance_type", "n_components"] and max(map(len, lines)) <= 80
    assert [line.split()[:2] for line in lines[1:]] == [[kind, "2"] for kind in kinds]
    html = table._repr_html_()  # a page has room for all
    assert "covariance_type=" not in html and re.search(r">full</th><td[^>]*>2</td>", html)


def test_parameters_that_have_no_room_stand_in_the_name_and_nothing_is_cut():
    subsets = [["age", "sex", "bmi", "bp", "s1"], [], None]
    table = compare(searched([{"columns": columns, "coef_prior": "independent"} for columns in subsets]))
    assert table["columns"].tolist() == ["age, sex, bmi, bp, s1", "none", "None"]
    assert max(map(len, repr(table).splitlines())) <= 80
    names = " ".join(" ".join(line[:31].split()) for line in repr(table).splitlines())
    assert "columns=['age', 'sex', 'bmi', 'bp', 's1'], coef_prior=independent" in names
    formulas = ["reaction ~ days + (1 + days | subject)", "reaction ~ 1"]
    long = repr(compare(searched([{"formula": formula} for formula in formulas])))
    lines = [line[: long.index("log")].strip() for line in long.splitlines()]
    assert lines == ["formula", "reaction ~ days + (1 + days |", "subject)", "reaction ~ 1"]
    assert "…" not in repr(table) + long


def test_a_comparison_is_a_frame_all_the_same():
    pandas = pytest.importorskip("pandas")
    table = compare(MODELS)
    assert isinstance(table, pandas.DataFrame) and type(table.sort_index()) is pandas.DataFrame
    np.testing.assert_array_equal(table["rank"], [1, 2, 3, 4, 5])
    del table["probability"]
    assert "log10_bayes_factor" in table.to_string() and "±" not in repr(table)


def test_no_probability_among_several_models_is_one():
    assert re.findall(r">0\.999|1\.000", repr(compare({"a": evidence(0.0), "b": evidence(-500.0)}))) == [
        ">0.999"
    ]
    assert "1.000" in repr(compare({"alone": evidence(0.0)}))
