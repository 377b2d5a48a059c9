"""Families of components against urns, Student t predictions and densities of scipy."""

from dataclasses import replace

import numpy as np
import pytest
from mixture_kinds import log_density, prior_draws
from scipy import stats

from sgevidence.history import Rows
from sgevidence.mixture.components import (
    Categorical,
    DiagonalGaussian,
    FullGaussian,
    GaussianParameters,
    PoissonGamma,
    SphericalGaussian,
)
from sgevidence.mixture.models import MixtureModel

pytestmark = pytest.mark.usefixtures("double_precision")

GAUSSIAN = [DiagonalGaussian, SphericalGaussian, FullGaussian]
PRIOR = {"mean_scale": 1.7, "variance_prior": (1.3, 0.6)}
CATEGORICAL = Categorical((3, 2, 4), concentration=0.7)


POISSON = PoissonGamma((1.7, 0.6), (1.0, 4.0))


def counts(n=9, seed=0):
    return np.random.default_rng(seed).poisson([1.5, 6.0], size=(n, 2)).astype(float)


def gaussian_rows(p, n=9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + 1.5


def codes(n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(L, size=n) for L in CATEGORICAL.n_levels])
    X[3, 1] = X[5, 2] = -1  # not known
    return X


def cases():
    gaussian = [(family(3, **PRIOR), gaussian_rows(3)) for family in GAUSSIAN]
    return [*gaussian, (CATEGORICAL, codes()), (POISSON, counts())]


def total(family, X):
    return family.features(X).sum(axis=0)


def predicted(family, X):
    """Σ_r log p(x_r | x_1 … x_{r−1}) by Student t predictions, with moments of the rows so far by numpy."""
    (b, beta), kappa, p, out = family.variance_prior, family.mean_scale**-2.0, X.shape[1], 0.0
    for r, x in enumerate(X):
        past = X[:r]
        mean = past.sum(axis=0) / (kappa + r)
        scatter = past.T @ past - (kappa + r) * np.outer(mean, mean)
        widening = 1 + 1 / (kappa + r)
        if type(family) is DiagonalGaussian:
            shape = (beta + 0.5 * np.diag(scatter)) / (b + r / 2) * widening
            out += np.sum(stats.t.logpdf(x, 2 * b + r, mean, np.sqrt(shape)))
        elif isinstance(family, SphericalGaussian):
            shape = (beta + 0.5 * np.trace(scatter)) / (b + p * r / 2) * widening
            out += stats.multivariate_t.logpdf(x, mean, shape * np.eye(p), df=2 * b + p * r)
        else:
            shape = (2 * beta * np.eye(p) + scatter) / (2 * b + r) * widening
            out += stats.multivariate_t.logpdf(x, mean, shape, df=2 * b + r)
    return out


@pytest.mark.parametrize("family", GAUSSIAN)
@pytest.mark.parametrize("p", [1, 2, 4])
def test_evidence_is_the_product_of_student_predictions(family, p):
    family, X = family(p, **PRIOR), gaussian_rows(p)
    assert float(family.log_evidence(total(family, X))) == pytest.approx(predicted(family, X), abs=1e-9)


def test_evidence_of_categories_is_that_of_urns():
    X, alpha, out = codes(), CATEGORICAL.concentration, 0.0
    for j, L in enumerate(CATEGORICAL.n_levels):
        x = X[X[:, j] >= 0, j]
        out += sum(np.log((alpha + np.sum(x[:r] == x[r])) / (L * alpha + r)) for r in range(len(x)))
    assert float(CATEGORICAL.log_evidence(total(CATEGORICAL, X))) == pytest.approx(out, abs=1e-10)


def test_evidence_of_counts_is_the_product_of_negative_binomial_predictions():
    X, (a, b), out = counts(), POISSON.rate_prior, 0.0
    for x, unit in zip(X.T, POISSON.mean_counts):
        for r, count in enumerate(x):
            rate = b / unit + r
            out += stats.nbinom.logpmf(count, a + x[:r].sum(), rate / (rate + 1))
    assert float(POISSON.log_evidence(total(POISSON, X))) == pytest.approx(out, abs=1e-10)


def test_a_rate_and_its_density_are_those_of_scipy():
    X, drawn = counts(), prior_draws(POISSON, np.random.default_rng(2), 5)
    expected = stats.poisson.logpmf(X, drawn.rates[:, None]).sum(axis=2)
    assert np.allclose(log_density(POISSON, drawn, X), expected)
    (a, b), units = POISSON.rate_prior, np.array(POISSON.mean_counts)
    prior = stats.gamma.logpdf(drawn.rates, a, scale=units / b).sum(axis=1)
    assert np.allclose(POISSON.log_prior(drawn), prior)


