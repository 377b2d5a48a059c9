"""Prior and data that contradict each other are said; ordinary data are not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from estimator_cases import slope_model
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.preprocessing import scale

from sgevidence import (
    BayesianAutoregression,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceFeatureSelector,
    EvidenceWarning,
)
from sgevidence.estimators import _prior_conflict
from sgevidence.history import Rows
from sgevidence.mixture.estimators import _gmm as of_mixtures
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import GLMModel, LinearModel, SoftmaxModel
from sgevidence.samplers import Exact, Laplace

EXACT, LAPLACE = Exact(100), Laplace()


def linear(**params):
    return BayesianLinearRegression(**{"sampler": EXACT, "random_state": 0, "standardize": False} | params)


def softmax(**params):
    return BayesianSoftmaxRegression(**{"sampler": LAPLACE, "random_state": 0, "standardize": False} | params)


def glm(**params):
    return BayesianGLM(**{"sampler": LAPLACE, "random_state": 0, "standardize": False} | params)


def gmm(**params):
    return BayesianGMM(**{"sampler": EXACT, "random_state": 0, "standardize": False} | params)


def fitted(est, X, y=None):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        return est.fit(X, y)


def conflicts(est):
    return [words for words in est.warnings_ if words.startswith(_prior_conflict.CONFLICT)]


def rows(n=200, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X @ rng.standard_normal(p) + 0.5 * rng.standard_normal(n), rng


def contradictory():
    """Estimator, X, y, and a word of the warning."""
    X, y, rng = rows()
    classes = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    counts = rng.poisson(np.exp(X[:, 0] * 0.3 + 8))
    wine = load_wine().data
    slow = slope_model(sampler=LAPLACE)
    return {
        "diabetes": (linear(), *load_diabetes(return_X_y=True), "coef_scale"),
        "y is far": (linear(), X, y + 50, "intercept"),
        "y is large": (linear(), X, 300 * y, "coef_scale"),
        "y is large, no columns": (linear(columns=[]), X, 3000 * y, "noise_scale"),
        "columns are tiny": (linear(), X / 1000, y, "coef_scale"),
        "columns are huge": (linear(), X * 1000, y, "lower coef_scale"),
        "the noise is small": (linear(noise_prior=(1.0, 1.0)), X, X @ np.ones(3), "noise_prior"),
        "tiny columns of classes": (softmax(), X / 1000, classes, "coef_scale"),
        "huge columns of classes": (softmax(), X * 1000, classes, "coef_scale"),
        "large counts": (glm(), X, counts, "intercept_scale"),
        "means of a mixture": (gmm(), wine[:, :3], None, "centre X"),
        "iris in centimetres": (gmm(), load_iris().data, None, "centre X"),
        "variances of a mixture": (gmm(), 100 * scale(wine), None, "scale X"),
        "tiny variances": (gmm(), scale(wine) / 100, None, "scale X"),
        "a model of one's own": (slow, X, 40 * X[:, 0], "theta[:, 0]"),
    }


@pytest.mark.parametrize("name", contradictory())
def test_contradictions_are_said(name):
    est, X, y, word = contradictory()[name]
    with pytest.warns(EvidenceWarning, match="contradict each other"):
        est.fit(X, y)
    (words,) = conflicts(est)
    assert word in words
    assert ("standardize=True" in words) == (name != "a model of one's own")


@pytest.mark.parametrize("name", ["diabetes", "y is far", "columns are huge", "means of a mixture"])
def test_standardize_answers_them(name):
    est, X, y, _ = contradictory()[name]
    assert not conflicts(fitted(est.set_params(standardize=True), X, y))


def ordinary():
    """Real data, standardised."""
    X, y = load_diabetes(return_X_y=True)
    yield linear(), scale(X), scale(y)
    yield linear(standardize=True), X, y
    for load in (load_iris, load_wine, load_breast_cancer):
        X, y = load(return_X_y=True)
        yield gmm(), scale(X), None
        yield linear(), scale(X[:, 1:]), scale(X[:, 0])
        if X.shape[1] < 20:
            yield softmax(), scale(X), y
            yield softmax(), scale(X)[:, :1], y
    X = rows()[0]
    yield slope_model(sampler=LAPLACE), X, X[:, 0]


def test_ordinary_data_are_not_said():
    assert not [(est, words) for est, X, y in ordinary() for words in conflicts(fitted(est, X, y))]


def test_false_alarms_are_few():
    """At parameters of the prior themselves, which are farther out than posterior means: 480 models."""
    rng, alarms, n = np.random.default_rng(20261126), 0, 0
    X = rng.standard_normal((100, 4))
    for _ in range(60):
        for model in (
            LinearModel(4),
            LinearModel(4, noise_prior=(1.0, 1.0)),
            SoftmaxModel(4, 3),
            GLMModel(4),
            MixtureModel(1, 4),
            MixtureModel(3, 4),
            MixtureModel(6, 10),
            LinearModel(1, noise_scale=0.3),
        ):
            theta = model.sample_prior(rng, 1)
            draws = Rows.of(X[:, :1] if model.n_params == 3 else X, 3 * X[:, 0])
            if isinstance(model, MixtureModel):
                found = of_mixtures.mixture_conflict(model, theta, np.ones(1), False)
            else:
                found = _prior_conflict.prior_conflict(model, theta, np.ones(1), draws, False)
            alarms += found is not None
            n += 1
    assert alarms <= 0.01 * n


def test_a_small_noise_does_not_contradict_a_density_that_is_flat_there():
    X, _, _ = rows()
    assert not conflicts(
        fitted(linear(), X, X[:, 0] + 1e-6 * np.random.default_rng(0).standard_normal(len(X)))
    )


def test_a_rare_indicator_and_many_columns_are_ordinary():
    _, y, _ = rows(400, 1)
    assert not conflicts(fitted(linear(), (np.arange(400.0) % 400 == 0)[:, None], scale(y)))
    wide = Rows.of(np.random.default_rng(0).standard_normal((50, 500)), scale(y[:50]))
    theta = np.zeros((1, 502))
    assert _prior_conflict.prior_conflict(LinearModel(500), theta, np.ones(1), wide, False) is None


def test_a_stream_says_it_once():
    X, y, _ = rows()
    est = BayesianLinearRegression(random_state=0, standardize=False)
    with pytest.warns(EvidenceWarning, match="contradict"):
        est.partial_fit(X, y + 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est.partial_fit(X, y + 50)
    assert len(conflicts(est)) == 1
    with pytest.warns(EvidenceWarning, match="contradict"):
        est.fit(X, y + 50)


def test_the_selector_says_it():
    X, y, _ = rows()
    with pytest.warns(EvidenceWarning, match="standardize=True"):
        assert EvidenceFeatureSelector(standardize=False).fit(X, y + 50).warnings_
    assert not EvidenceFeatureSelector(standardize=True).fit(X, y + 50).warnings_


def plane(n, p, seed, tiny=0.0):
    rng = np.random.default_rng([n, p, seed])
    X = rng.standard_normal((n, p))
    return X, X @ rng.standard_normal(p) + 0.3 + tiny * rng.standard_normal(n)


@pytest.mark.parametrize(
    "estimator, seed",
    [
        *((linear(standardize=units), seed) for units in (False, True) for seed in range(2)),
        pytest.param(BayesianGLM(family="gaussian", standardize=False), 1, marks=pytest.mark.slow),
    ],
)
def test_rows_on_a_plane_have_the_evidence_of_rounding(estimator, seed):
    """From y = Xw + b without noise the answers of two samplers differ by hundreds of nats."""
    said = conflicts(fitted(estimator.set_params(random_state=seed), *plane(40, 3, seed)))
    assert len(said) == 1 and "linear function" in said[0]
    assert not conflicts(fitted(estimator, *plane(40, 3, seed, tiny=1e-8)))


def test_rows_that_repeat_exactly_and_a_y_of_zero():
    X, y, _ = rows(3, 4)
    said = conflicts(linear().fit(X, y, sample_weight=[50, 1, 1]))
    assert "linear function" in said[0]
    assert "linear function" in conflicts(fitted(linear(), rows()[0], np.zeros(200)))[0]
    assert not conflicts(fitted(linear(noise_std=0.1), *plane(40, 3, 0)))


@pytest.mark.parametrize("kind", ["regression", "classes", "formula", "columns", "lags", "subsets"])
def test_warnings_name_the_column(kind, rng):
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["age", "wage", "rent"])
    y = 12 * frame["wage"] + rng.normal(size=80)
    words, est = {
        "regression": ("the coefficient of 'wage' is", linear()),
        "classes": ("column 'wage' moves", softmax()),
        "formula": ("the coefficient of 'wage' is", linear(formula="~ age + wage + rent")),
        "columns": ("the coefficient of 'wage' is", linear(columns=["rent", "wage"])),
        "lags": ("column 'wage' moves", BayesianAutoregression(1, standardize=False)),
        "subsets": ("the coefficient of 'wage' is", EvidenceFeatureSelector(standardize=False)),
    }[kind]
    if "moves" in words:
        frame["wage"], y = 1000 * frame["wage"], pd.Series(rng.normal(size=80))
    y = np.where(y > 0, "b", "a") if kind == "classes" else y
    with pytest.warns(EvidenceWarning, match=words):
        est.fit(frame, y)
        getattr(est, "inclusion_probabilities_", None)
