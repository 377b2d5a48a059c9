"""Where whole fits run side by side: here, until joblib's workers save more than they take to start.

A fit has its seed before it runs, so that a clock may decide where it runs and no digit changes.  Tasks run
in this process one after the other and are timed.  Workers start once the seconds that they would have
saved so far and those that they would save on the tasks to come are more than a start takes.  Calls before
count too: small ones in a loop start workers in the end.  Tasks go to workers at once if these run already,
if the tasks are heavy by their number of cells, or if the user has set a backend of joblib.
"""

from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from math import prod
from numbers import Integral
from time import perf_counter
from typing import Any

from joblib import effective_n_jobs, parallel_config
from joblib.externals.loky import reusable_executor
from joblib.parallel import BACKENDS, get_active_backend

from ._engine import START_SECONDS

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

    def submit(self, func: Any, callback: Any = None) -> Any:
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
        if callback is not None:
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
