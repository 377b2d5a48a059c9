"""A user's own model is a full citizen."""

import warnings

import autograd.numpy as anp
import numpy as np
import pytest
from estimator_cases import data, estimator, same_fit, slope_log_likelihood, slope_model
from scipy.special import logsumexp
from scipy.stats import chi2

from sgevidence import SGAIS, BayesianModel, EvidenceWarning
from sgevidence.custom import CustomModel
from sgevidence.transitions import HMC


def test_the_linear_model_in_three_functions_is_the_built_in_one():
    X, y = data("linear")

    def log_likelihood(theta, X, y):
        return -0.5 * (y - anp.dot(theta, X.T)) ** 2 - 0.5 * np.log(2 * np.pi)

    custom = BayesianModel(
        log_likelihood,
        **normal_prior(2),
        # without what a model of one mode has not: a search for others, and a test of the annealed answer
        sampler=SGAIS(n_particles=30, max_particles=30, mode_search=None, proposal=None),
        random_state=0,
    ).fit(X, y)
    by_trajectories = SGAIS(n_particles=30, max_particles=30, move=HMC(conditional=False), proposal=None)
    built_in = estimator(
        "linear", noise_std=1.0, fit_intercept=False, sampler=by_trajectories, standardize=False
    ).fit(X, y)
    assert custom.log_evidence_ == pytest.approx(built_in.log_evidence_, rel=1e-6)
    assert custom.data_fingerprint_ == built_in.data_fingerprint_
    np.testing.assert_allclose(custom.score_samples(X, y), built_in.score_samples(X, y), rtol=1e-5)


def test_score_is_the_mean_of_score_samples():
    X, y = data("custom")
    est = slope_model().fit(X, y)
    assert est.score(X, y) == pytest.approx(np.mean(est.score_samples(X, y)))


def test_a_density_needs_no_y():
    def log_likelihood(theta, X, y):
        assert y is None
        return -0.5 * (X[:, 0] - theta) ** 2 - 0.5 * np.log(2 * np.pi)

    X = np.arange(5.0)[:, None] - 2
    est = slope_model(log_likelihood, sampler=SGAIS(n_particles=500)).partial_fit(X)
    # x ~ N(0, 1 + 11ᵀ)
    exact = -0.5 * (5 * np.log(2 * np.pi) + np.log(6) + np.sum(X**2) - np.sum(X) ** 2 / 6)
    assert abs(est.log_evidence_ - exact) < 4 * est.log_evidence_std_ + 0.5
    assert est.score_samples(X).shape == (5,)


