"""The mixture given its allocations: densities from scipy, one term at a time, and draws against them."""

from itertools import permutations
from math import lgamma

import numpy as np
import pytest
from mutants import broken
from scipy import stats

from sgevidence.history import Rows
from sgevidence.mixtures import _conditionals as allocations
from sgevidence.mixtures._conditionals import (
    coefficients,
    features,
    log_complete_evidence,
    log_conditionals,
    sample_allocations,
    sample_parameters,
    statistics,
)
from sgevidence.models import MixtureModel, _permanents

MODEL = MixtureModel(3, 2, weight_concentration=1.4, mean_scale=1.7, variance_prior=(2.5, 1.5))
X = np.random.default_rng(8).standard_normal((9, 2)) * [1.0, 3.0] + [40.0, -7.0]
WEIGHT = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 3.0, 1.0, 1.0, 1.0])
ORIGIN = X.mean(axis=0)
F = features(X, WEIGHT, ORIGIN)
Z = np.array([[0, 1, 2, 0, 1, 2, 0, 1, 2], [0, 0, 0, 0, 1, 1, 1, 1, 1], [2, 2, 2, 2, 2, 2, 2, 2, 0]])
T = statistics(Z, F, 3)


def one_component(x, w):
    """Parameters of μ | σ² and σ² given rows of one component: mean, κ, shape, scale (p,)."""
    (b, beta), kappa = MODEL.variance_prior, MODEL.mean_scale**-2.0
    n = w.sum()
    mean = w @ x / (kappa + n)
    return mean, kappa + n, b + n / 2, beta + 0.5 * (w @ x**2 - (kappa + n) * mean**2)


def log_density(theta, z):
    """log p(θ | x, z) at one point, by distributions that know nothing of log-gammas but the Jacobian."""
    K, p, a = 3, 2, MODEL.weight_concentration
    u, mu, s = theta[:K], theta[K : K + K * p].reshape(K, p), theta[K + K * p :].reshape(K, p)
    N, total = np.array([WEIGHT[z == k].sum() for k in range(K)]), np.exp(u).sum()
    out = stats.dirichlet.logpdf(np.exp(u) / total, a + N) + stats.gamma.logpdf(total, K * a)
    out += u.sum() - (K - 1) * np.log(total)  # of (weights, total) by the K log-gammas
    for k in range(K):
        mean, kappa, b, beta = one_component(X[z == k], WEIGHT[z == k])
        out += np.sum(stats.invgamma.logpdf(np.exp(s[k]), b, scale=beta) + s[k])
        out += np.sum(stats.norm.logpdf(mu[k], mean, np.exp(s[k] / 2) / np.sqrt(kappa)))
    return out


def points(rng, parents):
    return sample_parameters(MODEL, T[:, parents], ORIGIN, rng)


def test_coefficients_times_features_are_the_complete_likelihood(rng):
    theta, c = points(rng, [0, 1, 2]), coefficients(MODEL, points(rng, [0]), ORIGIN)
    c = coefficients(MODEL, theta, ORIGIN)
    expected = MODEL.component_log_densities(theta, X) * WEIGHT
    np.testing.assert_allclose(np.einsum("kmq,nq->kmn", c, F), expected, rtol=1e-10)


def test_complete_evidence_is_that_of_each_component_and_of_the_labels():
    one = MixtureModel(1, 2, mean_scale=1.7, variance_prior=(2.5, 1.5))
    for z, found in zip(Z, log_complete_evidence(MODEL, T, ORIGIN)):
        N = np.array([WEIGHT[z == k].sum() for k in range(3)])
        expected = lgamma(3 * 1.4) - lgamma(3 * 1.4 + N.sum()) + sum(lgamma(1.4 + n) - lgamma(1.4) for n in N)
        for k in np.flatnonzero(N):
            expected += one.exact_log_evidence(Rows.of(X[z == k], weight=WEIGHT[z == k]))
        assert found == pytest.approx(expected, rel=1e-12)


def check_conditionals(rng):
    parents = np.array([0, 0, 1, 1, 2, 2])
    theta, log_c = points(rng, parents), np.log([0.5, 0.3, 0.2])
    found = log_conditionals(MODEL, theta, T, log_c, ORIGIN)
    relabelled = [[np.array(pi)[z] for pi in permutations(range(3))] for z in Z]
    expected = np.array(
        [[np.logaddexp.reduce([log_density(t, z) for z in every]) for every in relabelled] for t in theta]
    )
    expected += log_c - np.log(6) - MODEL.log_prior(theta)[:, None]
    largest = expected.max(axis=1, keepdims=True)
    near = expected > largest - 20  # what is left out is nothing
    np.testing.assert_allclose(found[near], expected[near], atol=1e-5)
    assert np.all(found[~near] < (largest - 19.9).repeat(3, axis=1)[~near])


