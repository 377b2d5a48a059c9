"""What points away from the particles gain on them, from call to call, and when it is time to look."""

import numpy as np

from sgevidence.history import Memory, Rows
from sgevidence.models import LinearModel
from sgevidence.particles import Cloud
from sgevidence.transitions import Adaptation, State
from sgevidence.transitions._watchlist import MIN_MODE_GAIN_NATS, SHORT_NATS, Watchlist, nearest

MODEL = LinearModel(2, noise_std=1.0)


def rows_of(rng, n):
    X = rng.standard_normal((n, 2))
    return Rows.of(X, X @ [2.0, -1.0] + rng.standard_normal(n))


def check_gains(rng):
    """Over several chunks: what is left of the gap is what rows and particles say, in whatever pieces."""
    theta, gap, rows = rng.standard_normal((3, 3)), np.array([50.0, 0.0, 20.0]), rows_of(rng, 30)
    rivals, predictives = Watchlist.of(theta, gap), rng.normal(-15.0, 3.0, size=3)
    for i, predictive in enumerate(predictives):
        rivals = rivals.after(MODEL, rows[10 * i : 10 * (i + 1)], predictive)
    gained = MODEL.sum_log_likelihood(theta, rows) - predictives.sum()
    start = np.array([50.0 - SHORT_NATS, MIN_MODE_GAIN_NATS, 20.0 - SHORT_NATS])
    np.testing.assert_allclose(rivals.behind, start - gained, rtol=1e-10)


def test_what_is_left_of_a_gap(rng):
    check_gains(rng)


def test_they_have_caught_up_when_nothing_is_left():
    theta = np.zeros((2, 3))
    assert not Watchlist.of(theta, np.array([-10.0, 30.0])).caught_up  # it must gain something first
    assert Watchlist(theta, np.array([-0.1, 3.0])).caught_up
    assert not Watchlist(theta, np.array([0.1, np.inf])).caught_up
    assert (
        not Watchlist(np.zeros((0, 3)), np.zeros(0))
        .after(MODEL, Rows.of(np.ones((1, 2)), [0.0]), 0.0)
        .caught_up
    )


def test_points_that_cannot_explain_a_row_fall_behind_for_ever(rng):
    rivals = Watchlist.of(np.array([[np.nan, 0.0, 0.0], [0.0, 0.0, 0.0]]), np.zeros(2))
    rivals = rivals.after(MODEL, rows_of(rng, 3), -4.0)
    assert rivals.behind[0] == np.inf and np.isfinite(rivals.behind[1])


def test_a_state_holds_its_rivals_against_the_new_rows_alone(rng):
    """Rows that weighed already are not counted again, and log Ẑ is that of all rows seen."""
    rows, theta = rows_of(rng, 20), MODEL.sample_prior(rng, 50)
    memory = Memory.empty().absorb(rows[:5], rng)
    first = State(Cloud.planted(theta), memory, Adaptation(rivals=Watchlist.of(theta[:2], np.full(2, 90.0))))
    before = first._replace(pending=rows[5:12], ell=MODEL.sum_log_likelihood(theta, rows[5:12]))
    path = before.path(MODEL, rows[12:])
    after = before._replace(pending=path.chunk, ell=MODEL.sum_log_likelihood(theta, path.chunk))
    gained = MODEL.sum_log_likelihood(theta[:2], rows[12:]) - (after.log_evidence - before.log_evidence)
    found = after.foreseen(before, path)
    np.testing.assert_allclose(found.adaptation.rivals.behind, 90.0 - SHORT_NATS - gained)
    assert (
        not found.is_rivalled
        and not first._replace(adaptation=Adaptation()).foreseen(before, path).is_rivalled
    )


def test_nearest_is_in_widths_of_the_particles():
    theta = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 200.0], [2.0, 200.0]])  # of widths 1 and 100
    points = np.array([[3.0, 0.0], [1.0, 100.0], [2.0, 300.0]])
    np.testing.assert_allclose(nearest(points, theta), [1.0, 2.0**0.5, 1.0])
    np.testing.assert_allclose(nearest(theta, theta, 2), 2.0)
