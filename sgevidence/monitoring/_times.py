"""Times of rows: the index entries that come with them, and how a monitor's state holds them.

In the state of a copy, a pickle or a file, what pandas makes of dates and durations is numbers and
names: skops restores these.
"""

from typing import Any

from ._detection import Detection


def index_of(X: Any) -> Any:
    """Index of a pandas object, if it says more than how the rows are numbered; else None.

    Parameters
    ----------
    X : array-like

    Returns
    -------
    pandas.Index or None
    """
    index: Any = X.index if hasattr(X, "iloc") else None
    is_count = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    return None if is_count else index


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
        Times of the new rows.
    first : int
        The first of these in the stream.

    Returns
    -------
    times, detections : dict, list of Detection
    """
    times = times | ({} if index is None else dict(enumerate(index, start=first)))
    return times, [found._replace(time=times.get(found.place)) for found in detections]


class TimesInState:
    """Base of monitors, whose ``_times`` and ``detections_`` may hold objects of pandas."""

    def __getstate__(self) -> dict[str, Any]:
        return _with(super().__getstate__(), _plain)  # type: ignore

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(_with(state, _as_it_came))  # type: ignore


def _with(state: dict[str, Any], form: Any) -> dict[str, Any]:
    """The state with its times in this form."""
    if "_times" not in state:
        return state
    detections = [found._replace(time=form(found.time)) for found in state["detections_"]]
    return state | {
        "_times": {row: form(time) for row, time in state["_times"].items()},
        "detections_": detections,
        "change_times_": [d.place if d.time is None else d.time for d in detections],
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
