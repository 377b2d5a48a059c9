"""SGHMC against the exact variance of its recursion, from the 2×2 discrete Lyapunov equation."""

import numpy as np
import pytest
from gaussian_target import (
    K,
    check_normal,
    check_sghmc,
    displaced_cloud,
    gradient,
    sghmc_covariance,
    sghmc_variance,
)

from sgevidence.kernels import sghmc

ALPHAS = [0.2, 0.6, 1.0]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_stationary_variance(rng, alpha):
    check_sghmc(sghmc, rng, alpha)


@pytest.mark.parametrize("alpha", [0.01, *ALPHAS])
@pytest.mark.parametrize("eta", [1e-4, 0.1, 0.4])
def test_formula_of_the_docstring(alpha, eta):
    """The Lyapunov equation and 1/(k(1 − ηk/(2(2 − α)))) are two routes to one number."""
    formula = 1 / (K * (1 - eta * K / (2 * (2 - alpha))))
    np.testing.assert_allclose(sghmc_variance(eta, alpha, 2 * alpha * eta), formula, rtol=1e-8)


def test_alpha_one_is_sgld(rng):
    """The infinite-friction limit, as the thesis says: momentum is forgotten at once."""
    eta = 0.3
    np.testing.assert_allclose(sghmc_variance(eta, 1.0, 2 * eta), 1 / (K * (1 - eta * K / 2)))


@pytest.mark.parametrize("V", [1.0, np.array([0.0, 0.5, 1.0, 1.9])], ids=["all", "each"])
def test_half_the_gradient_noise_restores_the_variance(rng, V):
    check_sghmc(sghmc, rng, V=V, beta_hat=V / 2)


def test_uncorrected_gradient_noise_heats(rng):
    check_sghmc(sghmc, rng, V=1.0, noise=lambda eta: 2 * 0.2 * eta + eta**2)
    with pytest.raises(AssertionError, match="variance off"):
        check_sghmc(sghmc, rng, V=1.0)


def test_thesis_convention_removes_too_much(rng):
    """β̂ = V instead of V/2 (thesis, text above Alg. 4) cools."""
    check_sghmc(sghmc, rng, V=0.9, beta_hat=0.9, noise=lambda eta: 2 * 0.2 * eta - eta**2 * 0.9)
    with pytest.raises(AssertionError, match="variance off"):
        check_sghmc(sghmc, rng, V=0.9, beta_hat=0.9)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_momentum_refreshed_at_each_step(rng, alpha):
    """x ← (1 − ηk)x + (1 − α)v + ξ with v ~ N(0, η) afresh: noise (1 − α)²η + 2αη = (1 + α²)η."""
    eta = 0.2
    theta, _ = sghmc(
        displaced_cloud(rng), gradient, rng, eta=eta, alpha=alpha, n_steps=150, resample_momentum=True
    )
    check_normal(theta, (1 + alpha**2) / (K * (2 - eta * K)))


def test_momentum_refreshed_at_each_call(rng):
    """What the samplers do: short calls with new momenta, whose variance is again a linear recursion's."""
    eta, alpha, n_steps = 0.2, 0.2, 5
    theta = displaced_cloud(rng)
    for _ in range(60):
        theta, _ = sghmc(theta, gradient, rng, eta=eta, alpha=alpha, n_steps=n_steps)
    variance = []
    for k in K:
        A = np.array([[1 - eta * k, 1 - alpha], [-eta * k, 1 - alpha]])
        power, noise = np.eye(2), np.zeros((2, 2))
        for _ in range(n_steps):
            power, noise = A @ power, A @ noise @ A.T + 2 * alpha * eta
        variance.append((power[0, 1] ** 2 * eta + noise[0, 0]) / (1 - power[0, 0] ** 2))
    check_normal(theta, np.array(variance))


def test_temperature(rng):
    """mean(v²)/η, against the v entry of the Lyapunov solution; with gradient noise it shows the heat."""
    eta, alpha, V = 0.2, 0.2, 3.0
    for noise in (0.0, V):
        theta = np.zeros((10_000, len(K)))

        def grad(x, noise=noise):
            return -K * x + np.sqrt(noise) * rng.standard_normal(x.shape)

        _, info = sghmc(theta, grad, rng, eta=eta, alpha=alpha, n_steps=150)
        total = 2 * alpha * eta + eta**2 * noise
        exact = np.array([sghmc_covariance(k, eta, alpha, total)[1, 1] for k in K]) / eta
        error = np.sqrt(2 * np.sum(exact**2) / len(theta)) / len(K)
        assert abs(info.temperature - exact.mean()) < 5 * error
        assert info.n_gradients == 150 and info.acceptance == 1.0


def test_too_much_gradient_noise(rng):
    with pytest.raises(ValueError, match=r"beta_hat·eta > alpha.*lower eta or raise the batch"):
        sghmc(np.zeros((3, 2)), np.negative, rng, eta=0.1, alpha=0.2, n_steps=1, beta_hat=[0.0, 2.1])


@pytest.mark.parametrize("factor", [np.nan, np.inf, 1e3], ids=["nan", "inf", "runaway"])
def test_unsound_particles_stay_and_are_counted(factor):
    """1e3 · η = 100 widths a step: after 30 steps finite, but beyond temperature 10⁸."""
    bad, start = np.array([1, 4]), np.ones((6, 2))
    curvature = np.ones((6, 1))
    curvature[bad] = factor
    kernel = dict(eta=0.1, alpha=0.2, n_steps=30)
    moved, info = sghmc(start, lambda x: -curvature * x, np.random.default_rng(0), **kernel)
    calm, _ = sghmc(start, np.negative, np.random.default_rng(0), **kernel)
    good = np.setdiff1d(np.arange(6), bad)
    assert info.n_refused == 2
    assert info.temperature < 10
    np.testing.assert_array_equal(moved[bad], 1.0)
    np.testing.assert_array_equal(moved[good], calm[good])
    np.testing.assert_array_equal(start, 1.0)


def test_all_particles_unsound(rng):
    theta, info = sghmc(np.ones((3, 2)), lambda x: np.nan * x, rng, eta=0.1, alpha=0.2, n_steps=2)
    assert info.n_refused == 3 and info.temperature == np.inf
    np.testing.assert_array_equal(theta, 1.0)
