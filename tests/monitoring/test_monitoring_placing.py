"""Where a change happened, whether it stands out, and what rows gain by one that the model cannot see."""

import numpy as np
import pytest
from mutants import broken
from scipy.stats import kstest, norm

from sgevidence.monitoring._estimators import (
    best_gains,
    joint_rows,
    log_loss,
    log_ratio,
    place_weights,
    stands_out,
)


def check_places(rng, place_weights=place_weights):
    """How often the true place is in a tail of its posterior: of a right model, of one that is too sure."""
    tails: list[list[float]] = [[], []]
    for _ in range(500):
        gain = rng.normal(size=100) + (np.arange(100) >= 40) - 0.5  # log N(x; 1, 1) − log N(x; 0, 1)
        for factor, tail in zip((1, 4), tails):
            weight = place_weights(factor * gain)
            tail.append((weight[:41].sum() - 0.5 * weight[40]) / weight.sum())
    assert min(kstest(tail, "uniform").pvalue for tail in tails) > 1e-5


def test_posterior_of_the_place(rng):
    check_places(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("(ahead - ahead.max()) * POWERS[np.argmin(excess)]", "ahead - ahead.max()"),
        ("POWERS[np.argmin(excess)]", "0.1"),
        ("np.cumsum(gain[::-1])[::-1]", "np.cumsum(gain)"),
    ],
)
def test_power_of_the_place(rng, right, wrong):
    with pytest.raises(AssertionError):
        check_places(rng, broken(place_weights, right, wrong))


def test_what_stands_out(rng):
    """Gains that exceed those before by four standard errors, whatever both are."""
    before, after = rng.normal(size=500), rng.normal(size=300)
    error = np.sqrt(before.var() / 500 + after.var() / 300)
    level = before.mean() - after.mean()
    for offset in (0.0, 5.0, -5.0):
        assert stands_out(0.0, before + offset, after + offset + level + 4.1 * error, 300)
        assert not stands_out(99.0, before + offset, after + offset + level + 3.9 * error, 300)
        assert not stands_out(99.0, before + offset, after + offset + level - 9.0 * error, 300)


def test_what_stands_out_by_itself(rng):
    """Half-way between log odds and gains, beyond two of the standard deviations that other rows have."""
    gain, none = rng.normal(0.2, 1.0, 400), np.zeros(0)
    scatter = 20 * gain.std()
    middle = 4 * scatter - gain.sum()
    assert stands_out(middle + 0.1, none, gain, 400)
    assert not stands_out(middle - 0.1, none, gain, 400)
    # of 1600 rows a quarter is at hand: four times the gains, twice the scatter
    middle = 8 * scatter - 4 * gain.sum()
    assert stands_out(middle + 0.1, none, gain, 1600)
    assert not stands_out(middle - 0.1, none, gain, 1600)


# -- gains of rows by a change of their density, against densities that are known --------------------

N, CHANGE, WINDOW = 1000, 700, 400  # rows, the first after the change, rows among which it is sought


def rows_and_gains(rng):
    """One cluster before, two after; what rows truly gain, and what one normal cluster sees of it."""
    x = rng.normal(size=N)
    side = np.where(rng.random(N) < 0.5, -1.5, 1.5)
    x[CHANGE:] = (side + 0.5 * x)[CHANGE:]
    two = np.logaddexp(norm.logpdf(x, -1.5, 0.5), norm.logpdf(x, 1.5, 0.5)) - np.log(2)
    one = norm.logpdf(x, 0.0, np.sqrt(1.5**2 + 0.5**2))
    old = norm.logpdf(x)
    return x[:, None], two - old, one - old


def test_ratio(rng):
    """The estimate finds most of the true gain, and none where both sides are alike."""
    known = np.ones(N, bool)
    known[CHANGE - 50 : CHANGE + 50] = False
    after = (np.arange(N) >= CHANGE)[known]
    share, total, promised = [], [], []
    for _ in range(8):
        rows, gain, _ = rows_and_gains(rng)
        middle = np.abs(rows[:, 0]) < 2.0  # further out there is hardly a row to learn from
        ratio = log_ratio(rows, known, after)
        share.append(np.var((ratio - gain)[middle]) / np.var(gain[middle]))
        total.append(np.exp(ratio[known][~after]).mean())  # of a density, one
        promised.append(log_loss(log_ratio(rng.normal(size=(N, 2)), known, after)[known], after))
    assert np.mean(share) < 0.15
    assert abs(np.mean(total) - 1.0) < 0.15
    assert np.mean(promised) > np.log(2)  # on other rows they are worse than even odds, by a little


def check_best(rng, best_gains=best_gains):
    """The place that the model would miss; its own gains, bit for bit, if they are the true ones.

    By chance a classifier may tell the rows at hand apart better than their densities.
    """
    errors: list[list[float]] = [[], []]
    kept = 0
    for _ in range(10):
        rows, gain, seen = rows_and_gains(rng)
        seen = 0.5 * seen + 0.7 * rng.normal(size=N)
        weight = place_weights(seen[-WINDOW:])
        for error, gains in zip(errors, (seen, best_gains(seen, rows, weight))):
            share = place_weights(gains[-WINDOW:]).cumsum()
            error.append(abs(N - WINDOW + np.searchsorted(share, 0.5 * share[-1]) - CHANGE))
        kept += best_gains(gain, rows, place_weights(gain[-WINDOW:])) is gain
    assert kept >= 7
    assert np.mean(errors[1]) < 0.5 * np.mean(errors[0])


def test_best_gains(rng):
    check_best(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        (
            "min(gain, log_ratio(rows, known, after), key=lambda g: log_loss(g[known], after))",
            "max(gain, log_ratio(rows, known, after), key=lambda g: log_loss(g[known], after))",
        ),
        ("g[known]", "-g[known]"),
        (
            "n - len(weight) + np.searchsorted(share, [UNSURE_SHARE, 1.0 - UNSURE_SHARE])",
            "np.searchsorted(share, [UNSURE_SHARE, 1.0 - UNSURE_SHARE])",
        ),
    ],
)
def test_power_of_the_best_gains(rng, right, wrong):
    with pytest.raises(AssertionError):
        check_best(rng, broken(best_gains, right, wrong))


@pytest.mark.parametrize("place", [20, 980])
def test_too_few_rows_to_learn_from(place, rng):
    gain, weight = np.zeros(N), np.zeros(N)
    weight[place] = 1.0
    assert best_gains(gain, rng.normal(size=(N, 1)), weight) is gain


def test_targets_are_columns(rng):
    X, y = rng.normal(size=(4, 2)), rng.normal(size=4)
    assert joint_rows(X, None, None) is X
    np.testing.assert_array_equal(joint_rows(X, y, None), np.column_stack([X, y]))
    label = np.array(["c", "a", "a", "b"])
    expected = [[0, 0, 1], [1, 0, 0], [1, 0, 0], [0, 1, 0]]
    np.testing.assert_array_equal(joint_rows(X, label, np.array(["a", "b", "c"]))[:, 2:], expected)
