"""Input of the tests: vectors and counts, refused in words that name the argument."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_array

from ..rows import cells_named, refuse_extreme, refuse_unreadable

#: Rounding errors, in units of the largest number, within which numbers are all equal.
ROUNDING = 4 * float(np.finfo(float).eps)
#: Shapes in words, by the number of axes.
SHAPES = ("one number", "one-dimensional", "two-dimensional")


def array_of(name: str, values: Any, ndim: int) -> np.ndarray:
    """Finite numbers with so many axes."""
    refuse_unreadable(**{name: values})
    try:
        with cells_named(**{name: values}):
            found = check_array(
                values,
                dtype=np.float64,
                ensure_2d=False,
                allow_nd=True,
                ensure_min_samples=0,
                ensure_min_features=0,
                input_name=name,
            )
    except ValueError as error:
        raise ValueError(str(error) if name in str(error) else f"{name} must be numbers: {error}") from error
    except TypeError as error:
        raise TypeError(f"{name} must be numbers: {error}") from error
    if found.ndim != ndim:
        raise ValueError(f"{name} must be {SHAPES[ndim]}, got the shape {found.shape}")
    refuse_extreme(**{name: found})
    return found


def counts_of(name: str, values: np.ndarray) -> np.ndarray:
    """Whole numbers that are not negative."""
    if (values < 0).any():
        raise ValueError(f"{name} has a negative count, {values.min():g}")
    if (values != np.round(values)).any():
        raise ValueError(f"{name} must be whole numbers, got {values[values != np.round(values)][0]:g}")
    return values


def count_of(name: str, value: Any) -> int:
    """A whole number that is not negative."""
    return int(counts_of(name, array_of(name, value, 0)))


def number_of(name: str, value: Any, low: float = -np.inf, high: float = np.inf) -> float:
    """A number between two, without them."""
    if isinstance(value, Real) and not isinstance(value, bool) and low < float(value) < high:
        return float(value)
    where = "a finite number" if low == -np.inf else f"a number between {low:g} and {high:g}"
    raise ValueError(f"{name} must be {where}, got {value!r}")
