"""Predictions for Dask collections, which stay lazy: a part at a time, on the worker that holds it."""

import copy
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .._compat import num_samples
from ..rows import WithKnown, blocks, is_dask


def by_parts(method: Callable) -> Callable:
    """A method that returns a number, or some, for each row: a Dask array for rows in a Dask collection.

    The array has the parts of X.  What else is in Dask must be cut as X is.
    """

    @wraps(method)
    def of_any(self: Any, X: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not is_dask(X.X if isinstance(X, WithKnown) else X):
            return method(self, X, *args, **kwargs)
        return _mapped(self, method.__name__, X, args, kwargs)

    return of_any


def _mapped(model: Any, name: str, X: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Parts of the answer, computed when they are asked for."""
    from dask import delayed

    model._must_be_fitted()  # what it warns of is told here, and not by workers
    model = copy.copy(model)  # as it is now: what it learns later is in values of its own
    known, shape = X if isinstance(X, WithKnown) else None, _shape(model, name)
    rows = X if known is None else known.X
    given: dict[Any, Any] = dict(enumerate(args)) | kwargs
    if known is not None:
        given |= known.given
    in_parts = {key: value for key, value in given.items() if is_dask(value) or num_rows(value) is not None}
    whole = {key: value for key, value in given.items() if key not in in_parts}
    pieces = [blocks(rows, rows, "X"), *(blocks(value, rows, str(key)) for key, value in in_parts.items())]
    if len({len(column) for column in pieces}) > 1:
        raise ValueError(f"X and {sorted(map(str, in_parts))} have different numbers of parts")
    travelling, of_part = delayed(model, pure=False, traverse=False), delayed(_of_part, pure=False)
    keys = list(in_parts)
    returns_std = name == "predict" and bool(whole.get("return_std", whole.get(0, False)))
    values = [of_part(travelling, name, keys, whole, returns_std, shape, *piece) for piece in zip(*pieces)]
    lengths = getattr(rows, "chunks", [[np.nan] * len(values)])[0]
    if not returns_std:
        return _joined(values, lengths, *shape)
    return tuple(_joined([value[k] for value in values], lengths, *shape) for k in range(2))


def _joined(values: list[Any], lengths: Any, rest: tuple[int, ...], dtype: Any) -> Any:
    import dask.array as da

    parts = [da.from_delayed(value, (length, *rest), dtype) for value, length in zip(values, lengths)]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _of_part(
    model: Any, name: str, keys: list[Any], whole: dict, returns_std: bool, shape: Any, X: Any, *columns: Any
) -> Any:
    given = whole | dict(zip(keys, columns))
    args = [given.pop(k) for k in range(len(given)) if k in given]
    if not num_samples(X):
        nothing = np.empty((0, *shape[0]), shape[1])
        return (nothing, nothing) if returns_std else nothing
    return getattr(model, name)(X, *args, **given)


def num_rows(value: Any) -> int | None:
    """Number of rows of an array that has one entry for each row; None of anything else."""
    return len(value) if np.ndim(value) and hasattr(value, "__array__") else None


def _shape(model: Any, name: str) -> tuple[tuple[int, ...], Any]:
    """Shape and type of what a method returns for each row."""
    n, dtype = model._choices
    if name == "predict":
        return (), dtype
    is_table = name in ("predict_proba", "predict_log_proba") or (name == "decision_function" and n > 2)
    return (n,) if is_table else (), np.float64
