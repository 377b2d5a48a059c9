"""Rows with a missing cell are skipped, and what is reported counts the rows of the stream."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianGMM, EvidenceMonitor
from sgevidence.monitoring import CountSegment, NormalSegment, RegressionSegment


def series(rng, model):
    """Rows with two changes, in which a tenth of the cells is missing; y, and which rows are complete."""
    level = np.repeat([0.0, 4.0, -3.0], [60, 50, 50])
    X, y = rng.normal(size=(160, 2)), None
    if isinstance(model, RegressionSegment):
        y = level + 0.3 * rng.normal(size=160)
        y[rng.random(160) < 0.05] = np.nan
    elif isinstance(model, CountSegment):
        X = rng.poisson(10 + 2 * level[:, None], size=(160, 2)).astype(float)
    else:
        X += level[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    X[[0, 1, 159]] = np.nan
    return X, y, ~np.isnan(np.column_stack([X] if y is None else [X, y])).any(axis=1)


MODELS = pytest.mark.parametrize(
    "model",
    [pytest.param(None, marks=pytest.mark.slow), NormalSegment(), CountSegment(), RegressionSegment()],
    ids=lambda m: type(m).__name__,
)


def check_numbers(model, rng):
    X, y, present = series(rng, model)
    rows = np.flatnonzero(present)
    known = EvidenceMonitor(model).fit(X[present], None if y is None else y[present])
    for cuts in ([1, 2, 90, 100], [], range(1, 160))[: 1 if model is None else 3]:
        monitor = EvidenceMonitor(model)
        for part in np.split(np.arange(160), list(cuts)):
            monitor.partial_fit(X[part], None if y is None else y[part])
        assert monitor.log_evidence_ == pytest.approx(known.log_evidence_, abs=1e-9)
        assert monitor.n_skipped_ == 160 - len(rows) and monitor.n_samples_seen_ == 160
        np.testing.assert_array_equal(monitor.change_points_, rows[known.change_points_])
        assert [one.declared_row for one in monitor.detections_] == [
            rows[one.declared_row] for one in known.detections_
        ]
        found, expected = monitor.run_length_posterior_, known.run_length_posterior_
        np.testing.assert_array_equal(found["start"], rows[expected["start"]])
        np.testing.assert_array_equal(found["run_length"], expected["run_length"])
        path = monitor.log_predictive_path_
        np.testing.assert_array_equal(
            path["n_samples"], rows[known.log_predictive_path_["n_samples"] - 1] + 1
        )
    assert len(known.change_points_) >= 2
    return monitor


@MODELS
@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
def test_skipped_rows_are_counted_and_change_nothing(model, rng):
    monitor = check_numbers(model, rng)
    assert pickle.loads(pickle.dumps(monitor)).n_skipped_ == monitor.n_skipped_


def test_dates_of_changes_are_those_of_their_rows(rng):
    X, _, _ = series(rng, None)
    frame = pd.DataFrame(X, index=pd.date_range("2024-01-01", periods=160), columns=["a", "b"])
    monitor = EvidenceMonitor(NormalSegment())
    for i in range(0, 160, 16):
        monitor.partial_fit(frame.iloc[i : i + 16])
    assert monitor.change_times_ == [frame.index[i] for i in monitor.change_points_]
    assert len(monitor.change_times_) >= 2


def test_a_stream_without_any_complete_row():
    monitor = EvidenceMonitor(NormalSegment()).partial_fit([[np.nan]])
    assert (monitor.n_skipped_, monitor.n_samples_seen_, monitor.log_evidence_) == (1, 1, 0.0)
    assert not monitor.drift_detected and len(monitor.log_predictive_) == 0
    again = copy.deepcopy(monitor).partial_fit([[0.5], [np.nan]])
    assert again.n_skipped_ == 2 and len(again.log_predictive_) == 1


def test_an_estimators_rows_have_all_cells():
    with pytest.raises(ValueError, match="X contains NaN"):
        EvidenceMonitor(BayesianGMM(1)).partial_fit([[0.0], [np.nan]])
    with pytest.raises(ValueError, match="X contains NaN or another missing value, None in row 1"):
        EvidenceMonitor(NormalSegment()).partial_fit([[0.0], [None]])
    with pytest.raises(ValueError, match="infinity"):
        EvidenceMonitor(RegressionSegment()).partial_fit([[0.0], [1.0]], [0.0, np.inf])
