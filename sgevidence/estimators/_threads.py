"""One thread of BLAS while an estimator learns: its matrices are small, and more threads wait for each other.

Blocks have at most some 10⁵ numbers.  With two threads instead of one a softmax regression of 178 rows took
eleven times the processor time, latent classes of 600 rows five times, a linear regression of 10⁵ rows and 50
columns four times, and none was faster.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock, local
from typing import Any

from threadpoolctl import ThreadpoolController

from ..models import Model

#: Parameters from which threads are left as they are: the matrices of such models are not small.
THREADED_PARAMETERS = 300


class _Limit:
    """The limit of each thread, as OpenBLAS has it, or of the process, as others do.

    So each call sets it, and whichever ends brings back what there was before the first of those that run.
    """

    def __init__(self) -> None:
        self.lock, self.n_calls, self.inside = Lock(), 0, local()
        self.first: Any = None  #: limiter, which knows what there was

    @contextmanager
    def held(self) -> Iterator[None]:
        """One thread."""
        if getattr(self.inside, "is_held", False):
            yield
            return
        with self.lock:
            limiter = _controller().limit(limits=1, user_api="blas")
            self.first = self.first if self.n_calls else limiter
            self.n_calls += 1
        self.inside.is_held = True
        try:
            yield
        finally:
            self.inside.is_held = False
            with self.lock:
                self.n_calls -= 1
                self.first.restore_original_limits()


_LIMIT = _Limit()


@cache
def _controller() -> ThreadpoolController:
    """Looks for the libraries once, which takes 30 ms."""
    return ThreadpoolController()


def many_small_fits() -> AbstractContextManager[None]:
    """Limit BLAS to one thread while what is between the fits has small matrices, too."""
    return _LIMIT.held()


def one_blas_thread(model: Model, rows: Any) -> AbstractContextManager[None]:
    """Limit BLAS to one thread inside, unless the model has many parameters, or there is hardly any work."""
    # rows of a closed form from which it counts: a limit takes 20 µs, and a row of a stream 1.5 ms
    is_small = model.has_exact_posterior and len(rows) < 100
    return nullcontext() if is_small or model.n_params >= THREADED_PARAMETERS else _LIMIT.held()
