"""Calls of other programs are refused in words that say how to write them here."""

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianGLM, BayesianHMM, BayesianLinearRegression, EvidenceMonitor

pytest.importorskip("formulae")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(6007)
    frame = pd.DataFrame({"x": rng.gamma(3, 1, 40), "e": np.arange(40) % 2, "n": 1 + np.arange(40) % 5})
    frame["s"] = frame["e"].map({0: "alive", 1: "dead"})
    return frame.assign(y=rng.gamma(2, 1, 40), k=rng.poisson(2.0, 40), g=np.arange(40) % 7)


@pytest.mark.parametrize("name, family", [("offset", "poisson"), ("trials", "binomial")])
def test_known_columns_are_given_and_not_named(frame, name, family):
    y = {"poisson": "k", "binomial": "e"}[family]
    with pytest.raises(ValueError, match=rf"{name}='n' is a text: give the column itself, as frame\['n'\]"):
        BayesianGLM(family, formula=f"{y} ~ x").fit(frame, **{name: "n"})
    with pytest.raises(ValueError, match=r"y='y' is a text"):
        BayesianGLM(family, formula=f"{y} ~ x").fit(frame, "y")


def test_events_in_words_and_structured_targets(frame):
    model = BayesianGLM("weibull", formula="y ~ x")
    for event in (frame["s"], frame["s"].tolist(), frame["s"].astype("category")):
        with pytest.raises(ValueError, match=r"event must be 1 .* 0 .* has the labels .*'alive'"):
            model.fit(frame, event=event)
    with pytest.raises(ValueError, match=r"the formula has Surv\(\.\.\.\), .* and event= is given"):
        BayesianGLM("weibull", formula="Surv(y, e) ~ x").fit(frame, event=frame["e"])
    both = np.array(list(zip(frame["e"] == 1, frame["y"])), dtype=[("dead", bool), ("time", float)])
    with pytest.raises(ValueError, match=r"y has the fields dead, time: .* event=y\['dead'\]"):
        BayesianLinearRegression().fit(frame[["x"]], both)


@pytest.mark.parametrize(
    "formula, words",
    [
        ("y | se(x) ~ x", r"at character 3: .* noise_std="),
        ("y | cens(e) ~ x", "event="),
        ("k | trials(n) ~ x", "trials="),
        ("Surv(y, e) ~ x", r"is of BayesianGLM with a family of times.* event="),
        ("cbind(k, n - k) ~ x", "trials="),
        ("y ~ me(x, n)", "at character 5"),
        ("y ~ s(g, bs='re')", r"write \(1 \| g\)"),
        ("y ~ x | g", r"at character 7 .* stand in parentheses"),
        ("y ~ x, sigma ~ g", "more than one '~'.* noise="),
        ("y ~ x + (x |p| g)", r"at character 14: a part has one \|"),  # was (1 | g), without a word
        ("y ~ x + (1 |ID| g)", r"write \(x \| g\)"),
        ("y ~ us(x | g)", r"at character 5: us\(\) holds no part .* write \(x \| g\)"),
        ("y ~ (1 | gr(g, by=s))", r"write the column of the group alone"),
        ("s['dead'] ~ x", r"at character 3: .* write the column alone"),
        ("p(k, n) ~ x", "trials="),
        ("k/n ~ x", r"at character 2: .* trials="),
        ("censored(y, e) ~ x", "event="),
        ("y ~ s(x, k)", r"write s\(x\) \+ s\(z\) \+ x:z"),
        ("y ~ s(x, g, bs='fs')", r"write \(1 \| g\) \+ s\(x, by=g\)"),
        ("y ~ te(x, n)", r"write s\(x\) \+ s\(z\) \+ x:z"),
        ("y ~ x + frailty(g)", r"write \(1 \| g\)$"),
        ("y ~ x + strata(g)", r"C\(g\) or \(1 \| g\)"),
        ("y ~ pspline(x)", r"write s\(x\)$"),
        ("y ~ S(s)", "write the column alone"),
        ("y ~ 0 + s:C(g)", r"sum to zero: leave out 0.* f \* h"),  # had no level, and products alone
        ("y ~ ns(x, 3)", r"bs\(x, df=5\)"),
    ],
)
def test_formulas_of_other_programs(frame, formula, words):
    with pytest.raises(ValueError, match=words):
        BayesianLinearRegression(formula=formula).fit(frame)


