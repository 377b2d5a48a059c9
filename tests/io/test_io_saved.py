"""Saved estimators, averages and monitors go on bit for bit, also after a crash."""

import os
import pickle
import signal
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from estimator_cases import KINDS, data, estimator, first_call, noisy, part, same_fit
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sgevidence import (
    BayesianGMM,
    BayesianLinearRegression,
    EvidenceFeatureSelector,
    EvidenceModelAverager,
    EvidenceMonitor,
    EvidenceSearch,
    load,
    save,
)
from sgevidence.io import trusted_types
from sgevidence.monitoring import CategorySegment, CountSegment, NormalSegment, RegressionSegment
from sgevidence.samplers import PriorSampling

skops_io = pytest.importorskip("skops.io")
ROOT = Path(__file__).parents[2]
FUNCTIONS = [
    f"estimator_cases.{name}" for name in ("sample_slope", "slope_log_likelihood", "slope_log_prior")
]


def through_save(one, folder, trusted=()):
    save(one, folder / "one.sge")
    return load(folder / "one.sge", trusted=trusted)


def through_skops(one, folder, trusted=()):
    skops_io.dump(one, folder / "one.skops")
    return skops_io.load(folder / "one.skops", trusted=trusted_types(one))


def through_joblib(one, folder, trusted=()):
    joblib.dump(one, folder / "one.joblib", compress=1)
    return joblib.load(folder / "one.joblib")


def through_pickle(one, folder, trusted=()):
    return pickle.loads(pickle.dumps(one))


WAYS = (through_save, through_skops, through_joblib, through_pickle)


SLOW = ("gmm", "custom")  # go one way: what differs is in the state, not in the file


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_goes_on_bit_for_bit(kind, tmp_path):
    one = noisy(kind).partial_fit(*part(kind, 0, 12), **first_call(kind))
    ways = WAYS[:1] if kind in SLOW else WAYS
    others = [way(one, tmp_path, FUNCTIONS if kind == "custom" else ()) for way in ways]
    for start, stop in ((12, 13), (13, 20)):
        one.partial_fit(*part(kind, start, stop))
        for other in others:
            other.partial_fit(*part(kind, start, stop))
            same_fit(one, other)
            assert other.evidence_path_.keys() == one.evidence_path_.keys()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "custom"])
def test_rows_that_are_held_are_in_the_file(kind, tmp_path):
    """And units, as a value of their own, in an estimator that is given some."""
    one = noisy(kind).partial_fit(*part(kind, 0, 4), **first_call(kind))
    for way in WAYS:
        other = way(one, tmp_path)
        with pytest.raises(NotFittedError, match="holds 4 rows"):
            other.log_evidence_  # noqa: B018
    stop = 12 if kind in SLOW else 40
    one.partial_fit(*part(kind, 4, stop))
    same_fit(one, other.partial_fit(*part(kind, 4, stop)))
    given = estimator(kind, units=one.units_)
    again = through_save(given, tmp_path)
    np.testing.assert_array_equal(again.units.scale, one.units_.scale)
    same_fit(given.fit(*part(kind, 0, 12)), again.fit(*part(kind, 0, 12)))


def test_closed_forms_and_fits_of_all_rows_at_once(tmp_path):
    X, y = data("linear", 10)
    one = BayesianLinearRegression(random_state=0).partial_fit(X[:5], y[:5])  # held
    other = through_save(one, tmp_path)
    same_fit(one.partial_fit(X[5:], y[5:]), other.partial_fit(X[5:], y[5:]))
    one = BayesianLinearRegression(noise_std=0.5, sampler=PriorSampling(), random_state=0).fit(X, y)
    other = through_save(one, tmp_path)
    same_fit(one, other)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def averager():
    models = [("narrow", BayesianGMM(1, mean_scale=1.0)), ("wide", BayesianGMM(1, mean_scale=5.0))]
    return EvidenceModelAverager(models, random_state=0)


def test_an_average_goes_on_bit_for_bit(rng, tmp_path):
    X = rng.standard_normal((60, 2))
    one = averager().partial_fit(X[:20])
    others = [way(one, tmp_path) for way in WAYS[::2]]
    one.partial_fit(X[20:])
    for other in others:
        other.partial_fit(X[20:])
        assert other.log_evidence_ == one.log_evidence_
        np.testing.assert_array_equal(other.score_samples(X), one.score_samples(X))


