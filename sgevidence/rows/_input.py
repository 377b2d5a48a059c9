"""Rows as a user gives them: what is refused by name, and arrays of what is taken.

Columns beside X that are known (offset of a linear predictor, trials of a binomial, bounds of y) travel
with X to where all of it is validated, and are columns of the model's X then.
"""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

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


def bad_cell(name: str, array: Any, takes_factors: bool, takes_missing: bool) -> str | None:
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


class WithKnown(NamedTuple):
    """Rows and what is known of them, not validated."""

    X: Any
    offset: Any = None  #: a number, or (n,); None: zero
    trials: Any = None  #: a number, or (n,); None: the family has none
    event: Any = None  #: a truth value, or (n,); None: all y are exact
    entry: Any = None  #: a number, or (n,); None: rows are seen whatever y is
    lower: Any = None  #: of a y with two columns, (n,), −∞ for none
    upper: Any = None
    known_std: Any = None  #: of y, a number, or (n,); None: rows share a noise

    @property
    def given(self) -> dict[str, Any]:
        """Known columns that are given, by name."""
        return {name: value for name in KNOWN if (value := getattr(self, name)) is not None}


#: Names of what may be given.
KNOWN = ("offset", "trials", "event", "entry")


def refuse_unreadable(*, takes_missing: bool = False, by_name: bool = False, **arrays: Any) -> None:
    """Rows that are not there: scikit-learn would use what is under a mask, and choke on a query.

    X, and only X, may have missing values where they are levels, or a transformer fills them, and anything in
    columns that no term names, where columns are read ``by_name``.  ValueError or TypeError names the array,
    the column, the row, and what to do.
    """
    for name, array in arrays.items():
        if isinstance(array, str):
            remedy = "rows, or RowSource(path)" if name == "X" else f"the column itself, as frame[{array!r}]"
            raise ValueError(f"{name}={array!r} is a text: give {remedy}")
        is_named = by_name and name == "X" and hasattr(array, "columns")
        if not is_named and any(getattr(dtype, "kind", "") in ("M", "m") for dtype in _dtypes(array)):
            label, values = next(one for one in columns_of(array) if one[1].dtype.kind in "Mm")
            raise TypeError(dates_in(name, place(label, 0), values[0] if len(values) else "all"))
        refuse_uncomputed(name, array)
        found = getattr(array, "column_names", getattr(array, "columns", None))
        names = [] if found is None else [str(one) for one in found]
        if twice := sorted({one for one in names if names.count(one) > 1}):
            raise ValueError(f"{name} has several columns named {twice[0]!r}: give each a name of its own")
        if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            raise ValueError(
                f"{name} is a masked array with masked entries, which have no place in a likelihood: drop "
                f"those rows, or fill them with {name}.filled(...)"
            )
        if not (is_named or (takes_missing and name == "X")):
            _refuse_missing(name, array)


def refuse_uncomputed(name: str, array: Any) -> None:
    """TypeError for a query, as of polars.LazyFrame."""
    if hasattr(array, "collect") and not hasattr(array, "__array__"):
        raise TypeError(
            f"{name} is a {type(array).__name__}, whose rows are not computed yet: give {name}.collect()"
        )


def _refuse_missing(name: str, array: Any) -> None:
    """None, pandas.NA and NaT among objects: scikit-learn makes nan of some, after it has looked for nan.

    And dates of numpy, of which it makes numbers.
    """
    is_list = type(array) in (list, tuple)  # and not a NamedTuple of X and what is known beside it
    if not is_list and all(getattr(dtype, "kind", "") != "O" for dtype in _dtypes(array)):
        return
    for label, values in columns_of(array):
        if values.dtype.kind == "O" and (found := np.flatnonzero(missing_in(values))).size:
            is_text = name == "X" and label and any(isinstance(value, str) for value in values.tolist())
            raise ValueError(
                f"{name} contains NaN or another missing value, {values[found[0]]!r} in "
                f"{place(label, int(found[0]))}: leave those rows out, or fill them"
                + (ALL_READ if is_text else "")
            )
        if values.dtype.kind == "O":
            for row, value in enumerate(values.tolist()):
                if isinstance(value, np.datetime64 | np.timedelta64):
                    raise TypeError(dates_in(name, place(label, row), value))


