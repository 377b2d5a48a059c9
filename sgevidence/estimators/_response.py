"""The y that rows have: by formulas, by bounds and with standard errors.

A model with bounds has three columns after its offset (:class:`sgevidence.models.Bounded`).
"""

from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from ..effects import Surv, column_names, response_name, response_of, surv_of
from ..history import Rows
from ..models import Family, PiecewiseExponential
from ..rows import (
    BOUNDS,
    Bounds,
    RowSource,
    WithKnown,
    bounds_of,
    column,
    has_bounds,
    late,
    missing_in,
    parted,
    read_event,
    refuse_uncomputed,
)
from ..units import Fold, Units, log_slopes

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
    for factor, bound in zip((5, 7, 11), (lower, upper, entry)):
        mixed = mixed ^ (np.ascontiguousarray(bound).view(np.uint64) * np.uint64(factor))
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


HALF_LOG_2PI_NATS = 0.5 * np.log(2 * np.pi)
#: Ratio of the largest standard error to the smallest at most: its square is a weight.
MAX_STD_RATIO = 1e140


def target_in(model: Any, X: Any, y: Any) -> Any:
    """y, or the response of the formula in the frame X."""
    frame = X.X if isinstance(X, WithKnown) else X
    is_frame = hasattr(frame, "columns") and not isinstance(frame, RowSource)  # whose target is its y
    if y is not None and is_frame and is_time_of_surv(model, frame, y):
        y = None
    if y is not None or model.formula is None or not is_frame:
        return y
    refuse_uncomputed("X", frame)
    if (surv := surv_of(model.formula)) is not None:
        if not getattr(model, "_takes_known", False):
            raise ValueError(
                f"{model.formula!r}: Surv(…) is of BayesianGLM with a family of times, numbers or "
                "counts, whose fit takes event= as well"
            )
        return y_of(surv, frame)
    name = response_name(model.formula)
    if name not in column_names(frame):
        raise ValueError(f"X has no column {name!r}, the response of formula={model.formula!r}: give y")
    found = frame[name]
    # declared levels, whose order an ordinal family asks for, are in the dtype
    return found if hasattr(getattr(found, "dtype", None), "categories") else np.asarray(found)


def target_if_there(model: Any, X: Any, y: Any) -> Any:
    """y, or the response of the formula where X is a frame that has it; None where nobody says y."""
    frame = X.X if isinstance(X, WithKnown) else X
    if y is not None or getattr(model, "formula", None) is None or not hasattr(frame, "columns"):
        return y
    surv = surv_of(model.formula)
    names = [response_of(model.formula).name] if surv is None else surv.columns
    return target_in(model, X, None) if set(names) <= set(column_names(frame)) else None


def is_time_of_surv(model: Any, frame: Any, y: Any) -> bool:
    """Whether the formula has Surv(…), and y is its column of times alone."""
    surv = None if model.formula is None else surv_of(model.formula)
    if surv is None or has_bounds(y) or surv.response not in column_names(frame):
        return False
    given, named = np.asarray(y), np.asarray(frame[surv.response])
    return given.shape == named.shape and are_same(given, named)


def refuse_other_response(model: Any, X: Any, y: Any) -> None:
    """ValueError where X has the column that the formula names on its left, and y has other values there.

    A frame without that column takes any y, as one that is permuted or transformed.
    """
    frame = X.X if isinstance(X, WithKnown) else X
    if model.formula is None or y is None or not hasattr(frame, "columns"):
        return
    if surv_of(model.formula) is not None:  # whose y has bounds, or replaces them
        return
    name = response_of(model.formula).name
    if name not in column_names(frame):
        return
    given, named = np.asarray(y), np.asarray(frame[name])
    if given.size != len(named) or are_same(given.ravel(), named):  # other lengths are refused with X
        return
    raise ValueError(
        f"y is not the column {name!r} that the formula {model.formula!r} names: give fit(frame), or drop "
        f"{name!r} from the frame to model this y"
    )


def response_in(model: Any, X: Any, y: Any) -> Any:
    """The y that rows are scored by: that of the formula where none is given; ValueError for another."""
    y = target_in(model, X, y)
    refuse_other_response(model, X, y)
    return y


def are_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two columns (n,) have the same values, whatever their types, up to rounding to float32."""
    missing = missing_in(a)
    if not np.array_equal(missing, missing_in(b)):
        return False
    a, b = a[~missing], b[~missing]
    try:
        x, z = a.astype(np.float64), b.astype(np.float64)
    except (TypeError, ValueError):  # labels
        return len(a) == len(b) and all(one == other for one, other in zip(a.tolist(), b.tolist()))
    with np.errstate(over="ignore"):
        rounded = [one.astype(np.float32).astype(np.float64) for one in (x, z)]
    return bool(np.all((x == z) | (rounded[0] == z) | (x == rounded[1])))


def with_std(X: Any, known_std: Any) -> Any:
    """Rows with their standard errors, where there are some."""
    return X if known_std is None else WithKnown(X, known_std=known_std)


def refuse_known_std(known_std: Any) -> None:
    """TypeError where rows have standard errors of their own, and the family has a noise."""
    if known_std is not None:
        raise TypeError(
            "known_std= gives the standard error of each y, and BayesianGLM learns the noise of its family: "
            "BayesianLinearRegression().fit(X, y, known_std=...) takes it, with the same terms and formulas"
        )


def checked_std(values: Any, X: Any, least: float = np.nextafter(0.0, 1.0)) -> np.ndarray:
    """Standard errors, (n,); ValueError for those that no study has."""
    std = column(values, "known_std", X)
    if np.any(std < least):
        row = int(np.argmax(std < least))
        raise ValueError(f"known_std must be positive standard errors, and row {row} has {std[row]:g}")
    if least > 0.0 and std.min() * MAX_STD_RATIO < std.max():
        row = int(np.argmin(std))
        raise ValueError(f"known_std of row {row}, {std[row]:g}, is too small beside the others")
    return std


def sum_beside_weights(units: Units | None, std_unit: float, rows: Rows) -> float:
    """Σ log N(y | μ, s²) − w log N(y | μ, s₀²) of rows in units, whose weights are w = (s₀/s)².

    And Σ log |g'(y)|, where the model is one of g(y): by rows, whatever their standard errors.
    """
    w = rows.weight
    beside = 0.5 * np.log(w) + (w - 1) * (np.log(std_unit) + HALF_LOG_2PI_NATS)
    slopes = 0.0 if units is None or units.response is None else np.sum(log_slopes(units, rows))
    return float(np.sum(beside) + slopes)
