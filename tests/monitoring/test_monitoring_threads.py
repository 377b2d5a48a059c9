"""A monitor that several threads feed, and processes forked while one of them is inside."""

import multiprocessing
import os
import threading

import pytest

from sgevidence import BayesianLinearRegression, EvidenceMonitor
from sgevidence.estimators import all_or_nothing
from sgevidence.monitoring import NormalSegment

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="nobody forks here")
IN_TIME = 20.0  # seconds in which a child that does not hang is back


def feed(rng, n_threads=4, n_rows=500):
    X = rng.normal(size=(n_threads, n_rows, 1))
    monitor = EvidenceMonitor(NormalSegment())
    monitor.partial_fit(X[0, :1])

    def work(rows):
        for i in range(0, len(rows), 10):
            monitor.partial_fit(rows[i : i + 10])

    threads = [threading.Thread(target=work, args=(rows,)) for rows in X]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return monitor, 1 + n_threads * n_rows


def test_no_thread_loses_rows(rng):
    monitor, n = feed(rng)
    assert monitor.n_samples_seen_ == n
    posterior = monitor.run_length_posterior_
    assert (posterior["start"] + posterior["run_length"] == n).all()
    assert monitor.log_predictive_path_["n_samples"][-1] == n


def child_of_a_fork(work):
    """What ``work`` returns in a forked child; None if it hangs."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(work()))
    child.start()
    child.join(IN_TIME)
    if child.is_alive():
        child.kill()
        child.join()
        return None
    return queue.get()


def fork_inside(estimator, work):
    """Fork while another thread is inside a call that has changed the estimator."""
    inside, go_on = threading.Event(), threading.Event()

    def call():
        with all_or_nothing(estimator):
            estimator.half_done_ = True
            inside.set()
            go_on.wait()

    thread = threading.Thread(target=call)
    thread.start()
    inside.wait()
    try:
        return child_of_a_fork(work)
    finally:
        go_on.set()
        thread.join()


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("make", [lambda: EvidenceMonitor(NormalSegment()), BayesianLinearRegression])
def test_a_forked_child_takes_the_call_back_and_goes_on(make, rng):
    estimator, X = make(), rng.normal(size=(20, 1))

    def work():
        clean = not hasattr(estimator, "half_done_")
        estimator.partial_fit(X, X[:, 0])
        return (
            clean,
            estimator.n_samples_seen_,
            child_of_a_fork(lambda: estimator.partial_fit(X, X[:, 0]).n_samples_seen_),
        )

    assert fork_inside(estimator, work) == (True, 20, 40)
    assert estimator.half_done_  # in the parent the call has gone through
    assert child_of_a_fork(lambda: 5) == 5


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_thread_that_forks_inside_its_own_call_keeps_it(rng):
    estimator, X = EvidenceMonitor(NormalSegment()), rng.normal(size=(20, 1))

    def waits(seconds):
        """Whether another thread's call waits for the one inside."""
        other = threading.Thread(target=estimator.partial_fit, args=(X,), daemon=True)
        other.start()
        other.join(seconds)
        return other.is_alive()

    with all_or_nothing(estimator):
        estimator.half_done_ = True
        assert child_of_a_fork(lambda: (estimator.half_done_, waits(0.3))) == (True, True)
    assert not waits(IN_TIME)
