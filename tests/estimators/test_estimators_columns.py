"""``columns=``: a model of some columns is that of a smaller X, and a model of none is the null model."""

import pickle

import numpy as np
import pandas as pd
import pytest
from estimator_cases import data, estimator, first_call, same_fit
from one_integral import log_integral
from scipy.stats import multivariate_normal, norm, poisson
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceModelAverager,
    FullData,
    compare,
    evidence_scorers,
    to_arviz,
)
from sgevidence.displays import CoefficientsDisplay
from sgevidence.samplers import Exact

REGRESSIONS = ("linear", "softmax", "glm")
NAMES = ["age", "height", "bmi", "dose"]
#: The same two columns, in one order, by every way of saying so.
WAYS = [[2, 0], (-2, -4), np.array([2, 0]), ["bmi", "age"], pd.Index(["bmi", "age"])]


def wide(kind):
    """X (n, 4), whose columns 0 and 2 are those of the case, and y."""
    X, y = data(kind)
    noise = np.random.default_rng(7).standard_normal((len(X), 2))
    return np.column_stack([X[:, 1], noise[:, 0], X[:, 0], noise[:, 1]]), y


@pytest.mark.parametrize(
    "kind, columns", [("linear", way) for way in WAYS] + [(kind, WAYS[-2]) for kind in REGRESSIONS[1:]]
)
def test_some_columns_are_a_smaller_X(kind, columns):
    (X, y), (small, _) = wide(kind), data(kind)
    X = pd.DataFrame(X, columns=NAMES)
    one, other = estimator(kind, columns=columns), estimator(kind)
    same_fit(one.fit(X, y), other.fit(small, y))
    for part in (slice(0, 40), slice(40, 90)):
        first = first_call(kind) if part.start else {}
        one.partial_fit(X[part], y[part], **first)
        other.partial_fit(small[part], y[part], **first)
    one = pickle.loads(pickle.dumps(one))
    same_fit(one, other)
    for method in ("predict", "score_samples", "predict_proba", "decision_function", "sample_y"):
        if hasattr(one, method):
            np.testing.assert_array_equal(getattr(one, method)(X), getattr(other, method)(small))
    for method in ("score", "score_samples", "log_predictive"):
        np.testing.assert_array_equal(getattr(one, method)(X, y), getattr(other, method)(small, y))
    assert one.coef_.shape == other.coef_.shape and one.n_features_in_ == 4
    np.testing.assert_array_equal(one.columns_, [2, 0])
    labels = [text.get_text() for text in CoefficientsDisplay.from_estimator(one).ax_.get_yticklabels()]
    assert labels == ["bmi", "age"]
    assert to_arviz(one)["posterior"]["feature"].values.tolist() == ["bmi", "age"]


@pytest.mark.parametrize("kind", REGRESSIONS)
def test_a_mask_keeps_the_order_of_X(kind):
    X, y = wide(kind)
    same_fit(
        estimator(kind, columns=[True, False, True, False]).fit(X, y), estimator(kind).fit(X[:, [0, 2]], y)
    )


def null_linear(y):
    n = len(y)
    return multivariate_normal.logpdf(y, np.zeros(n), 0.25 * np.eye(n) + 1.0)


def null_poisson(y):
    return log_integral(lambda b: poisson.logpmf(y, np.exp(b)).sum() + norm.logpdf(b))


def null_two_classes(y):
    """Only b₁ − b₀ ~ N(0, 2) is seen."""
    sign = 2.0 * y - 1
    return log_integral(lambda b: -np.logaddexp(0, -sign * b).sum() + norm.logpdf(b, scale=np.sqrt(2)))


