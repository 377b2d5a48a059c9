"""Columns beside X that are known: the offset of a linear predictor, and the trials of a binomial.

They travel with X to where all of it is validated, and are columns of the model's X then.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length

from ._bad_cells import cells_named
from ._input import refuse_unreadable


class WithKnown(NamedTuple):
    """Rows and what is known of them, not validated."""

    X: Any
    offset: Any  #: a number, or (n,); None: zero
    trials: Any = None  #: a number, or (n,); None: the family has none


def with_known(X: Any, offset: Any = None, trials: Any = None) -> WithKnown:
    """All of it, made once on the way through methods that call each other."""
    return X if isinstance(X, WithKnown) else WithKnown(X, offset, trials)


def joined(X: np.ndarray, offset: Any, trials: Any) -> np.ndarray:
    """X followed by offset and trials where they are given, both checked; else X itself, which may be large.

    ValueError if one of them is neither a finite number nor one per row, or trials are no whole numbers.
    """
    columns = [] if offset is None else [column(offset, "offset", X)]
    if trials is not None:
        columns.append(column(trials, "trials", X))
        if np.any((columns[-1] < 0) | (columns[-1] != np.round(columns[-1]))):
            raise ValueError("trials must be whole numbers from zero")
    return np.column_stack([X, *columns]) if columns else X


def column(values: Any, name: str, X: np.ndarray) -> np.ndarray:
    """One number per row, (n,)."""
    refuse_unreadable(**{name: values})
    if np.ndim(values) == 0:
        values = np.full(len(X), values)
    with cells_named(**{name: values}):
        values = check_array(values, dtype=np.float64, ensure_2d=False, input_name=name)
    check_consistent_length(X, values)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one number per row, got shape {values.shape}")
    return values
