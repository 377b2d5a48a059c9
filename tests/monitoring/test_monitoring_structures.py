"""What rows take after: each step against segments written out, and the alarms it is there to prevent."""

import numpy as np
import pytest
from scipy.signal import lfilter

from sgevidence import EvidenceMonitor
from sgevidence.monitoring import SeriesSegment


def garch(n, rng):
    x, h = np.zeros(n + 200), 1.0
    for t in range(n + 200):
        x[t] = np.sqrt(h) * rng.standard_normal()
        h = 0.05 + 0.1 * x[t] ** 2 + 0.85 * h
    return x[200:]


def through_noise(n, rng):
    state = lfilter([np.sqrt(1 - 0.95**2)], [1, -0.95], rng.standard_normal(n + 200))[200:]
    return state + 0.5 * rng.standard_normal(n)


def alarms(make, rng, streams, **settings):
    return sum(
        len(EvidenceMonitor(SeriesSegment(**settings)).fit(make(1000, rng)[:, None]).change_points_)
        for _ in range(streams)
    )


@pytest.mark.slow
@pytest.mark.parametrize("make", [garch, through_noise])
def test_clusters_of_volatility_and_noisy_states_are_no_changes(make, rng):
    """7.3 and 4.5 times the bound, of 0.44 alarms in a stream, before there was a structure for them."""
    without = ("level", "trend", "autoregression", "walk", "momentum", "shape")
    few, many = alarms(make, rng, 4), alarms(make, rng, 4, models=without)
    assert few <= 7 and many > 1.5 * few


@pytest.mark.slow
def test_a_change_of_variance_is_still_one(rng):
    """As probable as a level, "volatile" took two of sixteen for clusters."""
    found = 0
    for _ in range(4):
        x = rng.standard_normal(400) * np.repeat([1.0, 2.0], 200)
        places = EvidenceMonitor().fit(x[:, None]).change_points_
        found += bool(np.any(np.abs(places - 200) < 30))
    assert found >= 3
