"""The linear model against quadrature, sampling theory and its two other exact evidences."""

import numpy as np
import pytest
from made_data import MAKE
from scipy import stats

from sgevidence.history import Rows
from sgevidence.models import LinearModel

EXACT = [LinearModel(3, True, 2.0, 0.5, noise_std=0.7), LinearModel(3, False, 1.5, noise_std=1.3)]


def regression_rows(n=12, seed=0):
    rng = np.random.default_rng(seed)
    return Rows.of(rng.standard_normal((n, 3)), rng.standard_normal(n))


@pytest.mark.parametrize("noise_std", [0.4, None])
def test_likelihood_is_normalised(noise_std):
    model = LinearModel(1, noise_std=noise_std, noise_prior=(5.0, 5.0))
    theta = model.sample_prior(np.random.default_rng(0), 4)
    y = np.linspace(-60, 60, 24_001)
    density = np.exp(model.log_likelihood(theta, Rows.of(np.full((len(y), 1), 0.8), y)))
    np.testing.assert_allclose(np.trapezoid(density, y, axis=1), 1.0, rtol=1e-8)


def prior_mass(log_prior):
    """∫ exp(log_prior) over (w, log σ²) by the trapezoid rule, which converges geometrically here."""
    w, s = np.linspace(-16, 16, 161), np.linspace(-5, 14, 381)
    theta = np.stack(np.meshgrid(w, s, indexing="ij"), axis=-1).reshape(-1, 2)
    return np.exp(log_prior(theta)).sum() * (w[1] - w[0]) * (s[1] - s[0])


def test_prior_is_normalised():
    model = LinearModel(1, fit_intercept=False, coef_scale=2.0, noise_prior=(2.5, 1.5))
    assert prior_mass(model.log_prior) == pytest.approx(1.0, abs=1e-8)
    assert abs(prior_mass(lambda theta: model.log_prior(theta) - theta[:, 1]) - 1) > 0.1  # no Jacobian


def test_prior_draws_have_the_stated_marginals():
    model = LinearModel(1, coef_scale=2.0, intercept_scale=0.5, noise_prior=(2.5, 1.5))
    w, b, s = model.sample_prior(np.random.default_rng(1), 5000).T
    stated = stats.norm(0, 2.0), stats.norm(0, 0.5), stats.invgamma(2.5, scale=1.5)
    p_values = [stats.kstest(x, d.cdf).pvalue for x, d in zip((w, b, np.exp(s)), stated)]
    assert min(p_values) > 1e-3
    assert stats.kstest(np.exp(s), stats.invgamma(1.5, scale=2.5).cdf).pvalue < 1e-6  # shape for scale


@pytest.mark.parametrize("per_row", [False, True], ids=["one theta", "one theta a row"])
@pytest.mark.parametrize("model", [LinearModel(3, noise_std=0.7), LinearModel(3)], ids=["known", "unknown"])
def test_sample_rows_has_the_stated_mean_and_noise(model, per_row):
    rng, n = np.random.default_rng(2), 4000
    theta = model.sample_prior(rng, n if per_row else 1)
    X = rng.standard_normal((n, 3))
    y = model.sample_rows(theta if per_row else theta[0], X, rng)
    mean = np.sum(theta[:, :3] * X, axis=1) + theta[:, 3]
    sd = np.exp(theta[:, 4] / 2) if model.noise_std is None else 0.7
    assert stats.kstest((y - mean) / sd, "norm").pvalue > 1e-3


def design(model, X):
    return np.column_stack([X, np.ones(len(X))]) if model.fit_intercept else X


@pytest.mark.parametrize("model", EXACT, ids=["intercept", "no intercept"])
def test_exact_evidence_is_the_marginal_gaussian(model):
    rows = regression_rows()
    Phi = design(model, rows.X)
    cov = (Phi * model.scales**2) @ Phi.T + model.noise_std**2 * np.eye(len(rows))
    expected = stats.multivariate_normal.logpdf(rows.y, cov=cov)
    assert model.exact_log_evidence(rows) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("model", EXACT, ids=["intercept", "no intercept"])
