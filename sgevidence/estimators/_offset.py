"""The offset of a linear predictor: it travels with X to where both are validated."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length

from ._input import refuse_unreadable


class WithOffset(NamedTuple):
    """Rows and their offset, not validated."""

    X: Any
    offset: Any  #: a number, or (n,); None: zero


def with_offset(X: Any, offset: Any) -> WithOffset:
    """The pair, made once on the way through methods that call each other."""
    return X if isinstance(X, WithOffset) else WithOffset(X, offset)


def joined(X: np.ndarray, offset: Any) -> np.ndarray:
    """[X, offset], the offset checked.

    Raises
    ------
    ValueError
        If the offset is neither a finite number nor one per row.
    """
    refuse_unreadable(offset=offset)
    if np.ndim(offset) == 0:  # None, too
        offset = np.full(len(X), 0.0 if offset is None else offset)
    offset = check_array(offset, dtype=np.float64, ensure_2d=False, input_name="offset")
    check_consistent_length(X, offset)
    if offset.ndim != 1:
        raise ValueError(f"offset must have one number per row, got shape {offset.shape}")
    return np.column_stack([X, offset])
