r"""The doubt of anchored sums: the error that moving them on a sample of the rows has left, by block.

Each block of the sample moves the sums to the new point by itself (:meth:`.Anchor.moved`).  Their weighted
mean is the new anchor, and with A_b = S_b + G_b·u − ½ uᵀH_b u what block b has moved them to,

    e_b(θ) = share_b √(1 − Σ_R w/n) [A_b(θ) − Σ_c share_c A_c(θ)],      Var A(θ) ≈ Σ_b e_b(θ)².

The e_b are quadratics about the anchor as the sums are: they are carried to the next point exactly, and
what the next move leaves is added block by block, since a row that stays in the sample errs there in the
same way.  log L_hist(θ) was known when the first row was dropped, so this is all of its error near the
anchor; that of log Ẑ, which the particles share, is its mean over them (first order).

Symbols: ``a`` = anchor, ``u`` = θ − a, ``delta`` = way to a new one, ``S, G, H`` = those of e_b, (B,),
(B, d), (B, d, d); ``share`` = weight of a block in that of all.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

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

    def plus(self, other: "Doubt | None") -> "Doubt":
        """Block by block; both at one point."""
        if other is None:
            return self
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