def test_exact_evidence_is_the_product_of_sequential_predictives(model):
    rows = regression_rows()
    mean, cov, total = np.zeros(model.n_coef), np.diag(model.scales**2), 0.0
    for phi, y in zip(design(model, rows.X), rows.y):
        var = phi @ cov @ phi + model.noise_std**2
        total += stats.norm.logpdf(y, phi @ mean, np.sqrt(var))
        gain = cov @ phi / var
        mean, cov = mean + gain * (y - phi @ mean), cov - np.outer(gain, phi @ cov)
    assert model.exact_log_evidence(rows) == pytest.approx(total, rel=1e-12)


def test_exact_evidence_reads_weights_as_repetitions():
    rows, counts = regression_rows(), np.arange(12) % 4
    repeated = rows.take(np.repeat(np.arange(12), counts))
    weighted = Rows(rows.X, rows.y, counts.astype(float))
    assert EXACT[0].exact_log_evidence(weighted) == pytest.approx(
        EXACT[0].exact_log_evidence(repeated), rel=1e-12
    )


@pytest.mark.parametrize("case", ["L_diabetes_all", "L_diabetes_first3", "SIM_L_1000"])
def test_exact_evidence_of_the_reference_cases(case):
    data = MAKE["rebuild"](case)
    model = LinearModel(data["X"].shape[1], noise_std=data["sigma"])
    evidence = model.exact_log_evidence(Rows.of(data["X"], data["y"]))
    assert evidence == pytest.approx(MAKE["GOLD"][case]["logZ"], abs=1e-8)


@pytest.mark.parametrize("model", EXACT, ids=["intercept", "no intercept"])
def test_exact_posterior_has_the_moments_of_bayes_rule(model):
    """By Kalman's steps from row to row, weights as repetitions."""
    counts = np.arange(12) % 3
    rows, n = Rows(*(getattr(regression_rows(), k) for k in ("X", "y")), counts.astype(float)), 100_000
    mean, cov = np.zeros(model.n_coef), np.diag(model.scales**2)
    Phi = design(model, rows.X)
    for phi, y in zip(np.repeat(Phi, counts, axis=0), np.repeat(rows.y, counts)):
        gain = cov @ phi / (phi @ cov @ phi + model.noise_std**2)
        mean, cov = mean + gain * (y - phi @ mean), cov - np.outer(gain, phi @ cov)
    theta = model.exact_posterior(rows, np.random.default_rng(3), n)
    u = np.linalg.solve(np.linalg.cholesky(cov), (theta - mean).T)  # standard normal
    assert np.all(np.abs(u.mean(axis=1)) < 5 / np.sqrt(n))
    np.testing.assert_allclose(u @ u.T / n, np.eye(model.n_coef), atol=5 * np.sqrt(2 / n))
    assert stats.kstest(u.ravel(), "norm").pvalue > 1e-3


def test_parameters_are_in_natural_space():
    theta = np.array([[1.0, 2.0, 3.0, np.log(4.0)]])
    named = LinearModel(2).parameters(theta)
    assert {k: v.tolist() for k, v in named.items()} == {"coef": [[1, 2]], "intercept": [3], "noise_std": [2]}
    assert set(LinearModel(2, fit_intercept=False, noise_std=1.0).parameters(theta[:, :2])) == {"coef"}


@pytest.mark.parametrize("model", [LinearModel(2, noise_std=0.7), LinearModel(2)], ids=["known", "unknown"])
def test_predictive_moments_are_those_of_simulated_rows(model):
    rng, n = np.random.default_rng(5), 200_000
    theta, W, X = 0.3 * model.sample_prior(rng, 5), rng.dirichlet(np.ones(5)), np.array([[0.5, -2.0]])
    y = model.sample_rows(theta[rng.choice(5, size=n, p=W)], np.repeat(X, n, axis=0), rng)
    (mean,), (std,) = model.predictive_mean(theta, W, X), model.predictive_std(theta, W, X)
    assert abs(y.mean() - mean) < 5 * std / np.sqrt(n)
    squares = (y - mean) ** 2
    assert abs(squares.mean() - std**2) < 5 * squares.std() / np.sqrt(n)
    assert model.expected_score(theta, W, X)[0] == pytest.approx(stats.norm(scale=std).entropy() * -1)
