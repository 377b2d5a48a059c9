"""Random-walk Metropolis: exact on Gaussians and on a skewed target, faults."""

import numpy as np
import pytest
from gaussian_target import check_log_gamma, check_random_walk, log_gamma, log_gamma_start

from sgevidence.kernels import random_walk


def test_gaussian(rng):
    check_random_walk(random_walk, rng)


def test_log_gamma(rng):
    x, _ = random_walk(log_gamma_start(rng), lambda x: log_gamma(x)[0], rng, eps=1.2, n_steps=300)
    check_log_gamma(x)


def test_flat_target_accepts_everything(rng):
    theta, info = random_walk(np.zeros((2000, 1)), lambda x: np.zeros(len(x)), rng, eps=0.5, n_steps=8)
    assert info.acceptance == 1.0 and info.n_gradients == 9
    assert abs(theta.var() / (8 * 0.25) - 1) < 5 * np.sqrt(2 / 2000)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_impossible_proposals_stay(rng, value):
    """The half line x > 0: nobody leaves, and the others do not stand still."""
    start = np.ones((1000, 1))
    theta, info = random_walk(
        start, lambda x: np.where(x[:, 0] > 0, -x[:, 0], value), rng, eps=1.0, n_steps=50
    )
    assert np.all(theta > 0)
    assert abs(theta.mean() - 1) < 5 / np.sqrt(1000)  # the exponential distribution
    assert 0.2 < info.acceptance < 0.9
    np.testing.assert_array_equal(start, 1.0)


def test_start_outside_the_support(rng):
    """−inf to −inf is no move and no warning; −inf to finite is always one."""
    theta, _ = random_walk(
        np.full((100, 1), -1.0), lambda x: np.where(x[:, 0] > 0, -x[:, 0], -np.inf), rng, eps=1.0, n_steps=40
    )
    assert np.all((theta > 0) | (theta == -1.0)) and np.any(theta > 0)