def _dtypes(array: Any) -> list[Any]:
    """The dtype of an array, or of each column of a frame."""
    try:
        return list(array.dtypes)
    except (AttributeError, TypeError):  # no frame; of a Series ``dtypes`` is one
        return [getattr(array, "dtype", None)]


def refuse_extreme(**arrays: np.ndarray | None) -> None:
    """Numbers whose squares, over a small variance, leave the floating-point numbers."""
    for name, array in arrays.items():
        if array is not None and array.dtype.kind == "f" and array.size:
            largest = max(-float(np.fmin.reduce(array, axis=None)), float(np.fmax.reduce(array, axis=None)))
            if largest > 1e100:  # magnitude whose square leaves room for a division by a variance of 10⁻¹⁰⁰
                row, *column = np.unravel_index(np.nanargmax(np.abs(array)), array.shape)
                where = place("".join(f"column {j}" for j in column), int(row))
                raise ValueError(
                    f"{name} has values of {largest:.0e}, in {where}, whose squares leave the floating-point "
                    "numbers: state it in another unit"
                )


def looks_normalised(n_rows: int, total_weight: float) -> str | None:
    """A sentence on weights of so many rows that count as one row together; None of others."""
    # fewer weights may sum to one by chance
    if n_rows < 10 or abs(total_weight - 1.0) > 1e-9:  # a distance that is rounding
        return None
    return (
        f"the weights of {n_rows} rows sum to 1, so that all of them count as one row: a weight says how "
        "often its row counts; multiply by the number of rows if each is to count once on the average"
    )


def weighs_nothing(sample_weight: Any) -> bool:
    """Whether there are weights and all are zero: such a call adds no row to a stream."""
    weight = np.asarray(sample_weight)  # None is an object
    return weight.dtype.kind in "fiub" and weight.size > 0 and not np.any(weight)


def generator(random_state: Any) -> np.random.Generator:
    """A Generator from scikit-learn's random_state: the same for the same int, advancing a RandomState."""
    seeds = check_random_state(random_state).randint(0, 2**31 - 1, size=4)
    return np.random.default_rng(seeds.tolist())


def fingerprint(data: np.ndarray, weight: np.ndarray, running: int) -> int:
    """CRC-32 of the rows in order, continued from ``running``: the same however the rows are cut."""
    fingerprint_rows = 10_000  # rows that a checksum copies at a time: a megabyte of ten columns
    for start in range(0, len(data), fingerprint_rows):
        part = slice(start, start + fingerprint_rows)
        table = np.column_stack([data[part], weight[part]]).astype(np.float64, copy=False)
        running = zlib.crc32(np.ascontiguousarray(table).tobytes(), running)
    return running


def joined_fingerprint(one: int, other: int, n_bytes: int) -> int:
    """CRC-32 of two texts one after the other, the second of ``n_bytes``, from those of each."""
    return _times(_zeros(n_bytes), one) ^ other


@lru_cache(maxsize=64)
def _zeros(n_bytes: int) -> list[int]:
    """Linear part of the map that ``n_bytes`` zeros after a text apply to its CRC, by columns."""
    byte = [zlib.crc32(b"\0", 1 << bit) ^ zlib.crc32(b"\0") for bit in range(32)]  # one zero
    out = [1 << bit for bit in range(32)]
    while n_bytes:
        if n_bytes & 1:
            out = [_times(byte, column) for column in out]
        byte, n_bytes = [_times(byte, column) for column in byte], n_bytes >> 1
    return out


