"""Folds of rows in joblib's workers have the digits of one process, and leave nothing behind."""

import os
import tempfile
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import autograd.numpy as anp
import numpy as np
import pytest
from autograd.tracer import getval
from joblib import parallel_config

from sgevidence import BayesianGLM, BayesianLinearRegression, BayesianModel, BayesianSoftmaxRegression
from sgevidence.custom import CustomModel
from sgevidence.history import Rows, _engine, _rows, workers
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import GLMModel, LinearModel, SoftmaxModel, near

#: Rows of 64 to a block that make parts.
N = 64 * 71 + 13


@pytest.fixture(autouse=True)
def workers_that_always_pay(monkeypatch):
    monkeypatch.setattr(_engine, "MIN_BLOCKS_OF_WORKERS", 0)


def test_workers_start_when_a_fit_has_taken_as_long_as_they_do(rows, monkeypatch):
    monkeypatch.setattr(_engine, "MIN_BLOCKS_OF_WORKERS", 200)
    asked = []
    monkeypatch.setattr(
        _engine.Pool, "__call__", lambda self, *given: asked.append(self.n_blocks) or iter([0])
    )
    with workers(2):
        for _ in range(4):
            rows.fold(len, 64)
    assert asked == [216, 288]  # of 72 blocks each


@pytest.fixture
def rows(rng):
    return Rows.of(rng.standard_normal((N, 3)), rng.standard_normal(N), rng.uniform(0.5, 2, N))


@pytest.fixture
def in_parts(monkeypatch):
    """Two blocks of rows make parts, as if the rows were many."""
    monkeypatch.setattr(_rows, "MIN_BLOCKS_OF_PARTS", 2)
    monkeypatch.setattr(_rows, "BLOCKS_PER_PART", 1)


def moments(block):
    return float(block.weight @ block.y), block.X.T @ block.X


def log_p(theta, X, y):
    return -0.5 * (y - anp.dot(theta, X.T)) ** 2


def test_a_fold_is_the_sum_over_blocks(rows):
    first, second = rows.fold(moments, 64)
    np.testing.assert_allclose(first, rows.weight @ rows.y, rtol=1e-12)
    np.testing.assert_allclose(second, rows.X.T @ rows.X, rtol=1e-12)
    seen = rows.fold(lambda block: len(block), 64)
    assert seen == N and rows[:0].fold(len, 64) == 0


def test_few_blocks_are_summed_as_ever(rows):
    few, total = rows[: 64 * 49], 0.0
    for block in few.blocks(64):
        total = total + block.weight @ block.y
    assert few.fold(moments, 64)[0] == total


@pytest.mark.parametrize("backend", [pytest.param("loky", marks=pytest.mark.slow), "threading"])
def test_no_digit_depends_on_the_workers(backend, rows):
    alone = rows.fold(moments, 64)
    for n_jobs in (2, 3) if backend == "threading" else (2,):
        with parallel_config(backend=backend), workers(n_jobs):
            for _ in range(2):  # the second time rows are mapped already
                shared = rows.fold(moments, 64)
                assert shared[0] == alone[0] and np.array_equal(shared[1], alone[1])


def test_none_is_what_joblib_is_told(rows, monkeypatch):
    asked = []
    monkeypatch.setattr(_engine.Pool, "__call__", lambda self, *given: asked.append(self.n_jobs) or iter([0]))
    with workers(None):
        rows.fold(moments, 64)
    assert asked == []
    with parallel_config(backend="threading", n_jobs=3), workers(None):
        rows.fold(moments, 64)
    with workers(2):
        rows.fold(moments, 64)
        rows[: 64 * 49].fold(moments, 64)  # too few
        other = threading.Thread(target=rows.fold, args=(moments, 64))
        other.start()
        other.join()
    rows.fold(moments, 64)
    assert asked == [3, 2]


def mapped_files():
    """Arrays that joblib has written for workers of this process."""
    folders = (Path(tempfile.gettempdir()), Path("/dev/shm"))
    return sorted(file for f in folders for file in f.glob(f"joblib_memmapping_folder_{os.getpid()}_*/*.pkl"))


def test_rows_travel_once_and_leave_no_file(rng):
    rows = Rows.of(rng.standard_normal((40_000, 4)))  # more than joblib sends by value
    with workers(2):
        rows.fold(lambda block: block.X.sum(), 500)
        (written,) = mapped_files()
        rows.fold(lambda block: block.X.sum(), 500)
        assert mapped_files() == [written]
    assert mapped_files() == []


