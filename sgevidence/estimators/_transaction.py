"""The state between two calls, and calls that happen as a whole or not at all, one at a time.

A fork copies the memory of all threads, but only the thread that forks goes on in the child.  So a call that
another thread had begun is taken back there, and its lock is opened: nobody else would ever do it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock, get_ident
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..samplers import ChunkRecord


class Stream(NamedTuple):
    """The state that the next ``partial_fit`` continues; a value, never changed in place."""

    rng: np.random.Generator
    state: Any  #: the sampler's
    records: list[ChunkRecord]


class _Call:
    """An estimator as it was before a call, and the thread that makes the call."""

    def __init__(self, estimator: Any) -> None:
        self.estimator, self.thread = estimator, get_ident()
        self.attributes = vars(estimator).copy()
        self.random_state = getattr(estimator, "random_state", None)
        generator = self.random_state
        self.drawn = generator.get_state() if isinstance(generator, np.random.RandomState) else None

    def take_back(self) -> None:
        """Restore the estimator's attributes, and the state of a RandomState among them."""
        vars(self.estimator).clear()
        vars(self.estimator).update(self.attributes)
        if self.drawn is not None and self.random_state is not None:
            self.random_state.set_state(self.drawn)


# Beside the estimators, not in them: a lock can be neither pickled nor copied, and a copy needs its own.
_LOCKS: WeakKeyDictionary[Any, Lock] = WeakKeyDictionary()
_CALLS: dict[int, _Call] = {}  # that have not finished, by the identity of the estimator
_OPENING = RLock()  # held while either of the two changes, and by a thread that forks


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Restore the estimator's attributes, and a RandomState among them, if the block does not finish.

    A second thread waits until the first has finished: both would start from the same state, and the rows of
    one of them would be lost.  RuntimeError if the block, or a function of the user's that it calls, lets the
    same estimator learn.
    """
    with _OPENING:
        call = _CALLS.get(id(estimator))
    if call is not None and call.thread == get_ident():
        raise RuntimeError(
            f"this {type(estimator).__name__} is learning, and a likelihood or another function that it "
            "calls lets it learn again, for which it would wait for ever: use a clone of it there"
        )
    with _lock_of(estimator):
        call = _Call(estimator)
        with _OPENING:
            _CALLS[id(estimator)] = call
        try:
            yield
        except BaseException:
            call.take_back()
            raise
        finally:
            with _OPENING:
                _CALLS.pop(id(estimator), None)


def _lock_of(estimator: Any) -> Lock:
    with _OPENING:
        return _LOCKS.setdefault(estimator, Lock())


def _after_fork() -> None:
    """In the child: take back the calls of threads that are not there, and open their locks."""
    here = get_ident()
    kept = {id(call.estimator): _lock_of(call.estimator) for call in _CALLS.values() if call.thread == here}
    for call in [call for call in _CALLS.values() if call.thread != here]:
        call.take_back()
        del _CALLS[id(call.estimator)]
    _LOCKS.clear()
    _LOCKS.update({_CALLS[key].estimator: lock for key, lock in kept.items()})
    _OPENING.release()


if hasattr(os, "register_at_fork"):  # not on Windows, where nobody forks
    os.register_at_fork(before=_OPENING.acquire, after_in_parent=_OPENING.release, after_in_child=_after_fork)


def is_online(estimator: Any) -> bool:
    """Can its sampler learn from rows as they come?"""
    return estimator.sampler is None or hasattr(estimator.sampler, "update")


def learns_online(estimator: Any) -> bool:
    """For ``available_if``: says why there is no ``partial_fit``."""
    if is_online(estimator) or isinstance(estimator.sampler, type):  # a class is refused by the call itself
        return True
    raise AttributeError(
        f"{type(estimator.sampler).__name__} needs all rows at once: use fit, or a sampler that learns "
        "online, such as SGAIS()"
    )
