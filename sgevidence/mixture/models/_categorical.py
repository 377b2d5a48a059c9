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
from itertools import pairwise
from math import lgamma
from typing import NamedTuple

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive

from ...models import SINGLE_PRECISION_TOTAL, Evaluation, Exchangeable, Model, log_gamma_draws, log_shares
from ..components import Categorical, CategoricalParameters
from ..strata import is_known, mixture_answer
from ._natural_sums import natural_pass
from ._one_component import OneComponent


@primitive
def fused(theta, F, weight, K, n_levels, tape, single_below):
    """Σ_r w_r log Σ_k π_k Π_j φ_kj(x_rj), (M,)."""
    M, edges = len(theta), np.cumsum((0, *n_levels))
    u = theta[:, K:].reshape(M, K, -1).transpose(1, 0, 2)
    A = np.empty((K, M, F.shape[1]))
    A[:, :, -1] = log_shares(theta[:, :K]).T
    for part in map(slice, edges, edges[1:]):
        A[:, :, part] = log_shares(u[:, :, part])
    value, T = natural_pass(A, F, weight, single_below, tape is not None)
    if tape is not None:
        tape.append((T, A))
    return value


def _fused_vjp(ans, theta, F, weight, K, n_levels, tape, single_below):
    T, A = tape.pop()
    M, edges = len(theta), np.cumsum((0, *n_levels))

    def vjp(g):
        out = np.empty_like(theta)
        N = T[:, :, -1].T
        out[:, :K] = N - np.exp(A[:, :, -1].T) * N.sum(axis=1, keepdims=True)
        slope = np.empty((K, M, edges[-1]))
        for part in map(slice, edges, edges[1:]):
            n = T[:, :, part]
            slope[:, :, part] = n - np.exp(A[:, :, part]) * n.sum(axis=2, keepdims=True)
        out[:, K:] = slope.transpose(1, 0, 2).reshape(M, -1)
        return g[:, None] * out

    return vjp


defvjp(fused, _fused_vjp, argnums=(0,))


