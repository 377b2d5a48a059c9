"""Evidence of hierarchies and funnels from a density that is Gaussian given few parameters."""

from typing import NamedTuple

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import elementwise_grad
from scipy import stats

from sgevidence.answers import nested_laplace_answer
from sgevidence.answers._nested_laplace import (
    KernelMixture,
    by_influence,
    conditional_modes,
    curvature,
    third_derivatives,
)

LOG_2PI = np.log(2 * np.pi)


class Density(NamedTuple):
    """A target that is written down."""

    log_p: object

    def value(self, theta):
        return self.log_p(theta)

    def value_and_grad(self, theta):
        return self.log_p(theta), elementwise_grad(self.log_p)(theta)


def log_funnel(theta):
    """Normalised: log Z = 0."""
    v, x = theta[:, 0], theta[:, 1:]
    k = theta.shape[1] - 1
    of_x = -0.5 * anp.sum(x**2, axis=1) * anp.exp(-v) - 0.5 * k * (v + LOG_2PI)
    return of_x - 0.5 * v**2 / 9 - 0.5 * np.log(9) - 0.5 * LOG_2PI


def mouth(rng, n, d):
    """Draws that have lost the neck: v is two widths too high, and never below −1."""
    v = np.maximum(6 + 2 * rng.standard_normal(n), -1 + rng.random(n))
    return np.column_stack([v, np.exp(v / 2)[:, None] * rng.standard_normal((n, d - 1))])


def answered(density, cloud, seed=0, most=1e7):
    return nested_laplace_answer(Density(density), cloud, len(cloud), most, np.random.default_rng(seed))


@pytest.mark.parametrize("d", [3, 8])
@pytest.mark.parametrize("seed", range(2))
def test_a_funnel_whose_neck_the_cloud_has_lost(d, seed):
    answer, third, n_gradients, _ = answered(log_funnel, mouth(np.random.default_rng(seed), 500, d), seed)
    assert abs(answer.log_evidence) < 4 * answer.log_evidence_std < 0.2
    v = answer.theta[:, 0]
    assert abs(v.mean()) < 0.6 and v.std() == pytest.approx(3, abs=0.6) and third > 0.5 and n_gradients > 0


def test_a_mode_that_only_the_cloud_knows_leaves_no_answer(rng):
    """Two funnels far apart in x, of which half the cloud knows each, but modes given v are of one."""

    def log_p(theta):
        far = theta - np.r_[0.0, np.full(3, 500.0)]
        return anp.logaddexp(log_funnel(theta), log_funnel(far)) - np.log(2)

    cloud = mouth(rng, 500, 4)
    one = answered(log_p, cloud).answer
    assert one is None or abs(one.log_evidence - np.log(0.5)) < 0.2  # nobody knows of the other
    both = cloud + np.r_[0.0, np.full(3, 500.0)] * (rng.random((500, 1)) < 0.5)
    answer = answered(log_p, both).answer
    assert answer is None or abs(answer.log_evidence) < max(4 * answer.log_evidence_std, 0.1)


def test_a_gaussian_has_nothing_that_changes_widths(rng):
    answer, third, *_ = answered(lambda t: -0.5 * anp.sum(t**2, axis=1), rng.standard_normal((200, 3)))
    assert answer is None and third < 1e-3


def test_nothing_is_begun_that_costs_too_much(rng):
    assert answered(log_funnel, mouth(rng, 100, 5), most=100.0) == (None, 0.0, 0.0, 0.0)


def test_the_same_seed_gives_the_same_digits(rng):
    cloud = mouth(rng, 300, 3)
    first, second = (answered(log_funnel, cloud, seed=3).answer for _ in range(2))
    assert first.log_evidence == second.log_evidence
    np.testing.assert_array_equal(first.theta, second.theta)


# -- modes of some parameters given others, for many values at once ---------------------------------


def parabola(theta):
    """x_j | v ~ N(j + v², e^v), v ~ N(0, 1), with v in the second of four columns."""
    v, x = theta[:, 1], np.delete(theta, 1, axis=1)
    away = x - np.arange(3) - v[:, None] ** 2
    each = away * np.exp(-v)[:, None]
    value = -0.5 * np.sum(away * each, axis=1) - 1.5 * v - 2 * np.log(2 * np.pi) - 0.5 * v**2
    of_v = 0.5 * np.sum(away * each, axis=1) + 2 * v * each.sum(axis=1) - 1.5 - v
    return value, np.insert(-each, 1, of_v, axis=1)


def modes_given(v, seed=0):
    cloud = np.random.default_rng(seed).standard_normal((50, 4))
    return conditional_modes(parabola, lambda t: parabola(t)[0], v[:, None], np.array([1]), cloud)


def test_modes_and_curvature_of_a_conditional_gaussian():
    v = np.linspace(-6, 4, 9)
    found = modes_given(v)
    np.testing.assert_allclose(found.theta[:, 1], v)
    away = np.delete(found.theta, 1, axis=1) - np.arange(3) - v[:, None] ** 2
    assert np.max(abs(away) * np.exp(-v / 2)[:, None]) < 0.05
    np.testing.assert_allclose(found.w, np.exp(-v)[:, None] + np.zeros(3), rtol=1e-3)


def test_draws_are_of_the_density_that_is_said_of_them(rng):
    found = modes_given(np.full(2000, 0.5))
    theta, log_q = found.draws(4, rng)
    np.testing.assert_allclose(log_q[1], found.log_density(theta[1]))
    ratio = np.exp(parabola(theta.reshape(-1, 4))[0] - log_q.ravel() - stats.norm.logpdf(0.5))
    assert ratio.mean() == pytest.approx(1, abs=4 * ratio.std() / len(ratio) ** 0.5)


def test_modes_are_a_function_of_what_is_given():
    v = np.array([-1.0, 2.0, 0.3])
    np.testing.assert_array_equal(modes_given(v).theta[1:], modes_given(v[1:]).theta)


# -- parameters that change the widths of others, by third derivatives ------------------------------


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


# -- a density of few parameters, fitted to weighted draws ------------------------------------------


def fitted(k, seed=0, n=100):
    rng = np.random.default_rng(seed)
    return KernelMixture.of(3 + rng.standard_normal((n, k)) ** 3, np.full(n, 1 / n), rng)


def test_one_dimension_integrates_to_one():
    x = np.sinh(np.linspace(-9, 9, 4001))
    assert np.trapezoid(np.exp(fitted(1).log_density(x[:, None])), x) == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("k", [1, 4])
def test_draws_are_of_the_density(k, rng):
    q = fitted(k)
    x = q.draws(4000, rng)
    ratio = np.exp(stats.multivariate_normal(np.full(k, 3.0)).logpdf(x) - q.log_density(x))
    assert ratio.mean() == pytest.approx(1, abs=4 * ratio.std() / len(x) ** 0.5)


def test_weights_count(rng):
    x = rng.standard_normal((4000, 1))
    log_w = stats.norm(1, 0.5).logpdf(x[:, 0]) - stats.norm.logpdf(x[:, 0])
    q = KernelMixture.of(x, np.exp(log_w) / np.exp(log_w).sum(), rng)
    assert np.median(q.draws(4000, rng)) == pytest.approx(1, abs=0.1)
