"""Bounds of y on their way into a generalised linear model: names of columns, formulas, columns of the model.

A model with bounds has three columns after its offset (:class:`sgevidence.models.Bounded`).
"""

from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from ..effects import Surv, column_names
from ..history import Rows
from ..models import Family, PiecewiseExponential
from ..rows import BOUNDS, Bounds, WithKnown, bounds_of, late, parted, read_event
from ..units import Fold

#: Pieces of a hazard where nobody says how many.
DEFAULT_PIECES = 5
#: Arguments that may be the name of a column.
NAMED = ("event", "entry", "known_std")


def read_names(known: WithKnown) -> tuple[WithKnown, tuple[str, ...]]:
    """Columns of X where names are given for them, and these names; ValueError for a name that X has not."""
    names = [getattr(known, role) for role in NAMED if isinstance(getattr(known, role), str)]
    for role in NAMED:
        name = getattr(known, role)
        if isinstance(name, str):
            if not hasattr(known.X, "columns") or name not in column_names(known.X):
                raise ValueError(f"{role}={name!r} names a column, and X has none of that name")
            known = known._replace(**{role: np.asarray(known.X[name])})
    return known, tuple(names)


def without(X: Any, names: tuple[str, ...]) -> Any:
    """A frame without these columns."""
    if not names or not hasattr(X, "columns"):
        return X
    kept = [name for name in column_names(X) if name not in names]
    return X.select(kept) if hasattr(X, "column_names") else X[kept]


def y_of(surv: Surv, X: Any) -> np.ndarray:
    """Bounds and entries of the columns that Surv(…) names."""
    if missing := [name for name in surv.columns if name not in column_names(X)]:
        raise ValueError(f"X has no column {missing[0]!r}, which Surv(…) of the formula names")
    found = np.empty(len(X), BOUNDS)
    time = np.asarray(X[surv.time], dtype=float)
    last = time if surv.time2 is None else np.asarray(X[surv.time2], dtype=float)
    event = np.ones(len(X)) if surv.event is None else np.asarray(X[surv.event])
    if surv.event is not None:
        event = read_event(event if surv.value is None else event == surv.value, np.empty((len(X), 0)))
    if surv.kind == "interval2":
        known, _ = parted(WithKnown(X), np.column_stack([time, last]))
        found["lower"], found["upper"], found["entry"] = known.lower, known.upper, -np.inf
        return found
    if np.any(np.isnan(last)):
        raise ValueError(
            f"column {surv.response!r} contains NaN or another missing value: leave those rows out"
        )
    found["entry"] = -np.inf if surv.kind != "counting" else time
    found["lower"] = np.where(event > 0, last, -np.inf) if surv.kind == "left" else last
    found["upper"] = last if surv.kind == "left" else np.where(event > 0, last, np.inf)
    return found


def bounds_and_entries(family: Family, y: np.ndarray, known: WithKnown, X: np.ndarray) -> tuple[Bounds, Any]:
    """Validated bounds, and entries."""
    kind = family.is_positive, family.grain == 1.0
    bounds = bounds_of(y, known, X, *kind)
    if known.entry is None:
        return bounds, np.full(len(y), -np.inf)
    return late(bounds, known.entry, X, *kind)


def columns_of(family: Family, bounds: Bounds, entry: np.ndarray) -> np.ndarray:
    """Lower and upper bound and entry as the model has them, (n, 3): those of numbers from y."""
    with np.errstate(invalid="ignore"):
        origin = bounds.y if family.link == "identity" else 0.0
        return np.column_stack([bounds.lower - origin, bounds.upper - origin, entry - origin])


def breaks_of(family: Family, breaks: Any, bounds: Bounds) -> tuple[float, ...]:
    """Breaks of a hazard: those given, or quantiles of the times of events; ValueError without events."""
    if not isinstance(family, PiecewiseExponential):
        return ()
    if breaks is None and family.breaks:
        return family.breaks
    n_pieces = DEFAULT_PIECES if breaks is None else breaks
    if not isinstance(n_pieces, Integral):
        return replace(family, breaks=tuple(np.asarray(breaks, dtype=float).ravel().tolist())).breaks
    events = bounds.y[(bounds.upper < np.inf) & (bounds.y > 0)]
    if not len(events):
        raise ValueError("no time has an upper bound from which breaks= could be taken: give them as a list")
    at = np.unique(np.quantile(events, np.arange(1, int(n_pieces)) / int(n_pieces)))
    return replace(family, breaks=tuple(at[at < events.max()].tolist())).breaks


def no_bounds(n: int) -> np.ndarray:
    """Columns of rows to predict."""
    return np.tile([0.0, 0.0, -np.inf], (n, 1))


def plain_rows(rows: Rows) -> Rows:
    """Rows without columns of bounds, which have no units of their own."""
    return replace(rows, X=rows.X[:, :-3])


def fold_of_plain(fold: Fold) -> Fold:
    """Sums over the rows of a collection without columns of bounds."""
    return lambda function: fold(partial(_of_plain, function))


def _of_plain(function: Any, rows: Rows) -> Any:
    return function(plain_rows(rows))


def identity(y: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Numbers by which rows are told apart (n,): y where it is exact and seen whatever it is."""
    lower, upper, entry = columns.T
    mixed = y.view(np.uint64) * np.uint64(3)
    for factor, column in zip((5, 7, 11), (lower, upper, entry)):
        mixed = mixed ^ (np.ascontiguousarray(column).view(np.uint64) * np.uint64(factor))
    return np.where((lower == upper) & (entry == -np.inf), y, mixed.view(np.float64))


def doubt_of_bounds(columns: np.ndarray) -> str | None:
    """Words on rows of which all have a bound on one side alone."""
    lower, upper, _ = columns.T
    has_lower, has_upper = lower > -np.inf, upper < np.inf
    if not len(lower) or np.any(has_lower & has_upper) or (has_lower.any() and has_upper.any()):
        return None
    return (
        f"no y is known but by {'a lower' if has_lower.any() else 'an upper'} bound: these rows say on which "
        "side of their bounds y lies, and the rest is the prior's"
    )
