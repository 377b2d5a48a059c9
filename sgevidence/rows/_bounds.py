"""Doors of bounds: events, two columns, structured arrays and entries become lower and upper bound and entry.

    event     1: y is exact; 0: y is a lower bound
    (n, 2)    lower and upper bound; equal: exact; −∞, ∞ or nan: none
    fields    of scikit-survival, an event and a time; or ``BOUNDS``, as ``Surv(...)`` of a formula gives
    entry     rows are seen only if y is beyond it

A row without any bound says nothing, whatever its columns.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_consistent_length

from ._input import WithKnown, column, refuse_unreadable

#: A y that says all of it.
BOUNDS = np.dtype([("lower", float), ("upper", float), ("entry", float)])


class Bounds(NamedTuple):
    """Rows of y as numbers, (n,) each."""

    y: np.ndarray  #: the value, or one that the bounds allow
    lower: np.ndarray
    upper: np.ndarray

    @property
    def says_nothing(self) -> np.ndarray:
        """Rows without any bound."""
        return ~((self.lower > -np.inf) | (self.upper < np.inf))


def has_bounds(y: Any) -> bool:
    """Whether y has two columns, or fields."""
    if getattr(getattr(y, "dtype", None), "names", None):
        return True
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return len(shape) == 2 and shape[1] == 2


def parted(known: WithKnown, y: Any) -> tuple[WithKnown, Any]:
    """y with one value for each row, and its bounds, entry or event among what is known."""
    if not has_bounds(y):
        return known, y
    names = getattr(getattr(y, "dtype", None), "names", None)
    if known.event is not None:
        words = "y has a field of the event"
        if names is None:
            words = "y has two columns, which say where it is censored"
        elif names == BOUNDS.names:
            words = "the formula has Surv(...), which says where y is censored"
        raise ValueError(f"{words}, and event= is given: give one of them")
    if names == BOUNDS.names:
        if known.entry is not None and np.any(y["entry"] > -np.inf):
            raise ValueError("the formula has a start, and entry= is given: give one of them")
        given = known if known.entry is not None else known._replace(entry=y["entry"])
        return given._replace(lower=y["lower"], upper=y["upper"]), middle(y["lower"], y["upper"])
    if names is not None:
        return _of_survival(known, y, names)
    table = _numbers(y)
    lower, upper = table.T
    lower, upper = np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)
    return known._replace(lower=lower, upper=upper), middle(lower, upper)


def _numbers(y: Any) -> np.ndarray:
    """Two columns of numbers, nan where there is no bound, as None and pandas.NA say."""
    if getattr(getattr(y, "dtype", None), "kind", "O") != "O":  # missing objects are no bounds
        refuse_unreadable(y=y)
    try:
        if hasattr(y, "iloc"):  # of pandas
            return y.to_numpy(dtype=float, na_value=np.nan)
        if np.asarray(y).dtype.kind in "fiubO" and not any(isinstance(one, str) for one in np.ravel(y)):
            return np.array(y, dtype=float)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        "y with two columns has a lower and an upper bound, which are numbers, and -inf, inf or nan where "
        "there is none"
    )


def _of_survival(known: WithKnown, y: Any, names: tuple[str, ...]) -> tuple[WithKnown, np.ndarray]:
    """An event and a time, as scikit-survival has them."""
    kinds = [y.dtype[name].kind for name in names]
    if len(names) != 2 or kinds[0] != "b" or kinds[1] not in "fiu":
        raise ValueError(
            f"y has the fields {list(names)}: of two fields the first is the event, a truth value, and the "
            "second the time, as of sksurv.util.Surv; or give y=times and event="
        )
    return known._replace(event=y[names[0]]), np.asarray(y[names[1]], dtype=float)


def middle(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """A value within bounds: the only one there is, or the middle of both; 1 of rows without any."""
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    with np.errstate(all="ignore"):
        both = np.where(lower == upper, lower, lower + 0.5 * (upper - lower))
    return np.select([has_lower & has_upper, has_lower, has_upper], [both, lower, upper], 1.0)


def read_event(event: Any, X: np.ndarray) -> np.ndarray:
    """1 and 0, (n,); ValueError names what to give for labels and for R's 1 and 2."""
    needed = "event must be 1 where the event came and 0 where it is censored, but has"
    values = np.asarray(event)
    texts = [one for one in values.ravel().tolist() if isinstance(one, str | bytes)]
    if texts:
        labels = " and ".join(map(repr, list(dict.fromkeys(texts))[:3]))
        raise ValueError(
            f"{needed} the labels {labels}: if the event is {texts[0]!r}, give "
            f"event=X['status'] == {texts[0]!r} or Surv(time, status == {texts[0]!r})"
        )
    found = column(event, "event", X)
    if np.any(wrong := (found != 0) & (found != 1)):
        is_of_r = np.all((found == 1) | (found == 2))
        hint = ": where 2 is the event and 1 is censored, as in R, give status == 2" if is_of_r else ""
        raise ValueError(f"{needed} {found[wrong][0]:g}{hint}")
    return found


