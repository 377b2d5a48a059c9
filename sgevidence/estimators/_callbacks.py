"""A fit as scikit-learn's callbacks see it: a tree of tasks, a chunk each, with a leaf a step of annealing.

``estimator.set_callbacks(ProgressBar())`` shows it.  Without callbacks there is no tree and no cost.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.frozen import FrozenEstimator

from .._compat import callback_management_context


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

    def expect(self, n_parts: int) -> None:
        """``n_parts`` parts are to come: a bar can tell its share."""
        self._begin(n_parts)

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
        self._begin(0)
        self._root.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=dict, **self._data
        )

    def leaves(self, names: list[str]) -> list[Any]:
        """Tasks of the part that is under way, known beforehand, each for a model of its own."""
        self._begin(1)
        self._n_parts += 1
        self._part = self._root.subcontext(
            task_name="chunk", max_subtasks=len(names), sequential_subtasks=False
        ).call_on_fit_task_begin(estimator=self.estimator)
        return [self._part.subcontext(task_name=name, task_id=k) for k, name in enumerate(names)]

    def _begin(self, n_parts: int | None) -> None:
        if self._root is None:
            self._root = self.estimator._init_callback_context(task_name=self.task_name, max_subtasks=n_parts)
            self._root.call_on_fit_task_begin(estimator=self.estimator, **self._data)

    def _open(self) -> bool:
        """Is a part under way?  Not if there are more than were expected, which the tree has no place for."""
        self._begin(None)
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
