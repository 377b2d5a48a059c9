"""Draws of tempered posteriors, whose weights are no integers, by closed forms and quadrature."""

import numpy as np
import pytest
from scipy import stats

from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel

M = 10_000


def weighted_rows(n=12, p=3, lam=0.3, seed=0):
    """Weights that are no integers: a tempered posterior of repeated rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = X @ np.arange(1.0, p + 1) + 0.5 + rng.standard_normal(n)
    return Rows.of(X, y, lam * rng.integers(1, 4, size=n))


def design(model, X):
    return np.column_stack([X, np.ones(len(X))]) if model.fit_intercept else X


def normal_equations(model, rows, variance):
    """Mean and covariance of w given σ², by inversion."""
    Phi = design(model, rows.X)
    cov = np.linalg.inv((Phi.T * rows.weight) @ Phi / variance + np.diag(model.scales**-2.0))
    return cov @ Phi.T @ (rows.weight * rows.y) / variance, cov


def log_marginal(model, rows, variance):
    """log ∫ p(w) Π N(y_r | w·φ_r, σ²)^{w_r} dw: prior times likelihood over posterior, at the mean of w."""
    mean, cov = normal_equations(model, rows, variance)
    r = rows.y - design(model, rows.X) @ mean
    log_lik = -0.5 * np.sum(rows.weight * (r**2 / variance + np.log(2 * np.pi * variance)))
    log_prior = -0.5 * np.sum((mean / model.scales) ** 2) - np.sum(np.log(model.scales))
    return log_lik + log_prior + 0.5 * np.linalg.slogdet(cov)[1]  # 2π cancels


def cdf_of_log_noise(model, rows, low=-12.0, high=30.0):
    """By the trapezoid rule."""
    s = np.linspace(low, high, 2001)
    prior = stats.invgamma(model.noise_prior[0], scale=model.noise_prior[1])
    log_p = [log_marginal(model, rows, v) + prior.logpdf(v) + np.log(v) for v in np.exp(s)]
    p = np.exp(log_p - np.max(log_p))
    mass = np.r_[0.0, np.cumsum((p[1:] + p[:-1]) / 2)]
    return lambda x: np.interp(x, s, mass / mass[-1])


def standardised(model, rows, theta):
    """w given its own σ² as standard normals, (M, d)."""
    out = np.empty((len(theta), model.n_coef))
    for k, t in enumerate(theta):
        mean, cov = normal_equations(
            model, rows, np.exp(t[-1]) if model.noise_std is None else model.noise_std**2
        )
        out[k] = np.linalg.solve(np.linalg.cholesky(cov), t[: model.n_coef] - mean)
    return out


LINEAR = {
    "plain": (LinearModel(3, noise_prior=(1.0, 1.0)), weighted_rows()),
    "scales": (LinearModel(3, True, 2.0, 0.5, noise_prior=(2.5, 0.5)), weighted_rows(lam=1.7)),
    "more columns than rows": (LinearModel(8, noise_prior=(1.5, 1.0)), weighted_rows(n=4, p=8)),
    "hardly any data": (LinearModel(3, noise_prior=(1.0, 1.0)), weighted_rows(lam=1e-6)),
    "large scales": (LinearModel(2, coef_scale=100.0, noise_prior=(1.0, 1.0)), weighted_rows(p=2, lam=0.01)),
    "many rows": (LinearModel(2, fit_intercept=False, noise_prior=(1.0, 1.0)), weighted_rows(n=400, p=2)),
}


@pytest.mark.parametrize("model, rows", LINEAR.values(), ids=LINEAR)
def test_linear_with_unknown_noise(model, rows):
    moved = model.exact_posterior(rows, np.random.default_rng(1), M)
    assert stats.kstest(moved[:, -1], cdf_of_log_noise(model, rows)).pvalue > 1e-4
    u = standardised(model, rows, moved[:1000])
    assert stats.kstest(u.ravel(), "norm").pvalue > 1e-4
    np.testing.assert_allclose(u.T @ u / len(u), np.eye(model.n_coef), atol=5 * np.sqrt(2 / len(u)))
    for column in u.T:  # w given s, at each s
        assert abs(stats.spearmanr(column, moved[:1000, -1]).statistic) < 5 / np.sqrt(1000)


def test_linear_with_known_noise():
    model, rows = LinearModel(3, noise_std=0.7, intercept_scale=3.0), weighted_rows()
    moved = model.exact_posterior(rows, np.random.default_rng(2), 5000)
    u = standardised(model, rows, moved)
    assert stats.kstest(u.ravel(), "norm").pvalue > 1e-4
    np.testing.assert_allclose(u.T @ u / len(u), np.eye(4), atol=5 * np.sqrt(2 / len(u)))


@pytest.mark.parametrize("lam", [0.3, 1.0])
def test_mixture_of_one_component_far_from_the_origin(lam):
    """Where gradients fail: rows at 10⁵, against the normal–inverse-gamma formulae, weights as they are."""
    rng, model = np.random.default_rng(7), MixtureModel(1, 1, 3.0, 1.5, (2.5, 0.5))
    rows = Rows.of(1e5 + rng.standard_normal((6, 1)), weight=lam * np.array([1.0, 2, 1, 3, 1, 1]))
    z, mu, s = model.exact_posterior(rows, rng, M).T
    n, x, kappa = np.sum(rows.weight), rows.X[:, 0], 1.5**-2.0
    mean = rows.weight @ x / (n + kappa)
    scale = 0.5 + 0.5 * (rows.weight @ (x - mean) ** 2 + kappa * mean**2)
    assert stats.kstest(np.exp(s), stats.invgamma(2.5 + n / 2, scale=scale).cdf).pvalue > 1e-4
    assert stats.kstest((mu - mean) / np.exp(s / 2) * np.sqrt(n + kappa), "norm").pvalue > 1e-4
    assert stats.kstest(np.exp(z), stats.gamma(3.0).cdf).pvalue > 1e-4
    assert stats.kstest(np.exp(s), stats.invgamma(2.5 + n, scale=scale).cdf).pvalue < 1e-6  # n for n/2


def test_without_rows_it_draws_from_the_prior():
    for model in (LinearModel(2), LinearModel(2, noise_std=1.0), MixtureModel(1, 2)):
        rows = Rows.of(np.empty((0, 2)), None if isinstance(model, MixtureModel) else np.empty(0))
        moved = model.exact_posterior(rows, np.random.default_rng(8), M)
        prior = model.sample_prior(np.random.default_rng(9), M)
        assert min(stats.ks_2samp(a, b).pvalue for a, b in zip(moved.T, prior.T)) > 1e-4
