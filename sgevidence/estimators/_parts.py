"""Questions to one part of a collection, where the part is: how many rows, some of them, sums of all."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from .._compat import num_samples
from ..history import Rows
from ..rows import Part, arrays_of


class Counted(NamedTuple):
    """Report of a part."""

    n_rows: int  #: of positive weight
    labels: np.ndarray | None  #: of these; None where y are numbers


@dataclass(frozen=True)
class Counter:
    """Rows of positive weight, and their labels; a value that is missing is refused by name."""

    has_labels: bool
    allows_gaps: bool

    def __call__(self, number: int, part: Part) -> Counted:
        kept = positive(part)
        if not self.allows_gaps:
            refuse_gaps(part)
        if not self.has_labels or part.y is None:
            return Counted(len(kept), None)
        y = np.asarray(take_rows(part.y, kept)).ravel()
        if len(y):
            check_classification_targets(y)
        return Counted(len(kept), np.unique(y))


@dataclass(frozen=True)
class Taker:
    """Rows by their numbers among those of positive weight, for each part."""

    numbers: list[np.ndarray]

    def __call__(self, number: int, part: Part) -> Part:
        indices = positive(part)[self.numbers[number]]
        return Part(*(take_rows(column, indices) for column in part))


@dataclass(frozen=True)
class LevelTaker:
    """Rows of positive weight that show all levels of the part, where columns have levels."""

    estimator: Any

    def __call__(self, number: int, part: Part) -> Part:
        kept = positive(part)
        X = take_rows(part.X, kept)
        indices = kept[self.estimator._first_of_levels(X)] if len(kept) else kept
        return Part(*(take_rows(column, indices) for column in part))


class Reader:
    """A function of the validated rows of a part, in the units of the model.

    The estimator knows its columns and classes.
    """

    def __init__(self, estimator: Any, units: Any, function: Callable[[Rows], Any]) -> None:
        self.estimator, self.units, self.function = light(estimator), units, function

    def __call__(self, number: int, part: Part) -> Any:
        if not len(positive(part)):
            return None
        X, y, sample_weight = arrays_of(part)
        rows = self.estimator._rows(X, y, sample_weight, False, None)
        return self.function(rows if self.units is None else self.units.rows(rows))


def light(estimator: Any) -> Any:
    """A copy that knows how to read rows, and has learnt nothing; doubts of rows are told by the sample."""
    out = copy.copy(estimator)
    # attributes of an estimator that stay here: what it has learnt, and who watches it
    for name in ("particles_", "particle_weights_", "_stream", "_result", "_skl_callbacks"):
        vars(out).pop(name, None)
    out.sampler = out.random_state = None
    out._doubt = _unheard
    return out


def _unheard(words: str) -> None:
    """In the place of a warning where nobody would see it."""


def whole(number: int, part: Part) -> Part:
    """All of it."""
    return part


def positive(part: Part) -> np.ndarray:
    """Numbers of the rows that count.

    ValueError if columns have different lengths, or a weight is negative or missing.
    """
    n = num_samples(part.X)
    for name, column in zip(part._fields, part):
        if np.ndim(column) and num_samples(column) != n:
            raise ValueError(f"X has {n} rows and {name} {num_samples(column)}")
    if part.sample_weight is None or np.ndim(part.sample_weight) == 0:
        return np.arange(n)
    weight = np.asarray(part.sample_weight, dtype=float).ravel()
    if not np.all(weight >= 0):
        raise ValueError("sample_weight has values that are negative or missing")
    return np.flatnonzero(weight > 0)


def take_rows(column: Any, indices: np.ndarray) -> Any:
    """Rows of an array, a dataframe or a table; a number, and None, as it is."""
    if np.ndim(column) == 0 and not hasattr(column, "take"):
        return column
    if hasattr(column, "iloc"):
        return column.iloc[indices]
    return column.take(indices) if hasattr(column, "column_names") else column[indices]


def refuse_gaps(part: Part) -> None:
    """Values that are missing or infinite: ValueError names the column and the row in the part."""
    if hasattr(part.X, "column_names"):  # of a file, whose reader has looked
        return
    names = getattr(part.X, "columns", None)
    for k, column in enumerate(np.asarray(part.X).T):
        _refuse_gap(column, f"column {k if names is None else repr(names[k])}")
    for name, column in zip(part._fields[1:], part[1:]):
        if column is not None and np.ndim(column):
            _refuse_gap(np.asarray(column).ravel(), name)


def _refuse_gap(column: np.ndarray, name: str) -> None:
    has_value = np.isfinite(column) if column.dtype.kind == "f" else np.equal(column, column)
    if not np.all(has_value):
        row = int(np.argmin(has_value))
        raise ValueError(f"{name} has the value {column[row]} in row {row} of the part")
