r"""What was seen: a sample of the rows, sums over all of them, and the labels that both are in.

The three belong together.  The anchor's sums stand for exactly the rows that the reservoir has seen, at a
point in the slots of ``labels``; :meth:`Memory.absorb` is the only way to change them.

Symbols: ``n`` = total weight of the rows seen; ``anchor`` = (a, S, G, H), see :mod:`._anchor`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..models import Model
from ._anchor import Anchor
from ._reservoir import Reservoir
from ._rows import Rows


class Memory(NamedTuple):
    """The rows seen; a value, never changed in place."""

    reservoir: Reservoir
    anchor: Anchor | None = None  #: None where none is kept, or before the first chunk
    labels: tuple | None = None  #: slots of exchangeable components that the anchor is in
    largest: int | None = None  #: capacity up to which the reservoir may grow; None: not at all

    @classmethod
    def empty(cls, capacity: int | None = None, largest: int | None = None) -> "Memory":
        """Nothing seen yet."""
        return cls(Reservoir(capacity), largest=largest)

    @property
    def n(self) -> float:
        """Total weight of the rows seen."""
        return self.reservoir.n

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return self.reservoir.n_rows

    @property
    def complete(self) -> bool:
        """All rows seen are still here."""
        return self.reservoir.complete

    @property
    def sums(self) -> Anchor:
        """The anchor, where one is kept."""
        if self.anchor is None:
            raise ValueError("no anchor is kept")
        return self.anchor

    @property
    def sample(self) -> Rows:
        """The rows kept, weighted to stand for all that were seen."""
        kept = self.reservoir.rows
        return kept.scaled(self.n / kept.total_weight)

    def anchor_distance(self, mean: np.ndarray) -> float:
        """Of a point from the anchor, in posterior widths per √d; nan without an anchor."""
        if self.anchor is None:
            return np.nan
        u = mean - self.anchor.a
        return float(np.sqrt(max(u @ self.anchor.H @ u, 0.0) / len(u)))

    def moved(self, model: Model, a: np.ndarray) -> Anchor:
        """The sums at another point: exact while all rows are here, else from the sample, with its doubt."""
        if self.complete:
            return Anchor.of(model, a, self.reservoir.rows)
        return self.sums.moved_by_blocks(model, a, self.sample, self.reservoir.rows.total_weight / self.n)

    def doubt_var(self, theta: np.ndarray, W: np.ndarray) -> float:
        """Variance of log Ẑ from what the anchored sums do not know, nats²; 0 while they are exact."""
        doubt = None if self.anchor is None else self.anchor.doubt
        return 0.0 if doubt is None else doubt.shared_var(theta, W)

    def absorb(
        self,
        chunk: Rows,
        rng: np.random.Generator,
        anchor: Anchor | None = None,
        labels: tuple | None = None,
        grow: bool = False,
        condensed: Callable[[Rows], Rows | None] | None = None,
    ) -> "Memory":
        """The memory after ``chunk``.

        Parameters
        ----------
        chunk : Rows
        rng : numpy.random.Generator
            Decides which rows stay.
        anchor : Anchor or None
            Sums over all rows, the chunk's included; None keeps none.
        labels : tuple or None
            The slots that it is in.
        grow : bool
            Keep twice as many rows from now on: the sample has been found too noisy.
        condensed : callable or None
            The model's own way to say the same with fewer rows.
        """
        reservoir, capacity = self.reservoir, self.reservoir.capacity
        if grow and capacity is not None and self.largest is not None:
            reservoir = replace(reservoir, capacity=max(capacity, min(2 * capacity, self.largest)))
        return Memory(reservoir.absorb(chunk, rng, condensed), anchor, labels, self.largest)
