"""HMC: exact on Gaussians and on a skewed target, energy error of second order, faults."""

import numpy as np
from gaussian_target import (
    K,
    M,
    check_hmc,
    check_log_gamma,
    check_normal,
    log_gamma,
    log_gamma_start,
    value_and_grad,
)

from sgevidence.kernels import hmc


def test_gaussian(rng):
    check_hmc(hmc, rng)


def test_log_gamma(rng):
    x = log_gamma_start(rng)
    for _ in range(60):
        x, info = hmc(x, log_gamma, rng, eps=0.6 * rng.uniform(0.5, 1.2, M), L=4)
    assert 0.5 < info.acceptance < 0.99  # the Metropolis test is at work
    check_log_gamma(x)


def test_equilibrium_is_kept_by_one_coarse_step(rng):
    """Invariance without burn-in, where a third of the proposals fail."""
    x = rng.standard_normal((M, len(K))) / np.sqrt(K)
    moved, info = hmc(x, value_and_grad, rng, eps=0.9, L=2)
    assert info.acceptance < 0.85
    check_normal(moved, 1 / K)


def test_acceptance_is_the_fraction_that_moves(rng):
    x = rng.standard_normal((M, len(K))) / np.sqrt(K)
    moved, info = hmc(x, value_and_grad, rng, eps=0.9, L=2)
    n_moved = np.sum(np.any(moved != x, axis=1))
    assert abs(n_moved / M - info.acceptance) < 5 * 0.5 / np.sqrt(M)
    assert info.n_gradients == 3


def energy_error_ratio(kernel):
    """Rejections, which are first order in the energy error, for one trajectory time and two steps."""
    rejections = []
    for eps, L in ((0.2, 6), (0.1, 12)):
        rng = np.random.default_rng(1)
        x = rng.standard_normal((M, len(K))) / np.sqrt(K)
        rejections.append(1 - kernel(x, value_and_grad, rng, eps=eps, L=L)[1].acceptance)
    return rejections[0] / rejections[1]


def test_energy_error_is_of_second_order():
    assert 3.6 < energy_error_ratio(hmc) < 4.4


def test_step_size_of_each_particle(rng):
    """Two step sizes in one cloud do what two clouds would do."""
    x, eps = np.linspace(-1, 1, 8).reshape(4, 2), np.array([0.0, 0.1, 0.3, 0.5])

    def target(x):
        return -0.5 * np.sum(x**2, axis=1), -x

    both, _ = hmc(x, target, np.random.default_rng(3), eps=eps, L=4)
    for i, one in enumerate(eps):
        alone, _ = hmc(x, target, np.random.default_rng(3), eps=one, L=4)
        np.testing.assert_array_equal(both[i], alone[i])
    np.testing.assert_array_equal(both[0], x[0])
    assert np.all(both[1:] != x[1:])


def test_trajectories_that_leave_the_finite_numbers():
    """nan and overflow are refused and counted, −inf is rejected; the others are not disturbed."""
    x, n_calls = np.linspace(-1, 1, 12).reshape(6, 2), 0

    def target(x):
        nonlocal n_calls
        n_calls += 1
        log_p, grad = -0.5 * np.sum(x**2, axis=1), -x
        if n_calls > 1:
            log_p[1], log_p[2], log_p[3] = np.nan, -np.inf, np.inf
            grad[4] = np.inf
        return log_p, grad

    moved, info = hmc(x, target, np.random.default_rng(0), eps=0.1, L=3)
    calm, _ = hmc(x, lambda x: (-0.5 * np.sum(x**2, axis=1), -x), np.random.default_rng(0), eps=0.1, L=3)
    assert info.n_refused == 2  # a density of zero is an answer, on the way too
    np.testing.assert_array_equal(moved[1:5], x[1:5])
    np.testing.assert_array_equal(moved[[0, 5]], calm[[0, 5]])
    assert 0 < info.acceptance <= 2 / 6


def test_start_outside_the_support_may_move_in(rng):
    def target(x):  # N(0, 1) on x > 0
        return np.where(x[:, 0] > 0, -0.5 * x[:, 0] ** 2, -np.inf), -x

    x, info = hmc(np.full((1000, 1), -0.1), target, rng, eps=0.5, L=2)
    assert np.any(x > 0) and np.all((x > 0) | (x == -0.1))
    assert info.n_refused == 0


def wide_guide(x):
    """Gradients of a target a third too wide: proposals that only the test can put right."""
    value, grad = value_and_grad(x)
    return value / 1.8, grad / 1.8


def guided(kernel, rng):
    x = rng.standard_normal((M, len(K))) / np.sqrt(K)
    here = None
    for t in range(20):
        eps = 0.4 * rng.uniform(0.5, 1.2, M)
        x, info = kernel(
            x, wide_guide, rng, eps=eps, L=4, here=here, log_target=lambda t: value_and_grad(t)[0]
        )
        here = info.here if t % 2 else None
    assert 0.5 < info.acceptance < 0.98
    check_normal(x, 1 / K)


def test_a_guide_changes_the_proposals_and_not_the_target(rng):
    guided(hmc, rng)
