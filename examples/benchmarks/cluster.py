"""
Rows on two worker processes beside the array
=============================================

Softmax regression, 10 columns and 4 classes, or a mixture of three Gaussians in 4 columns: log evidence and
wall-clock time of a Dask collection on two worker processes, of the same parts in this process, and of the
array; what travels in each pass; Newton and Laplace.

``python examples/benchmarks/cluster.py [--rows 4000000] [--parts 40] [--mixture] [--stealing]``
"""

import argparse
import os
from contextlib import contextmanager
from time import perf_counter

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import dask
import dask.array as da
import distributed
import numpy as np
from newton import newton_laplace_softmax

from sgevidence import BayesianGMM, BayesianSoftmaxRegression
from sgevidence.rows import _collections


def softmax_rows(n, n_parts):
    """X and y, made where they are."""
    rng, p, K = np.random.default_rng(38), 10, 4
    W = rng.standard_normal((K, p))
    X = da.random.default_rng(1).normal(size=(n, p), chunks=(n // n_parts, p))
    noise = da.random.default_rng(2).gumbel(size=(n, K), chunks=(n // n_parts, K))
    return X, (da.dot(X, W.T) + noise).argmax(axis=1)


def mixture_rows(n, n_parts):
    """X of three groups, a few standard deviations apart."""
    means = 1.5 * np.random.default_rng(38).standard_normal((3, 4))
    label = da.random.default_rng(1).choice(3, size=n, p=[0.5, 0.3, 0.2], chunks=n // n_parts)
    noise = da.random.default_rng(2).normal(size=(n, 4), chunks=(n // n_parts, 4))
    return (noise + label.map_blocks(lambda k: means[k], new_axis=1, chunks=(noise.chunks[0], 4)),)


def timed(name, estimator, *arrays):
    """The fitted estimator; prints evidence and seconds."""
    start = perf_counter()
    estimator.fit(*arrays)
    seconds = perf_counter() - start
    print(
        f"{name:22s} {estimator.log_evidence_:.4f} ± {estimator.log_evidence_std_:.4f}  {seconds:6.1f} s",
        flush=True,
    )
    return estimator


@contextmanager
def passes_of(client):
    """A list that grows by the megabytes that leave workers in each pass, and its seconds."""
    passes, computed = [], _collections.computed

    def sent():
        return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())

    def watched(tasks):
        before, start = sent(), perf_counter()
        found = computed(tasks)
        passes.append(((sent() - before) / 1e6, perf_counter() - start))
        return found

    _collections.computed = watched
    yield passes
    _collections.computed = computed


def main():
    """One comparison."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--parts", type=int, default=40)
    parser.add_argument("--mixture", action="store_true")
    parser.add_argument("--stealing", action="store_true", help="as Dask is by default")
    args = parser.parse_args()
    make = mixture_rows if args.mixture else softmax_rows
    new = (
        (lambda: BayesianGMM(3, random_state=0))
        if args.mixture
        else lambda: BayesianSoftmaxRegression(random_state=0)
    )
    trim = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": str(2**30)}
    with (
        dask.config.set({"distributed.scheduler.work-stealing": args.stealing, **trim}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        rows = client.persist(make(args.rows, args.parts))
        distributed.wait(rows)
        for times in ("first", "second"):
            with passes_of(client) as passes:
                on_cluster = timed(f"cluster, {times} fit", new(), *rows)
        print("MB and seconds of passes:", ", ".join(f"{mb:.2f} {s:.1f}" for mb, s in passes))
        arrays = dask.compute(*rows)
    with dask.config.set(scheduler="synchronous"):
        parts = [da.from_array(a, chunks=(args.rows // args.parts, *a.shape[1:])) for a in arrays]
        here = timed("same parts, here", new(), *parts)
    print("same bits:", here.log_evidence_ == on_cluster.log_evidence_)
    timed("array", new(), *arrays)
    if not args.mixture:
        start = perf_counter()
        print(f"Laplace {newton_laplace_softmax(*arrays, 4)[0]:.4f}  {perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
