"""The y of a formula, which no other y replaces in silence, and the standard errors of y."""

from typing import Any

import numpy as np

from ..effects import column_names, response_name, response_of, surv_of
from ..history import Rows
from ..rows import RowSource, WithKnown, column, has_bounds, missing_in, refuse_uncomputed
from ..units import Units, log_slopes
from ._glm_bounds import y_of

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
