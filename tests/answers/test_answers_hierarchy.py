"""Modes of some parameters given others, for many values at once."""

import numpy as np
import pytest
from scipy import stats

from sgevidence.answers._nested_laplace import conditional_modes


def value_and_grad(theta):
    """x_j | v ~ N(j + v², e^v), v ~ N(0, 1), with v in the second of four columns."""
    v, x = theta[:, 1], np.delete(theta, 1, axis=1)
    away = x - np.arange(3) - v[:, None] ** 2
    each = away * np.exp(-v)[:, None]
    value = -0.5 * np.sum(away * each, axis=1) - 1.5 * v - 2 * np.log(2 * np.pi) - 0.5 * v**2
    of_v = 0.5 * np.sum(away * each, axis=1) + 2 * v * each.sum(axis=1) - 1.5 - v
    return value, np.insert(-each, 1, of_v, axis=1)


def modes(v, seed=0):
    cloud = np.random.default_rng(seed).standard_normal((50, 4))
    return conditional_modes(value_and_grad, lambda t: value_and_grad(t)[0], v[:, None], np.array([1]), cloud)


def test_modes_and_curvature_of_a_conditional_gaussian():
    v = np.linspace(-6, 4, 9)
    found = modes(v)
    np.testing.assert_allclose(found.theta[:, 1], v)
    away = np.delete(found.theta, 1, axis=1) - np.arange(3) - v[:, None] ** 2
    assert np.max(abs(away) * np.exp(-v / 2)[:, None]) < 0.05
    np.testing.assert_allclose(found.w, np.exp(-v)[:, None] + np.zeros(3), rtol=1e-3)


def test_draws_are_of_the_density_that_is_said_of_them(rng):
    found = modes(np.full(2000, 0.5))
    theta, log_q = found.draws(4, rng)
    np.testing.assert_allclose(log_q[1], found.log_density(theta[1]))
    ratio = np.exp(value_and_grad(theta.reshape(-1, 4))[0] - log_q.ravel() - stats.norm.logpdf(0.5))
    assert ratio.mean() == pytest.approx(1, abs=4 * ratio.std() / len(ratio) ** 0.5)


def test_modes_are_a_function_of_what_is_given():
    v = np.array([-1.0, 2.0, 0.3])
    np.testing.assert_array_equal(modes(v).theta[1:], modes(v[1:]).theta)
