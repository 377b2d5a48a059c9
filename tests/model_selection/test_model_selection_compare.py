"""The comparison table: numbers, forms of input, refusals, with and without pandas."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from estimator_cases import data, estimator
from made_data import GOLD, MAKE
from shown_evidence import evidence
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sgevidence import (
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    EvidenceModelAverager,
    FullData,
    compare,
    evidence_scorer,
    evidence_scorers,
)
from sgevidence.samplers import Exact
from sgevidence.tables import Table

MODELS = {
    "poor": evidence(-15.0, 0.3, warnings_=["look here", "and here"]),
    "best": evidence(-10.0, 0.4),
    "near": evidence(-12.0, 0.0),
}


def check_every_column(compare):
    table = compare(MODELS, model_prior={"poor": 2, "near": 1, "best": 1})
    assert list(table.index) == ["best", "near", "poor"]
    assert table["rank"].tolist() == [1, 2, 3]
    assert table["log_evidence"].tolist() == [-10.0, -12.0, -15.0]
    assert table["log_evidence_std"].tolist() == [0.4, 0.0, 0.3]
    assert table["difference"].tolist() == [0.0, -2.0, -5.0]
    np.testing.assert_allclose(table["difference_std"], [0.0, 0.4, 0.5])
    np.testing.assert_allclose(table["log10_bayes_factor"], np.log10(np.exp([0.0, -2.0, -5.0])), atol=1e-12)
    assert table["evidence_against"].tolist() == ["", "positive", "strong"]
    joint = np.exp([0.0, -2.0, -5.0]) * [1, 1, 2]
    np.testing.assert_allclose(table["probability"], joint / joint.sum())
    assert np.all(table["probability_low"] <= table["probability"])
    assert np.all(table["probability"] <= table["probability_high"])
    assert table["n_samples"].tolist() == [10, 10, 10]
    assert table["warnings"].tolist() == ["", "", "look here; and here"]


def test_every_column():
    check_every_column(compare)


@pytest.fixture(scope="module")
def three():
    """Linear models of one data set that differ in their noise, in closed form."""
    X, y = data("linear")
    return {f"noise_std={s}": BayesianLinearRegression(s, sampler=Exact()).fit(X, y) for s in (0.4, 0.5, 0.6)}


def test_all_forms_of_input_give_the_same_table(three):
    X, y = data("linear")
    expected = compare(three)
    wrapped = {
        "noise_std=0.4": FrozenEstimator(three["noise_std=0.4"]),
        "noise_std=0.5": make_pipeline("passthrough", three["noise_std=0.5"]),
        "noise_std=0.6": three["noise_std=0.6"],
    }
    averager = EvidenceModelAverager([(n, FrozenEstimator(m)) for n, m in three.items()]).fit(X, y)
    search = GridSearchCV(
        BayesianLinearRegression(sampler=Exact()),
        {"noise_std": [0.4, 0.5, 0.6]},
        scoring=evidence_scorers,
        refit="log_evidence",
        cv=FullData(),
    ).fit(X, y)
    named = [n.replace("noise", "BayesianLinearRegression(noise") + ")" for n in expected.index]
    assert list(compare(list(three.values())).index) == named
    for models in (wrapped, averager, search, search.cv_results_, list(three.values())):
        table = compare(models)
        for column in expected.columns:
            np.testing.assert_array_equal(table[column].to_numpy(), expected[column].to_numpy(), column)
    np.testing.assert_allclose(compare(averager)["probability"], np.sort(averager.weights_)[::-1])


def test_an_averagers_prior_is_its_own():
    models = {"a": evidence(0.0), "b": evidence(0.0)}
    averager = SimpleNamespace(named_estimators_=models, model_prior=[3, 1])
    assert compare(averager)["probability"].tolist() == [0.75, 0.25]
    assert compare(averager, model_prior=[1, 1])["probability"].tolist() == [0.5, 0.5]


def test_a_search_keeps_the_error_bar():
    X, _ = data("gmm", n=60)
    search = GridSearchCV(
        estimator("gmm"),
        {"n_components": [1, 2]},
        scoring=evidence_scorers,
        refit="log_evidence",
        cv=FullData(),
    ).fit(X)
    table, best = compare(search), search.best_estimator_
    assert table.index[0] == f"n_components={best.n_components}"
    assert table["log_evidence"].iloc[0] == best.log_evidence_
    assert table["log_evidence_std"].iloc[0] == best.log_evidence_std_ > 0
    assert table["n_samples"].tolist() == [60, 60]


def test_a_search_over_scalers_of_a_density_is_refused():
    """Each scaler makes other data, whose densities differ by a Jacobian."""
    X, _ = data("gmm", n=60)
    steps = [("scale", FunctionTransformer()), ("mixture", estimator("gmm", n_components=1))]
    grid = {"scale": [FunctionTransformer(), StandardScaler()]}
    search = GridSearchCV(Pipeline(steps), grid, scoring=evidence_scorers, refit=False, cv=FullData()).fit(X)
    with pytest.raises(ValueError, match=r"'scale=StandardScaler\(\)' has seen other data"):
        compare(search)


@pytest.mark.parametrize(
    "scoring, cv, message",
    [
        (evidence_scorer, FullData(), "has not kept the error bars: give it scoring=evidence_scorers"),
        (evidence_scorers, 2, "different rows over its splits"),
    ],
)
def test_searches_that_cannot_be_compared(scoring, cv, message):
    X, y = data("linear")
    grid = {"noise_std": [0.4, 0.5]}
    search = GridSearchCV(
        BayesianLinearRegression(sampler=Exact()), grid, scoring=scoring, refit=False, cv=cv
    ).fit(X, y)
    with pytest.raises(ValueError, match=message):
        compare(search)


def test_models_of_other_data_are_refused_by_name(three):
    X, y = data("linear")
    first = {"first": three["noise_std=0.5"]}
    exact = BayesianLinearRegression(0.5, sampler=Exact())
    softmax = estimator("softmax").fit(X, np.arange(90) % 2)
    cases = [
        (exact.fit(X[:80], y[:80]), "'other' has seen another number of rows than 'first': 80 and 90"),
        (BayesianLinearRegression(0.5, sampler=Exact()).fit(X, 2 * y), "'other' has seen other data"),
        (estimator("gmm", n_components=1).fit(X), "'other' is another kind of model than 'first': density"),
        (softmax, "'other' is another kind of model than 'first': classifier and regressor"),
        (evidence(np.nan, n=90), "'other' has the log evidence nan"),
    ]
    for other, message in cases:
        with pytest.raises(ValueError, match=message):
            compare(first | {"other": other})
    with pytest.raises(ValueError, match="'b' has other classes than 'a'"):
        compare({"a": evidence(0.0, classes_=[0, 1]), "b": evidence(0.0, classes_=[0, 2])})


def test_what_cannot_be_compared_at_all():
    for wrong in ({}, []):
        with pytest.raises(ValueError, match="no model"):
            compare(wrong)
    for wrong in ("abc", 3, evidence(0.0)):
        with pytest.raises(TypeError, match="must be a mapping or list"):
            compare(wrong)
    for wrong in ([BayesianGMM()], {"a": LinearRegression()}):
        with pytest.raises(TypeError, match="has no log_evidence_"):
            compare(wrong)


def test_where_the_evidence_is_instead():
    X, y = data("linear")
    wrapped = TransformedTargetRegressor(estimator("linear", sampler=Exact()), transformer=StandardScaler())
    message = r"'a' \(TransformedTargetRegressor\) has no log_evidence_: "
    with pytest.raises(TypeError, match=message + "is it fitted?"):
        compare({"a": wrapped})
    with pytest.raises(TypeError, match=message + "its regressor_ has, of the rows as they were handed on"):
        compare({"a": wrapped.fit(X, y)})
    assert len(compare({"a": wrapped.regressor_})) == 1
    with pytest.raises(TypeError, match="has no log_evidence_: it is no estimator of this library"):
        compare([LinearRegression().fit(X, y)])
    with pytest.raises(TypeError, match="is the class BayesianGMM: give a fitted object of it"):
        compare([BayesianGMM])


def test_equal_models_in_a_list_are_numbered():
    assert list(compare([evidence(0.0), evidence(-1.0)]).index) == [
        "SimpleNamespace #1",
        "SimpleNamespace #2",
    ]


def test_without_pandas_the_same_numbers_in_a_table_that_prints(three, monkeypatch):
    frame = compare(three)
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = compare(three)
    assert isinstance(table, Table) and len(table) == 3
    assert table.columns == list(frame.columns) and table.index == list(frame.index)
    for column in table.columns:
        np.testing.assert_array_equal(table[column], frame[column])
    lines = repr(table[["rank", "probability"]].round(3)).splitlines()
    assert lines[0].split() == ["rank", "probability"]
    assert lines[1].split() == [frame.index[0], "1", f"{frame['probability'].iloc[0]:.3f}"]
    assert len({len(line) for line in lines}) == 1
    html = Table({"<b>": [1.0, np.nan]}, ["x & y", "z"])._repr_html_()
    assert ">&lt;b&gt;</th>" in html and "x &amp; y" in html and html.count("<tr>") == 3


def test_iris_petals_by_their_gold_values():
    X = MAKE["rebuild"]("G_petal_K1")["X"]
    table = compare({f"K={K}": BayesianGMM(K, random_state=3).fit(X) for K in (1, 2, 3)})
    exact = np.array([GOLD[f"G_petal_K{K}"]["logZ"] for K in (1, 2, 3)])
    exact = np.exp(exact - exact.max()) / np.exp(exact - exact.max()).sum()
    found = table["probability"][[f"K={K}" for K in (1, 2, 3)]]
    np.testing.assert_allclose(found, exact, atol=0.05)
    assert list(table.index) == ["K=3", "K=2", "K=1"]


def test_nested_regressions_by_their_gold_values():
    fits, log_Z = {}, {}
    for case in ("L_diabetes_first3", "L_diabetes_all"):
        d = MAKE["rebuild"](case)
        fits[case] = BayesianLinearRegression(d["sigma"], random_state=3).fit(d["X"], d["y"])
        log_Z[case] = GOLD[case]["logZ"]
    for p in (4, 9):  # nested between the two, where the probabilities are not 0 and 1; in closed form
        X = d["X"][:, :p]
        exact = BayesianLinearRegression(d["sigma"], sampler=Exact()).fit(X, d["y"])
        fits[p] = BayesianLinearRegression(d["sigma"], random_state=p).fit(X, d["y"])
        log_Z[p] = exact.log_evidence_
    table = compare(fits)
    exact = np.exp(np.array(list(log_Z.values())) - max(log_Z.values()))
    found = table["probability"][[str(name) for name in log_Z]]
    np.testing.assert_allclose(found, exact / exact.sum(), atol=0.05)


class Mixture(BaseEstimator):
    """Two numbers of components from one walk, whose errors are nearly the same."""

    log_evidence_, log_evidence_std_, n_samples_seen_ = -11.0, 0.5, 20
    component_evidence_covariance_ = np.array([[0.25, 0.245], [0.245, 0.25]])

    @property
    def component_evidence_(self):
        return dict(n_components=[1, 2], log_evidence=[-10.0, -11.0], log_evidence_std=[0.5, 0.5])


def test_one_mixture_is_its_numbers_of_components():
    """Errors that are shared leave differences, and probabilities, sharp."""
    table = compare(Mixture())
    assert list(table.index) == ["n_components=1", "n_components=2"]
    assert list(table["log_evidence"]) == [-10.0, -11.0]
    assert table["difference_std"].iloc[1] == pytest.approx(0.1)
    width = table["probability_high"] - table["probability_low"]
    p = table["probability"].iloc[0]
    np.testing.assert_allclose(width, 2 * 1.645 * 0.1 * p * (1 - p), rtol=0.05)
    with pytest.raises(ValueError, match="check= is of fitted models"):
        compare(Mixture(), check=(np.zeros((3, 1)),))


def test_other_trials_are_other_data(rng):
    X, trials = rng.standard_normal((40, 2)), rng.integers(5, 12, 40)
    wins = rng.binomial(5, 0.4, 40)
    one, again = (
        BayesianGLM("binomial", columns=c, random_state=0).fit(X, wins, trials=trials) for c in ([0], [])
    )
    other = BayesianGLM("binomial", random_state=0).fit(X, wins, trials=trials + 1)
    assert len(compare([one, again])) == 2
    stream = BayesianGLM("binomial", random_state=0)
    for part in (slice(0, 13), slice(13, 40)):
        stream.partial_fit(X[part], wins[part], trials=trials[part])
    assert stream.data_fingerprint_ == one.data_fingerprint_ == again.data_fingerprint_
    with pytest.raises(ValueError, match="has seen other data"):
        compare([one, other])
