"""Calls of fit and partial_fit: one at a time, as a whole or not at all, with the settings of those before.

A fork copies the memory of all threads, but only the thread that forks goes on in the child.  So a call that
another thread had begun is taken back there, and its lock is opened: nobody else would ever do it.

**Settings** may not change in mid-stream: a sampler's state, the model inside it and the evidence so far all
belong to the parameters of the first call.  With others the next rows would give the evidence of neither
model.

**Threads.**  BLAS has one while an estimator learns: blocks have at most some 10⁵ numbers.  With two threads
instead of one a softmax regression of 178 rows took eleven times the processor time, latent classes of 600
rows five times, a linear regression of 10⁵ rows and 50 columns four times, and none was faster.

**Callbacks** of scikit-learn see a fit as a tree of tasks, a chunk each, with a leaf a step of annealing;
``estimator.set_callbacks(ProgressBar())`` shows it.  Without callbacks there is no tree and no cost.
"""

import inspect
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock, RLock, get_ident, local
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from threadpoolctl import ThreadpoolController

from .._compat import callback_management_context
from ..models import Model
from ..samplers import SGAIS, ChunkRecord


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


@cache
def default_sampler() -> SGAIS:
    """The sampler of ``sampler=None``: one for all, since nobody is given it to change."""
    return SGAIS()


@cache
def _default_parameters() -> dict[str, Any]:
    return {key: _value(value) for key, value in default_sampler().get_params(deep=True).items()}


def settings(estimator: Any) -> dict[str, Any]:
    """Values of all parameters by name, of those that are objects the class; None as sampler is SGAIS()."""
    found: dict[str, Any] = {}
    for name, value in _parameters(estimator):
        *_, last = name.split("__")
        if last == "sampler" and value is None:
            value = default_sampler()
            found |= {f"{name}__{key}": v for key, v in _default_parameters().items()}
        # these change nothing of what has been learnt
        if last not in {"verbose", "n_jobs", "random_state", "max_calls"}:
            found[name] = _value(value)
    return found


def _parameters(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of ``get_params(deep=True)``; the signature of a class is looked at once."""
    if type(estimator).get_params is not BaseEstimator.get_params:  # of pipelines, which add their steps
        yield from estimator.get_params(deep=True).items()
        return
    for name in _names(type(estimator)):  # type: ignore[arg-type]
        value = getattr(estimator, name)
        yield name, value
        if hasattr(value, "get_params") and not isinstance(value, type):
            yield from ((f"{name}__{key}", part) for key, part in value.get_params(deep=True).items())


@cache
def _names(cls: type) -> list[str]:
    return sorted(inspect.signature(cls).parameters)


def settings_of_all(models: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Parameters of named models, as ``name__param``."""
    found: dict[str, Any] = {}
    for name, model in models:
        found |= {name: type(model)} | {f"{name}__{key}": value for key, value in settings(model).items()}
    return found


def _value(value: Any) -> Any:
    """A copy that is not changed with the parameter, and can be compared by ``==``."""
    if hasattr(value, "__array__"):  # of pandas and polars, too
        value = np.asarray(value).tolist()
    if isinstance(value, float) and np.isnan(value):
        return "nan"  # is not equal to itself
    if isinstance(value, list | tuple):
        return tuple(map(_value, value))
    if hasattr(value, "get_params") and not isinstance(value, type):
        return type(value)
    return dict(value) if isinstance(value, dict) else value


def refuse_changes(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Say what is no longer as it was: ValueError names the parameters with old and new values."""
    changed = [name for name in before | now if before.get(name, None) != now.get(name, None)]
    others = [name for name in changed if not any(name.startswith(f"{c}__") for c in changed)]
    if others:
        words = [f"{name} was {_word(before.get(name))}, is {_word(now.get(name))}" for name in others]
        raise ValueError(
            f"parameters changed since the rows before were learnt: {'; '.join(words[:5])}"
            f"{f'; and {len(words) - 5} more' if len(words) > 5 else ''}: call fit to start anew"
        )


def _word(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else repr(value)


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


class FitTasks:
    """The tree of one call; a watcher of :class:`~sgevidence.samplers.Progress`.

    ``task_name`` is that of the call; X and y are for the hooks of the call as a whole.
    """

    def __init__(self, estimator: Any, task_name: str, X: Any, y: Any):
        self.estimator, self.task_name = estimator, task_name
        self._data = {"X": X, "y": y}
        self._root: Any = None
        self._part: Any = None
        self._n_parts = 0

    def expect(self, n_parts: int | None) -> None:
        """Begin the tree; with the number of parts to come a bar can tell its share."""
        if self._root is None:
            self._root = self.estimator._init_callback_context(task_name=self.task_name, max_subtasks=n_parts)
            self._root.call_on_fit_task_begin(estimator=self.estimator, **self._data)

    def step(self) -> None:
        """A leaf of the part that is under way."""
        if not self._open():
            return
        leaf = self._part.subcontext(task_name="step").call_on_fit_task_begin(estimator=self.estimator)
        leaf.call_on_fit_task_end(estimator=self.estimator)

    def part(self) -> None:
        """The part that is under way is done."""
        if not self._open():
            return
        self._part.call_on_fit_task_end(estimator=self.estimator)
        self._part = None

    def end(self) -> None:
        """The call is done."""
        if self._part is not None:
            self.part()
        self.expect(0)
        self._root.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=dict, **self._data
        )

    def leaves(self, names: list[str]) -> list[Any]:
        """Tasks of the part that is under way, known beforehand, each for a model of its own."""
        self.expect(1)
        self._n_parts += 1
        self._part = self._root.subcontext(
            task_name="chunk", max_subtasks=len(names), sequential_subtasks=False
        ).call_on_fit_task_begin(estimator=self.estimator)
        return [self._part.subcontext(task_name=name, task_id=k) for k, name in enumerate(names)]

    def _open(self) -> bool:
        """Is a part under way?  Not if there are more than were expected, which the tree has no place for."""
        self.expect(None)
        if self._part is None and self._root.max_subtasks != self._n_parts:
            self._n_parts += 1
            self._part = self._root.subcontext(task_name="chunk", max_subtasks=None)
            self._part.call_on_fit_task_begin(estimator=self.estimator)
        return self._part is not None


@contextmanager
def fit_tasks(estimator: Any, task_name: str, X: Any, y: Any) -> Iterator[FitTasks | None]:
    """The tree of a call that is under way, or None if nobody watches; torn down at its end, good or bad.

    For a block within ``all_or_nothing``, which would take away from scikit-learn what it tears down by.
    """
    if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
        yield None
        return
    with callback_management_context(estimator):
        tasks = FitTasks(estimator, task_name, X, y)
        yield tasks
        tasks.end()


@contextmanager
def task_of(owner: Any, leaf: Any, model: Any) -> Iterator[None]:
    """The fit of one model as a leaf of its owner's tree, which grows the model's own; None is no leaf."""
    if leaf is None:
        yield
        return
    if isinstance(model, FrozenEstimator):  # has no tree
        leaf.call_on_fit_task_begin(estimator=owner).call_on_fit_task_end(estimator=owner)
        yield
        return
    with leaf.propagate_callback_context(model):
        leaf.call_on_fit_task_begin(estimator=owner)
        yield
        leaf.call_on_fit_task_end(estimator=owner)
