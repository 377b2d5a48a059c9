"""A call that learns happens as a whole or not at all, and one at a time in each estimator."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

# Beside the estimators, not in them: a lock can be neither pickled nor copied, and a copy needs its own.
_LOCKS: WeakKeyDictionary[Any, Lock] = WeakKeyDictionary()
_OPENING = Lock()


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Restore the estimator's attributes, and a RandomState among them, if the block does not finish.

    A second thread waits until the first has finished: both would go on from the same state, and the
    rows of one of them would be lost.
    """
    with _lock_of(estimator):
        before, random_state = vars(estimator).copy(), estimator.random_state
        drawn = random_state.get_state() if isinstance(random_state, np.random.RandomState) else None
        try:
            yield
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            if drawn is not None:
                random_state.set_state(drawn)
            raise


def _lock_of(estimator: Any) -> Lock:
    with _OPENING:
        return _LOCKS.setdefault(estimator, Lock())