def test_it_simulates_if_it_was_told_how():
    X, y = data("custom")
    est = slope_model(sample_rows=lambda theta, X, rng: theta[:, 0] * X[:, 0] + rng.standard_normal(len(X)))
    draws = est.fit(X, y).sample_y(np.full((2, 2), 3.0), n_samples=2000, random_state=0)
    theta = est.particle_weights_ @ est.particles_[:, 0]
    assert np.all(np.abs(draws.mean(axis=1) - 3 * theta) < 5 * draws.std() / np.sqrt(2000))
    with pytest.raises(ValueError, match="cannot simulate"):
        slope_model().fit(X, y).sample_y(X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_at_draws_from_the_prior_is_refused_before_anything_has_changed(value):
    X, y = data("custom")

    def sometimes(theta, X, y):
        return anp.where(theta > 1, value, slope_log_likelihood(theta, X, y))

    est = slope_model(sometimes)
    for method in (est.fit, est.partial_fit):
        with pytest.raises(ValueError, match=f"log_likelihood is {value} at .* draws .* at rows"):
            method(X, y)
    assert not hasattr(est, "log_evidence_")


def forgotten_jacobian():
    """A rate θ = log λ with λ ~ Gamma(2, 1)."""
    return BayesianModel(
        lambda theta, X, y: theta * X[:, 0] - anp.exp(theta),
        sample_prior=lambda rng, size: np.log(rng.gamma(2.0, size=(size, 1))),
        log_prior=lambda theta: theta[:, 0] - anp.exp(theta[:, 0]),
        sampler=SGAIS(n_particles=30, max_particles=30),
        random_state=0,
    )


def test_a_prior_that_is_not_its_sampler_s_density_is_warned_of_where_the_user_called():
    X = np.ones((3, 1))
    with pytest.warns(EvidenceWarning, match="log_prior does not seem .* a forgotten Jacobian") as caught:
        est = forgotten_jacobian().partial_fit(X)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", EvidenceWarning)
        est.partial_fit(X)  # once a fit


def test_the_trial_of_the_functions_uses_no_random_number_of_the_sampler(monkeypatch):
    X, y = data("custom")
    tried = slope_model(random_state=np.random.RandomState(3)).fit(X, y)
    monkeypatch.setattr(CustomModel, "check", lambda *a: None)
    same_fit(tried, slope_model(random_state=np.random.RandomState(3)).fit(X, y))


def test_a_likelihood_that_writes_does_not_reach_the_caller_s_rows():
    X, y = data("custom")
    before = X.copy()

    def writes(theta, X, y):
        X -= 1.0
        return slope_log_likelihood(theta, X, y)

    with pytest.raises(ValueError, match="log_likelihood writes into an array that it is given"):
        slope_model(writes).fit(X, y)
    np.testing.assert_array_equal(X, before)


def normal_prior(d):
    return dict(
        sample_prior=lambda rng, size: rng.standard_normal((size, d)),
        log_prior=lambda theta: anp.sum(-0.5 * theta**2 - 0.5 * np.log(2 * np.pi), axis=1),
    )


def check_ridge(rng):
    """y ~ N(|θ|², 1): the posterior is a sphere, along which it has hardly any curvature."""
    y = rng.chisquare(6) + rng.standard_normal(200)

    def log_likelihood(theta, X, y):
        return -0.5 * (y - anp.sum(theta**2, axis=1)[:, None]) ** 2 - 0.5 * np.log(2 * np.pi)

    u = np.linspace(max(y.mean() - 1, 1e-6), y.mean() + 1, 20_001)  # u = |θ|² ~ χ²₆
    value = (
        chi2.logpdf(u, 6) - 0.5 * (np.sum(y**2) - 2 * u * np.sum(y) + 200 * u**2) - 100 * np.log(2 * np.pi)
    )
    exact = logsumexp(value) + np.log(u[1] - u[0])
    model = BayesianModel(log_likelihood, **normal_prior(6), random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the log evidence is uncertain by")
        warnings.filterwarnings("ignore", "the posterior is far from Gaussian")  # which no density confirms
        model.fit(np.zeros((200, 1)), y)
    assert abs(model.log_evidence_ - exact) < 4 * model.log_evidence_std_


@pytest.mark.slow
def test_a_connected_ridge_is_no_missed_mode(rng):
    for _ in range(12):  # a look that takes the ridge for a mode of its own warns in one of them
        check_ridge(rng)


def test_a_likelihood_that_jumps_and_is_flat_elsewhere_gives_no_warning_of_autograd(rng):
    model = BayesianModel(
        lambda theta, X, y: anp.where(theta > 0, 1.0, 0.0) + np.zeros((1, len(X))),
        **normal_prior(1),
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(np.zeros((1, 1)))
    assert abs(model.log_evidence_ - np.log(0.5 + 0.5 * np.e)) < 4 * model.log_evidence_std_


def cholesky(limit):
    """log |A(θ)| is as much as nothing, but A is positive definite only for |θ| < limit."""

    def log_likelihood(theta, X, y):
        c, one = theta[:, 0] / limit, anp.ones(len(theta))
        L = anp.linalg.cholesky(anp.transpose(anp.array([[one, c], [c, one]]), (2, 0, 1)))
        return slope_log_likelihood(theta, X, y) + 1e-9 * anp.log(L[:, 1, 1])[:, None]

    return log_likelihood


def test_an_extreme_theta_at_which_a_factorisation_fails_costs_nothing():
    X, y = data("custom")
    right = slope_model().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = slope_model(cholesky(3.3)).fit(X, y)
    assert found.diagnostics_["n_failed"] > 0 == right.diagnostics_["n_failed"]
    errors = np.hypot(found.log_evidence_std_, right.log_evidence_std_)
    assert abs(found.log_evidence_ - right.log_evidence_) < 4 * errors


def test_functions_that_fail_often_or_at_all_theta_are_named():
    X, y = data("custom")
    with pytest.warns(EvidenceWarning, match=r"failed at \d+% of all θ.*LinAlgError") as caught:
        found = slope_model(
            cholesky(1.5), sampler=SGAIS(n_particles=30, max_particles=30, mode_search=None, proposal=None)
        ).fit(X, y)
    assert caught[0].filename == __file__ and "failed at" in found.warnings_[0]

    def fails_at_a_row(theta, X, y):
        if np.any(X > 1e5):
            raise np.linalg.LinAlgError("Singular matrix")
        return slope_log_likelihood(theta, X, y)

    model = slope_model(
        fails_at_a_row, sampler=SGAIS(n_particles=30, max_particles=30, mode_search=None, proposal=None)
    ).partial_fit(X, y)
    before = model.log_evidence_
    with pytest.raises(ValueError, match=r"log_likelihood failed with LinAlgError \(Singular matrix\) at θ"):
        model.partial_fit(np.full((3, X.shape[1]), 1e6), np.zeros(3))
    assert model.log_evidence_ == before
