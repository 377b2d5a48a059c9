"""Levels of categorical columns, and labels of classes, as codes that are the same in every call of a stream.

Levels are what Python calls equal: 1, 1.0 and True are one level, "1" is another.  None, nan and pandas.NA
are missing, and are one level, the last, or none.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

#: Code of a value that is missing and says nothing.
MISSING = -1


def levels_of(X: np.ndarray, missing: str, declared: Sequence[Any] | None = None) -> list[np.ndarray]:
    """The levels of each column of X (n, p), sorted, a missing value last.

    ``missing`` is "level" or "ignore"; ``declared`` has, for each column, None or levels that are there
    beside those of X.  The arrays have the dtype of their numbers or strings, or of objects.

    ValueError if a column has no level: all of it is missing and ignored.  TypeError if an entry is no level,
    as a list is none.
    """
    found = []
    for j, column in enumerate(X.T):
        is_missing = missing_in(column)
        with no_levels_refused(j):
            distinct = set(column[~is_missing].tolist())
        if declared is not None and declared[j] is not None:
            distinct |= set(declared[j])
        if not distinct and (missing == "ignore" or not is_missing.any()):
            raise ValueError(f'column {j} of X is all missing, and missing="ignore": leave it out')
        found.append(_sorted(distinct, missing == "level" and bool(is_missing.any())))
    return found


def first_of_levels(X: np.ndarray) -> np.ndarray:
    """Numbers of the rows of X (n, p) in which a level of a column, or a missing value, comes first."""
    first: set[int] = set()
    for j, column in enumerate(X.T):
        is_missing = missing_in(column)
        first |= set(np.flatnonzero(is_missing)[:1].tolist())
        rows = np.flatnonzero(~is_missing)[::-1]
        with no_levels_refused(j):
            first |= set(dict(zip(column[rows].tolist(), rows.tolist())).values())
    return np.array(sorted(first), dtype=int)


def declared_levels(X: Any) -> list[Any] | None:
    """Levels that columns of a data frame declare, as pandas' Categorical and polars' Enum do; else None."""
    dtypes: Any = getattr(X, "dtypes", None)
    if dtypes is None or not hasattr(X, "columns"):
        return None
    declared: list[Any] = [getattr(dtype, "categories", None) for dtype in dtypes]
    return [levels.to_list() if hasattr(levels, "to_list") else None for levels in declared]


def given_levels(categories: Any, n_features: int, missing: str) -> list[np.ndarray]:
    """The levels that ``categories`` lists for each column, sorted as :func:`levels_of` sorts.

    ValueError if there is not one list for each column, a list is empty or has a level twice, or has a
    missing value that is to be ignored.
    """
    if len(categories) != n_features:
        raise ValueError(f"categories has {len(categories)} lists of levels, and X {n_features} columns")
    found = []
    for j, given in enumerate(categories):
        if isinstance(given, str) or not hasattr(given, "__len__"):
            raise ValueError(f"categories[{j}] must be a list of levels, got {given!r}")
        levels = np.empty(len(given), dtype=object)
        levels[:] = list(given)
        is_missing = missing_in(levels)
        distinct = set(levels[~is_missing].tolist())
        if len(distinct) + is_missing.sum() < len(levels) or is_missing.sum() > 1:
            raise ValueError(f"categories[{j}] has a level twice: {list(given)}")
        if is_missing.any() and missing == "ignore":
            raise ValueError(f'categories[{j}] has a missing value as a level, and missing="ignore"')
        if not len(levels):
            raise ValueError(f"categories[{j}] is empty: a column has one level at least")
        found.append(_sorted(distinct, bool(is_missing.any())))
    return found


def codes_of(
    X: np.ndarray, categories: list[np.ndarray], missing: str, names: Sequence[str] | None
) -> np.ndarray:
    """Codes of X (n, p), (n, p) floats; MISSING for what is ignored.

    ValueError names column and level of what is not among ``categories``.
    """
    codes = np.empty(X.shape)
    for j, (column, levels) in enumerate(zip(X.T, categories)):
        is_missing = missing_in(column)
        known = levels[~missing_in(levels)].tolist()
        code = {level: k for k, level in enumerate(known)}
        of_missing = MISSING if missing == "ignore" else len(known) if len(known) < len(levels) else None
        if of_missing is None and is_missing.any():
            raise ValueError(_unknown(j, names, "a missing value", levels))
        codes[is_missing, j] = of_missing
        try:
            with no_levels_refused(j):
                codes[~is_missing, j] = [code[value] for value in column[~is_missing].tolist()]
        except KeyError as error:
            raise ValueError(_unknown(j, names, f"the level {error.args[0]!r}", levels)) from None
    return codes


def decoded(codes: np.ndarray, categories: list[np.ndarray]) -> np.ndarray:
    """The levels of codes (n, p), in the dtype that all columns have, or as objects."""
    columns = [levels[codes[:, j]] for j, levels in enumerate(categories)]
    if len({column.dtype for column in columns}) == 1:
        return np.column_stack(columns)
    out = np.empty(codes.shape, dtype=object)
    for j, column in enumerate(columns):
        out[:, j] = column
    return out


def checksum(categories: list[np.ndarray]) -> int:
    """CRC-32 of all levels, equal where they are equal: 1 and 1.0 are."""
    return zlib.crc32(repr([[_plain(value) for value in levels.tolist()] for levels in categories]).encode())


def missing_in(column: np.ndarray) -> np.ndarray:
    """Which entries are None, nan, NaT or pandas.NA, (n,)."""
    if column.dtype.kind != "O":
        return column != column
    return np.array([_is_missing(value) for value in column.tolist()], dtype=bool)


@contextmanager
def no_levels_refused(j: int) -> Iterator[None]:
    """Say of which column an entry is no level: a list is none, nor is a dict."""
    try:
        yield
    except TypeError:
        raise TypeError(
            f"column {j} of X has entries that are no levels: each argument must be a string or a number"
        ) from None


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither equal to itself nor not; an array is no level
        return type(value).__name__ == "NAType"


def _sorted(distinct: set, and_missing: bool) -> np.ndarray:
    """In their own order, or of their types where they have none in common."""
    try:
        order = sorted(distinct)
    except TypeError:
        order = sorted(distinct, key=lambda value: (type(value).__name__, repr(value)))
    numbers = all(isinstance(value, int | float | np.number) for value in order)  # bool is an int
    if and_missing:
        order.append(np.nan)
    if numbers and order:
        return np.array([_plain(value) for value in order] if and_missing else order)
    if all(isinstance(value, str) for value in order) and order:
        return np.array(order)
    out = np.empty(len(order), dtype=object)
    out[:] = order
    return out


def _plain(value: Any) -> Any:
    """A number as a float, whatever its type."""
    return float(value) if isinstance(value, int | float | np.number) else value


def _unknown(j: int, names: Sequence[str] | None, what: str, levels: np.ndarray) -> str:
    which = str(j) if names is None else f"{names[j]!r}"
    first = ", ".join(repr(level) for level in levels.tolist()[:8]) + (", …" if len(levels) > 8 else "")
    return (
        f"column {which} of X has {what}, which is not among its levels {first}: give all levels that may "
        "ever come as categories="
    )


def label_indices(
    estimator: Any,
    y: np.ndarray,
    reset: bool,
    classes: Any,
    of_first: Callable = np.unique,
    ordered: bool = False,
) -> np.ndarray:
    """Index of each label; a first call sets ``classes_``, by default to the labels ``of_first`` rows.

    Classes that are given are sorted, unless they are ``ordered``.

    ValueError if there are labels, or classes, that the first call did not have.
    """
    labels_at_a_time = 100_000  # labels that are looked up at a time: a megabyte of numbers
    classes = None if classes is None else ordered_levels(classes) if ordered else all_labels(classes)
    if reset:
        estimator.classes_ = of_first(y) if classes is None else classes
    elif classes is not None and not np.array_equal(classes, estimator.classes_):
        raise ValueError(f"classes={classes!r} is not the same as on the first call: {estimator.classes_!r}")
    known, order = estimator.classes_, np.argsort(estimator.classes_)
    index, unknown = np.empty(len(y), dtype=np.intp), np.zeros(len(y), dtype=bool)
    for start in range(0, len(y), labels_at_a_time):
        part = slice(start, start + labels_at_a_time)
        index[part] = order[np.minimum(np.searchsorted(known, y[part], sorter=order), len(known) - 1)]
        unknown[part] = known[index[part]] != y[part]
    if np.any(unknown):
        raise ValueError(
            f"y has labels {np.unique(y[unknown])[:5].tolist()} that are not among the classes "
            f"{known.tolist()}: give all labels as classes= at the first call of partial_fit"
        )
    return index


#: Kinds of labels: the types of their values, and what numpy calls them.
LABEL_KINDS = ((bool | np.bool_, "bool"), (Integral, "int"), (Real, "float"), (str, "str"))


def read_labels(y: Any) -> np.ndarray:
    """Labels (n,), numbers and truth values among objects as what they are; ValueError for several kinds."""
    y = column_or_1d(y, warn=True)
    if y.dtype.kind != "O" or not len(y) or missing_in(y).any():  # which is refused by name elsewhere
        return y
    first: dict[str, Any] = {}  # a value of each kind
    for value in y.tolist():
        kind = next((name for types, name in LABEL_KINDS if isinstance(value, types)), type(value).__name__)
        first.setdefault(kind, value)
    if len(first) > 1:
        words = " and ".join(f"{value!r} ({kind})" for kind, value in first.items())
        raise ValueError(f"y has labels of several kinds, {words}: make them one, as with y.astype(str)")
    return np.array(y.tolist()) if first.keys() <= {"bool", "int", "float"} else y


def all_labels(classes: Any) -> np.ndarray:
    """All labels that may come, sorted."""
    if not np.size(classes):
        raise ValueError("classes is empty: give all labels that may ever come, or None if y has them all")
    return np.unique(read_labels(check_array(classes, ensure_2d=False, dtype=None, input_name="classes")))


def ordered_levels(classes: Any) -> np.ndarray:
    """Levels from the lowest to the highest, as they are given; ValueError if one of them is there twice."""
    found = all_labels(classes)
    given = np.asarray(classes)
    if len(given) != len(found):
        raise ValueError(f"classes={classes!r} has a level twice")
    return given


def numeric_levels(y: np.ndarray) -> np.ndarray:
    """Numbers of y in their order; ValueError for strings, whose order is not that of the alphabet."""
    found = np.unique(y)
    if found.dtype.kind not in "biuf":
        raise ValueError(
            f"y has levels {found[:5].tolist()}, whose order is not known: give classes=[lowest, ..., "
            "highest], or an ordered pandas categorical"
        )
    if len(found) < 2:
        raise ValueError(f"y has one level, {found[0]!r}: give all of them as classes= at the first call")
    return found


def categories_of(y: Any) -> Any:
    """Levels of an ordered pandas categorical or a polars Enum, from the lowest to the highest; else None."""
    dtype: Any = getattr(y, "dtype", None)
    is_ordered = getattr(dtype, "ordered", type(dtype).__name__ == "Enum")
    return np.array(dtype.categories.to_list()) if is_ordered and dtype.categories is not None else None


def two_labels(y: np.ndarray) -> np.ndarray:
    """The two labels of y; 0 and 1 also if only one of them is there.  ValueError for one other label."""
    found = np.unique(y)
    if len(found) == 1 and found.dtype.kind in "biuf" and found[0] in (0, 1):
        return np.array([0, 1], dtype=found.dtype)
    if len(found) == 1:
        raise ValueError(
            f"y has one class, {found[0]!r}: give both as classes= at the first call of partial_fit"
        )
    return found
