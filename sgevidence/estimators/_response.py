"""The y of a formula: its column on the left, which no other y replaces in silence."""

from typing import Any

import numpy as np

from ..effects import column_names, response_of, surv_of
from ..rows import RowSource, WithKnown, has_bounds, missing_in, refuse_uncomputed
from ._glm_bounds import y_of


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
    name = response_of(model.formula).name
    if name not in column_names(frame):
        raise ValueError(f"X has no column {name!r}, the response of formula={model.formula!r}: give y")
    found = frame[name]
    # declared levels, whose order an ordinal family asks for, are in the dtype
    return found if hasattr(getattr(found, "dtype", None), "categories") else np.asarray(found)


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
