"""Rows in the chunks in which models predict them and then learn from them, in the order given."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length

from .._compat import num_samples, safe_indexing

#: Rows of the first chunk, from which chunks double.
FIRST_CHUNK = 10


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


def chunks(X: Any, y: Any, sample_weight: Any, n_before: int, chunk_size: int) -> Iterator[Chunk]:
    """Chunks that double the rows seen, from ten, until they have ``chunk_size``; no rows of weight zero."""
    per_row = sample_weight is not None and np.ndim(sample_weight) > 0
    check_consistent_length(X, y, sample_weight if per_row else None)
    if per_row and 0 < np.count_nonzero(sample_weight) < num_samples(X):
        X, y, sample_weight = (
            None if one is None else safe_indexing(one, np.flatnonzero(sample_weight))
            for one in (X, y, sample_weight)
        )
    start, n = 0, num_samples(X)
    while start < n:
        stop = min(start + min(chunk_size, max(FIRST_CHUNK, n_before + start)), n)
        piece = slice(start, stop)
        yield Chunk(
            safe_indexing(X, piece),
            None if y is None else safe_indexing(y, piece),
            safe_indexing(sample_weight, piece) if per_row else sample_weight,
        )
        start = stop
