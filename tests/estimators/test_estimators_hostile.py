"""Rows that no one should have: an answer without nan, a warning, or an error in words, never silence."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from estimator_cases import data, estimator
from scipy.stats import multivariate_normal

from sgevidence import BayesianLinearRegression, DivergenceError, EvidenceWarning, ImpossibleRowsError

KINDS = ("linear", "softmax", "glm", "gmm")
#: What an error in words is: the other errors come from the depths of libraries.
WORDS = r"values of|standardise|extreme values|likelihood is zero|no counts have a rate"


def answers(est, X, y):
    """What a fitted estimator says of rows, (n,) or (n, K) each."""
    if y is None:
        return [est.predict_proba(X), est.score_samples(X), est.means_, est.covariances_]
    found = [est.score_samples(X, y), est.score_samples(X), est.coef_, est.coef_std_]
    proba = [est.predict_proba(X)] if hasattr(est, "predict_proba") else est.predict(X, return_std=True)
    return [*found, *proba]


def hostile(rng, X):
    """The same rows, some of them repeated, with columns of other sizes and kinds."""
    X = X[rng.integers(len(X), size=len(X))]
    j = rng.integers(X.shape[1])
    X[:, j] = [
        1e-200 * X[:, j],
        1e-3 * X[:, j],
        1e4 * X[:, j],
        np.zeros(len(X)),
        np.round(X[:, j]),
        X[:, 1 - j],
        X[:, j] > 0,
        np.r_[1e3, X[1:, j]],
    ][rng.integers(8)]
    return X


def form(rng, X):
    """The same numbers in another container."""
    frame = pd.DataFrame(X, columns=["a", "b"])
    forms = [X, X.tolist(), frame, X.astype(object), np.asfortranarray(X), frame.convert_dtypes()]
    return forms[rng.integers(len(forms))]


def weights(rng, n):
    return [None, np.ones(n), rng.integers(0, 3, n), rng.random(n), np.r_[np.zeros(n - 1), 1.0]][
        rng.integers(5)
    ]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_random_rows(kind, seed):
    """No nan, no RuntimeWarning, and of every container the answer of the bare array."""
    rng = np.random.default_rng([seed, len(kind)])
    n = int(rng.choice([3, 6, 20]))
    X, y = data(kind, n=n, seed=seed)
    X, weight = hostile(rng, X), weights(rng, n)
    args = () if y is None else (y,)
    kept = np.ones(n, dtype=bool) if weight is None else weight > 0
    varies = len(np.unique(X[kept] if y is None else y[kept], axis=0)) > 1
    has_units = bool(varies and kept.sum() > 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", EvidenceWarning)
        try:
            est, other = (estimator(kind).set_params(standardize=has_units) for _ in range(2))
            est.fit(X, *args, sample_weight=weight)
            other.fit(form(rng, X), *args, sample_weight=weight)
        except (ImpossibleRowsError, DivergenceError) as error:
            assert re.search(WORDS, str(error))
            return
        found = answers(est, X[kept], y if y is None else y[kept])
    assert est.log_evidence_ == other.log_evidence_
    for array in found:
        assert not np.isnan(array).any()


@pytest.mark.parametrize("scale", [1e-250, 1e-30, 1e30, 1e90])
def test_scales_of_a_column_with_known_noise(scale):
    """A coefficient's prior in the column's unit: the evidence does not change by a digit that counts."""
    X, y = data("linear", n=20)
    exact = multivariate_normal.logpdf(y, np.zeros(20), 0.25 * np.eye(20) + X @ X.T + 1.0)
    est = BayesianLinearRegression(0.5, coef_scale=1 / scale, random_state=0, standardize=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            est.fit(scale * X, y)
        except (ValueError, DivergenceError) as error:
            assert re.search(WORDS, str(error))
            return
    warned = any(issubclass(one.category, EvidenceWarning) for one in caught)
    assert warned or abs(est.log_evidence_ - exact) < 4 * est.log_evidence_std_ + 1e-9


@pytest.mark.parametrize("value", [1e101, 1e155, 1e300])
@pytest.mark.parametrize("kind", KINDS)
def test_values_without_a_square_are_refused(kind, value):
    X, y = data(kind)
    args = () if y is None else (y,)
    fitted, far = estimator(kind).set_params(standardize=False).fit(X, *args), np.array(X)
    far[3, 1] = -value
    message = rf"X has values of {value:.0e}, in row 3 of column 1, whose squares leave".replace("+", r"\+")
    for call in (fitted.fit, fitted.partial_fit, fitted.score_samples):
        with pytest.raises(ValueError, match=message):
            call(far, *args)
    with pytest.raises(ValueError, match=message):
        getattr(fitted, "predict_proba", fitted.predict)(far)
    with pytest.raises(ValueError, match="sample_weight has values of"):
        fitted.fit(X, *args, sample_weight=np.full(len(X), value))
    if kind in ("linear", "glm"):
        with pytest.raises(ValueError, match="y has values of"):
            fitted.fit(X, np.full(len(X), value))


def test_rates_that_overflow():
    """Mean and error are infinite, the expected score is minus infinity, and no count can be drawn."""
    X, y = data("glm")
    est = estimator("glm").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean, std = est.predict(1e4 * X, return_std=True)
        score = est.score_samples(1e4 * X)
    assert not np.isnan([mean, std, score]).any()
    up = mean > 1e300
    assert np.any(up) and np.all(std[up] == np.inf) and np.all(score[up] == -np.inf)
    assert np.any(np.abs(score[mean < 1e-30]) < 1e-10)  # zero for certain
    with pytest.raises(ValueError, match=r"no counts have a rate of e\^"):
        est.sample_y(1e4 * X)
