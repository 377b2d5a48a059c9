"""Rows in the chunks in which models predict them and then learn from them, in the order given."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length

from .._compat import num_samples, safe_indexing


class Chunk(NamedTuple):
    """Some of the rows of a call."""

    X: Any
    y: Any
    sample_weight: Any

    @property
    def weight(self) -> np.ndarray:
        """How often each row counts, (n,)."""
        one = 1.0 if self.sample_weight is None else self.sample_weight
        return np.broadcast_to(np.asarray(one, dtype=float), (num_samples(self.X),))


class FirstCall(NamedTuple):
    """All rows of a call that is cut into chunks, of which models that have no units yet take theirs."""

    X: Any
    y: Any
    sample_weight: Any
    may_wait: bool  #: for more rows

    def behind(self, transformer: Any) -> "FirstCall":
        """These rows as a fitted transformer makes them."""
        return self._replace(X=transformer.transform(self.X))


def chunks(X: Any, y: Any, sample_weight: Any, n_before: int, chunk_size: int) -> Iterator[Chunk]:
    """Chunks that double the rows seen, from ten, until they have ``chunk_size``; no rows of weight zero."""
    X, y, sample_weight = (_sliceable(one) for one in (X, y, sample_weight))
    per_row = sample_weight is not None and np.ndim(sample_weight) > 0
    check_consistent_length(X, y, sample_weight if per_row else None)
    if per_row and 0 < np.count_nonzero(sample_weight) < num_samples(X):
        X, y, sample_weight = (
            None if one is None else safe_indexing(one, np.flatnonzero(sample_weight))
            for one in (X, y, sample_weight)
        )
    if not num_samples(X):
        yield Chunk(X, y, sample_weight)  # for the models to refuse
    start, n = 0, num_samples(X)
    while start < n:
        # rows of the first chunk, from which chunks double
        stop = min(start + min(chunk_size, max(10, n_before + start)), n)
        piece = slice(start, stop)
        yield Chunk(
            safe_indexing(X, piece),
            None if y is None else safe_indexing(y, piece),
            safe_indexing(sample_weight, piece) if per_row else sample_weight,
        )
        start = stop


def labels(pieces: list[Chunk]) -> np.ndarray | None:
    """The classes of all rows, of which the first chunk may not have all; None for the models to refuse."""
    if pieces[0].y is None:
        return None
    return np.unique(np.concatenate([np.ravel(np.asarray(piece.y)) for piece in pieces]))


def _sliceable(array: Any) -> Any:
    """Rows of an argument that has rows, as scikit-learn slices it."""
    if issparse(array):
        return array.tocsr()
    known = array is None or np.isscalar(array) or hasattr(array, "iloc") or hasattr(array, "__getitem__")
    return array if known else np.asarray(array)
