"""What a paper needs of a comparison: the right numbers, every doubt, and text that compiles."""

import math
import pickle
import re

import numpy as np
import pytest
from shown_evidence import evidence
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError

from sgevidence import (
    BayesianAutoregression,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    EvidenceFeatureSelector,
    EvidenceModelAverager,
    EvidenceSearch,
    compare,
)
from sgevidence.samplers import Exact, Laplace
from sgevidence.tables import in_latex, in_markdown

FORMATS = ("text", "markdown", "latex", "html")


def one_line(text):
    return " ".join(text.split())


def check_numbers():
    """ln 30 = 3.4: thirty times as likely, and with the prior odds 1 : 3 ten times as probable."""
    table = compare(
        {"null": evidence(-5 - math.log(30), 0.0), "full": evidence(-5.0, 0.1), "far": evidence(-60.0)},
        model_prior={"null": 3, "full": 1, "far": 1},
    )
    text = one_line(table.report())
    assert "The data are 30 times as likely under full as under null, the next best model" in text
    assert "(Bayes factor 30, error 11 %), strong evidence on the scale of Kass and Raftery (1995)." in text
    assert re.search(r"probability of full is 0\.909, 0\.89\d to 0\.92\d by the errors, among 3 models", text)
    assert "its prior probability was 0.2." in text
    assert [line.split()[1] for line in table.report().splitlines()[1:4]] == ["0.200", "0.600", "0.200"]


def test_numbers_of_the_sentence():
    check_numbers()


@pytest.mark.parametrize(
    "log_factor, size", [(0.0, "1"), (math.log(7.25), "7.25"), (math.log(1234), "1230"), (1e4, "8.8e4342")]
)
def test_sizes_of_any_factor(log_factor, size):
    text = one_line(compare({"a": evidence(-5.0), "b": evidence(-5.0 - log_factor)}).report())
    assert f"(Bayes factor {size}, " in text


@pytest.mark.parametrize(
    "std, words",
    [
        (0.0, "exact"),
        (0.0004, "error below 0.1 %"),
        (0.004, "error 0.4 %"),
        (0.05, "error 5 %"),
        (2.0, "uncertain by a factor of 7.4"),
        (math.nan, "of unknown error"),
    ],
)
def test_errors_as_they_are_said(std, words):
    text = one_line(compare({"a": evidence(-5.0, std), "b": evidence(-8.0, 0.0)}).report())
    assert f"(Bayes factor 20.1, {words})" in text


def test_nothing_in_doubt_is_left_out():
    table = compare({"a": evidence(-5.0, 0.5), "b": evidence(-5.2, 0.4, warnings_=["poor chains"])})
    table["misfit"] = ["", "zeros"]
    for form in FORMATS:
        text = one_line(table.report(form))
        assert "The errors leave open whether a or b has more evidence." in text
        assert "The evidence of b is in doubt: poor chains." in text
        assert "b does not reproduce the rows: zeros." in text
    for log_Z in (-5.0, -5.01):  # the probability, and not the evidence, decides which is most probable
        text = one_line(compare({"a": evidence(-5.0), "b": evidence(log_Z)}, model_prior=[1, 19]).report())
        assert "probability of b is 0.9" in text and "about as likely under a as under b" in text


@pytest.mark.parametrize("pandas", [True, False])
def test_a_report_of_each_kind_of_answer(pandas, monkeypatch):
    if not pandas:
        monkeypatch.setattr("sgevidence.model_selection._compare.find_spec", lambda name: None)
    X, y = load_diabetes(return_X_y=True)
    fits = [BayesianLinearRegression(columns=columns, sampler=Exact()) for columns in ([2], [2, 8])]
    named = {"one": fits[0].fit(X, y), "t|wo_": fits[1].fit(X, y)}
    counts = BayesianGLM("poisson", sampler=Laplace(), random_state=0).fit(X, y.round())
    answers = {
        "mapping": named,
        "averager": EvidenceModelAverager(list(named.items())).fit(X, y),
        "search": EvidenceSearch(BayesianLinearRegression(sampler=Exact()), {"columns": [[2], [8]]}).fit(
            X, y
        ),
        "selector": EvidenceFeatureSelector().fit(X, y),
        "one": {"counts_": counts},
    }
    for kind, models in answers.items():
        table = compare(models)
        for form in FORMATS:
            text = one_line(table.report(form))
            assert "442 rows" in text and "sgevidence" in text and "P(M" in text
            assert "N(0, 1" in text, (kind, text)
        assert max(map(len, table.report().splitlines())) <= 80
        latex = table.report("latex")
        assert latex.isascii() and not re.search(r"(?<!\\)[_%#]", re.sub(r"\$[^$]*\$", "", latex))
        assert latex.count("\\\\") == min(len(table.index), 10) + 1
    with pytest.raises(ValueError, match="format must be one of"):
        compare(named).report("docx")