def _times(columns: list[int], value: int) -> int:
    """A matrix of bits, by columns, times a vector of bits."""
    out = 0
    for bit, column in enumerate(columns):
        out ^= column if value >> bit & 1 else 0
    return out


def check_count(n: Any, name: str) -> int:
    """A number of draws, or of components."""
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {n!r}")
    return int(n)


def check_prior_pair(pair: Any, name: str) -> tuple[float, float]:
    """Shape and scale of an inverse gamma prior."""
    values = np.asarray(pair, dtype=float).ravel()
    if values.shape != (2,) or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{name} must be a pair of positive numbers (shape, scale), got {pair!r}")
    return float(values[0]), float(values[1])


def column_indices(columns: Any, n_features: int, names: Sequence[str] | None) -> np.ndarray:
    """Indices of columns that are given by names, indices or a mask, in the order given; None is all.

    ValueError names a column that X does not have, or that is given twice.
    """
    if columns is None:
        return np.arange(n_features)
    given = list(columns)
    if any(isinstance(column, str) for column in given):
        if names is None:
            raise ValueError(f"columns={columns!r} are names, but the columns of X have none")
        where = {name: k for k, name in enumerate(names)}
        if unknown := [column for column in given if column not in where]:
            raise ValueError(f"X has no columns {unknown[:5]}: its columns are {list(names)}")
        indices = np.array([where[column] for column in given])
    else:
        indices = _by_number(given, n_features)
    if len(set(indices.tolist())) < len(indices):
        raise ValueError(f"columns={columns!r} has the same column twice")
    return indices


def _by_number(columns: list[Any], n_features: int) -> np.ndarray:
    """Indices of columns given by number, from the end if negative, or by a mask; [] is no column."""
    wanted = np.array(columns) if columns else np.empty(0, dtype=int)
    if wanted.ndim != 1 or wanted.dtype.kind not in "biu":
        raise ValueError(f"columns must be None or a list of names or indices, got {columns!r}")
    try:
        return np.arange(n_features)[wanted]
    except IndexError:
        raise ValueError(f"columns={columns!r} do not fit X, which has {n_features} columns") from None


def with_known(
    X: Any, offset: Any = None, trials: Any = None, event: Any = None, entry: Any = None
) -> WithKnown:
    """All of it, made once on the way through methods that call each other."""
    return X if isinstance(X, WithKnown) else WithKnown(X, offset, trials, event, entry)


def joined(X: np.ndarray, known: WithKnown) -> np.ndarray:
    """X followed by offset and trials, checked; else X itself, which may be large.

    ValueError if one of them is neither a finite number nor one per row, or trials are no whole numbers.
    """
    given = {name: known.given[name] for name in ("offset", "trials") if name in known.given}
    columns = {name: column(value, name, X) for name, value in given.items()}
    trials = columns.get("trials", np.ones(1))
    if np.any((trials < 0) | (trials != np.round(trials))):
        raise ValueError("trials must be whole numbers from zero")
    return np.column_stack([X, *columns.values()]) if columns else X


def column(values: Any, name: str, X: np.ndarray) -> np.ndarray:
    """One number per row, (n,)."""
    refuse_unreadable(**{name: values})
    if name == "event" and np.asarray(values).dtype.kind in "OUT":
        words = next((one for one in np.ravel(np.asarray(values)).tolist() if isinstance(one, str)), None)
        if words is not None:
            raise ValueError(
                f"event has texts, such as {words!r}: give 1 where the event came and 0 where it is "
                "censored, as event=(column == 'dead')"
            )
    if np.iscomplexobj(values):
        raise ValueError(f"Complex data not supported: {name} must be numbers")
    if np.ndim(values) == 0:
        values = np.full(len(X), values)
    with cells_named(**{name: values}):
        values = check_array(values, dtype=np.float64, ensure_2d=False, input_name=name)
    check_consistent_length(X, values)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one number per row, got shape {values.shape}")
    return values
