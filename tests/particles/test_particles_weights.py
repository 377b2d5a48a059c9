"""Weights and the effective sample size: identities, −inf, and what must not change."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from sgevidence.particles import Weights, ess, log_mixture, log_sum_exp, mixture_moments


def naive_ess(log_w):
    w = np.exp(log_w)
    return w.sum() ** 2 / (w**2).sum()


@pytest.mark.parametrize("M", [1, 2, 1000])
def test_equal_weights(M):
    for log_w in (np.zeros(M), np.full(M, -1e5), np.full(M, 1e5)):
        weights = Weights(log_w)
        assert weights.ess == pytest.approx(M, rel=1e-12)
        assert weights.relative_variance == pytest.approx(0, abs=1e-12)
        np.testing.assert_allclose(weights.W, 1 / M)
        assert weights.log_mean == pytest.approx(log_w[0], abs=1e-9)


@pytest.mark.parametrize("others", [-np.inf, -1e4])
def test_one_hot(others):
    weights = Weights(np.array([others, 3.0, others, others]))
    assert weights.ess == 1
    np.testing.assert_array_equal(weights.W, [0, 1, 0, 0])
    assert weights.log_mean == pytest.approx(3 - np.log(4), rel=1e-14)
    assert weights.relative_variance == pytest.approx(3 / 4)


def test_by_hand():
    """Weights 1, 2, 3: ESS 36/14, mean 2."""
    weights = Weights(np.log([1.0, 2.0, 3.0]))
    assert weights.ess == pytest.approx(36 / 14)
    assert weights.log_mean == pytest.approx(np.log(2))
    assert weights.relative_variance == pytest.approx(np.var([1, 2, 3]) / 4 / 3)
    np.testing.assert_allclose(weights.W, np.array([1, 2, 3]) / 6)


@pytest.mark.parametrize("shift", [-1e6, -3.0, 1e6])
def test_shift_invariance(rng, shift):
    log_w = rng.normal(size=50)
    assert ess(log_w) == pytest.approx(naive_ess(log_w))
    assert ess(log_w + shift) == pytest.approx(ess(log_w), rel=1e-8)
    np.testing.assert_allclose(Weights(log_w + shift).W, Weights(log_w).W, rtol=1e-8)
    assert Weights(log_w + shift).log_mean == pytest.approx(Weights(log_w).log_mean + shift)


def test_vanished_weights_count_in_M(rng):
    """A particle of weight zero still divides the mean, and leaves the ESS to the others."""
    log_w = rng.normal(size=10)
    with_dead = np.r_[log_w, np.full(5, -np.inf)]
    assert ess(with_dead) == pytest.approx(ess(log_w))
    assert Weights(with_dead).log_mean == pytest.approx(Weights(log_w).log_mean + np.log(10 / 15))
    assert ess(np.full(4, -np.inf)) == 0.0
    assert Weights(np.full(4, -np.inf)).log_mean == -np.inf


def test_relative_variance_estimates_the_variance_of_the_mean(rng):
    """Log-normal weights: Var(mean)/mean² = (exp(s²) − 1)/M."""
    M, s = 20_000, 0.5
    estimate = Weights(rng.normal(scale=s, size=M)).relative_variance
    assert estimate == pytest.approx((np.exp(s**2) - 1) / M, rel=0.1)


def test_add_returns_new_weights(rng):
    log_w, increment = rng.normal(size=5), np.array([0.5, -np.inf, 1.0, -2.0, 0.0])
    log_w[0] = -np.inf
    before = log_w.copy(), increment.copy()
    old = Weights(log_w)
    new = old.add(increment)
    for look in (old, new):
        _ = look.W, look.ess, look.log_mean, look.relative_variance
    np.testing.assert_array_equal(log_w, before[0])
    np.testing.assert_array_equal(increment, before[1])
    assert old.log_w is log_w
    np.testing.assert_array_equal(new.log_w, [-np.inf, -np.inf, *(log_w + increment)[2:]])
    np.testing.assert_array_equal(new.add(np.ones(5)).log_w[:2], -np.inf)  # nothing comes back


@pytest.mark.parametrize("scale", [1.0, 1e3])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_log_sum_exp_against_scipy(rng, axis, scale):
    a = scale * rng.normal(size=(6, 9))
    a[rng.random(a.shape) < 0.2] = -np.inf
    a[2], a[:, 3] = -np.inf, -np.inf
    before = a.copy()
    np.testing.assert_allclose(log_sum_exp(a, axis=axis), logsumexp(a, axis=axis), rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(a, before)


def test_log_sum_exp_does_not_hide_nan():
    assert np.isnan(log_sum_exp(np.array([0.0, np.nan])))


def test_mixtures_by_quadrature(rng):
    """Moments of Gaussian mixtures, one in each of three columns, by quadrature of their density."""
    W, mean, std = rng.dirichlet(np.ones(4)), 3 * rng.standard_normal((4, 3)), rng.uniform(0.5, 2, (4, 3))
    W = np.append(W, 0.0)  # a weight that has underflown
    mean, std = np.vstack([mean, np.full(3, 1e3)]), np.vstack([std, np.ones(3)])
    x = np.linspace(-40, 40, 20_001)
    log_p = log_mixture(W, norm.logpdf(x[:, None], mean[:, None], std[:, None]))  # (20 001, 3)
    p = np.exp(log_p) * (x[1] - x[0])
    center = p.T @ x
    found = mixture_moments(W, mean, std)
    np.testing.assert_allclose(p.sum(axis=0), 1.0, atol=1e-9)
    np.testing.assert_allclose(found[0], center, atol=1e-8)
    np.testing.assert_allclose(found[1] ** 2, np.sum(p * (x[:, None] - center) ** 2, axis=0), rtol=1e-8)
