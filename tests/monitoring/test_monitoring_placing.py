"""Where a change happened, and whether it stands out, from the gains of rows."""

import numpy as np
import pytest
from mutants import broken
from scipy.stats import kstest

from sgevidence.monitoring._estimators import place_weights, stands_out


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