def test_a_map_of_the_user_is_not_copied(tmp_path, rng):
    on_disk = np.memmap(tmp_path / "X", np.float64, "w+", shape=(40_000, 4))
    on_disk[:] = rng.standard_normal(on_disk.shape)
    rows = Rows.of(np.memmap(tmp_path / "X", np.float64, "r", shape=(40_000, 4)))
    with workers(2):
        shared = rows.fold(lambda block: (block.X.sum(), float(type(block.X) is np.ndarray)), 500)
        assert mapped_files() == []
    assert shared[0] == rows.fold(lambda block: block.X.sum(), 500) and shared[1] == 80


def small(model):
    """The model with blocks that are far smaller."""
    own = getattr(model, "plain", model)
    object.__setattr__(
        own, "evaluation", replace(own.evaluation, block_elements=256, block_rows=64, fused_elements=None)
    )
    return near(own, np.full((1, 3), 1e6)) if own is not model else own


@pytest.mark.parametrize(
    "model",
    [
        LinearModel(3),
        SoftmaxModel(3, 2),
        GLMModel(3),
        MixtureModel(n_features=3, n_components=2),
        CustomModel(None, lambda theta: -0.5 * anp.sum(theta**2, axis=1), log_p, 3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_sums_of_models_have_the_digits_of_one_process(model, rows, rng):
    model = small(model)
    if isinstance(model, SoftmaxModel | GLMModel):
        rows = replace(rows, y=(rows.y > 0).astype(int if isinstance(model, SoftmaxModel) else float))
    theta = 0.3 * rng.standard_normal((4, model.n_params))
    passes = [
        lambda: (model.sum_log_likelihood(theta, rows),),
        lambda: model.value_and_grad_log_joint(theta, rows),
        lambda: model.derivatives(theta[0], rows),
    ]
    for one_pass in passes:
        alone = one_pass()
        with parallel_config(backend="loky"), workers(2):
            shared = one_pass()
        assert all(np.array_equal(one, other) for one, other in zip(alone, shared))
    np.testing.assert_allclose(
        model.sum_log_likelihood(theta, rows), model.log_likelihood(theta, rows) @ rows.weight, rtol=1e-7
    )


def test_failures_of_functions_are_counted_in_workers(rows):
    def fails(theta, X, y):
        if np.any(getval(theta)[:, 0] > 0):
            raise np.linalg.LinAlgError("not this one")
        return log_p(theta, X, y)

    counts = []
    for n_jobs in (1, 2):
        model = small(CustomModel(None, lambda theta: theta[:, 0] * 0, fails, 3))
        with workers(n_jobs):
            value = model.sum_log_likelihood(np.array([[-1.0, 0, 0], [1.0, 0, 0]]), rows)
        assert np.isfinite(value[0]) and value[1] == -np.inf
        counts.append(
            (model.failures.n_calls, model.failures.n_failed, "not this one" in model.failures.example)
        )
    assert counts[0] == counts[1] and counts[0][1] > 0


ESTIMATORS = {
    "linear": BayesianLinearRegression,
    "softmax": BayesianSoftmaxRegression,
    "glm": partial(BayesianGLM, "poisson"),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_have_the_same_digits(name, rng, in_parts):
    X = rng.standard_normal((2600, 2))
    y = {"softmax": X[:, 0] > 0, "glm": rng.poisson(np.exp(X[:, 0]))}.get(name, X[:, 0])
    answers = []
    for n_jobs in (None, 2):
        model = ESTIMATORS[name](random_state=0, n_jobs=n_jobs)
        with parallel_config(backend="threading"):
            model.fit(X[:2500], y[:2500]).partial_fit(X[2500:], y[2500:])
        answers.append((model.log_evidence_, model.log_evidence_std_, model.particles_.tobytes()))
    assert answers[0] == answers[1]


def test_a_model_of_ones_own_travels_to_processes(rng, in_parts):
    X, answers = rng.standard_normal((2000, 2)), []
    parts = dict(
        sample_prior=lambda rng, size: rng.standard_normal((size, 2)),
        log_prior=lambda theta: -0.5 * anp.sum(theta**2, axis=1) - np.log(2 * np.pi),
        random_state=0,
    )
    for n_jobs in (None, 2):
        model = BayesianModel(log_p, **parts, n_jobs=n_jobs).fit(X, X[:, 0])
        answers.append((model.log_evidence_, model.particles_.tobytes(), model.diagnostics_["n_failed"]))
    assert answers[0] == answers[1]


def test_an_error_in_a_worker_is_the_users(rows):
    """At the end of this file: joblib starts its workers anew after an error."""

    def broken(block):
        raise KeyError("of the user")

    with workers(2), pytest.raises(KeyError, match="of the user"):
        rows.fold(broken, 64)
    lock = threading.Lock()
    with workers(2), pytest.raises(ValueError, match=r"n_jobs=2 the model travels to other processes.*lock"):
        rows.fold(lambda block: lock.locked() + len(block), 64)
    assert mapped_files() == []
