"""Fits side by side run here until workers pay, and no digit tells where they ran."""

import os
import time
from concurrent.futures import Future
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from sgevidence import (
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    EvidenceModelAverager,
    EvidenceSearch,
    replicate,
)
from sgevidence.history import _engine, task_workers
from sgevidence.history._engine import MIN_CELLS_OF_WORKERS, START_SECONDS, PatientWorkers
from sgevidence.samplers import UntilPrecise

FEW = np.zeros((3, 1))


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """No workers run yet, none starts, and tasks say how long they take."""
    clock = SimpleNamespace(now=0.0, sent=0)

    def send(self, func, callback=None):
        clock.sent += 1
        future = Future()
        future.set_result(func())
        future.add_done_callback(callback)
        return future

    monkeypatch.setattr(_engine, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(PatientWorkers, "missed_seconds", 0.0)
    monkeypatch.setattr(_engine, "_n_running", lambda: 0)
    monkeypatch.setattr(PatientWorkers.__base__, "submit", send)
    return clock


def sent(clock, seconds, n_jobs=2, X=FEW):
    """Tasks that go to workers, of those that take so many seconds each."""
    before = clock.sent

    def task(k):
        clock.now += seconds[k]
        return k

    with task_workers(n_jobs, len(seconds), X):
        found = Parallel(n_jobs, pre_dispatch="all")(delayed(task)(k) for k in range(len(seconds)))
    assert found == list(range(len(seconds)))
    return clock.sent - before


def test_workers_start_for_more_than_they_take_to_start(clock):
    assert sent(clock, [0.2 * START_SECONDS] * 8) == 0  # they would have saved 0.8 of a start
    PatientWorkers.missed_seconds = 0.0
    assert sent(clock, [0.3 * START_SECONDS] * 8) == 7
    assert PatientWorkers.missed_seconds == 0.0
    assert sent(clock, [0.1 * START_SECONDS] * 2 + [2.0 * START_SECONDS] * 4) == 3
    assert sent(clock, [START_SECONDS] * 8, n_jobs=1) == 0
    assert sent(clock, [1e-4 * START_SECONDS] * 500) == 0  # and no depth of recursion


def test_many_small_calls_start_them_too_and_a_last_task_does_not(clock):
    calls = [sent(clock, [0.22 * START_SECONDS] * 2) for _ in range(8)]
    assert calls == [0] * 5 + [2] + [0] * 2  # each would have saved 0.22 of a start
    PatientWorkers.missed_seconds = 0.0
    assert [sent(clock, [5.0 * START_SECONDS] * 2) for _ in range(2)] == [0, 2]
    PatientWorkers.missed_seconds = 0.0
    assert [sent(clock, [5.0 * START_SECONDS]) for _ in range(3)] == [0, 0, 0]
    assert PatientWorkers.missed_seconds == 0.0


def test_heavy_tasks_and_workers_that_run_are_not_waited_for(clock, monkeypatch):
    heavy = np.broadcast_to(0.0, (MIN_CELLS_OF_WORKERS, 1))
    assert sent(clock, [0.1] * 2, X=heavy) == 2 and sent(clock, [0.1] * 2, X=heavy[1:]) == 0
    assert sent(clock, [0.1] * 2, X=SimpleNamespace(shape=(np.nan, 3))) == 0
    monkeypatch.setattr(_engine, "_n_running", lambda: 2)
    assert sent(clock, [0.1] * 2) == sent(clock, [0.1] * 2, n_jobs=3) == 2
    assert sent(clock, [0.1] * 3, n_jobs=3) == 0


def test_the_backend_of_the_user_is_not_replaced(clock):
    for backend in ("threading", "loky"):
        with parallel_config(backend=backend):
            own = joblib.parallel.get_active_backend()[0]
            with task_workers(2, 3, FEW):
                assert joblib.parallel.get_active_backend()[0] is own
    with parallel_config(n_jobs=2), task_workers(None, 3, FEW):
        assert isinstance(Parallel()._backend, PatientWorkers) and effective_n_jobs(None) == 2
    with task_workers(None, 3, FEW):  # children may ask for workers of their own
        assert not isinstance(Parallel(2)._backend, PatientWorkers)


def test_after_the_tasks_others_have_workers_at_once(clock):
    with task_workers(2, 2, FEW):
        for n_sent in (0, 3):
            before = clock.sent
            Parallel(2, pre_dispatch="all")(delayed(abs)(k) for k in range(n_sent or 2))
            assert clock.sent - before == n_sent


def test_an_error_of_a_task_is_the_users(clock):
    def fails():
        raise KeyError("of the user")

    with pytest.raises(KeyError, match="of the user"), task_workers(2, 2, FEW):
        Parallel(2, pre_dispatch="all")(delayed(fails)() for _ in range(2))


X = np.random.default_rng(0).standard_normal((60, 2))
y = X[:, 0] + np.random.default_rng(1).standard_normal(60)


def average(n_jobs):
    models = [("a", BayesianLinearRegression()), ("b", BayesianLinearRegression(noise_std=1.0))]
    models.append(("c", BayesianGLM("poisson")))
    one = EvidenceModelAverager(models, random_state=0, n_jobs=n_jobs).fit(X, np.round(np.exp(y)))
    return one.log_evidences_, one.partial_fit(X, np.round(np.exp(y))).log_evidences_


def search(n_jobs):
    grid = {"n_components": [1, 2]}
    one = EvidenceSearch(BayesianGMM(random_state=0), grid, n_jobs=n_jobs).fit(X)
    return one.cv_results_["mean_test_log_evidence"], one.best_estimator_.log_evidence_


def seeds(n_jobs):
    one = replicate(BayesianGLM("poisson"), X, np.round(np.exp(y)), n=3, n_jobs=n_jobs, random_state=0)
    return one.log_evidences_, one.log_evidence_std_


def runs(n_jobs):
    sampler = UntilPrecise(0.03, max_seconds=None, n_jobs=n_jobs)
    one = BayesianLinearRegression(noise_std=1.0, sampler=sampler, random_state=0).fit(X, y)
    return one.log_evidence_, one.particles_


@pytest.mark.parametrize("answer", [average, search, seeds, runs], ids=lambda f: f.__name__)
def test_no_digit_tells_where_fits_ran(answer, clock, monkeypatch):
    alone, here = answer(None), answer(2)
    assert clock.sent == 0
    monkeypatch.undo()
    monkeypatch.setattr(_engine, "START_SECONDS", 0.0)  # the first here, the others in processes
    shared = answer(2)
    for one, other, third in zip(alone, here, shared):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, third)


def test_processes_take_what_is_left(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(_engine, "START_SECONDS", 0.01)
    monkeypatch.setattr(_engine, "_n_running", lambda: 0)

    def where(seconds):
        time.sleep(seconds)
        return os.getpid()

    with task_workers(2, 4, FEW):
        here, *there = Parallel(2, pre_dispatch="all")(delayed(where)(0.05) for _ in range(4))
    assert here == os.getpid() and os.getpid() not in there