def test_conditional_density_is_the_average_over_labellings(rng):
    check_conditionals(rng)


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        (
            "log_conditionals",
            "log_c - log_complete_evidence(model, T, origin) - lgamma(len(T) + 1)",
            "log_c - log_complete_evidence(model, T, origin)",
        ),
        (
            "log_sum_over_labels",
            "log_permanent(log_A[:, :, m, s], A[:, :, m, s], least[m] - scale[m, s])",
            "np.sum([log_A[k, k, m, s] for k in range(len(log_A))], axis=0)",
        ),
        ("_normal_inverse_gamma", "(mean + origin) ** 2", "mean ** 2"),
        ("log_complete_evidence", "K * a + N.sum(axis=0)", "a + N.sum(axis=0)"),
        ("coefficients", "mu**2 * precision + s", "mu**2 * precision"),
    ],
)
def test_power_of_the_conditional_density(rng, monkeypatch, name, right, wrong):
    monkeypatch.setattr(allocations, name, broken(getattr(allocations, name), right, wrong))
    if name == "log_conditionals":
        monkeypatch.setitem(globals(), name, getattr(allocations, name))
    with pytest.raises(AssertionError):
        check_conditionals(rng)


def check_labels_do_not_matter(rng, K):
    """Many rows that all components claim: then densities lie hundreds of nats apart."""
    model, x = MixtureModel(K, 1), rng.standard_normal((800, 1))
    F, origin = features(x, np.ones(800), np.zeros(1)), np.zeros(1)
    share = rng.dirichlet(np.full(K, 0.3), size=40)  # some components are nearly empty
    T = statistics(np.array([rng.choice(K, size=800, p=p) for p in share]), F, K)
    theta = sample_parameters(model, T, origin, rng)
    log_q = np.logaddexp.reduce(log_conditionals(model, theta, T, np.zeros(40), origin), axis=1)
    c, log_p = coefficients(model, theta, origin), log_complete_evidence(model, T, origin) + lgamma(K + 1)
    each = [np.einsum("kmq,ksq->ms", c, T[list(pi)]) - log_p for pi in permutations(range(K))]
    np.testing.assert_allclose(log_q, np.logaddexp.reduce(np.concatenate(each, axis=1), axis=1), atol=1e-4)


@pytest.mark.parametrize("K", [2, 3, 4])
def test_labels_do_not_matter(rng, K):
    check_labels_do_not_matter(rng, K)


def test_power_labels_of_which_single_precision_sees_none(rng, monkeypatch):
    monkeypatch.setattr(_permanents, "SMALL", 0.0)
    with pytest.raises(AssertionError), np.errstate(divide="ignore"):
        check_labels_do_not_matter(rng, 3)


def check_draws(rng, n=20_000):
    theta, z = points(rng, np.zeros(n, dtype=int)), Z[0]
    u, mu, s = theta[:, :3], theta[:, 3:9].reshape(n, 3, 2), theta[:, 9:].reshape(n, 3, 2)
    a = 1.4 + np.array([WEIGHT[z == k].sum() for k in range(3)])
    total = np.exp(u).sum(axis=1)
    p_values = [stats.kstest(total, stats.gamma(3 * 1.4).cdf).pvalue]
    for k in range(3):
        mean, kappa, b, beta = one_component(X[z == k], WEIGHT[z == k])
        p_values.append(stats.kstest(np.exp(u[:, k]) / total, stats.beta(a[k], a.sum() - a[k]).cdf).pvalue)
        for j in range(2):
            scale = np.sqrt(beta[j] / (b * kappa))
            p_values.append(stats.kstest(np.exp(s[:, k, j]), stats.invgamma(b, scale=beta[j]).cdf).pvalue)
            p_values.append(stats.kstest(mu[:, k, j], stats.t(2 * b, mean[j], scale).cdf).pvalue)
    assert min(p_values) > 1e-4
    assert abs(np.corrcoef(total, u[:, 0] - np.log(total))[0, 1]) < 5 / np.sqrt(n)


def test_draws_of_parameters_have_the_stated_marginals(rng):
    check_draws(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [("origin + mean", "origin"), ("g - log_sum + total", "g"), ("np.sqrt(kappa_n)", "kappa_n")],
)
def test_power_of_the_draws(rng, monkeypatch, right, wrong):
    monkeypatch.setitem(globals(), "sample_parameters", broken(sample_parameters, right, wrong))
    with pytest.raises(AssertionError):
        check_draws(rng)


def test_draws_of_allocations_have_the_probabilities_that_they_report(rng):
    theta = np.repeat(points(rng, [0]), 20_000, axis=0)
    z, T, log_p = sample_allocations(coefficients(MODEL, theta, ORIGIN), F, rng)
    log_N = MODEL.component_log_densities(theta[:1], X)[:, 0]
    P = np.exp(log_N - np.logaddexp.reduce(log_N, axis=0))
    np.testing.assert_allclose(T, statistics(z, F, 3))
    share = np.mean(z == np.arange(3)[:, None, None], axis=1)
    assert np.all(np.abs(share - P) < 5 * np.sqrt(P * (1 - P) / 20_000) + 1e-4)
    np.testing.assert_allclose(log_p, np.log(P[z, np.arange(9)]) @ WEIGHT, atol=1e-4)


def test_prior_is_the_conditional_of_no_rows(rng):
    nothing = np.zeros((3, 1, 5))
    theta = MODEL.sample_prior(rng, 50)
    found = log_conditionals(MODEL, theta, nothing, np.zeros(1), ORIGIN)
    np.testing.assert_allclose(found, 0.0, atol=1e-6)
