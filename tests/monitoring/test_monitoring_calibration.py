"""Predictions that are seen not to be calibrated: the distribution functions, the test, and what it says."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.signal import lfilter

from sgevidence import EvidenceMonitor
from sgevidence.exceptions import EvidenceWarning
from sgevidence.monitoring import (
    CategorySegment,
    CountSegment,
    NormalSegment,
    RegressionSegment,
    SeriesSegment,
    _watch,
)
from sgevidence.monitoring._filter import RunFilter
from sgevidence.monitoring._watch import MAX_FALSE_DOUBTS, CalibrationTest


def autoregression(rng, n, phi):
    return lfilter([1.0], [1.0, -phi], rng.normal(size=n + 200))[200:]


def fed(model, X, y=None):
    """A filter that has seen rows, and a run that it follows."""
    watching = RunFilter(model, 1 / 50, 30, X.shape[1])
    if model.warm_up:
        model.settle(watching.runs, X[: model.warm_up], None if y is None else y[: model.warm_up])
    for i in range(len(X)):
        watching.absorb(X[i : i + 1], None if y is None else y[i : i + 1])
        watching.prune()
    return watching


def ends_and_density(watching, x, run, y=None):
    """F at both ends of a row that may come, and its probability, under one run."""
    watching = copy.deepcopy(watching)
    block = watching.absorb(np.atleast_2d(x), y)
    low, high = watching.runs.expected.pop().cdf(np.array([run]))
    return low[0, 0], high[0, 0], np.exp(block.log_p[0, run])


def test_classes_and_counts_have_the_sum_of_their_probabilities(rng):
    labels = rng.integers(4, size=(33, 1)).astype(float)
    chain = (np.cumsum(rng.random((33, 1)) < 0.1, axis=0) % 2).astype(float)
    counts = rng.poisson(2.0, (33, 1)).astype(float)
    for model, X, values in [
        (CategorySegment(4), labels, range(4)),
        (CategorySegment(2), chain, range(2)),
        (CountSegment(), counts, range(9)),
    ]:
        watching = fed(model, X)
        for run in (0, watching.count - 3):
            low, high, p = np.transpose([ends_and_density(watching, float(k), run) for k in values])
            np.testing.assert_allclose(high, np.cumsum(p), atol=1e-9)
            np.testing.assert_allclose(low, np.cumsum(p) - p, atol=1e-9)


def check_continuous(rng, names):
    x = rng.normal(size=(33, 1))
    target = 0.7 * x[:, 0] + rng.normal(size=33)
    cases = {
        "normal": (NormalSegment(), x, None),
        "regression": (RegressionSegment(), x, target),
        "one noise": (RegressionSegment(noise_prior=(1.0, 1.0)), x, target),
        "series": (SeriesSegment(), np.round(10.0 + autoregression(rng, 33, 0.7), 6)[:, None], None),
    }
    for model, X, y in (cases[name] for name in names):
        watching, centre = fed(model, X, y), X[0, 0]
        values = np.linspace(-2.0, 2.5, 91) + (10.0 if isinstance(model, SeriesSegment) else 0.0)
        rows = [(v, None) if y is None else (centre, np.array([v])) for v in values]
        run = watching.count // 2
        low, high, p = np.transpose([ends_and_density(watching, v, run, target) for v, target in rows])
        assert np.all(low <= high) and np.all(high - low < 0.01)
        mass = 0.5 * (low + high)[-1] - 0.5 * (low + high)[0]
        assert mass == pytest.approx(simpson(p, x=values), abs=3e-3) and mass > 0.3


def test_numbers_have_the_integral_of_their_density(rng):
    check_continuous(rng, ("normal", "regression", "one noise", "series"))


def test_rows_of_a_block(rng):
    """Rows of one block have what they have one by one, also under runs that began in the block."""
    X = rng.integers(3, size=(19, 2)).astype(float)
    for model in (CategorySegment(3), CountSegment(2.0), NormalSegment()):
        single, together = fed(model, X[:11]), fed(model, X[:11])
        leaders, expected = np.array([0, 11, 4, 12, 13, 13, 2, 17]), []
        for i, run in enumerate(leaders):
            single.absorb(X[11 + i : 12 + i], None)
            expected.append(np.squeeze(single.runs.expected.pop().cdf(np.array([run])), axis=1))
        together.absorb(X[11:], None)
        found = together.runs.expected.pop().cdf(leaders)
        np.testing.assert_allclose(np.swapaxes(found, 0, 1), expected, atol=1e-9)


def check_fair(rng, streams=200, rows=60):
    """The capital is a martingale: its mean stays 1, and a twentieth of streams at most pass twenty."""
    for values in ("uniform", "classes"):
        E = []
        for _ in range(streams):
            test = CalibrationTest(2)
            u = rng.random((rows, 2))
            low, high = (
                (u, u) if values == "uniform" else (np.where(u < 0.2, 0, 0.2), np.where(u < 0.2, 0.2, 1))
            )
            test.learn(low, high)
            E.append(np.exp(test.log_e))
        assert abs(np.mean(E) - 1.0) < 4 * np.std(E) / np.sqrt(streams)
        assert np.mean(np.array(E) > 20) < 0.05 + 3 * np.sqrt(0.05 / streams)


def test_the_bets_are_fair(rng):
    check_fair(rng)


@pytest.mark.parametrize(
    "owner, name, right, wrong",
    [
        (_watch, "scores", "total - 1.0", "0.7 * total - 1.0"),
        (CalibrationTest, "_of_columns", "products[:, :, each, each] = 0.0", "pass"),
        (CalibrationTest, "_of_time", "recent[:, 0]", "(recent[:, 0] + g[0])"),
    ],
)
def test_power_unfair_bets(owner, name, right, wrong, rng, install_broken):
    install_broken(owner, name, right, wrong)
    with pytest.raises(AssertionError):
        check_fair(rng)


def findings(model, streams):
    """The finding in each stream; the warning and the rate go with it."""
    found = []
    for X, y in streams:
        monitor = EvidenceMonitor(model)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            monitor.fit(X, y)
        told = [w for w in heard if "contradict" in str(w.message)]
        assert len(told) == (monitor.miscalibration_ is not None)
        assert all(w.category is EvidenceWarning and w.filename == __file__ for w in told)
        assert np.isnan(monitor.false_alarm_rate_) == bool(told)
        found.append(monitor.miscalibration_)
    return found


def test_calibrated_streams_are_left_alone(rng):
    """At most one in a thousand; with changes as well."""
    t = np.arange(400)
    shift = np.where(t < 150, 0.0, np.where(t < 280, 3.0, -1.0))
    for g in rng.spawn(3):
        x, noise = g.normal(size=(400, 1)), g.normal(size=400)
        states = (np.cumsum(g.random(400) < 0.1) % 2).astype(float)
        assert findings(NormalSegment(), [(x, None), (x + shift[:, None], None)]) == [None, None]
        assert findings(RegressionSegment(), [(x, (1.0 + shift) * x[:, 0] + noise)]) == [None]
        assert findings(CategorySegment(), [(states, None)]) == [None]  # a chain is a member
        assert findings(CategorySegment(3), [(g.integers(3, size=400), None)]) == [None]
        assert findings(CountSegment(), [(g.poisson(3.0 + (t > 200), 400), None)]) == [None]


def test_rows_that_no_segment_has_are_found(rng):
    """Every one of the streams, for each model and each kind of departure."""
    t = np.arange(400)
    for g in rng.spawn(2):
        x, noise = g.normal(size=400), autoregression(g, 400, 0.7)
        pair = np.sqrt(0.5) * (g.normal(size=(400, 2)) + g.normal(size=(400, 1)))
        assert findings(NormalSegment(), [(noise[:, None], None)]) == ["memory"]
        assert findings(NormalSegment(), [(3e-4 * (t[:, None] - 200) ** 2, None)]) == ["memory"]
        assert findings(NormalSegment(), [(pair, None), (pair * [1.0, -1.0], None)]) == 2 * ["columns"]
        assert findings(RegressionSegment(), [(x[:, None], x + 3.0 * noise)]) == ["memory"]
        assert findings(CountSegment(), [(g.negative_binomial(1, 0.1, 400), None)]) == ["tails"]
        together = (g.random(400) < 0.3).astype(float)
        assert findings(CategorySegment(), [(np.column_stack([together, together]), None)]) == ["columns"]


def test_copies_of_a_series_are_seen(rng):
    copies = np.repeat(rng.standard_t(3, size=(90, 1)), 5, axis=1)
    assert findings(None, [(copies, None)]) == ["columns"]


@pytest.mark.slow
def test_curved_trends_are_seen_and_other_series_are_not(rng):
    t = np.linspace(0.0, 1.0, 1000)
    for curve in (20.0 * t**2, np.exp(3.0 * t)):
        assert findings(None, [(curve + rng.normal(size=1000), None)]) == ["memory"]
    calibrated = [rng.normal(size=1000), autoregression(rng, 1000, 0.7), np.full(1000, 3.0)]
    assert findings(None, [(x, None) for x in calibrated]) == 3 * [None]


def test_rows_one_by_one_and_copies_are_the_same(rng):
    X = rng.normal(size=(60, 2))
    for model in (NormalSegment(), None):
        once, single = EvidenceMonitor(model, reaction="restart").fit(X), EvidenceMonitor(model)
        for x in X:
            single = pickle.loads(pickle.dumps(single.partial_fit(x[None])))
        assert not single._watch.filter.runs.expected
        log_e = single._watch.calibration.log_e
        assert once._watch.calibration.log_e == pytest.approx(log_e, abs=1e-9) and log_e < -np.log(
            MAX_FALSE_DOUBTS
        )
