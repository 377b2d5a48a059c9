"""Importance draws: exactly even where the target is their own density, unbiased where it is not."""

import numpy as np
import pytest
from scipy.stats import f, kstest, multivariate_t

from sgevidence.answers import TDensity, importance_draws
from sgevidence.kernels import Coordinates

D, NU, LOG_MASS, LOG_COPIES = 3, 5.0, -7.5, np.log(6.0)


def density(log_density):
    """exp(LOG_MASS) times a density; nothing of a model is needed."""
    return lambda theta: LOG_MASS + log_density(theta)


def mode(rng):
    A = rng.normal(size=(D, 2 * D))
    return rng.normal(size=D), A @ A.T


def check_even(rng, nu=NU):
    """Where the target is q every weight is mass times copies, and the draws are those of a t density."""
    a, P = mode(rng)
    q = multivariate_t(a, np.linalg.inv(P), df=nu)
    theta, weights = importance_draws(density(q.logpdf), a, P, LOG_COPIES, 20_000, rng)
    assert np.allclose(weights.log_w, LOG_MASS + LOG_COPIES, atol=1e-8), "weights"
    u = theta - a
    assert kstest(np.sum((u @ P) * u, axis=1) / D, f(D, NU).cdf).pvalue > 1e-5, "draws"


def test_weights_are_even_where_the_target_is_the_proposal(rng):
    check_even(rng)


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("log_density", "np.sum(np.log(np.diag(self.coordinates.L)))", "0.0"),
        ("draws", "self.theta(...)", "self.m + self.coordinates.whiten(...)"),
    ],
    ids=["no determinant", "the other factor"],
)
def test_a_mistake_is_seen(rng, install_broken, name, right, wrong):
    install_broken(TDensity, name, right, wrong)
    with pytest.raises(AssertionError, match=r"weights|draws"):
        check_even(rng)


def test_another_tail_is_seen(rng):
    with pytest.raises(AssertionError, match="weights"):
        check_even(rng, NU + 0.01)


def test_mass_of_another_density(rng):
    """Of a skewed one, sum of log-gammas, around its mode."""
    shape = np.array([3.0, 5.0, 8.0])

    def log_gamma(x):  # of log Gamma(shape), without the constant
        return np.sum(shape * x - np.exp(x), axis=1)

    _, weights = importance_draws(density(log_gamma), np.log(shape), np.diag(shape), LOG_COPIES, 20_000, rng)
    exact = LOG_MASS + LOG_COPIES + np.sum(np.log([2.0, 24.0, 5040.0]))  # Γ(3) Γ(5) Γ(8)
    assert abs(weights.log_mean - exact) < 4.5 * weights.relative_variance**0.5
    assert weights.ess > 10_000


def test_widths_may_differ_by_any_factor():
    """At a condition of 10²⁴, of which scipy's density says that it is singular."""
    phi, widths = np.linspace(-2, 2, 10).reshape(5, 2), np.array([1e-12, 1.0])
    q = TDensity(np.zeros(2), Coordinates(np.diag(widths)), NU)
    unit = multivariate_t(np.zeros(2), np.eye(2), df=NU)
    assert q.log_density(widths * phi) == pytest.approx(unit.logpdf(phi) - np.log(widths).sum(), abs=1e-10)