MODELS = [None, NormalSegment(), CategorySegment(3), CountSegment(), RegressionSegment(), BayesianGMM(1)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_monitor_goes_on_bit_for_bit_with_its_dates(model, rng, tmp_path):
    x = np.r_[np.zeros(30), np.full(20, 2.0)] if isinstance(model, CategorySegment) else rng.poisson(3, 50)
    index = pd.date_range("2020-03-28 12:00", periods=50, freq="h", tz="Europe/Berlin")
    X, y = pd.DataFrame({"x": np.asarray(x, dtype=float)}, index), rng.standard_normal(50)

    def rows(a, b):
        return (X[a:b], y[a:b]) if isinstance(model, RegressionSegment) else (X[a:b],)

    one = EvidenceMonitor(model, threshold=0.5, hazard=0.05).partial_fit(*rows(0, 32))
    others = [way(one, tmp_path) for way in WAYS[::2]]
    one.partial_fit(*rows(32, 50))
    for other in others:
        other.partial_fit(*rows(32, 50))
        assert other.log_evidence_ == one.log_evidence_
        assert (other.change_times_, other.detections_) == (one.change_times_, one.detections_)
        assert other._times == one._times
        np.testing.assert_array_equal(other.change_probability_, one.change_probability_)
    if isinstance(model, CategorySegment):
        assert one.change_times_ == [index[30]] and isinstance(other.change_times_[0], pd.Timestamp)


@pytest.mark.parametrize(
    "time",
    [
        pd.Timestamp("2020-01-01 00:00:00.000000001"),
        pd.Timedelta("3 h"),
        pd.Period("2020-01"),
        "Monday",
        7,
        pd.NaT,
    ],
)
def test_index_entries_come_back_as_they_were(time, tmp_path):
    one = EvidenceMonitor(NormalSegment()).partial_fit(pd.DataFrame({"x": [0.5]}, index=[time]))
    back = through_save(one, tmp_path)._times[0]
    assert back is time or (back == time and type(back) is type(time))


def test_selectors_pipelines_and_searches(tmp_path):
    X, y = data("linear")
    one = EvidenceFeatureSelector().partial_fit(X[:50], y[:50])
    other = through_save(one, tmp_path)
    one.partial_fit(X[50:], y[50:]), other.partial_fit(X[50:], y[50:])
    np.testing.assert_array_equal(one.inclusion_probabilities_, other.inclusion_probabilities_)
    pipeline = make_pipeline(StandardScaler(), BayesianLinearRegression()).fit(X, y)
    np.testing.assert_array_equal(through_save(pipeline, tmp_path).predict(X), pipeline.predict(X))
    search = EvidenceSearch(BayesianLinearRegression(), {"fit_intercept": [True, False]}).fit(X, y)
    assert str(through_save(search, tmp_path).comparison_) == str(search.comparison_)
    assert isinstance(through_save(BayesianGMM(3), tmp_path), BayesianGMM)  # fresh


# -- crashes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["open", "os.fsync", "os.replace"])
def test_a_full_disk_leaves_the_old_file_and_no_other(step, file, tmp_path, monkeypatch):
    path = tmp_path / "one.sge"
    path.write_bytes(file.read_bytes())

    def fails(*args, **kwargs):
        raise OSError(28, "No space left on device")

    target, _, name = f"sgevidence.io._saved.{step}".rpartition(".")
    monkeypatch.setattr(f"{target}.{name}", fails, raising=False)
    with pytest.raises(OSError, match="No space"):
        save(BayesianGMM(2), path)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["one.sge"]
    assert isinstance(load(path), BayesianLinearRegression)


def test_a_link_is_followed_and_the_umask_holds(tmp_path):
    real, link = tmp_path / "real.sge", tmp_path / "link.sge"
    link.symlink_to(real)
    save(BayesianGMM(2), link)
    assert link.is_symlink() and load(real).n_components == 2
    umask = os.umask(0)
    os.umask(umask)
    assert real.stat().st_mode & 0o777 == 0o666 & ~umask


def stream(path, X, y):
    """Resume where the file ends and save after each chunk, as a user's script does."""
    model = load(path) if path.exists() else BayesianLinearRegression(random_state=0)
    start = getattr(model, "n_samples_seen_", 0)
    for row in range(start, len(X), 3):
        save(model.partial_fit(X[row : row + 3], y[row : row + 3]), path)
    return model


class CountedCalls:
    """Counts calls of functions, Python's and C's, and kills the process at the last."""

    def __init__(self, last=None):
        self.n, self.last = 0, last

    def __call__(self, frame, event, argument):
        self.n += 1
        if self.n == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *exception):
        sys.setprofile(None)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_stream_that_is_killed_anywhere_ends_with_the_digits_of_one_that_is_not(tmp_path, rng):
    X, y = data("linear", 14)  # of which nine are held
    with CountedCalls() as calls:
        whole = stream(tmp_path / "whole.sge", X, y)
    path, n_kills = tmp_path / "killed.sge", 0
    while not path.exists() or load(path).n_samples_seen_ < len(X):
        last = int(rng.integers(1, calls.n // 2))
        child = os.fork()
        if not child:
            try:
                with CountedCalls(last):
                    stream(path, X, y)
            finally:
                os._exit(0)
        n_kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert n_kills > 0
    same_fit(load(path), whole)
    save(load(path), path)  # what a killed process has left behind is gone after the next call
    assert sorted(p.name for p in tmp_path.iterdir()) == ["killed.sge", "whole.sge"]


def test_the_part_of_another_process_is_left_alone(file, tmp_path):
    """Its lock says that it is being written; one without a lock will not be finished."""
    fcntl = pytest.importorskip("fcntl")
    path, written, left, other = (
        tmp_path / name
        for name in ("one.sge", ".one.sge.0a0a0a0a.part", ".one.sge.0b0b0b0b.part", ".two.sge.0c0c0c0c.part")
    )
    for each in (written, left, other):
        each.write_bytes(file.read_bytes()[:100])
    with open(written, "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        save(BayesianGMM(2), path)
    assert written.exists() and other.exists() and not left.exists()
    assert load(path).n_components == 2


def test_mlflow_goes_on_with_types_that_are_trusted_or_with_cloudpickle(tmp_path):
    mlflow = pytest.importorskip("mlflow.sklearn")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    one = BayesianLinearRegression(random_state=0).partial_fit(X[:40], X[:40, 0])
    with pytest.raises(Exception, match="skops_trusted_types"):
        mlflow.save_model(one, tmp_path / "default")
    ways = {"skops_trusted_types": trusted_types(one)}, {"serialization_format": "cloudpickle"}
    again = []
    for k, way in enumerate(ways):
        mlflow.save_model(one, tmp_path / str(k), **way)
        again.append(mlflow.load_model(str(tmp_path / str(k))))
    for model in (one, *again):
        model.partial_fit(X[40:], X[40:, 0])
    for model in again:
        same_fit(model, one)


def test_nothing_but_its_own_parts_is_removed(file, tmp_path):
    """Names that look alike, what is no file, and files of somebody else under the very name."""
    path, half = tmp_path / "t", file.read_bytes()[:100]
    kept = [".t.mine.part", ".t.01234567.x.part", ".t.0123456.part", ".t.0123456G.part", ".t.part"]
    kept += [".tt.01234567.part"]
    for name in kept:
        (tmp_path / name).write_bytes(half)
    (tmp_path / ".t.0000aaaa.part").write_bytes(b"notes of mine")
    (tmp_path / ".t.0000bbbb.part").mkdir()
    (tmp_path / ".t.0000cccc.part").symlink_to(file)
    kept += [".t.0000aaaa.part", ".t.0000bbbb.part", ".t.0000cccc.part"]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / ".t.0000dddd.part")  # to open it waits for somebody who writes
        kept.append(".t.0000dddd.part")
    for name, begun in {"0000eeee": half, "0000ffff": b"", "00001111": half[:3]}.items():
        (tmp_path / f".t.{name}.part").write_bytes(begun)
    save(BayesianGMM(2), path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*kept, "t"])
    assert load(path).n_components == 2 and file.exists()


@pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_the_mode_of_a_file_that_is_replaced_stays(mode, tmp_path, monkeypatch):
    path = tmp_path / "one.sge"
    save(BayesianGMM(2), path)
    path.chmod(mode)
    modes, replace = [], os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (modes.append(os.stat(a).st_mode & 0o777), replace(a, b)))
    link = tmp_path / "link"
    link.symlink_to(path)
    for name in (path, link):
        save(BayesianGMM(3), name)
        assert path.stat().st_mode & 0o777 == mode
    assert modes == [mode, mode] and load(path).n_components == 3
