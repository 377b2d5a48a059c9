r"""Mixture of independent categorical columns: latent class analysis.

p(x) = Σ_k π_k Π_j φ_kj(x_j) with π ~ Dirichlet(a, …, a) and φ_kj ~ Dirichlet(c, …, c) over the L_j levels of
column j.  A missing value, of code −1, is a factor of one.

θ = [z, u], d = K (1 + Σ_j L_j).  The weights are π = softmax(z) with z_k = log Gamma(a) variates, and
φ_kj = softmax(u_kj) with u_kjl = log Gamma(c) variates: exact Dirichlet priors, each with one redundant
direction, which the prior keeps proper.  The components are exchangeable, and the evidence is over all K!
labellings.

The log-likelihood of a block of rows is one matrix product.  With indicators F = [1{x_j = l}, 1] of the
levels and A_k = [log φ_k, log π_k],

    log π_k Π_j φ_kj(x_rj) = A_k · F_r,

so that all components, particles and rows are A Fᵀ.

Symbols: ``z`` (M, K), ``u, log_phi`` (M, K, q) with q = Σ_j L_j, columns one after the other; ``F`` =
indicators of each row, (n, q + 1); ``A`` = coefficients of each component and particle, (K, M, q + 1); ``R``
= logarithms, then responsibilities, (K, m, n) of m particles at a time; ``T`` = Σ_r w_r R_kr F_r, (K, M, q +
1).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma
from typing import NamedTuple

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive

from ...models import log_shares
from ..components import Categorical
from ._mixture import Mixture
from ._natural_sums import joined, natural_sum, on_log_gammas
from ._one_component import OneComponent


@primitive
def natural_of_levels(theta, K, family):
    """A (K, M, q + 1) of θ (M, d)."""
    u = theta[:, K:].reshape(len(theta), K, -1).transpose(1, 0, 2)
    A = family.coefficients(family.of_blocks(u))
    A[..., -1] = log_shares(theta[:, :K]).T
    return A


def _natural_vjp(A, theta, K, family):
    def vjp(g):
        on_u = g[..., :-1] - np.exp(A[..., :-1]) * family.totals(g[..., :-1])
        return joined(on_log_gammas(A[..., -1], g[..., -1]), np.swapaxes(on_u, 1, 2))

    return vjp


defvjp(natural_of_levels, _natural_vjp, argnums=(0,))


@dataclass(frozen=True)
class CategoricalMixtureModel(Mixture):
    """Mixture of independent categorical columns; rows are codes 0 … L_j − 1, or −1 where one is missing.

    The priors of the weights and of the probabilities of levels are symmetric Dirichlet distributions.
    """

    n_components: int
    n_levels: tuple[int, ...]  #: L_j, of each column
    weight_concentration: float = 1.0
    category_concentration: float = 0.5

    @property
    def n_features(self) -> int:  # type: ignore[override]
        return len(self.n_levels)

    @property
    def widths(self) -> tuple[int]:  # type: ignore[override]
        return (sum(self.n_levels),)

    @property
    def log_gammas(self) -> Sequence[tuple[np.ndarray, float]]:
        _, u = self._split(np.arange(self.n_params)[None])
        columns = [column for of_class in u[0] for column in self.family.by_column(of_class)]
        return *super().log_gammas, *((column, self.category_concentration) for column in columns)

    @property
    def family(self) -> Categorical:  # type: ignore[override]
        return Categorical(self.n_levels, self.category_concentration)

    # -- what is believed -----------------------------------------------------------------------

    def log_prior(self, theta):
        K = self.n_components
        return _log_gamma_density(theta[:, :K], self.weight_concentration) + _log_gamma_density(
            theta[:, K:], self.category_concentration
        )

    def _block_log_likelihood(self, theta, rows, tape, single_below=0.0):
        A = natural_of_levels(theta, self.n_components, self.family)
        return natural_sum(A, self.family.features(rows.X), rows.weight, tape, single_below)

    def parameters(self, theta):
        """Weights (M, K), and the probabilities of all levels, columns one after the other, (M, K, q)."""
        z, u = self._split(theta)
        phi = np.exp(self.family.of_blocks(u).log_probabilities)
        return {"weights": np.exp(log_shares(z)), "category_probabilities": phi}

    def starts(self, rows, n_starts: int, rng) -> np.ndarray:
        """Points to look for modes from, (n_starts, d): each component is next to a random row of its own.

        The rows are shared among components by how many of their columns agree, and the counts of each share
        are the start.
        """
        K, F = self.n_components, self.family.features(rows.X)
        chosen = np.argsort(rng.random((n_starts, len(rows))), axis=1)[:, : min(K, len(rows))]
        agree = F[chosen][..., :-1] @ F[:, :-1].T + 0.5 * rng.random((n_starts, chosen.shape[1], 1))
        return self.at_groups(rows, np.argmax(agree, axis=1)[:, None] == np.arange(K)[:, None])

    # -- one component: a closed form -----------------------------------------------------------

    def _sums_of_one(self, rows) -> "LevelCounts":
        """Counts of the levels."""
        return LevelCounts(rows.weight @ self.family.features(rows.X))

    def posterior(self, sums) -> OneComponent:
        """A Dirichlet for each column."""
        return OneComponent(self, self.family, sums.counts)


class LevelCounts(NamedTuple):
    """Σ_r ω_r of the rows that have each level, and of all rows: (q + 1,)."""

    counts: np.ndarray

    def plus(self, other: "LevelCounts") -> "LevelCounts":
        """Counts over both sets of rows."""
        return LevelCounts(self.counts + other.counts)

    @property
    def total_weight(self) -> float:
        return float(self.counts[-1])


def _log_gamma_density(z, a):
    """log density of log Gamma(a) variates, summed over the columns of z."""
    return anp.sum(a * z - anp.exp(z), axis=1) - z.shape[1] * lgamma(a)
