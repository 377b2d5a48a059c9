"""Climbs in lockstep: maxima that are known, walls, where they have been, and draws to climb from."""

import autograd.numpy as anp
import numpy as np
import pytest
from mutants import broken

from sgevidence.custom import CustomModel
from sgevidence.history import Rows
from sgevidence.targets import Likelihood, Target, climb_together, peaks

D = 3
WIDE = np.array([1.0, 1e4, 25.0])
MODES = np.array([[1.0, -2.0, 0.5], [-2.0, 1.0, 0.0]])


def target(log_likelihood, d=D):
    """A likelihood with a flat prior."""
    model = CustomModel(
        lambda rng, size: rng.standard_normal((size, d)),
        lambda theta: 0.0 * theta[:, 0],
        lambda theta, X, y: anp.reshape(log_likelihood(theta), (-1, 1)),
        d,
    )
    return Target(model, Likelihood(Rows.of(np.zeros((1, 1)))))


def two_valleys(theta):
    """Two Gaussians, the second a hundred times as wide along one axis as along another."""
    parts = [-0.5 * anp.sum(WIDE * (theta - m) ** 2, axis=1) for m in MODES]
    return anp.logaddexp(parts[0], parts[1] - 1.0)


def check(rng):
    f = target(two_valleys)
    ends = climb_together(f, MODES[0] + rng.standard_normal((20, D)), np.ones(D))
    assert ends.is_top.all() and not ends.is_wall.any()
    apart = np.sum(((ends.theta[:, None] - MODES) * np.sqrt(WIDE)) ** 2, axis=2).min(axis=1)
    assert np.max(apart) < 0.2  # a tenth of a nat below the maximum
    np.testing.assert_allclose(ends.value, f.value(ends.theta))
    np.testing.assert_allclose(ends.path_value, f.value(ends.path))
    assert len(ends.path) < 20 * 60


def test_climbs_end_at_maxima_and_say_where_they_have_been(rng):
    check(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("H[j] += ...", "H[j] += 0.0"),
        ("g[j] * ratio[:, None] - slope[gains]", "slope[gains] - g[j] * ratio[:, None]"),
    ],
    ids=["steepest ascent", "curvature upside down"],
)
def test_a_mistake_is_seen(rng, monkeypatch, right, wrong):
    monkeypatch.setitem(globals(), "climb_together", broken(climb_together, right, wrong))
    with pytest.raises(AssertionError):
        check(rng)


def exponentials(theta):
    """Logarithms of six rates: a prior width too low, the log likelihood is −e²⁰."""
    eta = 20.0 * theta
    return anp.sum(-eta - anp.exp(-eta), axis=1)


def check_exponentials(rng):
    ends = climb_together(target(exponentials, 6), rng.standard_normal((20, 6)), np.ones(6))
    assert ends.is_top.all()
    np.testing.assert_allclose(ends.theta, 0.0, atol=0.01)


def test_exponentials_come_down_in_a_few_steps(rng, monkeypatch):
    check_exponentials(rng)
    own = broken(climb_together, "missing[0] / missing[1]", "1.0 + 0.0 * missing[0]")
    monkeypatch.setitem(globals(), "climb_together", own)
    with pytest.raises(AssertionError):
        check_exponentials(rng)


def test_a_wall_is_no_maximum(rng):
    """Half of the space is impossible, and the slope leads there."""
    f = target(lambda theta: anp.where(theta[:, 0] < 0.5, 3.0 * theta[:, 0] - theta[:, 1] ** 2, -np.inf), 2)
    ends = climb_together(f, np.array([[-1.0, 0.3], [0.0, -1.0]]), np.ones(2))
    assert ends.is_wall.all() and not ends.is_top.any() and np.all(ends.theta[:, 0] > 0.4)


def test_what_is_impossible_stays_where_it_is():
    f = target(lambda theta: anp.where(theta[:, 0] < 0.0, -(theta[:, 0] ** 2), -np.inf), 1)
    ends = climb_together(f, np.array([[1.0], [-1.0]]), np.ones(1))
    assert not ends.is_top[0] and ends.theta[0, 0] == 1.0 and ends.value[0] == -np.inf


def test_peaks_are_better_than_their_neighbours(rng):
    theta = rng.uniform(-4, 4, (2000, 2))
    value = np.logaddexp(-np.sum((theta - 2) ** 2, axis=1), -3 - np.sum((theta + 2) ** 2, axis=1) / 0.1)
    found = theta[peaks(theta, value, 2)]
    assert np.max(abs(found - [[2, 2], [-2, -2]])) < 0.3
