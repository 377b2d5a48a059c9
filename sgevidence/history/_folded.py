"""Rows that nobody holds: sums over their parts, which are somewhere else, and a uniform sample of them.

A function goes to the parts and sums come back, added in an order that depends on the parts alone: not on
the number of workers, nor on which of them is first.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np

from ._rows import Rows, add

#: Sums that are added at a time: then their sums, and so on, so that few are at hand at any moment.
ADDED_AT_ONCE = 16


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
    places: np.ndarray  #: number of each of them among all rows

    def __len__(self) -> int:
        return int(self.lengths.sum())

    def fold(self, function: Callable[[Rows], Any]) -> Any:
        """Σ over the parts of ``function(part)``."""
        return self.parts.fold(function)

    def some(self, function: Callable[[Rows], tuple[np.ndarray, Rows]]) -> tuple[np.ndarray, Rows]:
        """Rows that ``function(part)`` chooses by their numbers in the part, and their numbers among all."""
        starts = np.cumsum(self.lengths) - self.lengths
        places, rows = [np.zeros(0, dtype=int)], self.sample[:0]
        for start, found in zip(starts, self.parts.each(function)):
            if found is not None and len(found[0]):
                places.append(start + found[0])
                rows = rows.join(found[1])
        return np.concatenate(places), rows


def add_all(values: Iterable[Any]) -> Any:
    """Sum of a few values in their order, of which None is zero."""
    some = [value for value in values if value is not None]
    return reduce(add, some) if some else None


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
