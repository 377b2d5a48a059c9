"""Rows as the monitor takes them: also a one-dimensional series, and with the index of a pandas object."""

from typing import Any

import numpy as np


def as_table(X: Any, y: Any = None) -> Any:
    """A one-dimensional series as a table of one column; anything else as it is.

    With ``y`` nothing is changed: there a one-dimensional X may be a row as well as a column.

    Parameters
    ----------
    X : array-like
    y : array-like, optional

    Returns
    -------
    array-like
    """
    shape = getattr(X, "shape", None)
    if y is not None or (len(shape) != 1 if shape is not None else not _is_flat(X)):
        return X
    return np.asarray(X).reshape(-1, 1)


def _is_flat(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(np.isscalar(x) for x in X)
