"""The fraction of the bound on false alarms that is stated, and how many there are."""

import numpy as np
import pytest
from test_monitoring_shape import series

from sgevidence import EvidenceMonitor

BOUND = (1 / 250) * (1 - 0.9) / 0.9
PLAIN_OVERSHOOT, OTHER_OVERSHOOT = 0.22, 0.45  # of Gaussian noise about a level, and of the others


@pytest.mark.parametrize(
    "rows, low, high",
    [
        (lambda rng: rng.normal(size=(200, 1)), PLAIN_OVERSHOOT, 0.34),
        (lambda rng: series(rng, 0.7, 400), 0.38, OTHER_OVERSHOOT),
        pytest.param(lambda rng: rng.standard_t(2, (400, 1)), 0.38, OTHER_OVERSHOOT, marks=pytest.mark.slow),
        pytest.param(
            lambda rng: np.exp(rng.normal(size=(400, 1))), 0.38, OTHER_OVERSHOOT, marks=pytest.mark.slow
        ),
    ],
    ids=["Gaussian", "autoregression", "heavy tails", "log-normal"],
)
def test_the_rows_say_which_it_is(rows, low, high, rng):
    monitor = EvidenceMonitor().fit(rows(rng))
    assert low - 1e-9 <= monitor.false_alarm_rate_ / BOUND <= high + 1e-9


def test_before_there_are_rows_it_is_in_between(rng):
    monitor = EvidenceMonitor().partial_fit(rng.normal(size=(3, 1)))
    assert PLAIN_OVERSHOOT < monitor.false_alarm_rate_ / BOUND < OTHER_OVERSHOOT


@pytest.mark.nightly
def test_false_alarms_of_an_autoregression_are_as_rare_as_said(rng):
    """Within a factor of 1.5, at a threshold that gives enough of them."""
    alarms = wanted = 0.0
    for _ in range(20):
        monitor = EvidenceMonitor(threshold=0.5).fit(series(rng, 0.7))
        alarms += len(monitor.detections_)
        wanted += 1000 * monitor.false_alarm_rate_
    assert wanted / 1.5 - 3 * np.sqrt(alarms) <= alarms <= 1.5 * wanted + 3 * np.sqrt(alarms)
