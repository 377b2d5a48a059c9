r"""Rows of an autoregression: each value of a series with the values before it, whatever the calls.

Row t = 1, 2, … of the series y with order p, exogenous columns x_t and a linear trend is

    (y_{t−1}, …, y_{t−p}, t, x_t)  →  y_t,

which exists where p values come before it.  What a next call needs of those before is their last p values
and their number.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_array

from ..exceptions import warn_caller
from ..history import Rows
from ..rows import places_in_time


class Past(NamedTuple):
    """The end of a series; a value, never changed in place."""

    values: np.ndarray  #: the last values, as many as the order or as there are
    n_rows: int  #: values so far

    @classmethod
    def none(cls) -> "Past":
        """Before the first value."""
        return cls(np.empty(0), 0)

    def complete(self, order: int) -> Self:
        """Itself; ValueError if there are not as many values as the order."""
        if len(self.values) < order:
            raise ValueError(
                f"a prediction needs the {order} values before it, and only {len(self.values)} have been seen"
            )
        if np.isnan(self.lags(order)).any():
            raise ValueError(
                f"a prediction needs the {order} values before it, of which some are missing: the series must"
                " end with values"
            )
        return self

    def lags(self, order: int) -> np.ndarray:
        """The last values, the latest first, (order,)."""
        return self.values[::-1][:order]

    def times(self, n: int) -> np.ndarray:
        """Numbers t of the next n rows, the first of the series being 1, (n,)."""
        return np.arange(self.n_rows + 1, self.n_rows + n + 1, dtype=float)

    def rows(
        self, y: np.ndarray, X: np.ndarray | None, order: int, with_time: bool, first: int
    ) -> tuple[Rows, Self]:
        """Rows of the next values, but for the ``first`` of the series; and the new end."""
        start = max(first - self.n_rows, 0)
        known = np.concatenate([self.values, y])
        n = max(len(y) - start, 0)
        lags = np.empty((n, order))
        for lag in range(1, order + 1):  # y_{t−lag} of the rows that are kept
            end = len(known) - lag
            lags[:, lag - 1] = known[end - n : end] if n else 0.0
        columns = [lags]
        if with_time:
            columns.append(self.times(len(y))[start:, None])
        if X is not None:
            columns.append(X[start:])
        after = type(self)(known[len(known) - min(order, len(known)) :].copy(), self.n_rows + len(y))
        return Rows.of(np.concatenate(columns, axis=1), y[start:].copy()), after


def series_and_columns(X: Any, y: Any) -> tuple[Any, Any]:
    """(X, y) of two arguments; the first alone is the series."""
    return (None, X) if y is None else (X, y)


def check_series(y: Any, takes_gaps: bool = False) -> np.ndarray:
    """A series of numbers, (n,); ValueError for several columns, or a missing value."""
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] != 1:
        raise ValueError(
            f"a series has one column, got shape {tuple(shape)}: an autoregression with exogenous columns X "
            "requires y to be passed, but the target y is None"
        )
    values = check_array(
        y, ensure_2d=False, dtype=None, ensure_all_finite="allow-nan", input_name="y"
    ).ravel()
    if values.dtype.kind not in "fiub":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"y must be numbers, got {values.dtype.name}, such as {values[0]!r}") from None
    values = values.astype(np.float64)
    if not takes_gaps:
        refuse_gaps(values)
    return check_array(values, ensure_2d=False, ensure_all_finite="allow-nan", input_name="y")


def with_missing_times(X: Any, y: Any) -> tuple[Any, Any]:
    """The arguments of ``fit`` with a missing value at each time that a regular index of times lacks.

    ValueError where exogenous columns would be missing, too.
    """
    columns, series = series_and_columns(X, y)
    indexed = next((one for one in (series, columns) if hasattr(one, "index")), None)
    if indexed is None or (places := places_in_time(indexed)) is None:
        return X, y
    n = int(places[-1]) + 1 - len(places)
    if columns is not None:
        raise ValueError(
            f"the index lacks times ({n}), whose exogenous columns nobody knows: give rows of these times "
            "with y missing, or arrays if rows follow one another"
        )
    source = np.full(int(places[-1]) + 1, -1)
    source[places] = np.arange(len(places))
    values = np.append(check_series(series, takes_gaps=True), np.nan)[source]
    warn_caller(
        f"the index lacks times ({n}), at which y counts as missing: give an array if rows follow one another"
    )
    index = series.index.take(source, allow_fill=True, fill_value=None)  # NaT where a time is missing
    return None, type(series)(values, index=index)


def refuse_gaps(y: Any) -> None:
    """Each value is explained by those before it: ValueError names the first that is missing."""
    values = np.asarray(y)
    if values.dtype.kind == "c":  # which others refuse
        return
    try:
        gaps = np.isnan(np.asarray(values, dtype=np.float64).ravel())
    except (TypeError, ValueError):  # neither numbers
        return
    if gaps.any():
        raise ValueError(
            f"y contains NaN: {int(gaps.sum())} rows have no value, the first is row {int(np.argmax(gaps))}, "
            "and each value is explained by those before it: fit(y) of the whole series takes them"
        )
