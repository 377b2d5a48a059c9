"""Rows as the monitor takes them: also a one-dimensional series, and with the index of a pandas object.

In the state of a copy, a pickle or a file, what pandas makes of dates and durations is numbers and
names: skops restores these.

**Few values.**  A density is the wrong model of classes and counts, and does not notice.  It has no upper
bound: where values repeat, a segment that is a little narrower gains with every row, and changes are
declared without end.  Measured numbers are told from classes by how many different values there are, whether
they come again, and whether new ones keep coming.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ._detection import Detection


class TimesInState:
    """Base of monitors, whose ``_times`` and ``detections_`` may hold objects of pandas."""

    def __getstate__(self) -> dict[str, Any]:
        return _with(super().__getstate__(), _plain)  # type: ignore

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(_with(state, _as_it_came))  # type: ignore


def refuse_model(y: Any) -> None:
    """TypeError about a model in the place of y, which many a model has no use for."""
    if isinstance(y, BaseEstimator) or (isinstance(y, type) and issubclass(y, BaseEstimator)):
        name = y.__name__ if isinstance(y, type) else type(y).__name__
        raise TypeError(f"y is a {name}: a model is given by its name, model={name}(...)")


def as_table(X: Any, y: Any) -> Any:
    """A one-dimensional series as a table of one column; anything else as it is.

    With ``y`` nothing is changed: there a one-dimensional X may be a row as well as a column."""
    shape = getattr(X, "shape", None)
    if y is not None or (len(shape) != 1 if shape is not None else not _is_flat(X)):
        return X
    return np.asarray(X).reshape(-1, 1)


#: Rows from which a column of whole numbers that rise at each row counts the rows: ten values that do not
#: know their order rise throughout once in 10! ≈ 4 · 10⁶.
MIN_COUNTED_ROWS = 10


def refuse_counters(X: Any) -> None:
    """ValueError for a column of a frame, beside others, that counts the rows, as a column of years does.

    Its numbers are whole and rise at each row, mostly by one.
    """
    names = [] if getattr(X, "ndim", 1) != 2 else list(getattr(X, "columns", ()))
    for name in names if len(names) > 1 and len(X) >= MIN_COUNTED_ROWS else ():
        x = np.asarray(X[name])
        if x.dtype.kind not in "fiu":
            continue
        steps = np.diff(x.astype(np.float64))
        if np.all((steps >= 1) & (steps == np.floor(steps))) and np.median(steps) == 1 and x[0] % 1 == 0:
            raise ValueError(
                f"column {name!r} counts the rows, {x[0]:g}, {x[1]:g}, {x[2]:g}, …, and is no data: make "
                f"it the index, X.set_index({name!r}), or leave it out"
            )


def as_numbers(X: Any) -> Any:
    """A list of numbers as an array; anything else as it is."""
    if type(X) not in (list, tuple):
        return X
    try:
        found = np.asarray(X)
    except ValueError:  # rows of several lengths
        return X
    return found if found.dtype.kind in "fiub" else X


def _is_flat(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(np.isscalar(x) for x in X)


def as_row(x: Any, names: list[str] | None) -> tuple[np.ndarray, list[str] | None]:
    """A row as river gives it (a number, a dict or an array) as a table of one row, and its names, if any."""
    row = x
    if isinstance(x, dict):
        names = names or sorted(x)
        if set(names) != set(x):
            raise ValueError(f"the row has the features {sorted(x)}, the rows before had {names}")
        row = [x[name] for name in names]
    else:
        names = None
    return np.asarray(row, dtype=np.float64).reshape(1, -1), names


def index_of(X: Any) -> Any:
    """Index of a pandas object, if it says more than how the rows are numbered; else None."""
    index: Any = X.index if hasattr(X, "iloc") else None
    is_count = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    return None if is_count else index


def entry(time: Any) -> Any:
    """An entry of an index in Python's own type; a year that a column of floats holds is whole."""
    time = time.item() if isinstance(time, np.number) else time
    return int(time) if isinstance(time, float) and time.is_integer() else time


def with_times(
    detections: list[Detection], times: dict[int, Any], index: Any, first: int
) -> tuple[dict[int, Any], list[Detection]]:
    """Index entries by row, with those of the rows from ``first`` on, and detections with theirs."""
    times = times | ({} if index is None else dict(enumerate(map(entry, index), start=first)))
    return times, [found._replace(time=times.get(found.change_row)) for found in detections]


