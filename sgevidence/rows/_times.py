"""Times of rows: the index of a pandas object, if its entries are times, must be in their order.

Models of a series take rows for one after the other.  Equal times pass, and whole numbers and text are
labels, of which nobody knows the order.
"""

from typing import Any

import numpy as np

#: Pandas' names of entries of an index that are times: points of time, periods and durations.
KINDS_OF_TIMES = {"datetime64", "datetime", "date", "period", "timedelta64", "timedelta"}
#: Missing times for each row that is there, from which an index is not regular, as hours of days of trading.
MAX_MISSING_TIMES = 0.5


def last_time(before: Any, **arrays: Any) -> Any:
    """The latest time in the indices of these arrays; ``before``, that of earlier rows, if they have none.

    ValueError names the array and the first row that is earlier than a row before it.
    """
    latest = before
    for name, array in arrays.items():
        index: Any = getattr(array, "index", None)
        if getattr(index, "inferred_type", None) not in KINDS_OF_TIMES:
            continue
        times = _times(index)
        known = ~np.isnat(times)
        rows, times = np.flatnonzero(known), times[known]
        if not len(times):
            continue
        if (back := np.flatnonzero(times[1:] < times[:-1])).size:
            row, earlier = int(rows[back[0] + 1]), int(rows[back[0]])
            raise ValueError(
                f"{name} has an index of times out of order: row {row} ({index[row]}) comes after row "
                f"{earlier} ({index[earlier]}), and rows are a series in the order of time: sort them, "
                f"{name}.sort_index()"
            )
        if before is not None and before.dtype.kind == times.dtype.kind and times[0] < before:
            raise ValueError(
                f"{name} begins at {index[int(rows[0])]}, before the last of the rows seen, {before}: "
                "rows of a series follow those seen"
            )
        latest = times[-1]
    return latest


def places_in_time(array: Any) -> np.ndarray | None:
    """Place of each row in a regular series of times, (n,); None if no time is missing, or none is regular.

    Days are those of business where no row is of a weekend, and months are told by their numbers.
    """
    index: Any = getattr(array, "index", None)
    kind = getattr(index, "inferred_type", None)
    if kind not in KINDS_OF_TIMES or not hasattr(index, "asi8") or len(index) < 3 or index.hasnans:
        return None  # of times among objects nobody knows what is regular
    times = _times(index)
    if kind == "period":
        counts = [index.asi8 // index.freq.n]
    elif kind.startswith("timedelta"):
        counts = [times.astype("timedelta64[ns]").astype(np.int64)]
    else:
        days, months = times.astype("datetime64[D]"), times.astype("datetime64[M]").astype(np.int64)
        counts = [times.astype("datetime64[ns]").astype(np.int64)]
        is_end = (days + 1).astype("datetime64[M]").astype(np.int64) > months
        if len(np.unique(index.day)) == 1 or is_end.all():
            counts = [months, *counts]
        if np.all(times == days) and np.is_busday(days).all() and np.ptp(days).astype(int) >= 7:
            counts = [np.busday_count(days[0], days)]
    for count in counts:
        steps = np.diff(count)
        step = steps.min()
        if step > 0 and not np.any(steps % step):
            places = (count - count[0]) // step
            missing = places[-1] + 1 - len(places)
            return places if 0 < missing < MAX_MISSING_TIMES * len(places) else None
    return None


def _times(index: Any) -> np.ndarray:
    """Points of time or durations, (n,); those of a period are where it begins."""
    import pandas as pd  # the index came from there

    kind = index.inferred_type
    if kind == "period":
        return pd.PeriodIndex(index).to_timestamp().to_numpy()
    if kind.startswith("timedelta"):
        return pd.TimedeltaIndex(index).to_numpy()
    return pd.to_datetime(index, utc=True).tz_convert(None).to_numpy()