def bounds_of(y: np.ndarray, known: WithKnown, X: np.ndarray, is_positive: bool, is_whole: bool) -> Bounds:
    """Bounds l < y ≤ u of rows, equal where y is exact; ValueError for bounds that nothing can have.

    ``is_positive``: y is never below zero.  ``is_whole``: both ends of given bounds are whole numbers and
    belong to the interval.
    """
    if known.lower is None:
        event = np.ones(len(y)) if known.event is None else read_event(known.event, X)
        lower, upper = np.array(y, dtype=float), np.where(event > 0, y, np.inf)
        if is_whole:
            lower = np.where(event > 0, lower, np.ceil(lower) - 1)
    else:
        check_consistent_length(X, known.lower)
        lower, upper = np.array(known.lower, dtype=float), np.array(known.upper, dtype=float)
        _refuse_impossible(lower, upper, is_positive, is_whole)
        if is_whole:
            is_exact = lower == upper
            lower, upper = (
                np.where(is_exact, lower, np.ceil(lower) - 1),
                np.where(is_exact, upper, np.floor(upper)),
            )
            if np.any(empty := (lower >= upper) & ~is_exact):
                r = np.flatnonzero(empty)[0]
                raise ValueError(f"y has no whole number between its bounds in row {r}")
    if is_positive:
        lower = np.where((lower < 0 if is_whole else lower <= 0) & (lower < upper), -np.inf, lower)
    return Bounds(y, lower, upper)


def _refuse_impossible(lower: np.ndarray, upper: np.ndarray, is_positive: bool, is_whole: bool) -> None:
    wrong = [
        (lower > upper, "a lower bound above the upper one"),
        ((lower == np.inf) | (upper == -np.inf), "a lower bound of inf, or an upper one of -inf"),
    ]
    if is_positive:
        least = upper < 0 if is_whole else upper <= 0
        wrong += [
            ((lower < 0) & (lower > -np.inf), "a negative lower bound, where y is never negative"),
            (least & (lower == upper), "a negative value" if is_whole else "a value that is not positive"),
            (least, "an upper bound that no y of this family is below"),
        ]
    for is_wrong, words in wrong:
        if np.any(is_wrong):
            r = int(np.flatnonzero(is_wrong)[0])
            raise ValueError(f"y has {words} in row {r}: ({lower[r]:g}, {upper[r]:g})")


def late(bounds: Bounds, entry: Any, X: np.ndarray, is_positive: bool, is_whole: bool) -> tuple[Bounds, Any]:
    """Bounds and entries (n,), −∞ where a row is seen whatever y is; ValueError for rows that are never seen.

    A lower bound below the entry tells nothing more than the entry does.
    """
    refuse_unreadable(entry=entry)
    try:
        found = np.array(np.full(len(X), entry) if np.ndim(entry) == 0 else entry, dtype=float)
    except (TypeError, ValueError):
        raise ValueError("entry must be numbers, one for each row") from None
    check_consistent_length(X, found)
    if found.ndim != 1 or np.any(np.isnan(found) | (found == np.inf)):
        raise ValueError(
            "entry must be one number for each row, 0 or -inf where a row was watched from the start"
        )
    found = np.floor(found) if is_whole else found
    if is_positive:
        found = np.where(found < 0 if is_whole else found <= 0, -np.inf, found)
    found = np.where(bounds.says_nothing, -np.inf, found)
    y, lower, upper = bounds
    last = np.where(upper < np.inf, upper, np.where(y == found, np.inf, y))  # censored at its entry: as good
    if np.any(unseen := last <= found):
        r = int(np.flatnonzero(unseen)[0])
        raise ValueError(
            f"row {r} enters at {found[r]:g} and ends at {y[r]:g}: rows are seen that end after their entry"
        )
    lower = np.where(lower == upper, lower, np.maximum(lower, found))
    empty = (upper == np.inf) & (lower <= found)  # censored at its entry, or before it
    lower, found = np.where(empty, -np.inf, lower), np.where(empty, -np.inf, found)
    return bounds._replace(lower=lower), found
