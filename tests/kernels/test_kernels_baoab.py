"""BAOAB leaves the positions of N(0, 1) at variance one exactly, also with known gradient noise."""

import numpy as np
import pytest

from sgevidence.kernels import baoab

M, STEPS = 20_000, 60


def position_variance(rng, eps, c, V_true, V_told):
    """Second moment of each coordinate in the long run, and its standard error."""
    noise = np.sqrt(V_true)
    target = lambda theta: -theta + noise * rng.standard_normal(theta.shape)  # noqa: E731
    theta, info = baoab(rng.standard_normal((M, 3)), target, rng, eps=eps, c=c, n_steps=STEPS, V=V_told)
    assert info.n_gradients == STEPS + 1 and info.n_refused == 0
    return np.mean(theta**2, axis=0), np.sqrt(2 / M)


@pytest.mark.parametrize("eps, c", [(0.32, 0.8), (0.5, 0.4), (1.2, 0.0)])
@pytest.mark.parametrize("V", [0.0, 0.3])
def test_positions_have_variance_one(eps, c, V, rng):
    variance, se = position_variance(rng, eps, c, V, V)
    assert np.all(np.abs(variance - 1) < 5 * se)


@pytest.mark.parametrize("factor", [0.0, 0.5, 2.0])
def test_a_wrong_noise_variance_is_seen(factor, rng):
    variance, se = position_variance(rng, 1.2, 0.0, 0.5, 0.5 * factor)
    assert np.all(np.abs(variance - 1) > 5 * se)


def test_each_coordinate_has_noise_of_its_own(rng):
    V = np.array([0.0, 0.2, 0.6])
    variance, se = position_variance(rng, 0.8, 0.3, V, V)
    assert np.all(np.abs(variance - 1) < 5 * se)


def test_too_much_gradient_noise_is_an_error(rng):
    with pytest.raises(ValueError, match="lower the step or raise the batch"):
        baoab(np.zeros((5, 1)), lambda t: -t, rng, eps=1.0, c=0.9, n_steps=3, V=10.0)


def test_unstable_particles_stay_and_are_counted(rng):
    start = np.ones((4, 1))
    with np.errstate(all="ignore"):
        theta, info = baoab(start, lambda t: -1e4 * t, rng, eps=1.0, c=0.5, n_steps=50)
    np.testing.assert_array_equal(theta, start)
    assert info.n_refused == 4
