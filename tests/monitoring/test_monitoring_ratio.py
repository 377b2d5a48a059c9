"""What rows gain by a change that the model is too small to see: against densities that are known."""

import numpy as np
import pytest
from mutants import broken
from scipy.stats import norm

from sgevidence.monitoring._estimators import best_gains, joint_rows, log_loss, log_ratio, place_weights

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


def check_ratio(rng):
    """Of the true gains most is estimated; where both sides are alike it promises nothing."""
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


def test_ratio(rng):
    check_ratio(rng)


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
