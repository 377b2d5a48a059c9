"""Dynamics inside a contour: they must settle on the restricted density, exactly where there is a test.

The target is N(0, I) in three dimensions inside an ellipsoid, where rejection gives independent draws.
"""

import numpy as np
import pytest
from mutants import broken
from scipy.stats import ks_2samp

from sgevidence.kernels import reflected_langevin, reflected_sghmc

A = np.array([1.0, 2.0, 0.5])
FLOOR = -2.0
M = 4000
P_VALUE = 1e-6


def log_likelihood(theta):
    """Lopsided, so that a mistake in the direction is seen."""
    return -np.sum((A * (theta - 0.3)) ** 2, axis=1)


def grad_log_likelihood(theta):
    return -2 * A**2 * (theta - 0.3)


def gaussian(theta):
    return -0.5 * np.sum(theta**2, axis=1), -theta


def by_rejection(rng):
    theta = rng.standard_normal((20 * M, 3))
    return theta[log_likelihood(theta) > FLOOR]


def check_restricted(kernel, rng):
    """From one point inside to the law of rejection, in log L and in each coordinate."""
    exact = by_rejection(rng)
    theta = np.full((M, 3), 0.3)
    theta, info = kernel(theta, rng)
    assert np.all(log_likelihood(theta) > FLOOR), "outside the contour"
    p = [ks_2samp(a, b).pvalue for a, b in zip(theta.T, exact.T)]
    p.append(ks_2samp(log_likelihood(theta), log_likelihood(exact)).pvalue)
    assert min(p) > P_VALUE, f"Kolmogorov-Smirnov p-values {p}"
    return info


def langevin(eps, kernel=reflected_langevin, grad=grad_log_likelihood):
    functions = gaussian, log_likelihood, grad
    settings = dict(floor=FLOOR, eps=eps, alpha=0.1, n_steps=200)
    return lambda theta, rng: kernel(theta, *functions, rng, **settings)


@pytest.mark.parametrize("eps", [0.1, 0.4, 0.8])
def test_langevin_is_exact_at_any_step(rng, eps):
    info = check_restricted(langevin(eps), rng)
    assert info.n_refused == 0 and 0.2 < info.acceptance <= 1.0


def test_langevin_is_exact_whatever_the_direction(rng):
    """The direction of the gradient makes it fast, not right."""
    check_restricted(langevin(0.3, grad=lambda theta: np.ones_like(theta)), rng)
    check_restricted(langevin(0.3, grad=np.zeros_like), rng)


MUTANTS = {
    "no turn after a refused step": ("np.where(made, v_new, -v)", "np.where(made, v_new, v)"),
    "no Metropolis test": ("(np.log1p(-rng.random(len(theta))) < log_ratio)", "(log_ratio > -1e9)"),
    "kinetic energy forgotten": (
        "(log_p_new - log_p) - 0.5 * np.sum(v_new**2 - v**2, axis=1)",
        "log_p_new - log_p",
    ),
    "reflected step is not asked whether it is inside": (
        "inside[out] = log_likelihood(x[out]) > floor",
        "inside[out] = True",
    ),
}


@pytest.mark.parametrize("right, wrong", MUTANTS.values(), ids=MUTANTS)
def test_broken_langevin_is_caught(rng, right, wrong):
    with pytest.raises(AssertionError, match=r"p-values|outside"):
        check_restricted(langevin(0.8, broken(reflected_langevin, right, wrong)), rng)


def test_sghmc_is_right_up_to_its_step(rng):
    """As published: as η → 0 the restricted density, and for a coarse η the boundary is undersampled."""

    def kernel(eta, n_steps):
        settings = dict(floor=FLOOR, eta=eta, alpha=0.02, n_steps=n_steps)
        return lambda theta, rng: reflected_sghmc(
            theta, lambda t: -t, log_likelihood, grad_log_likelihood, rng, **settings
        )

    check_restricted(kernel(1e-4, 2000), rng)
    theta, _ = kernel(0.1, 300)(np.full((M, 3), 0.3), rng)
    assert np.mean(log_likelihood(theta)) > np.mean(log_likelihood(by_rejection(rng))) + 0.1