@pytest.mark.parametrize("columns", [[], np.array([], dtype=int), [False] * 4], ids=repr)
@pytest.mark.parametrize("seed", [3, 4])
def test_the_null_model_log_integral(columns, seed):
    rng = np.random.default_rng(seed)
    X, sampler = rng.standard_normal((60, 4)), SGAIS(n_particles=1000)
    for est, y, exact in [
        (BayesianLinearRegression(0.5, standardize=False), 0.7 + 0.5 * rng.standard_normal(60), null_linear),
        (BayesianGLM(standardize=False), rng.poisson(2.0, 60), null_poisson),
        (BayesianSoftmaxRegression(standardize=False), (rng.random(60) < 0.3).astype(int), null_two_classes),
    ]:
        est.set_params(columns=columns, sampler=sampler, random_state=seed).fit(X, y)
        assert abs(est.log_evidence_ - exact(y)) < 4 * est.log_evidence_std_ + 1e-6, est
        assert est.log_evidence_std_ < 0.1
        assert est.coef_.shape[-1] == 0 and est.predict(X).shape == (60,) and len(set(est.predict(X))) == 1
        with pytest.raises(ValueError, match=r"0 feature\(s\)"):
            est.fit(X[:, :0], y)
        with pytest.raises(ValueError, match=r"3 features"):
            est.predict(X[:, :3])
        if not hasattr(est, "noise_std"):
            with pytest.raises(ValueError, match="has no parameters"):
                est.set_params(fit_intercept=False).fit(X, y)


def candidates_of(y, X):
    known = BayesianLinearRegression(0.5, sampler=Exact(), standardize=False)
    return {str(c): known.set_params(columns=c).fit(X, y).log_evidence_ for c in ([], ["x0"], ["x0", "x1"])}


def test_candidates_that_differ_in_their_columns_need_no_pipelines():
    X, y = data("linear")
    X = pd.DataFrame(X, columns=["x0", "x1"])
    alone = candidates_of(y, X)
    columns = [[], ["x0"], ["x0", "x1"]]
    models = [
        (f"m{k}", BayesianLinearRegression(0.5, columns=c, sampler=Exact(), standardize=False))
        for k, c in enumerate(columns)
    ]
    averager = EvidenceModelAverager(models).fit(X, y)
    np.testing.assert_array_equal(averager.log_evidences_, list(alone.values()))
    mean = averager.weights_ @ [model.predict(X) for model in averager.estimators_]
    np.testing.assert_allclose(averager.predict(X), mean)
    table = compare(averager.estimators_)
    assert sorted(table.index) == sorted(f"BayesianLinearRegression(columns={c})" for c in columns)
    search = GridSearchCV(
        make_pipeline(StandardScaler(with_std=False).set_output(transform="pandas"), models[0][1]),
        {"bayesianlinearregression__columns": columns},
        scoring=evidence_scorers,
        refit="log_evidence",
        cv=FullData(),
    ).fit(X, y)
    assert len(compare(search)) == 3 and search.best_estimator_[-1].columns == ["x0", "x1"]


def test_columns_do_not_change_in_mid_stream():
    X, y = wide("linear")
    est = estimator("linear", columns=[0]).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"columns was \(0,\), is \(1,\)"):
        est.set_params(columns=[1]).partial_fit(X, y)


@pytest.mark.parametrize(
    "columns, message",
    [
        (["age"], "are names, but the columns of X have none"),
        ([0, 0], "the same column twice"),
        ([0, -4], "the same column twice"),
        ([4], "do not fit X, which has 4 columns"),
        ([True, False], "do not fit X, which has 4 columns"),
        ([0.0], "must be None or a list of names or indices"),
        ([[0], [1]], "must be None or a list of names or indices"),
        ("age", "'columns' parameter"),
        (2, "'columns' parameter"),
    ],
)
def test_bad_columns(columns, message):
    X, y = wide("linear")
    with pytest.raises(ValueError, match=message):
        estimator("linear", columns=columns).fit(X, y)


def test_an_unknown_name():
    X, y = wide("linear")
    with pytest.raises(ValueError, match=r"X has no columns \['weight'\]: its columns are \['age', "):
        estimator("linear", columns=["weight", "age"]).fit(pd.DataFrame(X, columns=NAMES), y)


@pytest.mark.parametrize("kind", REGRESSIONS)
def test_numbers_from_numpy_are_parameters_and_results_are_floats(kind):
    X, y = data(kind)
    for flag in (True, False):
        est = estimator(kind, fit_intercept=np.bool_(flag)).fit(X, y)
        same_fit(est, estimator(kind, fit_intercept=flag).fit(X, y))
        if kind != "softmax":
            assert type(est.intercept_) is float
    search = GridSearchCV(estimator(kind), {"fit_intercept": np.array([True, False])}, cv=2).fit(X, y)
    assert isinstance(search.best_params_["fit_intercept"], np.bool_)
