r"""A quadratic memory of rows: sums of the log-likelihood and its derivatives at one point.

For any θ near the anchor a, with u = θ − a and a weighted sample R of the rows,

    log L(θ) ≈ S + G·u − ½ uᵀHu + Σ_{r∈R} w_r [log p(y_r|θ) − log p(y_r|a) − g_r·u + ½ uᵀH_r u].

The sums are over all rows, exactly; the sample only sees the remainder, which is third order in u,
and u shrinks as n^(−1/2).  Collecting the sample's own sums at a, this is

    log L(θ) ≈ Σ_{r∈R} w_r log p(y_r|θ) + correction(θ),      correction = anchor − anchor of R,

a quadratic: that is how the kernels use it.  Without the H terms it is the first-order form of
Baker et al. (2019); with a sample that holds all rows the correction vanishes.

Symbols: a = anchor point, (d,); S, G, H = Σ log p, Σ ∇ log p, −Σ ∇∇ log p at a; u = θ − a; Δ = ``delta``, the
way to a new anchor.
"""

from typing import NamedTuple

import numpy as np

from ..models import Model
from ._doubt import N_BLOCKS, Doubt
from ._rows import Rows


class Anchor(NamedTuple):
    """S + G·u − ½ uᵀHu about a; sums of rows, so that anchors at one point add and subtract."""

    a: np.ndarray
    S: float
    G: np.ndarray
    H: np.ndarray
    doubt: Doubt | None = None  #: what is wrong with them, where they were moved on a sample

    @classmethod
    def of(cls, model: Model, a: np.ndarray, rows: Rows) -> "Anchor":
        """Sums over these rows, in one pass."""
        S, G, hessian = model.derivatives(a, rows)
        return cls(a, S, G, -hessian)

    @classmethod
    def empty(cls, a: np.ndarray) -> "Anchor":
        d = len(a)
        return cls(a, 0.0, np.zeros(d), np.zeros((d, d)))

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        """The quadratic at each particle, (M,)."""
        u = theta - self.a
        return self.S + u @ self.G - 0.5 * np.sum((u @ self.H) * u, axis=1)

    def grad(self, theta: np.ndarray) -> np.ndarray:
        """Its gradient, (M, d)."""
        return self.G - (theta - self.a) @ self.H

    def plus(self, other: "Anchor", factor: float = 1.0) -> "Anchor":
        """This plus ``factor`` times another one at the same point, which is taken as it is."""
        S, G, H = self.S + factor * other.S, self.G + factor * other.G, self.H + factor * other.H
        return Anchor(self.a, S, G, H, self.doubt)

    def moved(self, model: Model, a: np.ndarray, sample: Rows) -> "Anchor":
        """The sums at a new point, without a pass over the rows: the sample gives the remainders.

        With Δ = a' − a:  G' = G − HΔ + Σ_R w [g(a') − g(a) + H_r Δ] and so on; exact if the sample
        holds all rows.  :meth:`moved_by_blocks` says how wrong the others are.
        """
        here, there = Anchor.of(model, self.a, sample), Anchor.of(model, a, sample)
        rest = self.plus(here, -1.0)
        delta = a - self.a
        return Anchor(
            a,
            there.S + rest.S + rest.G @ delta - 0.5 * delta @ rest.H @ delta,
            there.G + rest.G - rest.H @ delta,
            there.H + rest.H,
        )

    def moved_by_blocks(
        self, model: Model, a: np.ndarray, sample: Rows, sampled: float, high_leverage: Rows | None = None
    ) -> "Anchor":
        """The anchor with its doubt: rows i, i + B, i + 2B, … of the sample are block i.

        ``sampled`` is the share in the sample of all rows but those of ``high_leverage``, each for itself.
        """
        blocks = [sample.take(np.arange(b, len(sample), N_BLOCKS)) for b in range(min(N_BLOCKS, len(sample)))]
        weights = np.array([block.total_weight for block in blocks])
        n, share = weights.sum(), weights / weights.sum()
        blocks = [block.scaled(n / w) for block, w in zip(blocks, weights)]
        if high_leverage is not None:
            blocks = [block.join(high_leverage) for block in blocks]
        moved = [self.moved(model, a, block) for block in blocks]
        S, G, H = (np.tensordot(share, [getattr(one, name) for one in moved], 1) for name in "SGH")
        doubt = Doubt.of(moved, share, sampled)
        if self.doubt is not None:
            doubt = self.doubt.at(a).plus(doubt)
        return Anchor(a, float(S), G, H, doubt)
