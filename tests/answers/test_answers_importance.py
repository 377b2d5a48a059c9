"""Importance draws: exactly even where the target is their own density, unbiased where it is not."""

import numpy as np
import pytest
from mutants import broken
from scipy.stats import f, kstest, multivariate_t

from sgevidence.answers import importance_draws

D, NU, LOG_MASS, LOG_COPIES = 3, 5.0, -7.5, np.log(6.0)


def density(log_density):
    """exp(LOG_MASS) times a density; nothing of a model is needed."""
    return lambda theta: LOG_MASS + log_density(theta)


def mode(rng):
    A = rng.normal(size=(D, 2 * D))
    return rng.normal(size=D), A @ A.T


def check_even(rng, draws=importance_draws):
    """Where the target is q every weight is mass times copies, and the draws are those of a t density."""
    a, P = mode(rng)
    q = multivariate_t(a, np.linalg.inv(P), df=NU)
    theta, weights = draws(density(q.logpdf), a, P, LOG_COPIES, 2000, rng)
    assert np.allclose(weights.log_w, LOG_MASS + LOG_COPIES, atol=1e-8), "weights"
    u = theta - a
    assert kstest(np.sum((u @ P) * u, axis=1) / D, f(D, NU).cdf).pvalue > 1e-5, "draws"


def test_weights_are_even_where_the_target_is_the_proposal(rng):
    check_even(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("log_joint(theta) + log_copies", "log_joint(theta)"),
        ("np.sum(np.log(np.diag(R)))", "0.0"),
        ("lgamma(nu / 2)", "lgamma(nu)"),
        ("solve_triangular(R.T, t.T, lower=False)", "solve_triangular(R, t.T, lower=True)"),
        ("0.5 * (nu + d)", "0.5 * nu"),
    ],
    ids=["one labelling", "no determinant", "another constant", "the other factor", "another tail"],
)
def test_a_mistake_is_seen(rng, right, wrong):
    with pytest.raises(AssertionError, match=r"weights|draws"):
        check_even(rng, broken(importance_draws, right, wrong))


def test_mass_of_another_density(rng):
    """Of a skewed one, sum of log-gammas, around its mode."""
    shape = np.array([3.0, 5.0, 8.0])

    def log_gamma(x):  # of log Gamma(shape), without the constant
        return np.sum(shape * x - np.exp(x), axis=1)

    _, weights = importance_draws(density(log_gamma), np.log(shape), np.diag(shape), LOG_COPIES, 20_000, rng)
    exact = LOG_MASS + LOG_COPIES + np.sum(np.log([2.0, 24.0, 5040.0]))  # Γ(3) Γ(5) Γ(8)
    assert abs(weights.log_mean - exact) < 4.5 * weights.relative_variance**0.5
    assert weights.ess > 10_000
