"""Rows of data as every algorithm sees them: X, y, weight, and two operations on them.

``sum over blocks`` and ``take`` are also what a distributed array or a file of columns offers.  Of
rows that nobody holds a function goes to the parts and sums come back, added in an order that depends on the
parts alone: not on the number of workers, nor on which of them is first.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Protocol

import numpy as np

from ._engine import sums_of_parts

#: Blocks of a fold from which it is summed in parts: 50 of 200 000 particles × rows take 0.1 s, and a fold
#: that is cut into tasks for other processes 0.02 s more.
MIN_BLOCKS_OF_PARTS = 50
#: Blocks of a part: fine enough for eight workers to share 50 blocks about evenly.
BLOCKS_PER_PART = 5
#: Sums that are added at a time: then their sums, and so on, so that few are at hand at any moment.
ADDED_AT_ONCE = 16


@dataclass(frozen=True)
class Rows:
    """n rows of data."""

    X: np.ndarray  #: (n, p)
    y: np.ndarray | None  #: targets, class indices, (n,), or None for densities
    weight: np.ndarray  #: how often each row counts, (n,)

    @classmethod
    def of(cls, X: Any, y: Any = None, weight: Any = None) -> "Rows":
        """Rows from arrays; weights default to one."""
        X = np.asarray(X, dtype=float)
        weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
        return cls(X, None if y is None else np.asarray(y), weight)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def total_weight(self) -> float:
        return float(np.sum(self.weight))

    def take(self, indices: np.ndarray) -> "Rows":
        """Rows by index; ``np.take`` is twice as fast as indexing."""
        y = None if self.y is None else np.take(self.y, indices, axis=0)
        return Rows(np.take(self.X, indices, axis=0), y, np.take(self.weight, indices))

    def parted(self, indices: np.ndarray) -> tuple["Rows", "Rows"]:
        """Rows with these indices, and all other rows."""
        return self.take(indices), self.take(np.delete(np.arange(len(self)), indices))

    def __getitem__(self, part: slice) -> "Rows":
        """A view of consecutive rows."""
        return Rows(self.X[part], None if self.y is None else self.y[part], self.weight[part])

    def copy(self) -> "Rows":
        """A copy of the rows: the caller's arrays may be a buffer that is filled again."""
        return Rows(self.X.copy(), None if self.y is None else self.y.copy(), self.weight.copy())

    def scaled(self, factor: float) -> "Rows":
        """Rows whose weights are ``factor`` times as large."""
        return Rows(self.X, self.y, factor * self.weight)

    def join(self, other: "Rows") -> "Rows":
        y = None if self.y is None else np.concatenate([self.y, other.y])
        return Rows(np.concatenate([self.X, other.X]), y, np.concatenate([self.weight, other.weight]))

    def replace(self, indices: np.ndarray, new: "Rows") -> "Rows":
        """A copy with some rows replaced; the last of several for one place stays."""
        out = self.join(new[:0])  # a copy whose types hold both
        out.X[indices], out.weight[indices] = new.X, new.weight
        if out.y is not None:
            out.y[indices] = new.y
        return out

    def blocks(self, size: int) -> Iterator["Rows"]:
        """Consecutive views of at most ``size`` rows (at least 64)."""
        size = max(size, 64)
        for start in range(0, len(self), size):
            yield self[start : start + size]

    def fold(self, function: Callable[["Rows"], Any], size: int) -> Any:
        """Σ over consecutive blocks of ``function(block)``, which is an array, a number or a tuple of them.

        All that is asked of rows that nobody holds at once: where the blocks are, and where the function runs
        on them, is the business of the rows.  Many blocks are summed in parts, which may run in other
        processes (:func:`workers`), so that the function must be one that cloudpickle takes.
        """
        size = max(size, 64)
        of_part, n_blocks = partial(sum_of_blocks, function, size), -(-len(self) // size)
        if n_blocks < MIN_BLOCKS_OF_PARTS:
            return of_part(self)
        cuts = size * np.linspace(0, n_blocks, n_blocks // BLOCKS_PER_PART + 1).astype(int)
        bounds = list(zip(cuts[:-1].tolist(), np.minimum(cuts[1:], len(self)).tolist()))
        return reduce(add, sums_of_parts(of_part, self, bounds, n_blocks))

    def cut(self, weights: Any) -> Iterator["Rows"]:
        """Consecutive views, cut where the running total weight passes each of ``weights``."""
        cuts = np.searchsorted(np.cumsum(self.weight), np.asarray(weights) - 1e-9, side="left") + 1
        cuts = np.unique(np.clip(cuts[np.asarray(weights) > 0], 0, len(self)))
        for start, stop in zip(np.r_[0, cuts], np.r_[cuts, len(self)]):
            if stop > start:
                yield self[start:stop]

    def chunks(self, weight_per_chunk: float) -> Iterator["Rows"]:
        """Consecutive views of about so much total weight: so many rows if all weights are one."""
        if not len(self):
            return
        edges = np.ceil(np.cumsum(self.weight) / weight_per_chunk - 1e-9).astype(int)
        edges = np.maximum(edges, 1)  # the rounding guard must not split off light rows at the front
        cuts = np.flatnonzero(np.diff(edges)) + 1
        for start, stop in zip(np.r_[0, cuts], np.r_[cuts, len(self)]):
            yield self[start:stop]


def sum_of_blocks(function: Callable[[Rows], Any], size: int, rows: Rows) -> Any:
    """Σ over blocks of so many rows, one after the other; no rows are one block."""
    return reduce(add, map(function, rows.blocks(size) if len(rows) else [rows]))


def add(one: Any, other: Any) -> Any:
    """The sum of two parts of a fold: numbers, arrays, what has ``plus``, or tuples of them."""
    if hasattr(one, "plus"):
        return one.plus(other)
    if isinstance(one, tuple):
        return tuple(map(add, one, other))
    return one + other


class Parts(Protocol):
    """Rows in parts, wherever they are."""

    def fold(self, function: Callable[[Rows], Any]) -> Any:
        """Σ over the parts of ``function(part)``, in their order; None, where there are no rows, is zero."""

    def each(self, function: Callable[[Rows], Any]) -> list[Any]:
        """``function(part)`` of each part, in their order; None where there are no rows."""


@dataclass(frozen=True)
class FoldedRows:
    """Rows in parts, and a uniform sample of them."""

    parts: Parts
    lengths: np.ndarray  #: rows of each part
    total_weight: float
    equal_weights: bool  #: all rows have the same weight
    sample: Rows  #: some of the rows, in random order
    sample_numbers: np.ndarray  #: number of each of them among all rows

    def __len__(self) -> int:
        return int(self.lengths.sum())

    def fold(self, function: Callable[[Rows], Any]) -> Any:
        """Σ over the parts of ``function(part)``."""
        return self.parts.fold(function)

    def selected(self, function: Callable[[Rows], tuple[np.ndarray, Rows]]) -> tuple[np.ndarray, Rows]:
        """Rows that ``function(part)`` chooses by their numbers in the part, and their numbers among all."""
        starts = np.cumsum(self.lengths) - self.lengths
        numbers, rows = [np.zeros(0, dtype=int)], self.sample[:0]
        for start, found in zip(starts, self.parts.each(function)):
            if found is not None and len(found[0]):
                numbers.append(start + found[0])
                rows = rows.join(found[1])
        return np.concatenate(numbers), rows


def add_all(values: Iterable[Any]) -> Any:
    """Sum of a few values in their order, of which None is zero."""
    known = [value for value in values if value is not None]
    return reduce(add, known) if known else None


def add_in_order(values: Iterable[Any]) -> Any:
    """Sum of any number of values as they come: sixteen at a time, then sixteen of these sums, and so on."""
    levels: list[list[Any]] = [[]]
    for value in values:
        levels[0].append(value)
        for k in range(len(levels)):
            if len(levels[k]) == ADDED_AT_ONCE:
                if k + 1 == len(levels):
                    levels.append([])
                levels[k + 1].append(add_all(levels[k]))
                levels[k].clear()
    carried: list[Any] = []
    for level in levels:
        carried = [add_all([*level, *carried])]
    return carried[0]
