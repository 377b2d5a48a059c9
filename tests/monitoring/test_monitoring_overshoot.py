"""The fraction of the bound that is stated: by members whose posterior is written down, and by rows."""

import numpy as np
import pytest
from test_monitoring_copula import series

from sgevidence import EvidenceMonitor
from sgevidence.monitoring._series import OTHER_OVERSHOOT, PLAIN_OVERSHOOT, overshoot_of_members
from sgevidence.monitoring._tails import TAILS

BOUND = (1 / 250) * (1 - 0.9) / 0.9


def check(overshoot):
    """Two runs and two columns; members of weight 0.3 (plain), 0.2 (heavy), 0.4 (walk), and 0.1 elsewhere."""
    log_member = np.full((2, 2, 3, 4 * len(TAILS)), -np.inf)
    log_member[:, 0, 0, 2 * len(TAILS) + list(TAILS).index("strays")] = np.log(0.3)
    log_member[:, 0, 0, list(TAILS).index("heavy")] = np.log(0.2)
    log_member[:, 0, 2, 0] = np.log(0.4)
    log_member[0, 1, 1, 0] = 0.0  # the second column: a trend in the first run, a walk in the other
    log_member[1, 1, 2, 0] = 0.0
    plain = 0.75 * (0.3 + 1.0) / 2 + 0.25 * (0.3 + 0.0) / 2
    found = overshoot(log_member, ["level", "trend", "walk"], np.array([0.75, 0.25]))
    assert found == pytest.approx(PLAIN_OVERSHOOT * plain + OTHER_OVERSHOOT * (1 - plain))


def test_of_members():
    check(overshoot_of_members)


@pytest.mark.parametrize(
    "rows, low, high",
    [
        (lambda rng: rng.normal(size=(400, 1)), PLAIN_OVERSHOOT, 0.34),
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


@pytest.mark.slow
def test_false_alarms_of_an_autoregression_are_as_rare_as_said(rng):
    """Within a factor of 1.5, at a threshold that gives enough of them."""
    alarms = wanted = 0.0
    for _ in range(20):
        monitor = EvidenceMonitor(threshold=0.5).fit(series(rng, 0.7))
        alarms += len(monitor.detections_)
        wanted += 1000 * monitor.false_alarm_rate_
    assert wanted / 1.5 - 3 * np.sqrt(alarms) <= alarms <= 1.5 * wanted + 3 * np.sqrt(alarms)
