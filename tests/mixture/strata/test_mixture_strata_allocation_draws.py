"""Allocations given parameters, and densities given allocations, one term at a time by scipy."""

from itertools import permutations
from math import lgamma

import numpy as np
import pytest
from mutants import broken
from scipy import stats
from scipy.special import gammaln, logsumexp

from sgevidence.mixture.components import DiagonalGaussian
from sgevidence.mixture.strata import _allocation_draws, _sweeps, log_permanent
from sgevidence.mixture.strata._allocation_draws import permanent, sample_allocations
from sgevidence.mixture.strata._sweeps import Problem

FAMILY = DiagonalGaussian(2, mean_scale=1.7, variance_prior=(2.5, 1.5))
X = np.random.default_rng(8).standard_normal((9, 2)) * [1.0, 3.0] + [40.0, -7.0]
WEIGHT = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 3.0, 1.0, 1.0, 1.0])


def problem(X, weight, family=FAMILY, a=1.4):
    family = family.at(X)
    return Problem(family, X, X, family.features(X) * weight[:, None], a)


HERE = problem(X, WEIGHT)
Z = np.array([[0, 1, 2, 0, 1, 2, 0, 1, 2], [0, 0, 0, 0, 1, 1, 1, 1, 1], [2, 2, 2, 2, 2, 2, 2, 2, 0]])
T = HERE.statistics(Z, 3)


def one_component(x, w):
    """Parameters of μ | σ² and σ² given rows of one component: mean, κ, shape, scale (p,)."""
    (b, beta), kappa = FAMILY.variance_prior, FAMILY.mean_scale**-2.0
    n = w.sum()
    mean = w @ x / (kappa + n)
    return mean, kappa + n, b + n / 2, beta + 0.5 * (w @ x**2 - (kappa + n) * mean**2)


def points(rng, parents):
    """log π (M, 3), means and variances (M, 3, 2), and their coefficients, given allocations."""
    c = HERE.draw(T[:, parents], rng)
    found = HERE.family.parameters(c)
    log_pi = c[..., -1] - HERE.family.coefficients(found)[..., -1]
    return log_pi.T, found.means.swapaxes(0, 1), found.covariances.swapaxes(0, 1), c


def log_density(log_pi, mu, variance, z):
    """log p(θ | x, z) at one point."""
    N = np.array([WEIGHT[z == k].sum() for k in range(3)])
    out = stats.dirichlet.logpdf(np.exp(log_pi) / np.exp(log_pi).sum(), 1.4 + N)
    for k in range(3):
        mean, kappa, b, beta = one_component(X[z == k], WEIGHT[z == k])
        out += np.sum(stats.invgamma.logpdf(variance[k], b, scale=beta))
        out += np.sum(stats.norm.logpdf(mu[k], mean, np.sqrt(variance[k] / kappa)))
    return out


def test_conditional_density_is_the_average_over_labellings(rng):
    *theta, c = points(rng, np.array([0, 0, 1, 1, 2, 2]))
    found = _allocation_draws.log_conditionals(HERE, c, T)
    relabelled = [[np.array(pi)[z] for pi in permutations(range(3))] for z in Z]
    expected = np.array(
        [
            [np.logaddexp.reduce([log_density(*t, z) for z in every]) for every in relabelled]
            for t in zip(*theta)
        ]
    )
    nobody = np.array([log_density_of_the_prior(*t) for t in zip(*theta)])
    # of the weights' prior and posterior without their Γ
    expected += lgamma(3 * 1.4) - lgamma(3 * 1.4 + WEIGHT.sum()) - np.log(6) - np.log(3) - nobody[:, None]
    largest = expected.max(axis=1, keepdims=True)
    near = expected > largest - 20  # what is left out is nothing
    np.testing.assert_allclose(found[near], expected[near], atol=1e-5)
    assert np.all(found[~near] < (largest - 19.9).repeat(3, axis=1)[~near])


def log_density_of_the_prior(log_pi, mu, variance):
    """log p(θ) at one point."""
    (b, beta), scale = FAMILY.variance_prior, FAMILY.mean_scale
    out = stats.dirichlet.logpdf(np.exp(log_pi) / np.exp(log_pi).sum(), np.full(3, 1.4))
    out += np.sum(stats.invgamma.logpdf(variance, b, scale=beta))
    return out + np.sum(stats.norm.logpdf(mu, 0.0, scale * np.sqrt(variance)))


@pytest.mark.parametrize("K", [2, 3, 4])
def test_labels_do_not_matter(rng, K):
    """Many rows that all components claim: then densities lie hundreds of nats apart."""
    x = rng.standard_normal((800, 1))
    here = problem(x, np.ones(800), DiagonalGaussian(1), 1.0)
    share = rng.dirichlet(np.full(K, 0.3), size=40)  # some components are nearly empty
    T = here.statistics(np.array([rng.choice(K, size=800, p=p) for p in share]), K)
    c = here.draw(T, rng)
    log_q = np.logaddexp.reduce(_allocation_draws.log_conditionals(here, c, T), axis=1)
    log_p = here.log_joint(T) + lgamma(K + 1) + np.log(40)
    each = [np.einsum("kmq,ksq->ms", c, T[list(pi)]) - log_p for pi in permutations(range(K))]
    np.testing.assert_allclose(log_q, np.logaddexp.reduce(np.concatenate(each, axis=1), axis=1), atol=1e-4)


