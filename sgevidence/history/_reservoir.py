"""The rows seen so far: all of them, or a uniform sample of bounded size (Vitter 1985, algorithm R).

A reservoir is a value: :meth:`Reservoir.absorb` returns a new one, so that an interrupted update
leaves the old one as it was.  Every row is kept with its weight; sums over the sample are scaled
by the ratio of total weights: exact on average for equal weights, consistent (to 1/capacity) for others.

Symbols: ``n_rows`` rows seen, ``n`` = Σ weight seen, ``B`` = batch size.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ._rows import Rows

#: Rows whose slots are drawn at a time: 24 MB of numbers.
DRAWN_AT_A_TIME = 1_000_000


@dataclass(frozen=True)
class Reservoir:
    """A uniform sample of the rows seen."""

    capacity: int | None  #: most rows to keep; None keeps all
    rows: Any = None
    n_rows: int = 0  #: rows seen
    n: float = 0.0  #: their total weight
    equal_weights: bool = True  #: of all rows seen: mini-batches then need no cumulative sum
    _storage: "_Storage | None" = None

    def __len__(self) -> int:
        return 0 if self.rows is None else len(self.rows)

    @property
    def complete(self) -> bool:
        """All rows seen are still here."""
        return len(self) == self.n_rows

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_storage", "_cdf")} | {"_storage": None}

    def absorb(self, chunk: Rows, rng: np.random.Generator, left: np.ndarray | None = None) -> "Reservoir":
        """The reservoir after ``chunk``: row number i stays with probability capacity/i.

        Rows of the chunk whose indices are in ``left`` do not come.
        """
        coming = Coming(len(chunk), left)
        weight = chunk.weight if left is None else np.delete(chunk.weight, left)
        n_rows, n = self.n_rows + len(coming), self.n + float(np.sum(weight))
        first = chunk.weight[0] if self.rows is None else self.rows.weight[0]
        equal_weights = self.equal_weights and bool(np.all(chunk.weight == first))
        room = len(coming) if self.capacity is None else max(self.capacity - len(self), 0)
        if (
            self.capacity is not None and room and not self.complete
        ):  # grown in mid-stream: new rows stay with the probability of the old
            stay = rng.random(len(coming)) < len(self) / self.n_rows
            rows = self.rows.join(chunk.take(coming[np.flatnonzero(stay)]))
            if len(rows) > self.capacity:  # a uniform part of a uniform sample
                rows = rows.take(np.sort(rng.choice(len(rows), self.capacity, replace=False)))
            return Reservoir(self.capacity, rows, n_rows, n, equal_weights)
        storage, rows = self._storage, self.rows
        if room:
            new = chunk[:room] if left is None else chunk.take(coming.indices(room))
            storage = (storage or _Storage(rows)).append(rows, new)
            rows = storage.rows
        n_rest = len(coming) - room
        if n_rest > 0:
            slot, chosen = self._slots(n_rows - n_rest, n_rest, rng)
            rows, storage = rows.replace(slot, chunk.take(coming[room + chosen])), None
        return Reservoir(self.capacity, rows, n_rows, n, equal_weights, storage)

    def _slots(self, n_before: int, n_new: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Slots that new rows take, and the indices of these rows; the others do not stay.

        Where several rows take one slot the last stays, as if they had come one by one.
        """
        capacity = self.capacity or n_before  # it is full
        last = np.full(capacity, -1)
        for start in range(0, n_new, DRAWN_AT_A_TIME):
            coming = np.arange(start, min(start + DRAWN_AT_A_TIME, n_new))
            slot = (rng.random(len(coming)) * (n_before + coming + 1)).astype(int)
            stay = slot < capacity
            last[slot[stay]] = coming[stay]
        slots = np.flatnonzero(last >= 0)
        return slots, last[slots]

    @cached_property
    def _cdf(self) -> np.ndarray:
        return np.cumsum(self.rows.weight)

    def draw(self, batch_size: int, rng: np.random.Generator) -> Rows:
        """An i.i.d. mini-batch whose weighted sum estimates the sum over all rows seen.

        Rows are drawn in proportion to their weight; each then stands for n/B.  Given the rows kept there is
        no bias: the mean over draws is n Σ w f / Σ w.  A history no larger
        than the batch is returned whole, which is exact.
        """
        if self.complete and max(len(self), self.n) <= batch_size:
            return self.rows
        if self.equal_weights:
            indices = (rng.random(batch_size) * len(self)).astype(int)
        else:
            indices = np.searchsorted(self._cdf, rng.random(batch_size) * self._cdf[-1], side="right")
        batch = self.rows.take(indices)
        return Rows(batch.X, batch.y, np.full(batch_size, self.n / batch_size))


class Coming:
    """Indices of the rows of a chunk that come, as a large chunk is not copied for the few that do not.

    ``left`` (k,) are the indices of these; None if all of the ``n_rows`` come.
    """

    def __init__(self, n_rows: int, left: np.ndarray | None) -> None:
        left = np.zeros(0, dtype=int) if left is None else np.sort(left)
        self.n = n_rows - len(left)
        self.before = left - np.arange(len(left))  #: rows that come before each of those that do not

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, numbers: np.ndarray) -> np.ndarray:
        """Indices in the chunk of the rows that come in these places."""
        return numbers + np.searchsorted(self.before, numbers, side="right")

    def indices(self, most: int | None = None) -> np.ndarray:
        """Indices in the chunk of the first ``most`` rows that come, or of all of them."""
        return self[np.arange(self.n if most is None else min(most, self.n))]


class _Storage:
    """Arrays that grow by doubling and are shared by the successive reservoirs of one stream.

    A reservoir sees only the first rows.  Appending behind them is safe while nobody else has
    appended there; otherwise (two branches of one stream) the rows are copied first.
    """

    def __init__(self, rows: Rows | None):
        self.rows: Any = rows
        self.arrays: Any = None

    def append(self, seen: Rows | None, new: Rows) -> "_Storage":
        seen = (
            new[:0] if seen is None else seen
        )  # the first rows are copied too: their owner may reuse the array
        n, total = len(seen), len(seen) + len(new)
        joint = seen[:0].join(new[:0])  # types that hold both: whole targets may be followed by fractions
        storage = self
        if (
            self.arrays is None
            or len(self.rows) != n
            or total > len(self.arrays[0])
            or any(a is not None and a.dtype != b.dtype for a, b in zip(self.arrays, _columns(joint)))
        ):
            storage = _Storage(seen)
            storage.arrays = [
                None if a is None else _grown(a, 2 * total, b.dtype)
                for a, b in zip(_columns(seen), _columns(joint))
            ]
        for array, part in zip(storage.arrays, _columns(new)):
            if array is not None:
                array[n:total] = part
        filled: list[Any] = [None if a is None else a[:total] for a in storage.arrays]
        storage.rows = Rows(*filled)
        return storage


def _columns(rows: Rows) -> tuple[Any, Any, Any]:
    return rows.X, rows.y, rows.weight


def _grown(a: np.ndarray, length: int, dtype: Any) -> np.ndarray:
    out = np.empty((length, *a.shape[1:]), dtype)
    out[: len(a)] = a
    return out
