"""Where sums over many rows run: here, or in joblib's workers, with the same digits.

A fold of many blocks is cut into parts that depend on the rows alone.  The sums of the parts are added in
their order, so that the number of workers, and who has finished first, change no digit.  Workers start when
a fit has taken as long as they take to start, by the number of its blocks and not by a clock.  They are
processes by default, and read the rows from a memory map that joblib makes once for each array; what travels
is the function (a model and its parameters) one way and sums the other.

Workers are known to the code inside of :func:`workers` only, and not to other threads: there, and inside of
a worker, parts run one after the other.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pickle import PicklingError
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

#: Seconds in which two workers start and import this package on two quiet cores; 9 to 14 at a load of six.
START_SECONDS = 3.0
#: Blocks of a fit from which workers start: of 200 000 particles × rows and 2 ms each, they take as long as
#: workers take to start.  So a fit never takes more than twice the better of both ways.
MIN_BLOCKS_OF_WORKERS = round(START_SECONDS / 2e-3)

Bounds = list[tuple[int, int]]
_pool: ContextVar["Pool | None"] = ContextVar("pool", default=None)


class Pool:
    """Workers, which start when they are first needed."""

    def __init__(self, n_jobs: int, stack: ExitStack) -> None:
        self.n_jobs, self.stack = n_jobs, stack
        self.parallel: Any = None
        self.n_blocks = 0  #: of folds that were summed here

    def pays(self, n_blocks: int) -> bool:
        """Whether a fold of so many blocks is for workers, given those of the folds before it."""
        if self.parallel is None:
            self.n_blocks += n_blocks
        return self.n_blocks >= MIN_BLOCKS_OF_WORKERS

    def __call__(self, of_part: Callable, rows: Any, bounds: Bounds) -> Iterator[Any]:
        """Sums over parts, in order."""
        if self.parallel is None:
            self.parallel = self.stack.enter_context(
                Parallel(self.n_jobs, prefer="processes", batch_size=1, pre_dispatch="all")
            )
        # tasks that a fold is cut into for each worker: a worker that another program slows down takes fewer
        tasks = np.array_split(np.array(bounds), min(4 * self.n_jobs, len(bounds)))
        try:
            found = self.parallel(delayed(_of_parts)(of_part, rows, task.tolist()) for task in tasks)
        except (PicklingError, TypeError, AttributeError) as error:
            if not isinstance(error, PicklingError) and "pickle" not in str(error):
                raise
            told = str(error.__cause__).splitlines()  # a traceback
            words = next((line for line in reversed(told) if "pickle" in line), error)
            raise ValueError(
                f"with n_jobs={self.n_jobs} the model travels to other processes, which this one cannot "
                f"({words}): leave out what has no copy, as locks and open files have none, or take n_jobs=1"
            ) from error
        return (part for task in found for part in task)


@contextmanager
def workers(n_jobs: int | None) -> Iterator[None]:
    """Fold the rows of the code inside by this many of joblib's workers.

    As joblib counts them: −1 is all cores, None is one unless ``joblib.parallel_config`` says more.
    """
    with ExitStack() as stack:
        n = effective_n_jobs(n_jobs)
        token = _pool.set(Pool(n, stack) if n > 1 else None)
        try:
            yield
        finally:
            _pool.reset(token)


def sums_of_parts(of_part: Callable, rows: Any, bounds: Bounds, n_blocks: int) -> Iterator[Any]:
    """``of_part`` of each part of the rows, which have so many blocks, in order, wherever it runs."""
    pool = _pool.get()
    if pool is None or len(bounds) < 2 or not pool.pays(n_blocks):
        return (of_part(rows[start:stop]) for start, stop in bounds)
    return pool(of_part, rows, bounds)


def _of_parts(of_part: Callable, rows: Any, bounds: Bounds) -> list[Any]:
    """The work of one task, in the worker.

    Rows are plain arrays there: autograd does not know memory maps.
    """
    y = None if rows.y is None else np.asarray(rows.y)
    plain = replace(rows, X=np.asarray(rows.X), y=y, weight=np.asarray(rows.weight))
    with np.errstate(all="ignore"):
        return [of_part(plain[start:stop]) for start, stop in bounds]