def test_draws_of_parameters_have_the_stated_marginals(rng, n=20_000):
    log_pi, mu, variance, _ = points(rng, np.zeros(n, dtype=int))
    a, p_values = 1.4 + np.array([WEIGHT[Z[0] == k].sum() for k in range(3)]), []
    for k in range(3):
        mean, kappa, b, beta = one_component(X[Z[0] == k], WEIGHT[Z[0] == k])
        p_values.append(stats.kstest(np.exp(log_pi[:, k]), stats.beta(a[k], a.sum() - a[k]).cdf).pvalue)
        for j in range(2):
            scale = np.sqrt(beta[j] / (b * kappa))
            p_values.append(stats.kstest(variance[:, k, j], stats.invgamma(b, scale=beta[j]).cdf).pvalue)
            p_values.append(stats.kstest(mu[:, k, j], stats.t(2 * b, mean[j], scale).cdf).pvalue)
    assert min(p_values) > 1e-4


def test_draws_of_allocations_have_the_probabilities_that_they_report(rng):
    c = np.repeat(points(rng, [0])[-1], 20_000, axis=1)
    z, T, log_p = sample_allocations(c, HERE.F, rng)
    log_N = c[:, 0] @ HERE.family.features(X).T
    P = np.exp(log_N - np.logaddexp.reduce(log_N, axis=0))
    np.testing.assert_allclose(T, HERE.statistics(z, 3))
    share = np.mean(z == np.arange(3)[:, None, None], axis=1)
    assert np.all(np.abs(share - P) < 5 * np.sqrt(P * (1 - P) / 20_000) + 1e-4)
    np.testing.assert_allclose(log_p, np.log(P[z, np.arange(9)]) @ WEIGHT, atol=1e-4)


def test_prior_is_the_conditional_of_no_rows(rng):
    nothing = np.zeros((3, 1, 5))
    c = HERE.draw(np.zeros((3, 50, 5)), rng)
    expected = gammaln(3 * 1.4) - gammaln(3 * 1.4 + HERE.total_weight)
    np.testing.assert_allclose(_allocation_draws.log_conditionals(HERE, c, nothing), expected, atol=1e-6)


def check_kernel_of_a_power(rng, power=0.6, a=1.4, M=40_000):
    """Its integral, by draws of the prior, is one."""
    here = problem(np.array([[0.3], [-0.8], [0.5]]), np.ones(3), DiagonalGaussian(1), a)
    T = power * here.statistics(np.array([[0, 1, 0]]), 2)
    log_q = _allocation_draws.log_conditionals(here, here.draw(np.zeros((2, M, 3)), rng), T)[:, 0]
    q = np.exp(log_q + gammaln(2 * a + 3) - gammaln(2 * a))
    assert abs(q.mean() - 1.0) < 4 * q.std() / M**0.5


@pytest.mark.parametrize("power", [1.0, 0.6])
def test_kernels_of_powers_are_densities(rng, power):
    check_kernel_of_a_power(rng, power)


def test_power_of_weights_that_count_all_rows(rng, monkeypatch):
    monkeypatch.setattr(
        _sweeps.Problem,
        "log_joint",
        broken(_sweeps.Problem.log_joint, "np.sum(..., axis=0) + log_ratio", "np.sum(..., axis=0)"),
    )
    with pytest.raises(AssertionError):
        check_kernel_of_a_power(rng)


# -- permanents -------------------------------------------------------------------------------------


pytestmark = pytest.mark.usefixtures("double_precision")


@pytest.mark.parametrize("K", range(1, 7))
def test_permanent_is_the_sum_over_permutations(rng, K):
    A = np.exp(3 * rng.standard_normal((K, K, 5)))
    expected = sum(np.prod([A[k, pi[k]] for k in range(K)], axis=0) for pi in permutations(range(K)))
    np.testing.assert_allclose(permanent(A), expected, rtol=1e-12)


def test_equal_entries_count_the_permutations():
    assert permanent(np.ones((8, 8, 1)))[0] == 40320


def test_nothing_cancels():
    """Diagonal 1 and 10⁻⁹ elsewhere: differences of products of sums would leave rounding errors of 10⁻¹⁰."""
    A = np.full((6, 6, 1), 1e-9) + (1 - 1e-9) * np.eye(6)[:, :, None]
    A[5, 5] = 1e-30  # then no entry is left that could hide an error
    A[5, :5] = A[:5, 5] = 0.0
    assert permanent(A)[0] == pytest.approx(1e-30, rel=1e-12)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1.0, 30.0, 100.0, 3000.0])
@pytest.mark.parametrize("K", [1, 2, 3, 5])
def test_logs_however_small_the_permanent(rng, K, size, precision):
    """Entries of at most 1, like densities: each column has been divided by its largest."""
    log_A = size * rng.standard_normal((K, K, 200))
    log_A -= log_A.max(axis=0)
    expected = logsumexp([sum(log_A[k, pi[k]] for k in range(K)) for pi in permutations(range(K))], axis=0)
    found = log_permanent(log_A, np.exp(log_A.astype(precision)))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-5)


def check_bounds(rng, K=4, size=300.0):
    """Permanents that matter are exact; the others have upper bounds that are negligible, too."""
    log_A = size * rng.standard_normal((K, K, 400))
    log_A -= log_A.max(axis=0)
    A = np.exp(log_A.astype(np.float32))
    exact = log_permanent(log_A, A)
    least = np.median(exact) + rng.standard_normal(400)
    found, matters = log_permanent(log_A, A, least), exact >= least
    np.testing.assert_allclose(found[matters], exact[matters], rtol=1e-9)
    assert np.all(found[~matters] >= exact[~matters] - 1e-3)
    assert np.all((found < least) | (abs(found - exact) <= 1e-6 * abs(exact)))
    assert np.sum(found != exact) > 100


def test_those_that_do_not_matter_are_bounded(rng):
    check_bounds(rng)
