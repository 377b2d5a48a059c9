"""SGLD against the exact variance of its recursion."""

import numpy as np
import pytest
from gaussian_target import K, check_sgld, sgld_variance

from sgevidence.published import sgld


def test_stationary_variance(rng):
    check_sgld(sgld, rng)


def test_formula_of_the_docstring():
    eta = 0.3
    np.testing.assert_allclose(sgld_variance(K, eta, 2 * eta), 1 / (K * (1 - eta * K / 2)))


@pytest.mark.parametrize("V", [2.0, np.array([0.0, 1.0, 3.0, 6.0])], ids=["all", "each"])
def test_half_the_gradient_noise_restores_the_variance(rng, V):
    check_sgld(sgld, rng, V=V, beta_hat=V / 2)


def test_uncorrected_gradient_noise_heats(rng):
    check_sgld(sgld, rng, V=2.0, noise=lambda eta: 2 * eta + eta**2 * 2.0)
    with pytest.raises(AssertionError, match="variance off"):
        check_sgld(sgld, rng, V=2.0)


def test_thesis_convention_removes_too_much(rng):
    """β̂ = V instead of V/2 (thesis, text below Alg. 4) cools."""
    check_sgld(sgld, rng, V=2.0, beta_hat=2.0, noise=lambda eta: 2 * eta - eta**2 * 2.0)
    with pytest.raises(AssertionError, match="variance off"):
        check_sgld(sgld, rng, V=2.0, beta_hat=2.0)


def test_too_much_gradient_noise(rng):
    with pytest.raises(ValueError, match=r"beta_hat·eta > 1.*lower eta or raise the batch"):
        sgld(np.zeros((3, 2)), np.negative, rng, eta=0.1, n_steps=1, beta_hat=[0.0, 10.1])


@pytest.mark.parametrize("factor", [np.nan, np.inf, 1e3], ids=["nan", "inf", "runaway"])
def test_unsound_particles_stay_and_are_counted(factor):
    """1e3 · η = 100 widths a step: after 30 steps finite, and far away."""
    bad, start = np.array([1, 4]), np.ones((6, 2))
    curvature = np.ones((6, 1))
    curvature[bad] = factor
    moved, info = sgld(start, lambda x: -curvature * x, np.random.default_rng(0), eta=0.1, n_steps=30)
    calm, _ = sgld(start, np.negative, np.random.default_rng(0), eta=0.1, n_steps=30)
    good = np.setdiff1d(np.arange(6), bad)
    assert info.n_refused == 2
    np.testing.assert_array_equal(moved[bad], 1.0)
    np.testing.assert_array_equal(moved[good], calm[good])
    np.testing.assert_array_equal(start, 1.0)
