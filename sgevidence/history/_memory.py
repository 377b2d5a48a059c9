r"""The memory of a stream: a sample of the rows, sums over all of them, and the labels that both are in.

The three belong together.  The anchor's sums stand for exactly the rows seen, at a point in the slots of
``labels``; :meth:`Memory.absorb` is the only way to change them.  The sample has two parts: rows of which
each stands for itself (``high_leverage``, see :mod:`._influence`), and a uniform part of all others.

The reservoir has all rows seen, or a uniform sample of bounded size (Vitter 1985, algorithm R).  It is a
value: :meth:`Reservoir.absorb` returns a new one, so that an interrupted update leaves the old one as it
was.  Every row is kept with its weight; sums over the sample are scaled by the ratio of total weights: exact
on average for equal weights, consistent (to 1/capacity) for others.

Symbols: ``n_rows`` rows seen, ``n`` = their total weight; ``anchor`` = (a, S, G, H), see :mod:`._anchor`;
``B`` = batch size.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..models import Model
from ._anchor import Anchor
from ._influence import Influence
from ._rows import FoldedRows, Rows

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


#: Share of the rows, or of the capacity, that may be kept for their leverage.
MAX_HIGH_LEVERAGE_SHARE = 0.05


class Memory(NamedTuple):
    """The rows seen; a value, never changed in place."""

    reservoir: Reservoir
    anchor: Anchor | None = None  #: None where none is kept, or before the first chunk
    labels: tuple | None = None  #: slots of exchangeable components that the anchor is in
    largest: int | None = None  #: capacity up to which the reservoir may grow; None: not at all
    high_leverage: Rows | None = None  #: rows seen that are kept for their leverage, beside the reservoir
    statistics: Any = None  #: all that a closed form asks of the rows seen, in their place (Model.sums)

    @classmethod
    def of(cls, rows: Rows, high_leverage: np.ndarray | None = None) -> "Memory":
        """The memory of rows that are all at hand, with the indices of those that samples of them must have.

        These weigh nothing among the others, which are not copied.
        """
        if high_leverage is None or not len(high_leverage):
            return cls(Reservoir(None, rows, len(rows), rows.total_weight))
        weight = rows.weight.copy()
        weight[high_leverage] = 0.0
        rest = replace(rows, weight=weight)
        return cls(
            Reservoir(None, rest, len(rest), rest.total_weight, False), high_leverage=rows.take(high_leverage)
        )

    @classmethod
    def empty(cls, capacity: int | None = None, largest: int | None = None) -> "Memory":
        """Nothing seen yet."""
        return cls(Reservoir(capacity), largest=largest)

    @property
    def n(self) -> float:
        """Total weight of the rows seen."""
        return self.reservoir.n + (0.0 if self.high_leverage is None else self.high_leverage.total_weight)

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return self.reservoir.n_rows + self.n_high_leverage

    @property
    def n_high_leverage(self) -> int:
        """Rows of which each stands for itself, whatever else is kept."""
        return 0 if self.high_leverage is None else len(self.high_leverage)

    @property
    def n_at_hand(self) -> int:
        """Rows kept."""
        return len(self.reservoir) + self.n_high_leverage

    @property
    def complete(self) -> bool:
        """Nothing is lost of the rows seen: all are still here, or statistics stand for them."""
        return self.statistics is not None or self.reservoir.complete

    @property
    def sums(self) -> Anchor:
        """The anchor, where one is kept."""
        if self.anchor is None:
            raise ValueError("no anchor is kept")
        return self.anchor

    @property
    def at_hand(self) -> Rows:
        """The rows kept, as they came."""
        return self.with_high_leverage(self.reservoir.rows)

    @property
    def sample(self) -> Rows:
        """The rows kept, weighted to stand for all that were seen."""
        kept = self.reservoir.rows
        return self.with_high_leverage(kept.scaled(self.reservoir.n / kept.total_weight))

    def with_high_leverage(self, rows: Rows) -> Rows:
        """These rows of the reservoir, and the rows of high leverage."""
        return rows if self.high_leverage is None else rows.join(self.high_leverage)

    def draw(self, batch_size: int, rng: np.random.Generator) -> Rows:
        """A mini-batch, with all rows of high leverage: its sum estimates the sum over all rows seen."""
        return self.with_high_leverage(self.reservoir.draw(batch_size, rng))

    def anchor_distance(self, mean: np.ndarray) -> float:
        """Distance of a point from the anchor, in posterior widths per √d; nan without an anchor."""
        if self.anchor is None:
            return np.nan
        u = mean - self.anchor.a
        return float(np.sqrt(max(u @ self.anchor.H @ u, 0.0) / len(u)))

    def moved(self, model: Model, a: np.ndarray) -> Anchor:
        """The sums at another point: exact while all rows are here, else from the sample, with its doubt."""
        kept = self.reservoir.rows
        if self.complete:
            sums = Anchor.of(model, a, kept)
            return sums if self.high_leverage is None else sums.plus(Anchor.of(model, a, self.high_leverage))
        n, weight = self.reservoir.n, kept.total_weight
        return self.sums.moved_by_blocks(model, a, kept.scaled(n / weight), weight / n, self.high_leverage)

    def doubt_var(self, theta: np.ndarray, W: np.ndarray) -> float:
        """Variance of log Ẑ from what the anchored sums do not know, nats²; 0 while they are exact."""
        doubt = None if self.anchor is None else self.anchor.doubt
        return 0.0 if doubt is None else doubt.shared_var(theta, W)

    def summed(self, chunk: Rows | FoldedRows, statistics: Any) -> "Memory":
        """The memory after ``chunk``, in which statistics stand for all rows and none is kept."""
        return self._of_sums(self.n_rows + len(chunk), self.n + chunk.total_weight, statistics)

    def plus(self, other: "Memory") -> "Memory":
        """The memory of the rows of both, where statistics stand for all of them."""
        sums = self.statistics.plus(other.statistics)
        return self._of_sums(self.n_rows + other.n_rows, self.n + other.n, sums)

    def _of_sums(self, n_rows: int, n: float, statistics: Any) -> "Memory":
        reservoir = Reservoir(self.reservoir.capacity, None, n_rows, n, False)
        return Memory(reservoir, largest=self.largest, statistics=statistics)

    def absorb(
        self,
        chunk: Rows,
        rng: np.random.Generator,
        anchor: Anchor | None = None,
        labels: tuple | None = None,
        grow: bool = False,
        influence: Influence | None = None,
        high_leverage: np.ndarray | None = None,
    ) -> "Memory":
        """The memory after ``chunk``; ``rng`` decides which rows stay.

        The anchor has sums over all rows, the chunk's included (None keeps none); ``labels`` are the slots
        that it is in.  ``grow`` keeps twice as many rows from now on: the sample has been found too noisy.
        ``influence`` finds the rows of high leverage (None keeps no more of them), ``high_leverage`` (k,) are
        their indices in the chunk, where they are known.
        """
        reservoir, capacity = self.reservoir, self.reservoir.capacity
        if grow and capacity is not None and self.largest is not None:
            reservoir = replace(reservoir, capacity=max(capacity, min(2 * capacity, self.largest)))
        memory, left, gone = (
            Memory(reservoir, anchor, labels, self.largest, self.high_leverage),
            None,
            chunk[:0],
        )
        if influence is not None and self.n_rows + len(chunk) > memory.few:
            memory, chunk, left, gone = memory._parted(chunk, influence, high_leverage)
        reservoir = memory.reservoir.absorb(chunk, rng, left)
        if len(gone):
            reservoir = reservoir.absorb(gone, rng)
        return memory._replace(reservoir=reservoir)

    @property
    def few(self) -> float:
        """Rows up to which all are used, so that none need be kept for its leverage."""
        # rows that are used whole, where there is room for them
        return min(2500, self.reservoir.capacity or np.inf)

    def _parted(
        self, chunk: Rows, influence: Influence, new: np.ndarray | None
    ) -> tuple["Memory", Rows, np.ndarray | None, Rows]:
        """With rows of high leverage; rows that come to the reservoir, which of them do not, and more.

        Rows that the memory has already are looked at once, when they are too many to be used whole: later
        they may be a sample, from which none may be chosen by what it tells.  Rows that lose their leverage
        come as if they were new.
        """
        memory, n = self, float(self.n_rows + len(chunk))
        most = int(MAX_HIGH_LEVERAGE_SHARE * min(self.reservoir.capacity or np.inf, n))
        if 0 < self.n_rows <= self.few and self.complete:
            everything = self.at_hand.join(chunk)
            new = influence.outstanding(everything, most, n)
            if len(new):
                memory, chunk = self._replace(reservoir=Reservoir(self.reservoir.capacity)), everything
        elif new is None:
            new = influence.outstanding(chunk, most, n)
        if not len(new) and memory.high_leverage is None:
            return memory, chunk, None, chunk[:0]
        kept = chunk.take(new)
        if memory.high_leverage is not None:
            kept = memory.high_leverage.join(kept)
        kept, gone = kept.parted(influence.still(kept, most, n))
        return (
            memory._replace(high_leverage=kept if len(kept) else None),
            chunk,
            new if len(new) else None,
            gone,
        )
