"""What points away from the particles gain on them, from call to call, and when it is time to look."""

import numpy as np
import pytest

from sgevidence.history import Memory, Rows
from sgevidence.models import LinearModel
from sgevidence.particles import Cloud
from sgevidence.transitions import Adaptation, State
from sgevidence.transitions._watchlist import MIN_MODE_GAIN_NATS, SHORT_NATS, Usual, Watchlist, nearest

MODEL = LinearModel(2, noise_std=1.0)


def rows_of(rng, n):
    X = rng.standard_normal((n, 2))
    return Rows.of(X, X @ [2.0, -1.0] + rng.standard_normal(n))


def check_gains(rng):
    """Over several chunks: what is left of the gap is what rows and particles say, in whatever pieces."""
    theta, gap, rows = rng.standard_normal((3, 3)), np.array([50.0, 0.0, 20.0]), rows_of(rng, 30)
    usual = Usual.of(MODEL, theta, rows)
    rivals, predictives = Watchlist.of(theta, gap, usual), rng.normal(-15.0, 3.0, size=3)
    for i, predictive in enumerate(predictives):
        rivals = rivals.after(MODEL, rows[10 * i : 10 * (i + 1)], predictive)
    gained = MODEL.sum_log_likelihood(theta, rows) - predictives.sum()
    start = np.array([50.0 - SHORT_NATS, MIN_MODE_GAIN_NATS, 20.0 - SHORT_NATS])
    np.testing.assert_allclose(rivals.behind, start - gained, rtol=1e-10)
    assert rivals.n_new == 30
    np.testing.assert_allclose(rivals.excess, 0.0, atol=1e-9)  # of the rows of which the mean is


def test_what_is_left_of_a_gap(rng):
    check_gains(rng)


def watched(theta, behind, rows):
    return Watchlist(theta, behind, Usual.of(MODEL, theta, rows))


def test_they_have_caught_up_when_nothing_is_left(rng):
    rows = rows_of(rng, 9)
    theta = np.zeros((2, 3))
    assert not Watchlist.of(theta, np.array([-10.0, 30.0]), Usual.of(MODEL, theta, rows)).caught_up
    assert watched(theta, np.array([-0.1, 3.0]), rows).caught_up
    assert not watched(theta, np.array([0.1, np.inf]), rows).caught_up
    nowhere = watched(np.zeros((0, 3)), np.zeros(0), rows).after(MODEL, rows[:1], 0.0)
    assert not (nowhere.caught_up or nowhere.has_unlike_rows)


def alarms(rng, slope, size, n_streams=40, weight=1.0):
    """Part of the streams of a hundred rows, and as many of another slope, in which the latter are unlike."""
    n = 0
    for g in rng.spawn(n_streams):
        X = g.standard_normal((200, 2))
        rows = Rows.of(X, X[:, 0] * np.r_[np.full(100, 2.0), np.full(100, slope)] + g.standard_normal(200))
        theta = np.array([2.0, 0.0, 0.0]) + g.standard_normal((24, 3))
        rivals = watched(theta, np.full(24, np.inf), rows[:100])
        for i in range(100, 200, size):
            rivals = rivals.after(MODEL, rows[i : i + size].scaled(weight), 0.0)
            if rivals.has_unlike_rows:
                n += 1
                break
    return n / n_streams


@pytest.mark.parametrize("size", [1, 20])
def test_rows_in_random_order_are_seldom_unlike_and_others_are(rng, size):
    assert alarms(rng, 2.0, size) < 0.3  # a tenth, in many more
    assert alarms(rng, 3.0, size) > 0.8


def check_weights(rng):
    """A row of any weight is one row: it tells no more of what is usual, and no less, than it did without."""
    for weight in (0.02, 50.0):
        assert alarms(rng, 2.0, 20, weight=weight) < 0.3, "false alarms"
        assert alarms(rng, 3.0, 20, weight=weight) > 0.8, "no alarm"


def test_a_weight_is_not_that_many_rows(rng):
    check_weights(rng)


def test_weights_that_count_as_rows_are_caught(rng, install_broken):
    install_broken(Watchlist, "after", "rows.weight @ rows.weight", "np.sum(rows.weight)")
    with pytest.raises(AssertionError, match="alarm"):
        check_weights(rng)


def test_a_sample_that_stands_for_more_rows_tells_no_more_of_the_mean(rng):
    rows, theta = rows_of(rng, 50), rng.standard_normal((3, 3))
    few, scaled = (Usual.of(MODEL, theta, one) for one in (rows, rows.scaled(1000.0)))
    assert few.n == pytest.approx(50) and scaled.n == pytest.approx(50)
    np.testing.assert_allclose(scaled.std, few.std)


def test_points_that_cannot_explain_a_row_fall_behind_for_ever(rng):
    rivals = watched(np.array([[np.nan, 0.0, 0.0], [0.0, 0.0, 0.0]]), np.zeros(2), rows_of(rng, 9))
    rivals = rivals.after(MODEL, rows_of(rng, 3), -4.0)
    assert rivals.behind[0] == np.inf and np.isfinite(rivals.behind[1]) and not rivals.has_unlike_rows


def test_a_state_holds_its_rivals_against_the_new_rows_alone(rng):
    """Rows that weighed already are not counted again, and log Ẑ is that of all rows seen."""
    rows, theta = rows_of(rng, 20), MODEL.sample_prior(rng, 50)
    memory = Memory.empty().absorb(rows[:5], rng)
    rivals = watched(theta[:2], np.full(2, 90.0), rows)
    first = State(Cloud.planted(theta), memory, Adaptation(rivals=rivals))
    before = first._replace(pending=rows[5:12], ell=MODEL.sum_log_likelihood(theta, rows[5:12]))
    path = before.path(MODEL, rows[12:])
    after = before._replace(pending=path.chunk, ell=MODEL.sum_log_likelihood(theta, path.chunk))
    gained = MODEL.sum_log_likelihood(theta[:2], rows[12:]) - (after.log_evidence - before.log_evidence)
    found = after.foreseen(before, path)
    np.testing.assert_allclose(found.adaptation.rivals.behind, 90.0 - gained)
    assert (
        not found.is_rivalled
        and not first._replace(adaptation=Adaptation()).foreseen(before, path).is_rivalled
    )


def test_nearest_is_in_widths_of_the_particles():
    theta = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 200.0], [2.0, 200.0]])  # of widths 1 and 100
    points = np.array([[3.0, 0.0], [1.0, 100.0], [2.0, 300.0]])
    np.testing.assert_allclose(nearest(points, theta), [1.0, 2.0**0.5, 1.0])
    np.testing.assert_allclose(nearest(theta, theta, 2), 2.0)
