"""The record of what was predicted: all of the stream, in bounded memory."""

import numpy as np
import pytest

from sgevidence import BayesianGMM, EvidenceMonitor
from sgevidence.displays import SurpriseDisplay
from sgevidence.monitoring import NormalSegment


@pytest.mark.parametrize("model", [None, NormalSegment()])
def test_rows_one_by_one_and_at_once_leave_the_same_record(model, rng):
    X = rng.normal(size=(70, 1))
    once = EvidenceMonitor(model).fit(X)
    single = EvidenceMonitor(model)
    for x in X:
        single.partial_fit(x[None])
    for name, values in once.log_predictive_path_.items():
        np.testing.assert_allclose(values, single.log_predictive_path_[name], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(single.log_predictive_path_["n_samples"], np.arange(1, 71))
    np.testing.assert_array_equal(once.log_predictive_path_["log_predictive"], once.log_predictive_)
    assert once.log_predictive_path_["log_predictive"].sum() == pytest.approx(once.log_evidence_)
    assert len(once.fit(X[:30]).log_predictive_path_["n_samples"]) == 30


def test_a_full_record_is_halved_and_loses_nothing(rng):
    """4096 steps at most; what it adds up to does not depend on how the stream was cut."""
    n, monitor, log_p = 12_300, EvidenceMonitor(NormalSegment(), max_runs=2), []
    X, i = rng.normal(size=(n, 1)), 0
    whole = EvidenceMonitor(NormalSegment(), max_runs=2).fit(X).log_predictive_path_
    while i < n:
        j = i + int(rng.integers(1, 1000))
        log_p.extend(monitor.partial_fit(X[i:j]).log_predictive_)
        i = j
    path = monitor.log_predictive_path_
    np.testing.assert_array_equal(path["n_samples"], whole["n_samples"])
    assert 2048 <= len(path["n_samples"]) < 4096 and path["n_samples"][-1] == n
    ends = np.append(0.0, np.cumsum(log_p))[path["n_samples"]]
    np.testing.assert_allclose(np.cumsum(path["log_predictive"]), ends, atol=1e-8)
    np.testing.assert_allclose(path["log_predictive"], whole["log_predictive"], atol=1e-8)


def test_the_record_is_the_readers_own(rng):
    monitor = EvidenceMonitor(NormalSegment()).fit(rng.normal(size=(20, 1)))
    monitor.log_predictive_path_["log_predictive"][:] = np.nan
    assert np.isfinite(monitor.log_predictive_path_["log_predictive"]).all()
    with pytest.raises(AttributeError, match="log_predictive_path_"):
        _ = EvidenceMonitor().log_predictive_path_


def test_the_display_shows_all_rows(rng):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X = np.append(rng.normal(size=60), 5.0 + rng.normal(size=20))[:, None]
    monitor = EvidenceMonitor(NormalSegment())
    for x in X:
        monitor.partial_fit(x[None])
    display = SurpriseDisplay.from_estimator(monitor, series=X)
    np.testing.assert_array_equal(display.edges, np.arange(81))
    np.testing.assert_allclose(
        display.log_predictive, EvidenceMonitor(NormalSegment()).fit(X).log_predictive_
    )
    assert abs(int(np.argmin(display.log_predictive)) - 60) <= 5


def test_a_chunk_is_a_step_where_the_model_is_an_estimator(rng):
    monitor = EvidenceMonitor(BayesianGMM(1, random_state=0))
    for n in (30, 20):
        monitor.partial_fit(rng.normal(size=(n, 1)))
    path = monitor.log_predictive_path_
    np.testing.assert_array_equal(path["n_samples"], [30, 50])
    assert path["log_predictive"].sum() == pytest.approx(monitor.log_evidence_)
    display = SurpriseDisplay.from_estimator(monitor)
    np.testing.assert_array_equal(display.edges, [0, 30, 50])
    np.testing.assert_allclose(display.log_predictive, path["log_predictive"] / [30, 20])
