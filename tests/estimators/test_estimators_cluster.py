"""Rows on two worker processes: what travels, and what is left when one of them is killed."""

import os
import signal

import joblib
import numpy as np
import pytest

from sgevidence import (
    SGAIS,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceModelAverager,
)
from sgevidence.rows import _collections

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

N_ROWS, N_PARTS, SAMPLE = 30_000, 8, 5000
#: Bytes that may travel in a pass: the model to each worker, sums to each other and to the client.
MAX_BYTES = 2e6


def bytes_sent(client):
    found = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
    return sum(found.values())


@pytest.mark.slow
def test_sums_travel_and_a_worker_may_die(monkeypatch):
    passes, kill_at = [], [None]
    computed = _collections.computed

    def watched(tasks):
        if kill_at[0] is not None:  # of a second fit, whose bytes nobody counts
            kill_at[0] -= 1
            if not kill_at[0]:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            return computed(tasks)
        before = bytes_sent(client)
        found = computed(tasks)
        passes.append(bytes_sent(client) - before)
        return found

    monkeypatch.setattr(_collections, "computed", watched)
    config = {"distributed.scheduler.work-stealing": False, "distributed.admin.log-format": "%(message)s"}
    with (
        dask.config.set(config),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        rng = da.random.default_rng(0)
        X = rng.normal(size=(N_ROWS, 4), chunks=(N_ROWS // N_PARTS, 4))
        y = (X[:, 0] + X[:, 1] + rng.normal(size=N_ROWS, chunks=N_ROWS // N_PARTS) > 0).astype(int)
        X, y = client.persist([X, y])
        distributed.wait([X, y])
        arrays = X.compute(), y.compute()
        array = BayesianSoftmaxRegression(random_state=0).fit(*arrays)
        model = BayesianSoftmaxRegression(random_state=0, sampler=SGAIS(reservoir_size=SAMPLE))
        model.fit(X, y)
        kill_at[0] = 5
        again = BayesianSoftmaxRegression(random_state=0, sampler=SGAIS(reservoir_size=SAMPLE)).fit(X, y)
        kill_at[0] = None
        groups = client.persist(
            X[:, :2] + 6.0 * (rng.random(N_ROWS, chunks=N_ROWS // N_PARTS) < 0.4)[:, None]
        )
        distributed.wait(groups)
        in_softmax = passes.copy()
        passes.clear()
        mixture = BayesianGMM(2, random_state=0, sampler=SGAIS(reservoir_size=SAMPLE), standardize=False)
        whole, in_mixture = mixture.fit(groups).log_evidence_, passes.copy()
        kill_at[0] = len(in_mixture) - 1  # among the passes around modes
        after_a_death = mixture.fit(groups).log_evidence_
    bar = np.hypot(array.log_evidence_std_, model.log_evidence_std_)
    assert abs(array.log_evidence_ - model.log_evidence_) < 4 * bar + 1e-6
    assert model.data_fingerprint_ == array.data_fingerprint_
    assert 6 <= len(in_softmax) <= 10 and len(in_mixture) <= 10 and kill_at[0] < 0
    assert max(in_softmax[2:]) < MAX_BYTES and max(in_mixture[2:]) < MAX_BYTES  # after the sample
    assert again.log_evidence_ == model.log_evidence_
    assert after_a_death == whole


@pytest.mark.slow
def test_an_average_on_ray_has_the_digits_of_processes():
    ray, ray_joblib = pytest.importorskip("ray"), pytest.importorskip("ray.util.joblib")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2))
    y = X[:, 0] + rng.standard_normal(100)
    models = [(str(k), BayesianLinearRegression(columns=list(range(k)), random_state=0)) for k in (1, 2)]
    expected = EvidenceModelAverager(models, n_jobs=2).fit(X, y).predict(X)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        ray_joblib.register_ray()
        with joblib.parallel_config(backend="ray"):
            found = EvidenceModelAverager(models, n_jobs=2).fit(X, y).predict(X)
    finally:
        ray.shutdown()
    assert np.array_equal(found, expected)
