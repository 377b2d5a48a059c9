"""Where sums over many rows run: here, or in joblib's workers, with the same digits.

A fold of many blocks is cut into parts that depend on the rows alone.  The sums of the parts are added in
their order, so that the number of workers, and who has finished first, change no digit.  Workers start when
a fit has taken as long as they take to start, by the number of its blocks and not by a clock.  They are
processes by default, and read the rows from a memory map that joblib makes once for each array; what travels
is the function (a model and its parameters) one way and sums the other.

Workers are known to the code inside of :func:`workers` only, and not to other threads: there, and inside of
a worker, parts run one after the other.

**Whole fits** run side by side: here, until joblib's workers save more than they take to start.  A fit has
its seed before it runs, so that a clock may decide where it runs and no digit changes.  Tasks run in this
process one after the other and are timed.  Workers start once the seconds that they would have saved so far
and those that they would save on the tasks to come are more than a start takes.  Calls before count too:
small ones in a loop start workers in the end.  Tasks go to workers at once if these run already, if the tasks
are heavy by their number of cells, or if the user has set a backend of joblib.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from math import prod
from numbers import Integral
from pickle import PicklingError
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.externals.loky import reusable_executor
from joblib.parallel import BACKENDS, get_active_backend

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


#: Rows × columns from which one fit takes a start of workers at least: 0.2 µs each in the fastest families
#: (linear, one Gaussian component; 10⁶ cells, two busy cores), and the particles of other models take more.
MIN_CELLS_OF_WORKERS = 20_000_000

_Processes: Any = BACKENDS["loky"]


class PatientWorkers(_Processes):
    """Worker processes of joblib that start when they pay; ``Parallel`` is to have ``pre_dispatch="all"``."""

    missed_seconds = 0.0  #: that workers would have saved since the process began, or since they started

    def __init__(self, n_tasks: int = 0, n_cells: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n_tasks = n_tasks  #: to come
        self.n_at_once, self.n_here, self.seconds = 1, 0, 0.0  #: tasks that ran here, and their time
        self.have_started = n_cells >= MIN_CELLS_OF_WORKERS

    def configure(self, n_jobs: int = 1, parallel: Any = None, **kwargs: Any) -> int:
        """Number of workers; here they start at the first task that is submitted to them."""
        n_workers: int = super().configure(n_jobs, parallel, **kwargs)
        self.n_at_once = min(n_workers, self.n_tasks)
        self.have_started |= _n_running() >= self.n_at_once
        return n_workers

    def terminate(self) -> None:
        """The tasks are done; whatever else asks for workers meanwhile has them at once."""
        self.have_started = True
        super().terminate()

    def compute_batch_size(self) -> int:
        """Tasks that travel together: fits are long."""
        return 1

    def submit(self, func: Any, callback: Any) -> Any:
        """The result to come of a task, or that of a task that has run here."""
        if not self.have_started and self._pay():
            self.have_started, PatientWorkers.missed_seconds = True, 0.0
        self.n_tasks -= 1
        if self.have_started:
            return super().submit(func, callback)
        done: Future = Future()
        start = perf_counter()
        try:
            done.set_result(func())
        except Exception as error:  # joblib raises it where it gathers the results
            done.set_exception(error)
        seconds = perf_counter() - start
        self.n_here, self.seconds = self.n_here + 1, self.seconds + seconds
        PatientWorkers.missed_seconds += seconds * (1.0 - 1.0 / self.n_at_once)
        done.add_done_callback(callback)
        return done

    def _pay(self) -> bool:
        n = min(self.n_at_once, self.n_tasks)
        if n < 2:
            return False
        to_come = self.n_tasks * self.seconds / max(self.n_here, 1) * (1.0 - 1.0 / n)
        return self.missed_seconds + to_come > START_SECONDS


def _n_running() -> int:
    """Workers that an earlier call has left: they wait some minutes for the next."""
    return len(getattr(getattr(reusable_executor, "_executor", None), "_processes", None) or ())


def task_workers(n_jobs: int | None, n_tasks: int, X: Any) -> AbstractContextManager:
    """Let ``Parallel(n_jobs)`` inside run so many fits to these rows where they are done first."""
    of_the_user = get_active_backend()[0] is get_active_backend()[0]  # joblib makes its own anew
    if of_the_user or effective_n_jobs(n_jobs) == 1:
        return nullcontext()
    shape = getattr(X, "shape", (0,))
    known = all(isinstance(k, Integral) for k in shape)  # a Dask frame does not say how many rows it has
    return parallel_config(backend=PatientWorkers(n_tasks, prod(shape) if known else 0))
