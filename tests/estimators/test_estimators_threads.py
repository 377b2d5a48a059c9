"""One thread of BLAS while an estimator learns, and afterwards as many as before."""

import threading

import numpy as np
import pytest
from estimator_cases import slope_model
from threadpoolctl import threadpool_info, threadpool_limits

from sgevidence.estimators import _calls
from sgevidence.estimators._calls import one_blas_thread
from sgevidence.models import GLMModel, LinearModel


def n_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(limits=2, user_api="blas"):
        yield


def test_threads_come_back_whoever_ends_first():
    model, rows = LinearModel(2), np.zeros(1000)
    begun, may_end, found = threading.Event(), threading.Event(), []

    def other():
        with one_blas_thread(model, rows):
            begun.set()
            may_end.wait()
            found.append(n_threads())
        found.append(n_threads())

    thread = threading.Thread(target=other)
    with one_blas_thread(model, rows):
        thread.start()
        begun.wait()
        with one_blas_thread(model, rows):
            pass
        assert n_threads() == {1}
    may_end.set()
    thread.join()
    assert n_threads() == {2} and found[1] == {2}


def test_an_error_gives_them_back_and_many_columns_keep_them_as_a_row_does():
    with pytest.raises(ValueError), one_blas_thread(GLMModel(2), [0.0]):
        assert n_threads() == {1}
        raise ValueError
    assert n_threads() == {2}
    for model, rows in [(GLMModel(_calls.THREADED_PARAMETERS), np.zeros(1000)), (LinearModel(2), [0.0])]:
        with one_blas_thread(model, rows):
            assert n_threads() == {2}


def test_a_fit_has_one():
    found = []

    def log_likelihood(theta, X, y):
        found.append(n_threads())
        return -0.5 * (y - theta @ X.T) ** 2 - 0.5 * np.log(2 * np.pi)

    slope_model(log_likelihood, gradient="numerical").fit([[0.0], [1.0]], [0.0, 1.0])
    assert found[-1] == {1} and n_threads() == {2}  # the first are of the check
