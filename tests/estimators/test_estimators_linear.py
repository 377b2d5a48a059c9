"""Linear regression against its exact posterior."""

import numpy as np
import pytest
from estimator_cases import data, estimator

from sgevidence import SGAIS, BayesianLinearRegression
from sgevidence.history import Rows
from sgevidence.samplers import Exact

SIGMA = 0.5


@pytest.fixture(scope="module")
def fitted():
    return estimator("linear", n_particles=1000, noise_std=SIGMA, standardize=False).fit(*data("linear"))


@pytest.fixture(scope="module")
def exact():
    """Mean and covariance of (w, b) in closed form."""
    X, y = data("linear")
    Phi = np.column_stack([X, np.ones(len(X))])
    covariance = np.linalg.inv(Phi.T @ Phi / SIGMA**2 + np.eye(3))
    return covariance @ Phi.T @ y / SIGMA**2, covariance


def test_log_evidence_is_the_closed_form(fitted):
    error = fitted.log_evidence_ - fitted._model.exact_log_evidence(Rows.of(*data("linear")))
    assert abs(error) < 4 * fitted.log_evidence_std_ + 1


def test_coefficients_are_the_exact_posterior(fitted, exact):
    mean, covariance = exact
    sd = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(np.r_[fitted.coef_, fitted.intercept_] - mean) < 0.3 * sd)
    np.testing.assert_allclose(fitted.coef_std_, sd[:2], rtol=0.25)
    assert fitted.noise_std_ == SIGMA


def test_predictions_are_the_exact_posterior_predictive(fitted, exact, rng):
    mean, covariance = exact
    X = 3 * rng.standard_normal((20, 2))
    Phi = np.column_stack([X, np.ones(20)])
    width = np.sqrt(np.sum((Phi @ covariance) * Phi, axis=1))
    predicted, std = fitted.predict(X, return_std=True)
    np.testing.assert_array_equal(predicted, fitted.predict(X))
    assert np.all(np.abs(predicted - Phi @ mean) < 0.4 * width)
    np.testing.assert_allclose(std, np.hypot(SIGMA, width), rtol=0.1)


def test_draws_have_the_predicted_moments(fitted):
    X = np.array([[0.0, 0.0], [2.0, -3.0]])
    draws = fitted.sample_y(X, n_samples=2000, random_state=1)
    mean, std = fitted.predict(X, return_std=True)
    assert draws.shape == (2, 2000)
    assert np.all(np.abs(draws.mean(axis=1) - mean) < 5 * std / np.sqrt(2000))
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.1)
    np.testing.assert_array_equal(draws, fitted.sample_y(X, n_samples=2000, random_state=1))
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1"):
        fitted.sample_y(X, n_samples=0)


def test_expected_score_is_the_mean_score_of_draws_where_the_prediction_is_gaussian(fitted):
    X = np.zeros((1, 2))
    draws = fitted.sample_y(X, n_samples=2000, random_state=2)[0]
    scores = fitted.score_samples(np.zeros((2000, 2)), draws)
    assert abs(np.mean(scores) - fitted.score_samples(X)[0]) < 5 * np.std(scores) / np.sqrt(2000) + 0.01


def test_unknown_noise_is_inferred():
    X, y = data("linear", n=300)
    est = BayesianLinearRegression(sampler=SGAIS(n_particles=200), random_state=0, standardize=False).fit(
        X, y
    )
    assert est.noise_std_ == pytest.approx(0.5, rel=0.15)
    assert est.score(X, y) > 0.9


def test_without_intercept():
    X, y = data("linear")
    est = estimator("linear", fit_intercept=False).fit(X, y)
    assert est.intercept_ == 0.0
    assert set(est.posterior_samples()) == {"coef", "noise_std"}
    np.testing.assert_allclose(est.predict(np.zeros((3, 2))), 0.0)
    np.testing.assert_allclose(est.predict(X), X @ est.coef_)


def test_whole_numbers_are_targets_too():
    X, y = data("linear")
    whole = np.round(3 * y).astype(int)
    est = estimator("linear").partial_fit(X[:50], whole[:50]).partial_fit(X[50:], y[50:])
    other = estimator("linear").partial_fit(X[:50], whole[:50].astype(float)).partial_fit(X[50:], y[50:])
    assert est.log_evidence_ == other.log_evidence_


def test_columns_far_from_the_origin_do_not_diverge(rng):
    X = 1e4 + np.array([1.0, 1e3]) * rng.standard_normal((100, 2))
    est = estimator("linear").fit(X, rng.standard_normal(100))
    assert np.isfinite(est.log_evidence_)
    assert np.all(np.isfinite(est.predict(X)))


def test_the_noise_is_said_once(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    for given in (
        dict(noise_std=1.0, noise_scale=1.0),
        dict(noise_std=1.0, noise_prior=(1.0, 1.0)),
        dict(noise_prior=(1.0, 1.0), noise_scale=2.0),
    ):
        with pytest.raises(ValueError, match="only one of noise_std, noise_prior, noise_scale"):
            BayesianLinearRegression(**given, standardize=False).fit(X, y)
    wide, narrow = (
        BayesianLinearRegression(noise_scale=s, standardize=False).fit(X, y).log_evidence_
        for s in (100.0, 1.0)
    )
    assert narrow - wide == pytest.approx(np.log(100), abs=0.5)  # a density that is a hundredth as high


def test_a_fit_is_exact_and_fast(rng):
    """Independent draws, no error bar, and no likelihood of particles."""
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    for noise_std in (None, 1.0):
        model = BayesianLinearRegression(noise_std, random_state=0, standardize=False).fit(X, y)
        exact = BayesianLinearRegression(noise_std, sampler=Exact(), random_state=0, standardize=False).fit(
            X, y
        )
        assert model.log_evidence_ == exact.log_evidence_ and model.log_evidence_std_ == 0.0
        np.testing.assert_allclose(model.coef_, exact.coef_, atol=0.01)
        assert model.evidence_path_["n_likelihoods"].sum() == 0.0