def test_rows_of_a_component_have_its_moments():
    rng = np.random.default_rng(3)
    for family in (*(family(2, **PRIOR) for family in GAUSSIAN), POISSON):
        c = np.repeat(family.coefficients(prior_draws(family, rng, 1)), 40_000, axis=0)
        X = family.sample_rows(family.parameters(c), rng)
        of = family.parameters(c)
        mean, cov = (of.rates[0], np.diag(of.rates[0])) if family is POISSON else (of[0][0], of[1][0])
        cov = cov if np.ndim(cov) == 2 else np.diag(np.broadcast_to(cov, 2))
        z = stats.chi2.sf(40_000 * (X.mean(axis=0) - mean) @ np.linalg.solve(cov, X.mean(axis=0) - mean), 2)
        assert z > 1e-4
        assert np.allclose(np.cov(X.T), cov, atol=0.05 * np.diag(cov).max())


@pytest.mark.parametrize("family", [SphericalGaussian, FullGaussian])
def test_one_column_is_the_diagonal_model(family):
    X = gaussian_rows(1)
    found = family(1, **PRIOR).log_evidence(total(family(1), X))
    assert float(found) == pytest.approx(
        float(DiagonalGaussian(1, **PRIOR).log_evidence(total(family(1), X))), abs=1e-10
    )


def test_the_diagonal_family_is_the_mixture_of_one_component():
    family, X = DiagonalGaussian(3, **PRIOR), gaussian_rows(3)
    exact = MixtureModel(1, 3, **PRIOR).exact_log_evidence(Rows.of(X))
    assert float(family.log_evidence(total(family, X))) == pytest.approx(exact, abs=1e-10)


def exact_evidence(family, X):
    """With sums in fifty digits."""
    from mpmath import mp, mpf

    with mp.workdps(80):
        (b, beta), kappa, (N, p) = family.variance_prior, mpf(family.kappa), X.shape
        rows = mp.matrix([[mpf(float(x)) for x in row] for row in X])
        mean = [mp.fsum(rows[:, j]) / N for j in range(p)]
        S = mp.matrix(p, p)
        for i in range(p):
            for j in range(p):
                S[i, j] = mp.fsum((rows[r, i] - mean[i]) * (rows[r, j] - mean[j]) for r in range(N))
                S[i, j] += kappa * N / (kappa + N) * mean[i] * mean[j]
        b, beta, common = (
            mpf(b),
            mpf(beta),
            p * mp.log(kappa / (kappa + N)) / 2 - p * N * mp.log(2 * mp.pi) / 2,
        )
        if type(family) is DiagonalGaussian:
            one = mp.loggamma(b + mpf(N) / 2) - mp.loggamma(b) + b * mp.log(beta)
            shrunk = mp.fsum(mp.log(beta + S[j, j] / 2) for j in range(p))
            return float(common + p * one - (b + mpf(N) / 2) * shrunk)
        if isinstance(family, SphericalGaussian):
            b_n = b + mpf(p * N) / 2
            one = mp.loggamma(b_n) - mp.loggamma(b) + b * mp.log(beta)
            return float(common + one - b_n * mp.log(beta + mp.fsum(S[j, j] for j in range(p)) / 2))
        nu = 2 * b + p - 1
        gammas = mp.fsum(mp.loggamma((nu + N - j) / 2) - mp.loggamma((nu - j) / 2) for j in range(p))
        det = mp.det(beta * mp.eye(p) + S / 2)
        return float(common + gammas + nu / 2 * p * mp.log(beta) - (nu + N) / 2 * mp.log(det))


@pytest.mark.parametrize("family", GAUSSIAN)
@pytest.mark.parametrize("shift", [0.0, 1e3, 1e9])
def test_far_columns_lose_no_digits(family, shift):
    X = gaussian_rows(2, n=40) + shift * np.array([1.0, -0.1])
    family = family(2, **PRIOR).at(X)
    found = float(family.log_evidence(total(family, X)))
    assert found == pytest.approx(exact_evidence(family, X), abs=1e-6)


def test_far_columns_as_they_are_would_lose_them():
    X = gaussian_rows(2, n=40) + 1e7
    family = FullGaussian(2, **PRIOR)
    found = float(family.log_evidence(total(family, X)))
    assert abs(found - exact_evidence(family, X)) > 0.01


@pytest.mark.parametrize("family", GAUSSIAN)
def test_where_features_are_measured_from_changes_nothing(family):
    X = gaussian_rows(3)
    family = family(3, **PRIOR)
    moved = replace(family, reference=np.array([1.0, -2.0, 0.3]))
    assert float(moved.log_evidence(total(moved, X))) == pytest.approx(
        float(family.log_evidence(total(family, X))), abs=1e-10
    )
    parameters = prior_draws(family, np.random.default_rng(0), 5)
    assert np.allclose(log_density(moved, parameters, X), log_density(family, parameters, X))


def test_densities_of_rows_are_those_of_scipy():
    X, rng = gaussian_rows(3), np.random.default_rng(1)
    for family in GAUSSIAN:
        drawn = prior_draws(family(3, **PRIOR), rng, 4)
        found = log_density(family(3).at(X), drawn, X)
        for mean, cov, log_p in zip(*drawn, found):
            cov = cov if cov.ndim == 2 else np.diag(np.broadcast_to(cov, 3))
            expected = stats.multivariate_normal.logpdf(X, mean, cov, allow_singular=True)
            assert np.allclose(log_p, expected, rtol=1e-6)