def test_a_frame_without_rows_and_a_comparison_of_times_are_named(frame):
    for model in (
        BayesianLinearRegression(formula="y ~ x"),
        BayesianGLM("poisson", formula="k ~ x + (1 | g)"),
    ):
        with pytest.raises(ValueError, match="X has 0 rows"):
            model.fit(frame[:0])
    formula = 'Surv(y, y > 0, type="left") ~ x'
    with pytest.raises(ValueError, match=r"'y > 0' .* no comparison with ==: make a column .*interval2"):
        BayesianGLM("weibull", formula=formula).fit(frame)
    bounds = frame.assign(lower=-np.inf, upper=frame["y"], zero=0)
    left, within = (
        BayesianGLM("weibull", formula=f"Surv({times}) ~ x", random_state=0).fit(bounds).log_evidence_
        for times in ('y, zero, type="left"', 'lower, upper, type="interval2"')
    )
    assert left == pytest.approx(within, abs=0.05)


def test_a_monitor_names_what_stands_in_place_of_a_formula(frame):
    with pytest.raises(TypeError, match=r"give X and y, and terms= or columns= .* in place of formula="):
        EvidenceMonitor(BayesianLinearRegression(formula="y ~ x")).partial_fit(frame[["x", "y"]])


def test_rows_that_are_no_frame(frame):
    class LazyFrame:
        columns = list(frame.columns)

        def collect(self):
            return frame

    with pytest.raises(
        TypeError, match=r"X is a LazyFrame, whose rows are not computed yet: give X.collect\(\)"
    ):
        BayesianLinearRegression(formula="y ~ x").fit(LazyFrame())
    with pytest.raises(TypeError, match="give a data frame"):
        BayesianLinearRegression(formula="y ~ x").fit(frame.to_numpy())
    with pytest.raises(ValueError, match=r"lengths="):
        BayesianHMM(2).fit([np.zeros((5, 1)), np.ones((8, 1))])


@pytest.mark.parametrize("given, lost", [(["a"], "'b'"), (["other"], "'a', 'b'"), ([], "'a', 'b'")])
def test_predictions_name_the_columns_that_a_frame_lacks(given, lost, rng):
    frame = pd.DataFrame(rng.normal(size=(20, 4)), columns=["a", "b", "other", "y"])
    model = BayesianLinearRegression(formula="y ~ a + b").fit(frame)
    calls = (model.predict, lambda X: model.score(X, frame["y"]), model.variance_shares)
    for call in calls:
        with pytest.raises(ValueError, match=f"X has no column {lost}, which formula='y ~ a"):
            call(frame[given])


def test_a_formula_without_its_left_side_lacks_a_response(rng):
    frame = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "y"])
    with pytest.raises(ValueError, match=r"'~ a' has no response: write y ~ "):
        BayesianLinearRegression(formula="~ a").fit(frame)


@pytest.mark.parametrize("formula", ["a", "", "a + b"])
def test_a_formula_without_a_tilde_lacks_a_response(formula):
    frame = pd.DataFrame({"y": [1.0, 2.0, 4.0], "a": [0.0, 1.0, 3.0], "b": [1.0, 1.5, 1.0]})
    with pytest.raises(ValueError, match="has no response: write y ~ …, or ~ … and give y"):
        BayesianLinearRegression(formula=formula).fit(frame, frame["y"])


def test_a_sign_of_equality_in_the_place_of_the_tilde_is_named():
    frame = pd.DataFrame({"y": [1.0, 2.0, 4.0], "a": [0.0, 1.0, 3.0]})
    with pytest.raises(ValueError, match="write ~ between y and the columns"):
        BayesianLinearRegression(formula="y = a").fit(frame)
