"""Estimators, averagers and pipelines as the runs of a monitor, and river's protocol."""

import pickle

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sgevidence import (
    SGAIS,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceModelAverager,
    EvidenceMonitor,
)
from sgevidence.monitoring import Detection, NormalSegment, _estimators
from sgevidence.monitoring._estimators import stands_out

FAST = SGAIS(n_particles=30, max_particles=30)


def gmm():
    """With the prior of a NormalSegment."""
    return BayesianGMM(
        1, standardize=False, sampler=SGAIS(n_particles=300, max_particles=300), random_state=0
    )


def linear():
    return BayesianLinearRegression(sampler=FAST, random_state=0)


def softmax():
    return BayesianSoftmaxRegression(sampler=FAST, random_state=0)


def regression_stream(rng, n=400, change=230):
    X = rng.normal(size=(n, 2))
    w = np.where(np.arange(n)[:, None] < change, [1.0, -1.0], [-1.0, 1.0])
    return X, (w * X).sum(1) + 0.5 * rng.normal(size=n)


def watch(monitor, X, y=None, size=50, **first):
    for i in range(0, len(X), size):
        monitor.partial_fit(X[i : i + size], None if y is None else y[i : i + size], **first)
        first = {}
    return monitor


def averager():
    wide = make_pipeline(FunctionTransformer(), BayesianLinearRegression(coef_scale=3.0, sampler=FAST))
    return EvidenceModelAverager([("one", linear()), ("two", wide)], random_state=0)


@pytest.mark.parametrize("model", [linear(), averager()], ids=["estimator", "averager"])
def test_a_change_within_a_chunk_is_found_and_placed(model, rng):
    X, y = regression_stream(rng)
    monitor = watch(EvidenceMonitor(model), X, y)
    assert len(monitor.detections_) == 1
    assert abs(monitor.change_points_[0] - 230) <= 5
    assert 230 <= monitor.detections_[0].declared_row < 330
    assert monitor.run_length_posterior_["probability"].sum() == pytest.approx(1.0)


def test_gains_by_the_rows_place_a_change_and_refuse_it(rng, monkeypatch):
    X, y = regression_stream(rng, n=300)
    joint = np.column_stack([X, y])

    def at_220(gain, rows, weight):
        number = np.array([np.flatnonzero((joint == row).all(1))[0] for row in rows])
        return np.where(number < 220, -1.0, 1.0) + 0.01 * rng.normal(size=len(rows))

    monkeypatch.setattr(_estimators, "best_gains", at_220)
    assert watch(EvidenceMonitor(linear()), X, y).change_points_[0] == 220
    monkeypatch.setattr(_estimators, "best_gains", lambda gain, rows, weight: rng.normal(size=len(rows)))
    assert not len(watch(EvidenceMonitor(linear()), X, y).change_points_)


def test_class_balance(rng):
    X = rng.normal(size=(600, 1))
    y = (rng.random(600) < np.where(np.arange(600) < 300, 0.2, 0.8)).astype(int)
    monitor = watch(EvidenceMonitor(softmax()), X, y, classes=[0, 1])
    assert len(monitor.change_points_) == 1
    assert abs(monitor.change_points_[0] - 300) <= 30


