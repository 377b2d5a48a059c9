"""Arrays from the argument X, which is arrays already, or a RowSource or a Dask collection that has them."""

from typing import Any

from ._collections import Collection, collection_of, together
from ._file_columns import Part
from ._known import KNOWN, WithKnown
from ._sources import RowSource


def at_once(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, only_X: bool = False
) -> tuple[Any, Any, Any]:
    """X, y and weights; if X is a :class:`RowSource` or a Dask collection, of all rows, with an offset.

    ValueError if y, weights or an offset are given beside a source, or the estimator has no use for its
    offset.
    """
    source = _source(estimator, X, y, sample_weight)
    if source is not None:
        return arrays_of(source.read(only_X, takes_gaps(estimator)))
    collection = collection_of(X, y, sample_weight, None)
    return (X, y, sample_weight) if collection is None else arrays_of(together(list(collection.parts())))


def collection_in(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Collection | None:
    """Rows in parts that are given in the place of X; None of arrays."""
    source = _source(estimator, X, y, sample_weight)
    return collection_of(X, y, sample_weight, source, takes_gaps(estimator))


def _source(estimator: Any, X: Any, y: Any, sample_weight: Any) -> RowSource | None:
    given = X.given if isinstance(X, WithKnown) else {}
    source = X.X if isinstance(X, WithKnown) else X
    if not isinstance(source, RowSource):
        return None
    for name, value in ({"y": y, "sample_weight": sample_weight} | given).items():
        if value is not None:
            role = "target" if name == "y" else name
            raise ValueError(f"{name} is given beside a RowSource: name its column there, {role}=...")
    for name in KNOWN:
        if getattr(source, name) is not None and not estimator._takes_known:
            raise ValueError(f"{source!r} has {name}, of which {type(estimator).__name__} has no use")
    return source


def arrays_of(part: Part) -> tuple[Any, Any, Any]:
    """X with what is known of its rows, y and weights."""
    known = WithKnown(part.X, *(getattr(part, name) for name in KNOWN))
    return known if known.given else part.X, part.y, part.sample_weight


def takes_gaps(estimator: Any) -> bool:
    """Does it take numbers that are missing?"""
    tags = estimator.__sklearn_tags__().input_tags
    return bool(tags.allow_nan and not tags.categorical)
