r"""A quadratic memory of rows: sums of the log-likelihood and its derivatives at one point.

For any θ near the anchor a, with u = θ − a and a weighted sample R of the rows,

    log L(θ) ≈ S + G·u − ½ uᵀHu + Σ_{r∈R} w_r [log p(y_r|θ) − log p(y_r|a) − g_r·u + ½ uᵀH_r u].

The sums are over all rows, exactly; the sample only sees the remainder, which is third order in u,
and u shrinks as n^(−1/2).  Collecting the sample's own sums at a, this is

    log L(θ) ≈ Σ_{r∈R} w_r log p(y_r|θ) + correction(θ),      correction = anchor − anchor of R,

a quadratic: that is how the kernels use it.  Without the H terms it is the first-order form of
Baker et al. (2019); with a sample that holds all rows the correction vanishes.

Moving the sums on a sample of the rows leaves an error, their doubt, by block.  Each block of the sample
moves the sums to the new point by itself (:meth:`.Anchor.moved`).  Their weighted mean is the new anchor, and
with A_b = S_b + G_b·u − ½ uᵀH_b u what block b has moved them to,

    e_b(θ) = share_b √(1 − Σ_R w/n) [A_b(θ) − Σ_c share_c A_c(θ)],      Var A(θ) ≈ Σ_b e_b(θ)².

The e_b are quadratics about the anchor as the sums are: they are carried to the next point exactly, and
what the next move leaves is added block by block, since a row that stays in the sample errs there in the
same way.  log L_hist(θ) was known when the first row was dropped, so this is all of its error near the
anchor; that of log Ẑ, which the particles share, is its mean over them (first order).

Symbols: a = anchor point, (d,); S, G, H = Σ log p, Σ ∇ log p, −Σ ∇∇ log p at a, or those of e_b; Δ =
``delta``, the way to a new anchor; ``share`` = weight of a block in that of all.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..models import Model
from ._rows import Rows

#: Disjoint blocks of a sample that its error is read from: the standard deviation is good to 18 %.
N_BLOCKS = 16


class Doubt(NamedTuple):
    """Errors of the anchored sums, one quadratic about the anchor for each block of the sample."""

    a: np.ndarray
    S: np.ndarray
    G: np.ndarray
    H: np.ndarray

    @classmethod
    def of(cls, anchors: Sequence[Any], share: np.ndarray, sampled: float) -> "Doubt":
        """From what each block says of the sums at one point; ``sampled`` is the share of rows at hand."""
        B, rest = len(share), max(1.0 - sampled, 0.0)
        factor = share * np.sqrt(rest * B / (B - 1))
        S, G, H = (np.array([getattr(one, name) for one in anchors]) for name in "SGH")
        S, G, H = (sums - np.tensordot(share, sums, 1) for sums in (S, G, H))
        return cls(anchors[0].a, factor * S, factor[:, None] * G, factor[:, None, None] * H)

    def at(self, a: np.ndarray) -> "Doubt":
        """These quadratics about another point."""
        delta = a - self.a
        H_delta = self.H @ delta
        return Doubt(a, self.S + self.G @ delta - 0.5 * H_delta @ delta, self.G - H_delta, self.H)

    def plus(self, other: "Doubt") -> "Doubt":
        """Block by block; both at one point."""
        return Doubt(self.a, *(one + more for one, more in zip(self[1:], other[1:])))

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        """e_b at each particle, (B, M)."""
        u = theta - self.a
        return self.S[:, None] + self.G @ u.T - 0.5 * np.sum((u @ self.H) * u, axis=2)

    def shared_var(self, theta: np.ndarray, W: np.ndarray) -> float:
        """Variance of log Ẑ: the square of what the errors are on average over the particles."""
        u = theta - self.a
        mean = self.S + self.G @ (W @ u) - 0.5 * np.tensordot(self.H, (u.T * W) @ u, 2)
        return float(mean @ mean)

    def spread(self, theta: np.ndarray, W: np.ndarray) -> float:
        """Standard deviation over particles of the error, nats: it distorts the posterior."""
        errors = self(theta)
        apart = errors - (errors @ W)[:, None]
        return float(np.sqrt(np.sum(apart**2 @ W)))


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
