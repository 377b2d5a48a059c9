"""The first cell of a table that is no finite number, by its column and row."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ._levels import missing_in

#: After words on a cell of X, where an estimator uses some of its columns.
ALL_READ = " (with columns= all columns of X are read; with formula= only those that it names)"


def validated(estimator: Any, X: Any, *y: Any, **checks: Any) -> Any:
    """scikit-learn's ``validate_data`` with float64; errors name the column and the row."""
    kinds = [getattr(getattr(one, "dtype", None), "kind", "O") for one in y]  # labels of text are no numbers
    numbers = {"y": y[0]} if y and (checks.get("y_numeric") or kinds[0] in "fiub") else {}
    takes_missing = checks.get("ensure_all_finite") == "allow-nan"
    with cells_named(estimator, takes_missing, X=X, **numbers):
        return validate_data(estimator, X, *y, dtype=np.float64, **checks)


@contextmanager
def cells_named(reader: Any = None, takes_missing: bool = False, **arrays: Any) -> Iterator[None]:
    """Errors of numbers that a library reads as errors of their first bad cell, if there is one.

    ``reader`` is the estimator that they are for, which may take levels.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        if "feature names" in str(error):  # of a frame with other columns, whose cells are no matter
            raise
        takes_factors = reader is not None and "terms" in reader.get_params(deep=False)
        for name, array in arrays.items():
            words = None if array is None else bad_cell(name, array, takes_factors, takes_missing)
            if words is not None:
                chosen = name == "X" and getattr(reader, "columns", None) is not None
                words += ALL_READ if chosen else ""
                raise (TypeError if isinstance(error, TypeError) else ValueError)(words) from None
        raise


def bad_cell(name: str, array: Any, takes_factors: bool = False, takes_missing: bool = False) -> str | None:
    """Words on the first cell, column by column, that is no finite number; None if all are."""
    for label, values in columns_of(array):
        is_missing = missing_in(values)
        for is_bad, words in (
            (is_missing & (not takes_missing), "{} contains NaN in {}{}: leave those rows out, or fill them"),
            (infinite_in(values), "{} contains infinity in {}{}"),
        ):
            if (rows := np.flatnonzero(is_bad)).size:
                more = f", and in {len(rows) - 1} more" if len(rows) > 1 else ""
                return words.format(name, place(label, int(rows[0])), more)
        if values.dtype.kind in "fiubc":
            continue
        for row, value in enumerate(values.tolist()):
            if is_missing[row]:
                continue
            if hasattr(value, "isoformat"):
                return dates_in(name, place(label, row), value)
            try:
                float(value)
            except (ValueError, TypeError) as error:
                remedy = "leave the column out, or give numbers"
                if name == "y":
                    remedy = "give numbers, or take BayesianSoftmaxRegression for labels"
                if takes_factors and label:
                    remedy += f"; levels are a factor, terms=[Factor({label.removeprefix('column ')})]"
                return f"{error}, in {place(label, row)} of {name}, counted from 0: {remedy}"
    return None


def place(label: str, row: int) -> str:
    """Where a cell is."""
    return f"row {row} of {label}" if label else f"row {row}"


def dates_in(name: str, where: str, value: Any) -> str:
    """Words on a column of dates or durations."""
    of_series = "; times of a series belong in its index" if name == "X" else ""
    return (
        f"{name} has dates or durations, {value} in {where}, whose numbers depend on their unit: give "
        f"numbers, such as the days since the first, (x - x.min()).dt.days{of_series}"
    )


def columns_of(array: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Each column of a frame, a table or an array with its label, which is empty for one dimension."""
    if hasattr(array, "iloc") and hasattr(array, "columns"):
        for j, name in enumerate(array.columns):
            yield f"column {name!r}", np.asarray(array.iloc[:, j])
    elif hasattr(array, "columns"):  # polars and pyarrow
        for name in getattr(array, "column_names", array.columns):
            yield f"column {name!r}", np.asarray(array[name])
    else:
        try:
            values = np.asarray(array, dtype=object if isinstance(array, list | tuple) else None)
        except ValueError:  # rows of several lengths, which scikit-learn refuses
            return
        if values.ndim == 1:
            yield "", values
        elif values.ndim == 2:
            yield from ((f"column {j}", column) for j, column in enumerate(values.T))


def infinite_in(values: np.ndarray) -> np.ndarray:
    """Which numbers are infinite, among objects, too."""
    if values.dtype.kind == "f":
        return np.isinf(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return np.array([isinstance(value, float) and value in (np.inf, -np.inf) for value in values], dtype=bool)
