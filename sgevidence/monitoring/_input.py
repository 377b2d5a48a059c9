"""Rows as the monitor takes them: also a one-dimensional series, and with the index of a pandas object."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


def refuse_model(y: Any) -> None:
    """A model in the place of y, which many a model has no use for.

    Raises
    ------
    TypeError
    """
    if isinstance(y, BaseEstimator) or (isinstance(y, type) and issubclass(y, BaseEstimator)):
        name = y.__name__ if isinstance(y, type) else type(y).__name__
        raise TypeError(f"y is a {name}: a model is given by its name, model={name}(...)")


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


def as_row(x: Any, names: list[str] | None) -> tuple[np.ndarray, list[str] | None]:
    """A row as river gives it, as a table of one row, and the names of its features.

    Parameters
    ----------
    x : float, dict of str to float or array-like of shape (n_features,)
    names : list of str or None
        Features of the rows before, if these were dicts.

    Returns
    -------
    row : ndarray of shape (1, n_features)
    names : list of str or None
    """
    row = x
    if isinstance(x, dict):
        names = names or sorted(x)
        if set(names) != set(x):
            raise ValueError(f"the row has the features {sorted(x)}, the rows before had {names}")
        row = [x[name] for name in names]
    else:
        names = None
    return np.asarray(row, dtype=np.float64).reshape(1, -1), names
