"""One-dimensional series, dates, the printed form, and the form of sktime's detectors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from sgevidence import (
    BayesianAutoregression,
    BayesianGMM,
    EvidenceModelAverager,
    EvidenceMonitor,
    EvidenceSearch,
    load,
    save,
)
from sgevidence.monitoring import (
    CountSegment,
    EvidenceDetector,
    NormalSegment,
    RegressionSegment,
    SeriesSegment,
    segment,
)


@pytest.fixture
def series(rng):
    x = np.repeat([0.0, 6.0, 0.0], 80) + rng.normal(size=240)
    return pd.Series(x, index=pd.date_range("2024-01-01", periods=240), name="orders")


MODEL = NormalSegment()


def test_a_series_has_one_dimension(series):
    x = series.to_numpy()
    table = EvidenceMonitor(MODEL).fit(x[:, None])
    for given in (x, x.tolist(), series, series.to_frame()):
        monitor = EvidenceMonitor(MODEL).fit(given)
        assert monitor.log_evidence_ == table.log_evidence_ and monitor.n_features_in_ == 1
        assert segment(given, model=MODEL).log_evidence == segment(x[:, None], model=MODEL).log_evidence
    pieces = EvidenceMonitor(MODEL).partial_fit(x[:100]).partial_fit(x[100:101]).partial_fit(x[101:])
    assert pieces.log_evidence_ == pytest.approx(table.log_evidence_)


def test_a_flat_row_of_many_columns_and_a_flat_x_with_y_are_refused(rng):
    monitor = EvidenceMonitor(MODEL).fit(rng.normal(size=(20, 3)))
    with pytest.raises(ValueError, match="3 features"):
        monitor.partial_fit(rng.normal(size=3))
    with pytest.raises(ValueError, match="1D array"):
        EvidenceMonitor(RegressionSegment()).fit(rng.normal(size=20), rng.normal(size=20))


def test_what_is_missing_is_refused(series):
    """Not the number under a mask, nor a choke on pandas.NA."""
    hidden = np.ma.masked_greater(series.to_numpy(), 7.0)
    objects = series.astype(object)
    objects.iloc[5] = pd.NA
    for call in (EvidenceMonitor(MODEL).fit, EvidenceMonitor(MODEL).partial_fit, segment):
        with pytest.raises(ValueError, match="X is a masked array"):
            call(hidden)
        with pytest.raises(ValueError, match="X contains NaN or another missing value, <NA> in row 5"):
            call(objects)
        with pytest.raises(ValueError, match="y is a masked array"):
            call(np.ones((240, 2)), hidden)


@pytest.mark.parametrize(
    "model", [CountSegment(), NormalSegment(), CountSegment, SeriesSegment(), BayesianGMM(2)]
)
def test_a_model_in_the_place_of_y_is_refused(rng, model):
    """It was ignored, and the default model took counts for numbers."""
    X = rng.poisson(3.0, (50, 1))
    for call in (segment, EvidenceMonitor().fit, EvidenceMonitor().partial_fit):
        with pytest.raises(TypeError, match=r"y is a (\w+): a model is given by its name, model=\1"):
            call(X, model)


@pytest.mark.parametrize("start, step", [(1000, 1), (0, 5), (-40, 2), (0, 1)])
def test_a_range_that_does_not_count_rows_is_an_index(series, start, step):
    numbered = series.set_axis(pd.RangeIndex(start, start + 240 * step, step))
    found = segment(numbered, model=MODEL)
    assert found.change_times == [start + step * int(row) for row in found.change_points]
    monitor = EvidenceMonitor(MODEL)
    for i in range(0, 240, 37):
        monitor.partial_fit(numbered.iloc[i : i + 37])
    assert monitor.change_times_ == [start + step * int(row) for row in monitor.change_points_]


@pytest.mark.parametrize("kind", ["int16", "int64", "float64"])
def test_years_are_whole_numbers_in_whatever_type_they_come(series, kind):
    years = series.set_axis(pd.Index(np.arange(1800, 2040).astype(kind)))
    found, monitor = segment(years, model=MODEL), EvidenceMonitor(MODEL).fit(years)
    assert "row 80 (1880): probability" in repr(found)
    assert repr(found.change_times) == "[1880, 1960]"
    assert repr(monitor.change_times_) == str([1800 + int(row) for row in monitor.change_points_])
    assert found.probability.index.dtype == kind
    quarters = series.set_axis(np.arange(240) / 4)
    assert segment(quarters, model=MODEL).change_times == [20, 40]


@pytest.mark.parametrize("size", [1, 37, 240])
def test_changes_have_dates(series, size):
    """Also those of rows in chunks long before the declaration, in bounded memory."""
    monitor = EvidenceMonitor(MODEL)
    for i in range(0, 240, size):
        monitor.partial_fit(series.iloc[i : i + size])
        assert len(monitor._times) <= 70 + size
    assert monitor.change_times_ == [series.index[place] for place in monitor.change_points_]
    assert [d.time for d in monitor.detections_] == monitor.change_times_ and len(monitor.change_times_) == 2
    assert monitor.fit(series.to_numpy()).change_times_ == monitor.change_points_.tolist()
    # a plain numbering of each chunk is no time
    frames = [pd.DataFrame({"a": series.to_numpy()[i : i + 60]}) for i in range(0, 240, 60)]
    numbered = EvidenceMonitor(MODEL)
    for frame in frames:
        numbered.partial_fit(frame)
    assert numbered.change_times_ == numbered.change_points_.tolist()


def test_estimators_have_dates_too(series):
    from sgevidence import SGAIS, BayesianGMM

    model = BayesianGMM(1, sampler=SGAIS(n_particles=50, max_particles=50), random_state=0)
    monitor = EvidenceMonitor(model)
    for i in range(0, 160, 40):
        monitor.partial_fit(series.iloc[i : i + 40])
    assert monitor.change_times_ == [series.index[place] for place in monitor.change_points_] != []


def test_a_segmentation_prints_on_a_screen(series, rng):
    found = segment(series, model=MODEL)
    assert found.change_times == [series.index[80], series.index[160]]
    lines = repr(found).splitlines()
    assert len(lines) == 3 and lines[0].startswith("2 changes in 240 rows, log evidence -")
    assert lines[1].startswith("  row 80 (2024-03-21): probability ")
    changes, probability, log_evidence, *_ = found
    assert probability.index.equals(series.index) and np.isfinite(log_evidence) and len(changes) == 2
    many = segment(np.repeat(10.0 * (np.arange(30) % 2), 30) + rng.normal(size=900), model=MODEL)
    assert len(many.change_points) > 8 and isinstance(many.probability, np.ndarray)
    lines = repr(many).splitlines()
    assert len(lines) <= 12 and max(map(len, lines)) <= 80 and "more" in lines[-1]
    assert repr(segment(rng.normal(size=50), model=MODEL)).startswith("no change in 50 rows")


def test_a_detector_has_the_form_of_sktimes(series):
    detector = clone(EvidenceDetector(NormalSegment(), hazard=0.01))
    sparse, dense = detector.fit_predict(series), detector.fit_transform(series)
    assert list(sparse.columns) == ["ilocs"] and sparse["ilocs"].tolist() == [80, 160]
    assert sparse["ilocs"].dtype == np.int64 and isinstance(sparse.index, pd.RangeIndex)
    assert list(dense.columns) == ["labels"] and dense.index.equals(series.index)
    assert dense["labels"].tolist() == np.repeat([0, 1, 2], 80).tolist()
    scores = detector.transform_scores(series)
    expected = segment(series, model=NormalSegment(), hazard=0.01).probability
    np.testing.assert_array_equal(scores["scores"], expected)
    assert scores.index.equals(series.index)
    assert detector.predict(series.to_numpy()[:60])["ilocs"].tolist() == []
    with pytest.raises(ValueError, match="hazard"):
        EvidenceDetector(hazard=2.0).fit(series)


def indices(n):
    """Every kind of times that an index may have, in order."""
    days = pd.date_range("2024-01-01", periods=n)
    return {
        "datetime": days,
        "in seconds": pd.date_range("3024-01-01", periods=n, unit="s"),
        "zone": days.tz_localize("Europe/Berlin"),
        "dates": pd.Index(days.date),
        "stamps among objects": pd.Index(list(days), dtype=object),
        "zones": pd.Index([t.tz_localize(("UTC", "Asia/Tokyo")[k % 2]) for k, t in enumerate(days)]),
        "period": pd.period_range("2020-01", periods=n, freq="M"),
        "periods among objects": pd.Index(list(pd.period_range("2020", periods=n, freq="Y")), dtype=object),
        "timedelta": pd.timedelta_range("0h", periods=n, freq="3h"),
    }


def learners():
    """Doors that take rows for a series."""
    ar = BayesianAutoregression(1)
    return {
        "segment": lambda X: segment(X, model=MODEL),
        "monitor": lambda X: EvidenceMonitor(MODEL).fit(X),
        "stream": lambda X: EvidenceMonitor(MODEL).partial_fit(X),
        "of a target": lambda X: segment(X.to_frame(), X),
        "only y": lambda X: EvidenceMonitor(RegressionSegment()).fit(np.ones((len(X), 1)), X),
        "autoregression": lambda X: clone(ar).fit(X),
        "with columns": lambda X: clone(ar).fit(np.arange(len(X))[:, None] % 7.0, X),
        "average": lambda X: EvidenceModelAverager([("one", clone(ar)), ("two", clone(ar))]).fit(X),
        "search": lambda X: EvidenceSearch(clone(ar), {"trend": ["c", "ct"]}).fit(X),
    }


@pytest.mark.parametrize("kind", indices(2))
def test_an_index_of_times_out_of_order_is_refused(kind, rng):
    x = pd.Series(rng.normal(size=20), index=indices(20)[kind])
    swapped = x.iloc[[*range(11), 12, 11, *range(13, 20)]]
    for wrong, row in ((swapped, 12), (x[::-1], 1)):
        for learn in (learners()[name] for name in ("segment", "monitor", "autoregression")):
            with pytest.raises(ValueError, match=f"times out of order: row {row} "):
                learn(wrong)
            learn(x)


@pytest.mark.parametrize("door", learners())
def test_each_door_of_a_series_refuses_times_out_of_order(door, rng):
    x = pd.Series(rng.normal(size=20), index=pd.date_range("2024-01-01", periods=20))
    with pytest.raises(ValueError, match=r"out of order: row 1 \(2024-01-19 00:00:00\) comes after row 0"):
        learners()[door](x[::-1].rename("y"))
    learners()[door](x)


def test_equal_times_unknown_times_numbers_and_text_pass(rng):
    x = rng.normal(size=6)
    stamps = pd.DatetimeIndex(["2024-01-01", "2024-01-01", None, "2024-01-02", "2024-01-02", "2024-01-03"])
    for index in (stamps, [3, 1, 2, 9, 8, 0], [2.5, 1.0, 7.0, 3.0, 4.0, 0.0], list("cabfed")):
        for learn in (learners()[name] for name in ("segment", "monitor", "autoregression")):
            learn(pd.Series(x, index=index))


def test_rows_of_a_later_call_come_after_those_before(rng, tmp_path):
    x = pd.Series(rng.normal(size=30), index=pd.date_range("2024-01-01", periods=30, tz="UTC"))
    ar = BayesianAutoregression(1).fit(x[:20])
    monitor = EvidenceMonitor(MODEL).fit(x[:20])
    save(ar, tmp_path / "a")
    save(monitor, tmp_path / "m")
    for model in (ar, monitor, load(tmp_path / "a"), load(tmp_path / "m")):
        before = model.log_evidence_
        with pytest.raises(ValueError, match="before the last of the rows seen"):
            model.partial_fit(x[15:25])
        assert model.log_evidence_ == before
        model.partial_fit(x[19:20]).partial_fit(x[20:25].to_numpy())
    for of_the_past in (ar.predict, ar.score, ar.score_samples, ar.log_predictive):
        with pytest.raises(ValueError, match="before the last of the rows seen"):
            of_the_past(x[3:9])
        of_the_past(x[25:])
    ar.fit(x[:5])  # forgets the times


def test_columns_of_a_forecast_come_after_the_series(rng):
    X = pd.DataFrame({"a": rng.normal(size=30)}, index=pd.date_range("2024-01-01", periods=30))
    ar = BayesianAutoregression(1).fit(X[:20], rng.normal(size=20))
    with pytest.raises(ValueError, match="X_future begins at 2024-01-11"):
        ar.forecast(3, X[10:13])
    assert ar.forecast(3, X[20:23]).shape == (3,)


@pytest.mark.parametrize(
    "first, steps",
    [(1900, [1]), *(pytest.param(*p, marks=pytest.mark.slow) for p in ((0, [1]), (1950.0, [1, 1, 2])))],
)
def test_a_column_that_counts_the_rows_is_refused_beside_others(first, steps, rng):
    """Years moved the log evidence by nats as if they were data."""
    years = first + np.cumsum(np.resize(steps, 60)) - steps[0]
    frame = pd.DataFrame({"year": years, "level": rng.normal(size=60)})
    for call in (segment, EvidenceMonitor().fit, EvidenceMonitor(BayesianGMM()).partial_fit):
        with pytest.raises(ValueError, match=r"'year' counts the rows.*X.set_index\('year'\)"):
            call(frame)
    indexed = frame.set_index("year")
    assert segment(indexed).log_evidence == pytest.approx(segment(frame["level"].to_numpy()).log_evidence)
    segment(frame[["year"]].astype(float))  # alone it is all that there is
    frame["level"], y = frame["level"].round(1), rng.normal(size=60)
    EvidenceMonitor(RegressionSegment()).fit(frame, y)  # a trend is a question
    for shuffled in (frame.sample(frac=1, random_state=0), frame.assign(year=frame["year"] / 10)):
        segment(shuffled.reset_index(drop=True))


def test_a_monitor_that_has_seen_nothing_is_stored():
    monitor = EvidenceMonitor(hazard=0.1)
    assert pickle.loads(pickle.dumps(monitor)).get_params() == monitor.get_params()


@pytest.mark.parametrize(
    "model", [SeriesSegment(models=("steps",)), SeriesSegment(models=()), CountSegment(sizes=())]
)
def test_segments_without_members_are_refused(model):
    with pytest.raises(ValueError, match=r"models must be some of|sizes must be positive"):
        EvidenceMonitor(model).partial_fit(np.arange(20)[:, None])


def test_a_value_beyond_floating_point_is_named_by_its_row():
    x = np.random.default_rng(20261129).normal(size=(40, 1))
    with pytest.raises(ValueError, match="row 40 of the stream"):
        EvidenceMonitor().partial_fit(np.r_[x, [[1e300]]])


def test_a_counter_is_found_beside_text():
    frame = pd.DataFrame({"a": ["q"] * 20, "b": range(20)})
    with pytest.raises(ValueError, match="column 'b' counts the rows"):
        EvidenceMonitor().partial_fit(frame)
