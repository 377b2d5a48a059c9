r"""The parameters of a model with effects, all of them standard normal before the rows are seen.

    η = Φ S b + Σ_t Σ_j W_tj (Λ_t v_t)_{g_t j} + offset,        Λ_t Λ_tᵀ = D(τ_t) R_t D(τ_t),

    θ = (b, v, z) ~ N(0, I),        τ = F⁻¹(Φ(z)) of a half-Student-t(3),    R_t ~ LKJ(2).

Effects are never written as u = Λ v with a density of their own: at τ = 0 that density has no limit, and here
the rows say nothing of v, which is an ordinary case.

Symbols
-------
=======  ============  ==================================================================
math     code          meaning
=======  ============  ==================================================================
Φ, S, b  ``scales``    fixed columns (n, p), their prior standard deviations, coefficients
t        ``blocks``    terms with a scale of their own
g_t      ``code``      level of each row, (n,), below zero where it is not known
W_t      ``W``         what the effects of a level multiply, (n, q): 1, or 1 and days
Λ_t      ``factor``    lower triangular, (M, q, q)
z        ``z``         hyperparameters of all terms, then those of the family, (M, k)
=======  ============  ==================================================================
"""

from itertools import pairwise
from typing import Any, NamedTuple

import autograd.numpy as anp
import numpy as np

from ..models import LKJ, HalfStudentT, RootInverseGamma, from_normal
from ._factors import cumulative_shares


class Block(NamedTuple):
    """The effects of one term: ``n_levels`` of ``n_effects`` each."""

    n_levels: int
    n_effects: int
    scale: float = 1.0  #: of the half-t of each τ, in units of η
    correlated: bool = False
    common: bool = False  #: one τ for all effects, as of a curve
    in_noise: bool = False  #: τ² = g σ², g ~ InvGamma(1/2, scale²/2), and not a half-t
    in_steps: bool = False  #: all effects are shares of one, which rise from step to step
    root: Any = None  #: R = root rootᵀ where it is known, (q, q)
    widths: tuple[int, ...] = ()  #: numbers of effects that share a τ; (): each has its own
    n_contrasts: int = 0  #: effects, the first of a level, that are not correlated with each other

    @property
    def size(self) -> int:
        return self.n_levels * self.n_effects

    @property
    def n_scales(self) -> int:
        return 0 if self.in_steps else 1 if self.common else len(self.widths) or self.n_effects

    @property
    def n_hyperparameters(self) -> int:
        if self.in_steps:
            return self.n_effects - 1
        return self.n_scales + (self.n_correlations if self.correlated else 0)

    @property
    def sizes(self) -> list[int]:
        """Effects of all levels that share a τ, for each τ."""
        if not self.widths:
            return [self.size // max(self.n_scales, 1)] * self.n_scales
        return [self.n_levels * width for width in self.widths]

    @property
    def n_correlations(self) -> int:
        """Correlations that are not known."""
        q, k = self.n_effects, self.n_contrasts
        return (q * (q - 1) - k * (k - 1)) // 2

    def deviations(self, z: Any) -> Any:
        """τ of each effect, of those in noise τ/σ, (M, q), in ``autograd.numpy``."""
        tau = self.scales(z)
        return tau * np.ones(self.n_effects) if self.common else tau[:, self.places] if self.widths else tau

    def scales(self, z: Any) -> Any:
        """Every τ, (M, n_scales), in ``autograd.numpy``."""
        prior = RootInverseGamma(0.5, 0.5 * self.scale**2) if self.in_noise else HalfStudentT(self.scale)
        return from_normal(z[:, : self.n_scales], prior)

    @property
    def places(self) -> np.ndarray:
        """Number of the τ of each effect, (q,)."""
        return np.repeat(np.arange(len(self.widths)), self.widths)

    def correlation_factor(self, z: Any) -> Any:
        """Factor of R, (M, q, q) or (q, q)."""
        if self.root is not None:
            return self.root
        if not self.correlated or self.n_effects == 1:
            return np.eye(self.n_effects)
        known = self.n_contrasts * (self.n_contrasts - 1) // 2
        # rows of the factor of an LKJ matrix are independent: with those of contrasts at zero, the others
        # have the same density in all directions, and so for all orders of the levels
        z = anp.concatenate([np.zeros((len(z), known)), z[:, self.n_scales :]], axis=1)
        # concentration of the prior of correlations between the effects of a level: 2 takes mass from ±1
        return LKJ(self.n_effects, 2.0).factor(z)

    def correlations(self, z: np.ndarray) -> np.ndarray:
        """Correlations of a level's effects that are not known, (M, k), none if they are independent."""
        if not self.correlated or self.n_effects == 1:
            return np.zeros((len(z), 0))
        L = self.correlation_factor(z)
        rows, columns = (
            at[self.n_contrasts * (self.n_contrasts - 1) // 2 :] for at in np.tril_indices(self.n_effects, -1)
        )
        return (L @ L.swapaxes(1, 2))[:, rows, columns]

    def factor(self, z: Any) -> Any:
        """Λ of hyperparameters (M, n_hyperparameters), (M, q, q)."""
        if self.in_steps:
            shares = self.scale * cumulative_shares(z)[:, :, None]
            return shares * np.eye(self.n_effects)[0]  # a function of the first v alone
        return self.deviations(z)[:, :, None] * self.correlation_factor(z)


class Layout(NamedTuple):
    """Where everything is: in θ, and in the columns of encoded rows [Φ | W_1, g_1 | W_2, g_2 | …]."""

    scales: np.ndarray  #: S, (p,)
    blocks: tuple[Block, ...]

    @property
    def n_fixed(self) -> int:
        return len(self.scales)

    @property
    def fixed_precision(self) -> np.ndarray:
        return np.ones(self.n_fixed)

    @property
    def n_effects(self) -> int:
        return sum(block.size for block in self.blocks)

    @property
    def n_hyperparameters(self) -> int:
        return sum(block.n_hyperparameters for block in self.blocks)

    @property
    def n_columns(self) -> int:
        return self.n_fixed + sum(block.n_effects + 1 for block in self.blocks)

    def inputs(self, X: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """W (n, q) and the levels (n,) of each term."""
        found, at = [], self.n_fixed
        for block in self.blocks:
            W, code = X[:, at : at + block.n_effects], X[:, at + block.n_effects]
            found.append((W, code.astype(np.int64)))
            at += block.n_effects + 1
        return found

    def split(self, theta: Any) -> tuple[Any, list[Any], Any]:
        """b (M, p), v of each term (M, L, q), and all of z (M, k)."""
        at, effects = self.n_fixed, []
        for block in self.blocks:
            shape = (len(theta), block.n_levels, block.n_effects)
            effects.append(anp.reshape(theta[:, at : at + block.size], shape))
            at += block.size
        return theta[:, : self.n_fixed], effects, theta[:, at:]

    def hyperparameters(self, z: Any) -> list[Any]:
        """The part of z that each term has, then that of the family."""
        cuts = np.cumsum([0, *(block.n_hyperparameters for block in self.blocks)])
        return [*(z[:, a:b] for a, b in pairwise(cuts)), z[:, cuts[-1] :]]

    def factors(self, z: Any) -> list[Any]:
        """Λ of each term, (M, q, q)."""
        return [block.factor(part) for block, part in zip(self.blocks, self.hyperparameters(z))]

    @property
    def largest(self) -> int | None:
        """The group with most levels, which is integrated level by level; None without groups."""
        groups = [t for t, block in enumerate(self.blocks) if not block.common]
        return max(groups, key=lambda t: self.blocks[t].n_levels, default=None)
