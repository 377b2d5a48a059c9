"""Evidence of hierarchies and funnels from a density that is Gaussian given few parameters."""

from typing import NamedTuple

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import elementwise_grad

from sgevidence.answers import nested_laplace_answer

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
