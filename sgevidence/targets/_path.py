r"""The path from one posterior to the next: the rows of a chunk are let in by a power λ of their likelihood.

    log f_λ(θ) = λ log p(y_n | θ) + log L_hist(θ) + log p(θ),    0 ≤ λ ≤ 1         (4.12)

Symbols: y_n ``chunk`` = the rows to absorb; L_hist ``memory`` = likelihood of the rows before them; ℓ_i
``ell`` = log p(y_n | θ_i), from :meth:`Path.increment`; λ ``lam`` = annealing parameter; B ``batch`` = rows
of a mini-batch.
"""

from typing import NamedTuple

import numpy as np

from ..history import MAX_HIGH_LEVERAGE_SHARE, Anchor, Influence, Memory, Rows
from ..models import Model
from ._target import Likelihood, Target, of_history


class Path(NamedTuple):
    """From p(θ | y_<n) to p(θ | y_≤n)."""

    model: Model
    memory: Memory
    chunk: Rows
    high_leverage: np.ndarray | None = None  #: indices of the chunk's rows of high leverage; None: unknown

    def with_leverage(self, theta: np.ndarray) -> "Path":
        """The path with the high-leverage rows of a large chunk, by draws of the posterior before it."""
        model, memory, chunk, high_leverage = self
        if high_leverage is not None or memory.anchor is None or len(chunk) <= memory.few:
            return self
        influence = Influence(model, memory.anchor.a, theta)
        return self._replace(
            high_leverage=influence.outstanding(chunk, int(MAX_HIGH_LEVERAGE_SHARE * len(chunk)), self.n)
        )

    @property
    def chunk_memory(self) -> Memory:
        """The chunk as a memory of its own."""
        return Memory.of(self.chunk, self.high_leverage)

    @property
    def n(self) -> float:
        """Total weight of the rows at its end."""
        return self.memory.n + self.chunk.total_weight

    @property
    def n_rows(self) -> int:
        """Rows at its end."""
        return self.memory.n_rows + len(self.chunk)

    @property
    def n_at_hand(self) -> int:
        """Rows that are here: of the memory, and of the chunk."""
        return self.memory.n_at_hand + len(self.chunk)

    @property
    def all_rows(self) -> Rows:
        """Rows of the memory, weighted to stand for all that were seen, and rows of the chunk."""
        return self.memory.sample.join(self.chunk) if self.memory.n_rows else self.chunk

    def increment(self, theta: np.ndarray) -> np.ndarray:
        """ℓ_i = log p(y_n | θ_i), (M,)."""
        return self.model.sum_log_likelihood(theta, self.chunk)

    def on_rows(self, size: int | None, rng: np.random.Generator) -> "Tempered":
        """The path on rows that stay the same, at most ``size`` of history and of chunk, and their anchor.

        With all rows at hand and None nothing is approximated.  A chunk is only thinned where there is an
        anchor to make up for it.
        """
        model, memory, chunk, _ = self
        anchor, size = memory.anchor, self.n_at_hand if size is None else size
        past = of_history(model, memory, size, rng)
        new = None
        if len(chunk) > size and anchor is not None:
            new = of_history(
                model, self.chunk_memory._replace(anchor=Anchor.of(model, anchor.a, chunk)), size, rng
            )
        return Tempered(model, new or Likelihood(chunk), past)

    def batch(self, lam: float, batch_size: int, rng: np.random.Generator) -> Rows:
        """The rows of Û (Eq. 4.14) as one weighted set: λ times the chunk, n/|B| times a new mini-batch."""
        if self.memory.n_rows == 0:
            return self.chunk.scaled(lam)
        return self.chunk.scaled(lam).join(self.memory.draw(batch_size, rng))


class Tempered(NamedTuple):
    """f_λ for any λ, on fixed rows."""

    model: Model
    new: Likelihood
    past: Likelihood | None

    def at(self, lam: float) -> Target:
        """log f_λ."""
        return Target(self.model, self.new.scaled(lam).plus(self.past))

    @property
    def is_exact(self) -> bool:
        """Nothing is approximated by an anchor and a sample of the history."""
        return all(part is None or part.correction is None for part in (self.past, self.new))