@dataclass(frozen=True)
class CategoricalMixtureModel(Exchangeable, Model):
    """Mixture of independent categorical columns; rows are codes 0 … L_j − 1, or −1 where one is missing.

    The priors of the weights and of the probabilities of levels are symmetric Dirichlet distributions.
    """

    n_components: int
    n_levels: tuple[int, ...]  #: L_j, of each column
    weight_concentration: float = 1.0
    category_concentration: float = 0.5

    evaluation = Evaluation(fused_elements=1_000_000, single_precision_total=SINGLE_PRECISION_TOTAL)

    has_one_mode = True  # in each labelling, or its own search finds them
    own_answer = staticmethod(mixture_answer)
    is_affordable = is_known

    @property
    def n_features(self) -> int:
        return len(self.n_levels)

    @property
    def n_params(self) -> int:
        return self.n_components * (1 + sum(self.n_levels))

    @property
    def slots(self) -> np.ndarray:
        K = self.n_components
        return np.column_stack([np.arange(K), np.arange(K, self.n_params).reshape(K, -1)])

    @property
    def log_gammas(self) -> Sequence[tuple[np.ndarray, float]]:
        K, columns = self.n_components, [np.arange(self.n_components)]
        for start in range(K, self.n_params, sum(self.n_levels)):
            columns += self._by_column(np.arange(start, start + sum(self.n_levels)))
        concentrations = [self.weight_concentration, *[self.category_concentration] * (len(columns) - 1)]
        return tuple(zip(columns, concentrations))

    @property
    def family(self) -> Categorical:
        """One class."""
        return Categorical(self.n_levels, self.category_concentration)

    def from_components(
        self, log_weights: np.ndarray, components: CategoricalParameters, rng: np.random.Generator
    ) -> np.ndarray:
        """θ of weights (M, K) and probabilities of levels, (M, d): its redundant directions are as prior."""
        K, a, c = self.n_components, self.weight_concentration, self.category_concentration
        size = (len(log_weights), K, self.n_features)
        totals = log_gamma_draws(c * np.array(self.n_levels), rng, size)
        u = components.log_probabilities + np.repeat(totals, self.n_levels, axis=2)
        z = log_weights + log_gamma_draws(K * a, rng, (size[0], 1))
        return np.column_stack([z, u.reshape(size[0], -1)])

    def _split(self, theta):
        K = self.n_components
        return theta[:, :K], anp.reshape(theta[:, K:], (-1, K, sum(self.n_levels)))

    # -- what is believed -----------------------------------------------------------------------

    def sample_prior(self, rng, size):
        z = log_gamma_draws(self.weight_concentration, rng, (size, self.n_components))
        return np.column_stack(
            [z, log_gamma_draws(self.category_concentration, rng, (size, self.n_params - self.n_components))]
        )

    def log_prior(self, theta):
        K = self.n_components
        return _log_gamma_density(theta[:, :K], self.weight_concentration) + _log_gamma_density(
            theta[:, K:], self.category_concentration
        )

    def component_log_densities(self, theta, X):
        """log π_k Π_j φ_kj(x_rj), (K, M, n)."""
        z, u = self._split(theta)
        log_phi = anp.concatenate([log_shares(part) for part in self._by_column(u)], axis=2)
        log_p = anp.dot(log_phi, self.family.features(X)[:, :-1].T)
        return anp.transpose(log_shares(z)[:, :, None] + log_p, (1, 0, 2))

    def log_likelihood(self, theta, rows):
        log_p = self.component_log_densities(theta, rows.X)
        top = np.max(getattr(log_p, "_value", log_p), axis=0)
        return top + anp.log(anp.sum(anp.exp(log_p - top), axis=0))

    def _block_log_likelihood(self, theta, rows, tape, single_below=0.0):
        F = self.family.features(rows.X)
        return fused(theta, F, rows.weight, self.n_components, self.n_levels, tape, single_below)

    def _by_column(self, u):
        """The part of each column, along the last axis."""
        edges = np.cumsum((0, *self.n_levels))
        return [u[..., start:stop] for start, stop in pairwise(edges)]

    def sample_rows(self, theta, n_rows, rng):
        """n_rows draws: (codes, labels).  One θ for all rows, or one θ per row."""
        z, u = self._split(np.broadcast_to(np.atleast_2d(theta), (n_rows, self.n_params)))
        labels = np.argmax(z + rng.gumbel(size=z.shape), axis=1)
        u = u[np.arange(n_rows), labels]
        noisy = u + rng.gumbel(size=u.shape)
        return np.column_stack([np.argmax(part, axis=1) for part in self._by_column(noisy)]), labels

    def parameters(self, theta):
        """Weights (M, K), and the probabilities of all levels, columns one after the other, (M, K, q)."""
        z, u = self._split(theta)
        phi = np.concatenate([np.exp(log_shares(part)) for part in self._by_column(u)], axis=2)
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

    def at_groups(self, rows, member: np.ndarray) -> np.ndarray:
        """Points at the counts of groups of rows, (J, d) that ``member`` (J, K, n) says."""
        counts, K = (member * rows.weight) @ self.family.features(rows.X), self.n_components
        z = np.log(counts[:, :, -1] + 1.0) - np.log(counts[:, :, -1:].sum(axis=1) / K + 1.0)
        by_column = self._by_column(counts[..., :-1])
        u = [np.log((n + 0.5) / (n.mean(axis=2, keepdims=True) + 0.5)) for n in by_column]
        return np.hstack([z, np.concatenate(u, axis=2).reshape(len(counts), -1)])

    # -- one component: a closed form -----------------------------------------------------------

    @property
    def has_exact_posterior(self) -> bool:  # type: ignore[override]
        return self.n_components == 1

    def sums(self, rows) -> "LevelCounts":
        """Counts of the levels, for one component; ValueError if there are more."""
        if self.n_components != 1:
            raise ValueError("a closed form of a mixture needs n_components=1")
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
