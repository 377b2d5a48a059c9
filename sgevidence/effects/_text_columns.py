"""Whether a column that a formula names has numbers or levels, and text that looks like numbers or dates.

One cell of text makes text of a whole column when a file is read, and a factor with a level for each row is
another question.  So cells of several types, and text of which most but not all cells look like numbers or
dates, are refused by name.  Text of digits alone is levels (postcodes, numbers of subjects).  Nobody looks at
columns of categories, and at those that ``C(x)`` or ``(… | g)`` names: there the user has said so.
"""

import re
from collections import Counter
from collections.abc import Hashable
from datetime import time
from numbers import Number
from typing import Any

import numpy as np

from ..rows import kind_of_text, missing_in
from ._columns import column
from .language import name_words

#: Methods of dates, times and durations of any library.
DATE_METHODS = ("isoformat", "total_seconds", "to_timestamp")
#: Months of a year, which are no ISO dates.
MONTHS = re.compile(r"\d{4}[-/]\d{1,2}")
#: Words that programs write for a number that is not there.
MISSING_WORDS = ("", "nan", "na", "n/a", "null", "none", ".", "-", "inf", "-inf", "#n/a")


def has_levels(X: Any, name: Any, doubts: list[str]) -> bool:
    """Whether a column of a formula is a factor; ``doubts`` gets a sentence where numbers may be meant.

    Raises
    ------
    ValueError
        Naming column and row, for cells of several types, and for text that is meant as numbers or dates.
    TypeError
        For dates, times and durations, and for complex numbers.
    """
    values = column(X, name)
    if are_categories(X, name):
        return True
    if values.dtype.kind in "fiubmM":  # dates are refused where numbers are read
        return False
    if values.dtype.kind == "c":
        raise TypeError(f"column {name!r} has complex numbers, which have no linear effect")
    rows = np.flatnonzero(~missing_in(values))
    cells = [plain(one) for one in values[rows].tolist()]
    kinds = Counter(map(kind_of_cell, cells))
    if len(kinds) > 1:
        usual, rare = kinds.most_common()[0][0], kinds.most_common()[-1][0]
        refuse(name, cells, rows, [kind_of_cell(cell) == rare for cell in cells], f"most are {usual}")
    kind = next(iter(kinds), "other")
    if kind == "dates":
        raise TypeError(
            f"column {name!r} has dates or durations, {cells[0]} in row {rows[0]}, whose numbers depend on "
            f"their unit: give numbers, such as the days since the first; C({name_words(name)}) takes levels"
        )
    if cells and not isinstance(cells[0], Hashable):
        raise TypeError(
            f"column {name!r} has a {kind} in row {rows[0]}, which is neither a number nor a level"
        )
    if kind == "text":
        judge_text(name, cells, rows, doubts)
    return kind != "numbers"


def judge_text(name: Any, cells: list[str], rows: np.ndarray, doubts: list[str]) -> None:
    """Refuse, or doubt, text that is meant as numbers or dates."""
    texts = [cell.strip() for cell in cells]
    look_of_each = {one: look_of(one) for one in set(texts)}  # a factor's levels come again and again
    looks = np.array([look_of_each[one] for one in texts])
    is_like = np.isin(looks, ["numbers", "dates"])
    if is_like.all() and all(re.fullmatch(r"[0-9]+", one) for one in texts):
        return
    if is_like.sum() <= np.sum(looks == "words"):
        return
    if not is_like.all():
        refuse(name, cells, rows, ~is_like, "most look like numbers or dates")
    n_levels, what = len(set(cells)), Counter(looks.tolist()).most_common(1)[0][0]
    remedy = (
        f"give {'numbers, such as the days since the first' if what == 'dates' else 'them as numbers'}, or "
    )
    remedy += f"write C({name_words(name)}) for a factor"
    if 2 * n_levels > len(texts):
        raise ValueError(
            f"column {name!r} has {what} as text, {cells[0]!r} in row {rows[0]}, with {n_levels} levels in "
            f"{len(texts)} rows: {remedy}"
        )
    doubts.append(
        f"column {name!r} has {what} as text, {cells[0]!r} in row {rows[0]}, and is a factor of {n_levels} "
        f"levels: {remedy}"
    )


def refuse(name: Any, cells: list[Any], rows: np.ndarray, wrong: Any, but: str) -> None:
    k, others = int(np.argmax(wrong)), int(np.sum(wrong)) - 1
    more = f" and {others} more" if others else ""
    raise ValueError(
        f"column {name!r} has {cells[k]!r} in row {rows[k]}, counted from 0{more}, where {but}: mend or "
        f"leave out such rows, or write C({name_words(name)}) if all are levels"
    )


def plain(cell: Any) -> Any:
    """Text as Python's own."""
    return cell.decode("latin-1") if isinstance(cell, bytes) else str(cell) if isinstance(cell, str) else cell


def kind_of_cell(cell: Any) -> str:
    """Kind of a cell, in a word."""
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, Number) and not isinstance(cell, complex):
        return "numbers"
    return "dates" if any(hasattr(cell, method) for method in DATE_METHODS) else type(cell).__name__


def look_of(text: str) -> str:
    """Numbers or dates, where a text looks like one of them; nothing, where one is missing; else words."""
    if is_number(text):
        return "numbers"
    if text.lower() in MISSING_WORDS:
        return "nothing"
    if MONTHS.fullmatch(text) or is_time(text):
        return "dates"
    kind, remedy = kind_of_text(text)
    return "words" if not remedy else "dates" if kind == "dates" else "numbers"


def is_number(text: str) -> bool:
    try:
        return "_" not in text and bool(np.isfinite(float(text)))
    except ValueError:
        return False


def is_time(text: str) -> bool:
    try:
        return ":" in text and time.fromisoformat(text) is not None
    except ValueError:
        return False


def are_categories(X: Any, name: Any) -> bool:
    """Whether a column says that it has levels: categories of pandas and polars, dictionaries of pyarrow."""
    found = X[name] if hasattr(X, "columns") else None
    dtype: Any = getattr(found, "dtype", getattr(found, "type", None))
    return type(dtype).__name__ in ("CategoricalDtype", "Categorical", "Enum", "DictionaryType")


def ordered_levels_in(X: Any, name: Any) -> list[Any]:
    """Levels from the lowest to the highest, which a column declares, or its numbers.

    Raises
    ------
    ValueError
        For levels whose order nobody has said.
    """
    dtype: Any = getattr(X[name], "dtype", None) if hasattr(X, "columns") else None
    declared = declared_levels_in(X, name)
    if declared is not None and getattr(dtype, "ordered", True):  # an Enum of polars is ordered
        return declared
    values = column(X, name)
    numbers = values[~missing_in(values)].tolist()
    if declared is not None or not all(isinstance(one, Number) for one in numbers):
        raise ValueError(
            f"column {name!r} has levels whose order is not known: give Monotone({name!r}, categories="
            f"[lowest, ..., highest]) in terms=, or an ordered categorical column, X[{name!r}] = "
            f"pandas.Categorical(X[{name!r}], [lowest, ..., highest], ordered=True)"
        )
    return sorted(set(numbers))


def declared_levels_in(X: Any, name: Any) -> list[Any] | None:
    """Levels that a column declares, as pandas' categories and polars' Enum do; else None."""
    dtype: Any = getattr(X[name], "dtype", None) if hasattr(X, "columns") else None
    levels: Any = getattr(dtype, "categories", None)
    return levels.to_list() if hasattr(levels, "to_list") else None