def test_priors_are_those_of_scipy():
    rng = np.random.default_rng(2)
    (b, beta), tau = PRIOR["variance_prior"], PRIOR["mean_scale"]
    mu, var = rng.standard_normal(3), rng.gamma(2.0, size=3)
    S = stats.wishart.rvs(5, np.eye(3), random_state=3)
    of_var = stats.invgamma.logpdf(var, b, scale=beta)
    diagonal = np.sum(of_var + stats.norm.logpdf(mu, 0, tau * np.sqrt(var)))
    spherical = of_var[0] + np.sum(stats.norm.logpdf(mu, 0, tau * np.sqrt(var[0])))
    full = stats.invwishart.logpdf(S, 2 * b + 2, 2 * beta * np.eye(3))
    full += stats.multivariate_normal.logpdf(mu, np.zeros(3), tau**2 * S)
    found = [
        DiagonalGaussian(3, **PRIOR).log_prior(GaussianParameters(mu, var)),
        SphericalGaussian(3, **PRIOR).log_prior(GaussianParameters(mu, var[0])),
        FullGaussian(3, **PRIOR).log_prior(GaussianParameters(mu, S)),
    ]
    assert np.allclose(np.array(found, dtype=float), [diagonal, spherical, full])
    drawn = prior_draws(CATEGORICAL, rng, 6)
    p = np.exp(drawn.log_probabilities)
    parts = [
        stats.dirichlet.logpdf(p[:, s].T, np.full(p[:, s].shape[1], 0.7))
        for s in (slice(0, 3), slice(3, 5), slice(5, 9))
    ]
    assert np.allclose(CATEGORICAL.log_prior(drawn), np.sum(parts, axis=0))


def posterior_ratio(family, X, sampled_by=None, size=20_000):
    """z of the mean of p(φ | all rows but one) / p(φ | all rows) over draws of the latter, which is one."""
    family = family.at(X)
    T, less = total(family, X), total(family, X[1:])
    drawn = (sampled_by or family).sample(np.broadcast_to(T, (size, len(T))), np.random.default_rng(5))
    log_ratio = family.coefficients(drawn) @ (less - T) + family.log_evidence(T) - family.log_evidence(less)
    ratio = np.minimum(np.exp(log_ratio), 1e6)
    return (ratio.mean() - 1) / (ratio.std() / np.sqrt(size))


@pytest.mark.parametrize("family, X", cases(), ids=lambda one: type(one).__name__)
def test_draws_have_the_posterior_that_the_formulas_say(family, X):
    X = np.concatenate([X[:1], X])  # a row that is not alone, so that the ratio has a variance
    assert abs(posterior_ratio(family, X)) < 4


@pytest.mark.parametrize("family, X", cases(), ids=lambda one: type(one).__name__)
def test_draws_of_another_posterior_are_seen(family, X):
    broken = (
        replace(family, concentration=1.1)
        if isinstance(family, Categorical)
        else replace(family, rate_prior=(2.4, 0.6))
        if isinstance(family, PoissonGamma)
        else replace(family, variance_prior=(2.3, 0.6)).at(np.concatenate([X[:1], X]))
    )
    assert abs(posterior_ratio(family, np.concatenate([X[:1], X]), broken)) > 6


def test_full_draws_have_the_moments_of_the_inverse_wishart():
    family = FullGaussian(2, 1.7, (3.0, 0.6))
    X = gaussian_rows(2)
    T, kappa, size = total(family, X), family.kappa, 20_000
    mu, S = family.sample(np.broadcast_to(T, (size, len(T))), np.random.default_rng(6))
    mean = X.sum(axis=0) / (kappa + len(X))
    Psi = 1.2 * np.eye(2) + X.T @ X - (kappa + len(X)) * np.outer(mean, mean)
    expected = Psi / (2 * 3.0 + 1 + len(X) - 3)
    assert np.all(np.abs(S.mean(axis=0) - expected) < 4 * S.std(axis=0) / np.sqrt(size))
    assert np.all(np.abs(mu.mean(axis=0) - mean) < 4 * mu.std(axis=0) / np.sqrt(size))


@pytest.mark.parametrize("family, X", cases(), ids=lambda one: type(one).__name__)
def test_any_leading_shape(family, X):
    T = np.zeros((2, 5, family.features(X).shape[1])) + total(family, X)
    assert family.log_evidence(T).shape == (2, 5)
    drawn = family.sample(T, np.random.default_rng(0))
    assert family.coefficients(drawn).shape == T.shape
    assert family.log_prior(drawn).shape == (2, 5)
    assert log_density(family, drawn, X).shape == (2, 5, len(X))
    assert np.allclose(family.log_evidence(0 * T), 0.0)  # no row says nothing
