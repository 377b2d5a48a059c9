"""Columns of a data frame or an array, by name or by number, and the levels in them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np


def column_names(X: Any) -> list[Any]:
    """Names of a frame's or a table's columns, numbers of an array's."""
    if hasattr(X, "column_names"):  # pyarrow
        return list(X.column_names)
    return list(X.columns) if hasattr(X, "columns") else list(range(np.shape(X)[1]))


def column(X: Any, name: Any) -> np.ndarray:
    """One column of a frame or an array, (n,).

    Raises
    ------
    ValueError
        If X does not have it.
    """
    names = column_names(X)
    if name not in names:
        raise ValueError(f"X has no column {name!r}, which a term names: its columns are {names[:20]}")
    return np.asarray(X[name]) if hasattr(X, "columns") else np.asarray(X)[:, name]


def numbers(X: Any, name: Any) -> np.ndarray:
    """A column of finite numbers.

    Raises
    ------
    ValueError
        Naming the column.
    """
    found = column(X, name)
    if found.dtype.kind in "Mm" and len(found):
        raise TypeError(
            f"column {name!r} has dates or durations, {found[0]} in row 0, whose numbers depend on their "
            "unit: give numbers, such as the days since the first, (x - x.min()).dt.days"
        )
    try:
        found = found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {name!r} is not of numbers, {error}: Factor({name!r}) or Group({name!r}) take levels"
        ) from None
    if not (is_finite := np.isfinite(found)).all():
        row, others = int(np.argmin(is_finite)), int(np.sum(~is_finite)) - 1
        raise ValueError(
            f"column '{name}' has values that are missing or infinite: {found[row]} in row {row}, counted "
            f"from 0, and {others} more"
        )
    return found


def level_words(level: Any) -> str:
    """A level in words; whole numbers of an array of floats without their point."""
    if isinstance(level, tuple):
        return ":".join(map(level_words, level))
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)


class Levels(NamedTuple):
    """The levels of a column, and their numbers."""

    name: Any
    number: dict[Any, int]

    @classmethod
    def of(cls, X: Any, name: Any, categories: Any = None) -> "Levels":
        """Levels of the first rows in their order, or as given."""
        found = level_values(X, name) if categories is None else list(categories)
        if categories is None:
            found = sorted(set(found), key=lambda level: (str(type(level)), level))
        return cls(name, {level: k for k, level in enumerate(found)})

    def extended(self, others: Iterable) -> "Levels":
        """These levels, and those of others after them."""
        new = dict.fromkeys(level for level in others if level not in self.number)
        if not new:
            return self
        self.refuse_other_types(new)
        return Levels(self.name, self.number | {level: len(self.number) + k for k, level in enumerate(new)})

    def codes(self, X: Any, new: bool) -> np.ndarray:
        """Numbers of the levels of rows, (n,); ``new`` ones are −1, −2, …, or refused by name.

        Raises
        ------
        ValueError
            Naming a level that is not known.
        """
        values = level_values(X, self.name)
        unknown: dict[Any, int] = {}
        codes = np.empty(len(values))
        for i, level in enumerate(values):
            known = self.number.get(level)
            if known is None and not new:
                raise ValueError(
                    f"column {self.name!r} has the level {level!r}, which is none of "
                    f"{list(self.number)[:20]}: give all of them by Factor({self.name!r}, categories=[...])"
                )
            codes[i] = unknown.setdefault(level, -1 - len(unknown)) if known is None else known
        self.refuse_other_types(unknown)
        return codes

    def refuse_other_types(self, new: Iterable) -> None:
        """ValueError where a level is new by its type alone, as a number that has become a text."""
        new = list(new)
        known = {level_words(level): level for level in self.number} if new else {}
        if twin := next((level for level in new if level_words(level) in known), None):
            raise ValueError(
                f"column {self.name!r} has the level {twin!r}, and the first call had "
                f"{known[level_words(twin)]!r}: give the column the type that it had"
            )


def level_values(X: Any, name: Any) -> list[Any]:
    """Values of a column as hashable Python objects; missing ones are refused."""
    if isinstance(name, tuple):  # levels within levels
        return list(zip(*(level_values(X, part) for part in name)))
    values = column(X, name).tolist()
    for row, value in enumerate(values):
        if value is None or type(value).__name__ == "NAType" or value != value:
            raise ValueError(
                f"column {name!r} has missing values, the first in row {row}: fill them, or drop those rows "
                "for all models, as by frame.dropna()"
            )
    return values