def test_evidence_is_the_sum_over_the_runs_that_were_begun(rng, monkeypatch):
    """A run with every chunk, against the same sum with exact evidences of one Gaussian."""
    monkeypatch.setattr(_estimators, "_is_poor", lambda scores: True)
    X = rng.normal(size=(40, 1))
    X[20:] += 2.0
    hazard = 0.03
    monitor = watch(EvidenceMonitor(gmm(), hazard=hazard, threshold=1 - 1e-12, max_runs=10), X, size=10)
    log_Z, log_w = [0.0], None

    def evidence(s, e):
        return EvidenceMonitor(NormalSegment(), hazard=1e-300).fit(X[s:e]).log_evidence_

    for e in (10, 20, 30, 40):
        log_w = [
            log_Z[s // 10]
            + (np.log(1 - (1 - hazard) ** 10) if s else 0.0)
            + (e - s - 10) * np.log1p(-hazard)
            + evidence(s, e)
            for s in range(0, e, 10)
        ]
        log_Z.append(np.logaddexp.reduce(log_w))
    error = 4 * gmm().fit(X).log_evidence_std_ + 0.2
    assert abs(monitor.log_evidence_ - log_Z[-1]) < error
    posterior = monitor.run_length_posterior_
    np.testing.assert_array_equal(posterior["start"], [0, 10, 20, 30])
    np.testing.assert_allclose(posterior["probability"], np.exp(np.array(log_w) - log_Z[-1]), atol=0.15)


def check_a_run_begun_later(rng, monkeypatch):
    """With the fourth chunk a run begins that has the third, too; beside the sum over these beginnings."""
    calls, hazard = iter([False, False, True, False]), 0.02
    monkeypatch.setattr(_estimators, "_is_poor", lambda scores: next(calls))
    X = np.concatenate([rng.permutation(norm.ppf((np.arange(10) + 0.5) / 10)) for _ in range(8)])[:, None]
    X[50:] += 0.9  # so that the third chunk is predicted worse than the second
    monitor = EvidenceMonitor(gmm(), hazard=hazard, threshold=1 - 1e-12)
    watch(monitor.partial_fit(X[:40]), X[40:], size=10)

    def evidence(s, e):
        return EvidenceMonitor(NormalSegment(), hazard=1e-300).fit(X[s:e]).log_evidence_

    # the run from row 60 on is weighed against the runs of its time, of which that from row 50 on was none
    stay, new = np.log1p(-hazard), [np.log(1 - (1 - hazard) ** n) for n in (20, 10)]
    log_w = [evidence(0, 80) + 40 * stay]
    log_w += [evidence(0, s) + p + evidence(s, 80) + 30 * stay for s, p in zip((50, 60), new)]
    error = 4 * gmm().fit(X).log_evidence_std_ + 0.2
    found, log_Z = monitor.run_length_posterior_, np.logaddexp.reduce(log_w)
    np.testing.assert_array_equal(found["start"], [0, 50, 60])
    assert abs(monitor.log_evidence_ - log_Z) < error, "wrong evidence"
    np.testing.assert_allclose(found["probability"], np.exp(np.array(log_w) - log_Z), atol=0.15)


def test_a_run_may_begin_a_chunk_before_the_one_that_was_poor(rng, monkeypatch):
    check_a_run_begun_later(rng, monkeypatch)


def test_a_run_that_has_predicted_nothing_is_not_dropped():
    """What it costs to learn a model anew is paid at once, by its first chunk."""
    watching = _estimators.ChunkWatch(gmm(), 0.01, 0.5, 4, False)
    runs = [(0, 0.0, 5), (10, -40.0, 0), (20, -40.0, 1), (30, -40.0, 2), (40, -5.0, 9)]
    watching._keep([_estimators.EstimatorRun(start, None, w, None, n * [0.0]) for start, w, n in runs])
    assert [run.start for run in watching.runs] == [0, 40, 10, 20]
    assert watching.pruned == pytest.approx(np.exp(-40))


class Level(BaseEstimator):
    """Unit variance about the mean of what was seen."""

    def partial_fit(self, X, y=None):
        self.mean_, self.log_evidence_ = X.mean(), 0.0
        return self

    def score_samples(self, X):
        return -0.5 * (X[:, 0] - self.mean_) ** 2


def test_place_and_rivals_of_runs_that_began_together():
    """Half of the first run's rows are old, as those of the second are not, which tells where they end."""
    rows = np.r_[np.zeros(6), 2.0, 2.1, 1.9, 2.0, 6 + np.tile([-0.1, 0.1], 5)][:, None]
    watching = _estimators.ChunkWatch(Level(), 0.01, 0.5, 9, False)
    old, first, second = (Level().partial_fit(X) for X in (np.zeros((9, 1)), rows, rows[10:]))
    watching.n_seen, watching.stored = 120, [_estimators.Chunk(100, rows[:10], None)]
    watching.stored += [_estimators.Chunk(110, rows[10:], None)]
    starts = {0: (old, None), 100: (first, old), 110: (second, old), 118: (second, old)}
    watching.runs = [_estimators.EstimatorRun(s, e, 0.0, rival) for s, (e, rival) in starts.items()]
    found = watching._place(Detection(119, 100, 1.0, 50.0), 50.0, 0)
    assert found.change_row == 110  # by the first run it would be 106, where its own mean comes nearer
    new = watching.runs[1]
    assert (new.start, new.estimator.mean_) == (110, pytest.approx(6.0))
    assert [run.rival for run in watching.runs] == [None, old, old, new.estimator]
    assert watching.alarm.boundary == 110
    # what is left to say about the same row is no other change
    watching.runs = [watching.runs[0], _estimators.EstimatorRun(112, second, 0.0, old)]
    assert watching._place(Detection(119, 112, 1.0, 50.0), 50.0, 110) is None


def test_a_poor_chunk():
    rng = np.random.default_rng(0)
    scores = list(rng.normal(size=12))
    assert _estimators._is_poor([*scores, -8.0])
    assert not _estimators._is_poor([*scores, 0.0])
    assert not _estimators._is_poor([*scores, 8.0])
    assert not _estimators._is_poor([0.0, 0.1, -8.0])


def test_a_pickle_goes_on_bit_for_bit_and_an_error_changes_nothing(rng):
    X, y = regression_stream(rng)
    monitor = watch(EvidenceMonitor(linear()), X[:250], y[:250])
    other = pickle.loads(pickle.dumps(monitor))
    with pytest.raises(ValueError, match="NaN"):
        monitor.partial_fit(X[:3], [0.0, np.nan, 1.0])
    with pytest.raises(ValueError, match="features"):
        monitor.partial_fit(X[:3, :1], y[:3])
    watch(monitor, X[250:], y[250:])
    watch(other, X[250:], y[250:])
    assert monitor.log_evidence_ == other.log_evidence_
    assert monitor.detections_ == other.detections_
    assert monitor.n_samples_seen_ == other.n_samples_seen_ == 400


def test_restart_and_bounded_runs(rng):
    X, y = regression_stream(rng)
    monitor = watch(EvidenceMonitor(linear(), reaction="restart", max_runs=2), X, y)
    assert len(monitor.run_length_posterior_["start"]) <= 2
    assert monitor.run_length_posterior_["start"].min() == monitor.change_points_[0]


def test_what_cannot_be_watched():
    with pytest.raises(TypeError, match="partial_fit"):
        EvidenceMonitor(LinearRegression()).fit([[0.0]], [0.0])


# -- river's protocol -------------------------------------------------------------------------------


def test_one_row_at_a_time(rng):
    series = np.append(rng.normal(size=100), rng.normal(size=30) + 5.0)
    monitor, alarms = EvidenceMonitor(NormalSegment()), []
    for i, x in enumerate(series):
        monitor.update(x)
        if monitor.drift_detected:
            alarms.append(i)
    assert alarms == [d.declared_row for d in monitor.detections_] and alarms[-1] >= 100
    assert monitor.log_evidence_ == pytest.approx(
        EvidenceMonitor(NormalSegment()).fit(series[:, None]).log_evidence_
    )


def test_rows_of_dicts(rng):
    monitor = EvidenceMonitor(NormalSegment())
    monitor.update({"a": 1.0, "b": 2.0})
    monitor.update({"b": 2.5, "a": 0.0})
    other = EvidenceMonitor(NormalSegment()).fit([[1.0, 2.0], [0.0, 2.5]])
    assert monitor.log_evidence_ == pytest.approx(other.log_evidence_)
    with pytest.raises(ValueError, match="features"):
        monitor.update({"a": 1.0})


def test_a_change_is_warned_of_before_it_is_declared(rng):
    series = np.append(rng.normal(size=100), rng.normal(size=60) + 1.0)
    monitor, warned, probable = EvidenceMonitor(NormalSegment()), [], []
    assert not monitor.warning_detected
    for i, x in enumerate(series):
        monitor.update(x)
        assert not (monitor.warning_detected and monitor.drift_detected)
        warned += [i] * monitor.warning_detected
        probable += [i] * bool(monitor.change_probability_[-1] > 0.5)
    declared = [d.declared_row for d in monitor.detections_]
    assert warned == [i for i in probable if i not in declared]
    assert any(100 <= i < declared[-1] for i in warned)


@pytest.mark.filterwarnings("ignore:column 0 has only 2 different values")  # half of them are wrong
@pytest.mark.parametrize("train_in_background", [False, True])
def test_in_a_pipeline_of_river(rng, train_in_background):
    drift = pytest.importorskip("river.drift")
    from river.naive_bayes import GaussianNB

    model = drift.DriftRetrainingClassifier(
        GaussianNB(), EvidenceMonitor(NormalSegment()), train_in_background=train_in_background
    )
    right = []
    for i in range(600):
        x = rng.normal()
        y = bool((x > 0) == (i < 300))
        right.append(model.predict_one({"x": x}) == y)
        model.learn_one({"x": x}, y)
    assert np.mean(right[-100:]) > 0.8


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("model", [linear(), averager()], ids=["estimator", "averager"])
def test_rows_may_come_one_at_a_time(model, standardize, rng):
    """Also the first; it raised a math domain error.  Units are of ten rows."""
    given = {name: standardize for name in model.get_params() if name.split("__")[-1] == "standardize"}
    model = clone(model).set_params(**given)
    X, y = regression_stream(rng, n=15, change=10)
    monitor = EvidenceMonitor(model)
    for x, target in zip(X, y):
        monitor.update(x, target)
    assert monitor.n_samples_seen_ == 15 and np.isfinite(monitor.log_evidence_)
    assert monitor.log_predictive_path_["n_samples"].tolist() == ([10] if standardize else list(range(1, 16)))


def test_a_few_rows_that_agree_do_not_stand_out():
    before = np.tile([-1.0, -5.0], 20)
    assert not stands_out(3.0, before, np.array([2.0]), 1)
    assert not stands_out(3.0, before[:4], np.array([2.0]), 1)
    assert stands_out(60.0, before, np.full(40, 2.0), 40)
