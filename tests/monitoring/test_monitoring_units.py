"""Estimators with ``standardize=True``: each segment has units of its own, from its own rows."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sgevidence import SGAIS, BayesianLinearRegression, EvidenceModelAverager, EvidenceMonitor
from sgevidence.estimators import takes_units

FAST = SGAIS(n_particles=30, max_particles=30)


def linear():
    return BayesianLinearRegression(standardize=True, sampler=FAST, random_state=0)


def stream(rng, n, change, unit):
    """A regression whose y, from a row on, is measured in another unit."""
    X = rng.normal(size=(n, 1))
    y = X[:, 0] + 0.5 * rng.normal(size=n)
    return X, np.where(np.arange(n) < change, y, unit * (2.0 - y))


@pytest.mark.filterwarnings("ignore:prior and data contradict")
@pytest.mark.parametrize("reaction", ["none", "restart"])
@pytest.mark.parametrize("unit", [1000.0, 0.001])
def test_a_segment_does_not_measure_in_the_units_of_the_one_before(unit, reaction, rng):
    X, y = stream(rng, 120, 60, unit)
    monitor = EvidenceMonitor(linear(), hazard=1 / 100, reaction=reaction)
    for i in range(0, 120, 15):
        monitor.partial_fit(X[i : i + 15], y[i : i + 15])
    (place,) = monitor.change_points_
    assert abs(place - 60) <= 2
    for run in monitor._watch.runs:
        own = y[run.start : run.start + 15]
        assert run.estimator._units.y_scale == pytest.approx(own.std(), rel=0.7)
    # the density of y has a unit: without changes the evidence of rows is that of one fit to them
    first = EvidenceMonitor(linear()).partial_fit(X[:60], y[:60])
    assert first.log_evidence_ == pytest.approx(linear().fit(X[:60], y[:60]).log_evidence_, abs=0.5)


@pytest.mark.filterwarnings("ignore:prior and data contradict")
def test_a_change_at_the_last_row_of_a_chunk(rng):
    """A change at the last row of a chunk: one row has no scale, so the next chunk tells."""
    X, y = stream(rng, 160, 160, 1.0)
    y[119:] += 1e4
    monitor = EvidenceMonitor(linear(), hazard=1 / 100)
    for i in range(0, 160, 20):
        monitor.partial_fit(X[i : i + 20], y[i : i + 20])
    assert monitor.change_points_[0] == 119 and monitor.detections_[0].declared_row == 139


def test_rows_are_held_until_they_have_units(rng):
    X, y = stream(rng, 34, 34, 1.0)
    single, chunks = EvidenceMonitor(linear()), EvidenceMonitor(linear())
    for row, target in zip(X, y):
        single.update(row, target)
    assert single.n_samples_seen_ == 34 and len(single.log_predictive_path_["n_samples"]) == 3
    for i in (0, 10, 20):
        chunks.partial_fit(X[i : i + 10], y[i : i + 10])
    assert single.log_evidence_ == chunks.log_evidence_


def test_models_inside_are_asked(rng):
    pipeline = make_pipeline(FunctionTransformer(), linear())
    assert takes_units(EvidenceModelAverager([("one", pipeline)]))
    stated = BayesianLinearRegression(standardize=False)
    assert not takes_units(EvidenceModelAverager([("one", stated)]))
    given = linear().set_params(units=linear().fit(*stream(rng, 30, 30, 1.0)).units_)
    assert not takes_units(make_pipeline(FunctionTransformer(), given))


def test_rows_are_held_while_y_is_constant(rng):
    """At the beginning of the stream, and of a segment."""
    X, y = stream(rng, 120, 120, 1.0)
    y[:40], y[80:] = 3.0, 7.0
    average = EvidenceModelAverager([("one", linear()), ("stated", linear().set_params(standardize=False))])
    for model in (linear(), average):
        monitor = EvidenceMonitor(model, hazard=1 / 50)
        for i in range(0, 120, 20):
            monitor.partial_fit(X[i : i + 20], y[i : i + 20])
            assert monitor.n_samples_seen_ == i + 20
        assert monitor.log_predictive_path_["n_samples"].tolist() == [60, 80, 100, 120]
        first = EvidenceMonitor(model, hazard=1 / 50).partial_fit(X[:60], y[:60])
        assert monitor.log_predictive_path_["log_predictive"][0] == pytest.approx(
            first.log_evidence_, abs=0.5
        )
