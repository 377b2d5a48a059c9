"""Generalised linear models: normalised families, evidence by quadrature and importance sampling, draws."""

import autograd.numpy as anp
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import logsumexp

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.models import Family, GLMModel, Model, Poisson, value_and_grad

SHAPES = {
    "intercept": GLMModel(2, coef_scale=0.5, intercept_scale=2.0),
    "offset": GLMModel(2, fit_intercept=False, has_offset=True),
    "both": GLMModel(2, has_offset=True),
    "neither": GLMModel(2, fit_intercept=False),
    "offset and intercept alone": GLMModel(0, has_offset=True),
}
every_shape = pytest.mark.parametrize("model", SHAPES.values(), ids=SHAPES)


def counts(model, n=150, seed=0):
    """Rows simulated from a draw of the prior, by NumPy alone."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, model.n_features + model.has_offset))
    w = 0.5 * rng.standard_normal(model.n_params)
    eta = X[:, : model.n_features] @ w[: model.n_features]
    eta += w[-1] * model.fit_intercept + (X[:, -1] if model.has_offset else 0.0)
    return Rows.of(X, rng.poisson(np.exp(eta)).astype(float), rng.gamma(2.0, size=n))


def poisson_by_hand(model, theta, rows):
    """log p(y_r | θ_m) by scipy, (M, n)."""
    p = model.n_features
    eta = theta[:, :p] @ rows.X[:, :p].T
    eta += theta[:, -1:] if model.fit_intercept else 0.0
    return stats.poisson(np.exp(eta + (rows.X[:, p] if model.has_offset else 0.0))).logpmf(rows.y)


@every_shape
def test_likelihood_is_the_poisson_mass(model):
    rows, theta = counts(model), model.sample_prior(np.random.default_rng(1), 5)
    by_hand = poisson_by_hand(model, theta, rows)
    np.testing.assert_allclose(model.log_likelihood(theta, rows), by_hand, rtol=1e-9)
    np.testing.assert_allclose(model.sum_log_likelihood(theta, rows), by_hand @ rows.weight, rtol=1e-10)


@every_shape
def test_fused_equals_plain_autograd(model):
    rows, theta = counts(model), model.sample_prior(np.random.default_rng(2), 4)
    plain = value_and_grad(
        lambda t: Model._block_log_likelihood(model, t, rows, None) + model.log_prior(t), theta
    )
    for fused, expected in zip(model.value_and_grad_log_joint(theta, rows), plain):
        np.testing.assert_allclose(fused, expected, rtol=1e-9)
    g = np.array([1.0, -2.0, 0.5, 3.0])  # each particle's own cotangent
    weighted = value_and_grad(lambda t: g * model._block_log_likelihood(t, rows, []), theta)[1]
    unweighted = value_and_grad(lambda t: model._block_log_likelihood(t, rows, []), theta)[1]
    np.testing.assert_allclose(weighted, g[:, None] * unweighted, rtol=1e-12)


def check_entropy():
    """By summation over all counts that matter, as near as the docstring says."""
    for mean in [0.1, 5.0, 11.9, 12.001, 12.5, 15.0, 40.0, 300.0]:
        y = np.arange(mean + 40 * np.sqrt(mean) + 60)
        log_p = stats.poisson.logpmf(y, mean)
        expected = -np.sum(np.exp(log_p) * log_p)
        assert abs(Poisson().entropy(np.log(mean)) - expected) < 1e-5


def test_the_entropy_of_a_count():
    check_entropy()


def test_hessian_is_the_fisher_information_of_the_log_link():
    model, theta = SHAPES["both"], np.array([0.3, -0.2, 0.1])
    rows = counts(model)
    Phi = np.column_stack([rows.X[:, :2], np.ones(len(rows))])
    mean = np.exp(Phi @ theta + rows.X[:, 2])
    H = model.derivatives(theta, rows)[2]
    np.testing.assert_allclose(H, -(Phi.T * (rows.weight * mean)) @ Phi, rtol=1e-6)


def test_family_is_normalised_with_the_stated_mean():
    eta = np.array([[-3.0], [0.0], [2.5]])
    y = np.arange(200.0)
    p = np.exp(Poisson().log_density(eta, y))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-10)
    np.testing.assert_allclose(p @ y, Poisson().mean(eta)[:, 0], rtol=1e-10)


def test_an_offset_is_an_exposure():
    """Ten times the time at a tenth of the rate."""
    model, w = GLMModel(1, has_offset=True), np.array([[0.4, -0.3]])
    y, X = np.array([3.0, 0.0]), np.array([[1.0, np.log(10.0)], [2.0, np.log(10.0)]])
    shifted = np.array([[0.4, -0.3 + np.log(10.0)]])
    expected = GLMModel(1).log_likelihood(shifted, Rows.of(X[:, :1], y))
    np.testing.assert_allclose(model.log_likelihood(w, Rows.of(X, y)), expected)


@pytest.mark.parametrize("scale", [0.7, 3.0])
def test_evidence_of_one_coefficient_by_quadrature(scale):
    """SGAIS on the model against quad on scipy's densities."""
    model = GLMModel(1, fit_intercept=False, coef_scale=scale, has_offset=True)
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(-1, 1, 40), np.log(rng.uniform(1, 5, 40))])
    rows = Rows.of(X, rng.poisson(np.exp(0.8 * X[:, 0] + X[:, 1])).astype(float))

    def log_joint(w):
        return poisson_by_hand(model, np.array([[w]]), rows).sum() + stats.norm.logpdf(w, scale=scale)

    top = log_joint(0.8)
    exact = top + np.log(quad(lambda w: np.exp(log_joint(w) - top), -4, 5, points=[0.8], epsabs=1e-10)[0])
    results = [SGAIS().run(model, rows, np.random.default_rng(seed)) for seed in range(3)]
    error = np.mean([r.log_evidence for r in results]) - exact
    assert abs(error) < 4 * np.mean([r.log_evidence_std for r in results]) / np.sqrt(3)
    assert np.mean([r.log_evidence_std for r in results]) < 0.15


