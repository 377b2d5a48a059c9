"""Parameters that change the widths of others, by third derivatives."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import elementwise_grad

from sgevidence.answers._nested_laplace import by_influence, curvature, third_derivatives


def with_grad(log_p):
    grad = elementwise_grad(log_p)
    return lambda theta: (log_p(theta), grad(theta))


@with_grad
def funnel(theta):
    """v in the third column."""
    v, x = theta[:, 2], theta[:, anp.array([0, 1, 3])]
    return -0.5 * v**2 / 9 - 0.5 * anp.sum(x**2, axis=1) * anp.exp(-v) - 1.5 * v


def draws_of_funnel(rng, n):
    v = 3 * rng.standard_normal(n)
    theta = np.exp(v / 2)[:, None] * rng.standard_normal((n, 4))
    theta[:, 2] = v
    return theta


def test_curvature_of_a_gaussian(rng):
    A = rng.standard_normal((3, 3))
    P = A @ A.T
    grad, found = curvature(
        lambda t: (-0.5 * np.sum(t @ P * t, axis=1), -t @ P),
        rng.standard_normal((5, 3)),
        np.array([0, 2]),
        np.ones((5, 2)),
    )
    np.testing.assert_allclose(found, np.tile(P[np.ix_([0, 2], [0, 2])], (5, 1, 1)), atol=1e-6)
    assert grad.shape == (5, 2)


def test_a_gaussian_has_no_hyperparameters(rng):
    theta = rng.standard_normal((20, 3))
    _, left = by_influence(third_derivatives(lambda t: (-0.5 * np.sum(t**2, axis=1), -t), theta, np.ones(3)))
    assert left.max() < 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_the_coordinate_of_a_funnel_comes_first_and_leaves_nothing(seed):
    theta = draws_of_funnel(np.random.default_rng(seed), 24)
    order, left = by_influence(third_derivatives(funnel, theta, theta.std(axis=0)))
    assert order[0] == 2 and left[0] > 0.5 and left[1] < 1e-3


def test_scales_of_their_own_are_all_taken(rng):
    """Four effects, each with a scale: the scales come first, in whatever order."""

    @with_grad
    def log_p(theta):
        log_scale, x = theta[:, :4], theta[:, 4:]
        return anp.sum(-0.5 * log_scale**2 - 0.5 * x**2 * anp.exp(-2 * log_scale) - log_scale, axis=1)

    log_scale = rng.standard_normal((24, 4))
    theta = np.hstack([log_scale, np.exp(log_scale) * rng.standard_normal((24, 4))])
    order, left = by_influence(third_derivatives(log_p, theta, theta.std(axis=0)))
    assert set(order[:4]) == {0, 1, 2, 3} and left[3] > 0.5 and left[4] < 1e-3
