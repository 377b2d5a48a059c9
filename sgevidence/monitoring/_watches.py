"""Which watch a model needs: row by row, or chunk by chunk."""

from typing import Any

from sklearn.base import clone

from ._estimators import ChunkWatch, watches_by_estimator
from ._series import SeriesSegment
from ._watch import RowWatch


def make_watch(
    model: Any, hazard: float, threshold: float, max_runs: int | None, forget: bool
) -> RowWatch | ChunkWatch:
    """A watch that has seen nothing; it drops the segments before a declared change if it is to forget."""
    model = SeriesSegment() if model is None else clone(model)
    by_estimator = watches_by_estimator(model)
    if by_estimator and not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{type(model).__name__} cannot be watched: it is no segment model and has no partial_fit"
        )
    names = {name.rsplit("__", 1)[-1] for name in model.get_params()}
    if "max_order" in names:  # every run would be given rows that the others have to explain
        raise TypeError(
            f"{type(model).__name__} cannot be watched: an autoregression that begins anew is given its "
            "first rows.  Watch RegressionSegment() with the values before each row as columns of X"
        )
    kind: type[RowWatch] | type[ChunkWatch] = ChunkWatch if by_estimator else RowWatch
    # twice as many runs change nothing that was measured
    max_runs = max_runs or (5 if by_estimator else 50)
    return kind(model, hazard, threshold, max_runs, forget)