def test_a_report_outlives_pickling_and_refuses_a_part():
    pytest.importorskip("pandas")
    table = compare({"a": evidence(-1.0), "b": evidence(-2.0)})
    assert pickle.loads(pickle.dumps(table)).report() == table.report()
    del table["difference"]
    with pytest.raises(ValueError, match="'difference'"):
        table.report()


def test_latex_of_the_table_is_what_is_printed():
    table = compare({"y ~ x_1 + (1 | g)": evidence(-10.0), "100 % & more": evidence(-40.0)})
    lines = table.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lrrr}" and lines[-1] == r"\end{tabular}"
    assert lines[2] == r" & log evidence $\pm$ error & probability & Bayes factor \\"
    assert lines[4].startswith(r"y \textasciitilde{} x\_1 + (1 \textbar{} g) & -10.00 $\pm$ 0.10 & $>$0.999")
    assert lines[5].endswith(r"& $9.4 \times 10^{-14}$ \\") or lines[5].endswith(r"& $10^{-13}$ \\")


def test_a_page_has_bars_of_probability_and_its_digits_in_line():
    html = compare({"<a>": evidence(-10.0, 0.0), "b": evidence(-10.0 - math.log(3), 0.05)})._repr_html_()
    assert "75.0%, transparent 75.0%" in html and "25.0%, transparent 25.0%" in html
    assert html.count("text-align: right") == 9 and "&lt;a&gt;" in html
    assert "\N{FIGURE SPACE}" in html  # behind the shorter of two errors


def test_formulas_are_not_named_in_each_row():
    grid = {"formula": ["y ~ x0", "y ~ x0 + x1 + x2 + x3 + x4"], "prior": ["independent", "jzs"]}
    results = {"params": [dict(zip(grid, one)) for one in zip(*grid.values())]}
    scores = {"log_evidence": [-1.0, -2.0], "log_evidence_std": [0.1, 0.1]}
    results |= {f"mean_test_{name}": np.array(values) for name, values in scores.items()}
    table = compare(results)
    assert "formula=" not in repr(table) and repr(table).count("formula") <= 1
    assert "formula=" not in table._repr_html_() and "formula=" not in table.report()


def test_models_of_one_class_go_by_what_they_differ_in():
    X = np.random.default_rng(0).normal(size=(40, 2))
    table = compare([BayesianGMM(k, random_state=0).fit(X) for k in (1, 2)])
    text = one_line(table.report())
    assert "BayesianGMM" not in text and "under n_components=1 as under n_components=2" in text
    y = np.random.default_rng(1).normal(size=40)
    linear = BayesianLinearRegression(sampler=Exact(100)).fit(X, y)
    mixed = compare([linear, BayesianGLM("gaussian", random_state=0).fit(X, y)]).report()
    assert "BayesianLinearRegression" in mixed and "BayesianGLM" in mixed


def test_priors_of_models_go_by_the_names_that_are_printed():
    found = {f"formula=y ~ {x}": evidence(-1.0) for x in "ab"}
    table = compare(found, model_prior={"y ~ a": 0.3, "y ~ b": 0.7})
    assert dict(zip(table.index, table["probability"])) == pytest.approx(
        {"formula=y ~ a": 0.3, "formula=y ~ b": 0.7}
    )
    with pytest.raises(ValueError, match="models are"):
        compare(found, model_prior={"y ~ a": 0.3, "y ~ c": 0.7})


def test_a_report_of_many_models_shows_the_best_ten():
    table = compare({f"m{k}": evidence(-float(k)) for k in range(12)})
    text = one_line(table.report())
    assert "m9 " in text and "m10" not in text
    rest = sum(math.exp(-k) for k in (10, 11)) / sum(math.exp(-k) for k in range(12))
    assert f"the 10 models of 12 with the most evidence; the others have a probability of {rest:.3f}" in text


def test_words_of_warnings_are_in_the_table_of_a_search():
    x = np.r_[np.full(30, 1.0), np.full(30, 2.0)][:, None] + np.random.default_rng(3).normal(0, 1e-3, (60, 1))
    search = EvidenceSearch(BayesianLinearRegression(coef_scale=0.001), {"columns": [[], [0]]})
    with pytest.raises(NotFittedError, match="not fitted"):
        _ = search.comparison_
    y = 50 * x[:, 0]
    found = search.fit(x, y).comparison_
    alone = {k: BayesianLinearRegression(coef_scale=0.001, columns=k).fit(x, y).warnings_ for k in ((), (0,))}
    assert any(alone.values())
    for name, words in zip(found.index, found["warnings"]):
        assert words == "; ".join(alone[(0,) if "0" in name else ()])


