"""Rows as the monitor takes them: also a one-dimensional series, and with the index of a pandas object."""

from typing import Any

import numpy as np

from ._detection import Detection


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


def index_of(X: Any) -> Any:
    """Index of a pandas object, if it says more than how the rows are numbered; else None.

    Parameters
    ----------
    X : array-like

    Returns
    -------
    pandas.Index or None
    """
    index = X.index if hasattr(X, "iloc") else None
    return None if type(index).__name__ == "RangeIndex" else index


def with_times(
    detections: list[Detection], times: dict[int, Any], index: Any, first: int
) -> tuple[dict[int, Any], list[Detection]]:
    """Give detections the index entries of their places.

    Parameters
    ----------
    detections : list of Detection
    times : dict of int to object
        Index entries by row, of the rows before.
    index : pandas.Index or None
        Of the new rows.
    first : int
        The first of these in the stream.

    Returns
    -------
    times, detections : dict, list of Detection
    """
    times = times | ({} if index is None else dict(enumerate(index, start=first)))
    return times, [found._replace(time=times.get(found.place)) for found in detections]


def _is_flat(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(np.isscalar(x) for x in X)