def _with(state: dict[str, Any], form: Any) -> dict[str, Any]:
    """The state with its times in this form."""
    if "_times" not in state:
        return state
    detections = [found._replace(time=form(found.time)) for found in state["detections_"]]
    return state | {
        "_times": {row: form(time) for row, time in state["_times"].items()},
        "detections_": detections,
        "change_times_": [d.change_row if d.time is None else d.time for d in detections],
    }


def _plain(time: Any) -> Any:
    """An object of pandas in numbers and names."""
    if hasattr(time, "to_datetime64"):
        return {"utc": time.to_datetime64(), "zone": None if time.tz is None else str(time.tz)}
    if hasattr(time, "to_timedelta64"):
        return {"duration": time.to_timedelta64()}
    if hasattr(time, "freqstr"):
        return {"ordinal": int(time.ordinal), "freq": time.freqstr}
    return time


def _as_it_came(time: Any) -> Any:
    """The object that :func:`_plain` has taken apart."""
    if not isinstance(time, dict):
        return time
    import pandas as pd  # the times came from there

    if "duration" in time:
        return pd.Timedelta(time["duration"])
    if "ordinal" in time:
        return pd.Period(**time)
    stamp = pd.Timestamp(time["utc"])
    return stamp if time["zone"] is None else stamp.tz_localize("UTC").tz_convert(time["zone"])


#: Rows before anything is said.
FEWEST_ROWS = 30

#: Most different values that are called few.  Streams without a change (8000 rows, 1.2 alarms said): 18
#: alarms from three equally probable values, 4 to 7 from four to six, 2 from eight; 4000 rows before a
#: series could have any shape: 22 alarms from six, 12 from eight, 5 from ten, 1 from fifteen.
MAX_FEW_VALUES = 8


class FewValues:
    """Looks at rows one by one until a column has shown few values; it does not matter how they are cut.

    A column has few values if, from ``FEWEST_ROWS`` rows on, there have been 2 to ``MAX_FEW_VALUES``
    different ones, none of them new in the second half of the rows (no slow rounded series), and those
    that are not the commonest came twice each on average (nor a sensor that begins to move after a rest).

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.monitoring._input import FewValues
    >>> labels = np.random.default_rng(0).integers(0, 2, (100, 1))
    >>> FewValues().look(labels)
    {0: 2}
    """

    def __init__(self) -> None:
        self.n_seen = 0
        #: How often each value came, for the columns that may still have few.
        self.counts: dict[int, dict[float, int]] | None = None
        self.last_new: dict[int, int] = {}  # rows seen when the column's last new value came

    def look(self, X: np.ndarray) -> dict[int, int]:
        """Take in rows, and say once which columns have few values, and how many; empty before and after."""
        if self.counts is None:
            self.counts = {j: {} for j in range(X.shape[1])}
        for x in X:
            if not self.counts:
                break
            self.n_seen += 1
            for j in list(self.counts):
                count, value = self.counts[j], float(x[j])
                if value not in count:
                    self.last_new[j] = self.n_seen
                count[value] = count.get(value, 0) + 1
                if len(count) > MAX_FEW_VALUES:
                    del self.counts[j]  # numbers
            if self.n_seen >= FEWEST_ROWS:
                found = {j: len(count) for j, count in self.counts.items() if self._is_settled(j, count)}
                if found:
                    self.counts = {}
                    return found
        return {}

    def _is_settled(self, j: int, count: dict[float, int]) -> bool:
        others = len(count) - 1
        come_again = others > 0 and self.n_seen - max(count.values()) >= 2 * others
        return come_again and self.n_seen >= 2 * self.last_new[j]


def complaint(
    found: dict[int, int], n_seen: int, names: Sequence[str] | np.ndarray | None, model: object
) -> str:
    """Warning about the columns found in ``n_seen`` rows; ``names`` of all columns, if they have any."""
    columns = " and ".join(
        f"column {j if names is None else repr(str(names[j]))} has only {n} different values"
        for j, n in found.items()
    )
    return (
        f"{columns} in the first {n_seen} rows, like classes or counts. {type(model).__name__} is a "
        "density, which gains without end where values repeat: changes will be declared that are none. "
        "Give EvidenceMonitor a model of classes or counts: CategorySegment(n_categories=...), "
        "CountSegment(), or, where they depend on others, BayesianSoftmaxRegression() or "
        "BayesianGLM(family='poisson')"
    )