def test_a_model_that_cannot_be_checked_has_a_dash():
    y = np.random.default_rng(4).normal(size=60)
    X = np.zeros((60, 1))
    line = BayesianLinearRegression(columns=[], sampler=Exact()).fit(X, y)
    known = BayesianLinearRegression(columns=[]).fit(X, y, known_std=1.0)  # of which no rows are drawn
    table = compare({"line": line, "other": known}, check=(X, y))
    assert dict(zip(table.index, table["misfit"])) == {"line": "", "other": "–"}
    assert "None of the models" not in repr(table) and "is not checked" in repr(table)
    with pytest.raises(TypeError, match="are not replicated"):
        compare({"other": known}, check=(X, y))
    with pytest.raises(TypeError, match="depend on those before"):
        compare({"series": BayesianAutoregression().fit(y)}, check=(y[:, None],))


def test_other_data_are_said_in_words():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 1)), rng.normal(size=20)
    one, other = (BayesianLinearRegression(sampler=Exact()).fit(X, values) for values in (y, y[::-1]))
    with pytest.raises(
        ValueError, match="'b' has seen other data than 'a': other values, weights or order"
    ) as e:
        compare({"a": one, "b": other})
    assert not re.search(r"\d{5}", str(e.value))


def test_other_tables_are_written_as_they_are_printed():
    X, y = load_diabetes(return_X_y=True)
    model = BayesianLinearRegression(columns=[2], sampler=Exact(), random_state=0).fit(X, y)
    table = model.summary()
    printed = {line.split()[0]: line.split()[1:] for line in table._printed().to_string().splitlines()[1:]}
    for written, text in [(in_latex, table.to_latex()), (in_markdown, table.to_markdown())]:
        for row, cells in printed.items():
            (line,) = [line for line in text.splitlines() if written(row) in line]
            found = [cell.strip() for cell in re.split(r"[&|]|\\\\$", line) if cell.strip()]
            assert found == [written(row), *cells]


def two_lines():
    rng = np.random.default_rng(90317)
    X = rng.standard_normal((40, 2))
    return X, X @ [0.5, 0.1] + rng.standard_normal(40)


def check_robustness():
    """Factors of models that were fitted under each prior by hand."""
    X, y = two_lines()

    def factor(**scale):
        log_Z = [BayesianLinearRegression(columns=c, **scale).fit(X, y).log_evidence_ for c in ([0], [0, 1])]
        return log_Z[0] - log_Z[1]

    fits = [BayesianLinearRegression(columns=c).fit(X, y) for c in ([0], [0, 1])]
    table = compare(fits, sensitivity=(X, y))
    found = table._facts.robustness
    sign = 1 if factor() > 0 else -1  # the best model is the first
    assert (found.lowest[0], found.highest[0]) == ("coef_scale / 3", "coef_scale * 3")
    assert found.lowest[1] == pytest.approx(sign * factor(coef_scale=1 / 3), abs=1e-9)
    assert found.highest[1] == pytest.approx(sign * factor(coef_scale=3.0), abs=1e-9)
    assert found.as_given == pytest.approx(sign * factor(), abs=1e-9)
    said = one_line(table.report())
    assert "divided and multiplied by three, coef_scale moves the Bayes factor of " in said
    assert f"{math.exp(found.highest[1]):.3g} under coef_scale * 3." in said


def test_report_says_how_the_factor_moves_with_the_prior():
    check_robustness()


def test_models_of_a_search_are_fitted_by_their_parameters():
    X, y = two_lines()
    columns = [[0], [0, 1]]
    search = EvidenceSearch(BayesianLinearRegression(), {"columns": columns}).fit(X, y)
    fits = [BayesianLinearRegression(columns=c).fit(X, y) for c in columns]
    of_search = compare(search, sensitivity=dict(X=X, y=y))._facts.robustness
    assert of_search == compare(fits, sensitivity=(X, y))._facts.robustness
    with pytest.raises(ValueError, match="give the search itself"):
        compare(search.cv_results_, sensitivity=(X, y))


def test_one_model_has_no_factor_to_move():
    X, y = two_lines()
    with pytest.raises(ValueError, match="two models at least"):
        compare([BayesianLinearRegression().fit(X, y)], sensitivity=(X, y))