def test_evidence_of_five_coefficients_by_importance_sampling():
    """A Student t at the mode, from scipy's densities and optimiser, against SGAIS."""
    model = GLMModel(4)
    rng = np.random.default_rng(4)
    X = rng.standard_normal((100, 4))
    rows = Rows.of(X, rng.poisson(np.exp(X @ [0.3, -0.5, 0.0, 0.2] + 0.7)).astype(float))

    def log_joint(theta):
        return poisson_by_hand(model, theta, rows).sum(axis=1) + stats.norm.logpdf(theta).sum(axis=1)

    mode = minimize(lambda t: -log_joint(t[None])[0], np.zeros(5)).x
    Phi = np.column_stack([X, np.ones(100)])
    cov = np.linalg.inv((Phi.T * np.exp(Phi @ mode)) @ Phi + np.eye(5))
    q = stats.multivariate_t(mode, cov, df=8)
    theta = q.rvs(20_000, random_state=rng)
    log_w = log_joint(theta) - q.logpdf(theta)
    exact = logsumexp(log_w) - np.log(len(log_w))
    se = np.std(np.exp(log_w - exact)) / np.sqrt(len(log_w))
    assert se < 0.02
    result = SGAIS().run(model, rows, np.random.default_rng(5))
    assert abs(result.log_evidence - exact) < 4 * np.hypot(result.log_evidence_std, se)


def test_simulated_rows_have_the_stated_law():
    model, n = SHAPES["both"], 20_000
    rng = np.random.default_rng(6)
    theta, x = np.array([0.4, -0.3, 0.2]), np.array([1.0, 0.5, 0.7])
    y = model.sample_rows(theta, np.tile(x, (n, 1)), rng)
    law = stats.poisson(np.exp(0.4 - 0.15 + 0.2 + 0.7))
    observed = np.bincount(np.minimum(y, 9), minlength=10)
    assert stats.chisquare(observed, n * np.r_[law.pmf(np.arange(9)), law.sf(8)]).pvalue > 1e-4
    cloud = rng.standard_normal((n, 3))  # one θ a row
    y = model.sample_rows(cloud, np.tile(x, (n, 1)), rng)
    means = np.exp(cloud @ [1.0, 0.5, 1.0] + 0.7)
    z = (y - means) / np.sqrt(means)
    assert abs(z.mean()) < 5 / np.sqrt(n) and abs(np.mean(z**2) - 1) < 5 * np.std(z**2) / np.sqrt(n)


def test_predictions_are_averaged_over_the_cloud():
    model, rng = SHAPES["both"], np.random.default_rng(7)
    theta, W, X = model.sample_prior(rng, 6), rng.dirichlet(np.ones(6)), rng.standard_normal((4, 3))
    expected = sum(w * np.exp(X[:, :2] @ t[:2] + t[2] + X[:, 2]) for w, t in zip(W, theta))
    np.testing.assert_allclose(model.predictive_mean(theta, W, X), expected)
    named = model.parameters(theta)
    assert named["coef"].shape == (6, 2) and named["intercept"].shape == (6,)
    assert set(SHAPES["neither"].parameters(theta[:, :2])) == {"coef"}


def test_a_family_of_ones_own():
    """Geometric counts: one short class."""

    class Geometric(Family):
        def log_density(self, eta, y):
            return y * eta - (y + 1) * anp.log1p(anp.exp(eta))

        def score(self, eta, y):
            return y - (y + 1) / (1 + np.exp(-eta))

    model, rng = GLMModel(2, Geometric()), np.random.default_rng(8)
    rows, theta = Rows.of(rng.standard_normal((30, 2)), rng.integers(5, size=30)), model.sample_prior(rng, 3)
    expected = value_and_grad(lambda t: Model._block_log_likelihood(model, t, rows, None), theta)[1]
    np.testing.assert_allclose(model._value_and_grad_log_likelihood(theta, rows)[1], expected)
