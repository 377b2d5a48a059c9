r"""A density that covers the posterior of a mixture: conditionals of θ given allocations.

    q(θ) = (1/S) Σ_s (1/K!) Σ_π p(θ | x, π z_s)

for S allocations z_s, in two halves that know nothing of each other: the first S/2 and the last.

Symbols
-------
=======  ============  ==============================================================
T        ``T``         statistics of the S allocations, (K, S, 2p + 1)
π z_s    ``terms``     log p(θ_m | x, {z_s}) / (S p(θ_m)), labels summed over, (M, S)
ω_m      ``log_w``     p(x | θ_m) p(θ_m) / q(θ_m), (M,)
=======  ============  ==============================================================
"""

from typing import NamedTuple

import numpy as np

from ..history import Rows
from ..models import MixtureModel
from ..particles import Weights, log_sum_exp, systematic
from ._allocation_search import Found, sampled_allocations
from ._conditionals import (
    coefficients,
    features,
    log_conditionals,
    origin_of,
    sample_allocations,
    sample_parameters,
)

#: Allocations of a half from its chains; those that stay after its pilot, and new ones then.
FOUND, OLD, NEW = 150, 50, 100
#: Gibbs sweeps to a new allocation: after one, those of a draw that stood out are all like it.
SWEEPS = 8
#: Share of the draws that are effective below which allocations overlap, and need so many sweeps to spread if
#: rows · components · numbers of each are swept no more often.  On five overlapping groups (K = 3, 200 rows)
#: 8 sweeps were 0.06 nats low, 50 0.03, 100 0.02, 200 0.01.
ALIKE, SPREAD, MOST_SPREAD = 0.5, 200, 600_000
#: Draws of each half's pilot run, and of the estimate.
PILOT, DRAWS = 500, 2000
#: Share of q at a draw from which one allocation makes it up, and of what it holds others know nothing.
MAKES_UP = 0.5
#: Chains of the posterior, and draws of each at a time.
CHAINS, LENGTH = 100, 4


class Sample(NamedTuple):
    """Points with what each allocation contributes to q there; whether they come from the ``first`` half."""

    theta: np.ndarray
    log_likelihood: np.ndarray
    terms: np.ndarray
    first: np.ndarray

    @property
    def log_w(self) -> np.ndarray:
        return self.log_likelihood - log_sum_exp(self.terms, axis=1)

    @property
    def weights(self) -> Weights:
        """Weights of the draws from q."""
        return Weights(self.log_w)

    @property
    def alone(self) -> float:
        """Share, by weight, of draws that one allocation alone makes up: what none covers holds as much.

        So it is with species of animals of which one has been seen, and those not seen yet (Good 1953).
        """
        is_alone = self.terms.max(axis=1) > log_sum_exp(self.terms, axis=1) + np.log(MAKES_UP)
        return float(self.weights.W @ is_alone)

    def halves(self) -> tuple["Sample", "Sample"]:
        """The points of either half, each as if there were no other allocations than its own."""
        half = self.terms.shape[1] // 2
        return self._only(self.first, slice(half)), self._only(~self.first, slice(half, None))

    def _only(self, m: np.ndarray, s: slice) -> "Sample":
        return Sample(self.theta[m], self.log_likelihood[m], self.terms[m, s] + np.log(2), self.first[m])


class Problem(NamedTuple):
    """Model and rows, and the rows in equal parts (n, p) that may go to different components."""

    model: MixtureModel
    rows: Rows
    X: np.ndarray
    F: np.ndarray
    origin: np.ndarray

    @classmethod
    def of(cls, model: MixtureModel, rows: Rows, n_copies: np.ndarray) -> "Problem":
        copies = np.repeat(np.arange(len(rows)), n_copies)
        X = rows.X[copies]
        origin = origin_of(X)
        return cls(model, rows, X, features(X, (rows.weight / n_copies)[copies], origin), origin)

    @property
    def cost(self) -> int:
        """Cost of one sweep of one chain: rows · components · numbers of each."""
        return self.F.size * self.model.n_components

    def proposal(self, found: Found, rng: np.random.Generator) -> np.ndarray:
        """T of one half: allocations in the posterior's proportions, as far as a pilot run knows them."""
        T = sampled_allocations(self.model, found, self.F, self.origin, FOUND, rng)
        pilot = self.draw(T, PILOT, rng)
        return self.grown(T[:, rng.permutation(FOUND)[:OLD]], pilot, rng)

    def draw(self, T: np.ndarray, M: int, rng: np.random.Generator) -> Sample:
        """M draws from q."""
        S = T.shape[1]
        parents = systematic(np.full(S, 1 / S), rng, M)
        theta = sample_parameters(self.model, T[:, parents], self.origin, rng)
        return self.weighed(theta, T, parents < S // 2)

    def grown(self, T: np.ndarray, sample: Sample, rng: np.random.Generator) -> np.ndarray:
        """T and allocations some sweeps from draws of a sample, resampled by weight."""
        return np.concatenate([T, self._spread(sample, NEW, rng)[1]], axis=1)

    def starts(self, sample: Sample, rng: np.random.Generator) -> np.ndarray:
        """Points at which CHAINS Gibbs chains start, from the draws of either half, by its own weights."""
        return np.concatenate([self._spread(half, CHAINS // 2, rng)[0] for half in sample.halves()])

    def _spread(self, sample: Sample, size: int, rng: np.random.Generator) -> tuple:
        """(θ, T) some sweeps from draws of a sample, resampled by weight."""
        n_sweeps = SWEEPS
        if sample.weights.ess < ALIKE * len(sample.theta):
            n_sweeps = int(np.clip(MOST_SPREAD / self.cost, SWEEPS, SPREAD))
        return self.swept(sample.theta[systematic(sample.weights.W, rng, size)], n_sweeps, rng)

    def chains(self, T: np.ndarray, theta: np.ndarray, n_sweeps: int, rng: np.random.Generator) -> Sample:
        """LENGTH draws of chains from θ, n_sweeps from one to the next, (LENGTH · CHAINS)."""
        kept = []
        for _ in range(LENGTH):
            theta, _ = self.swept(theta, n_sweeps, rng)
            kept.append(theta)
        return self.weighed(np.concatenate(kept), T, np.arange(LENGTH * CHAINS) % CHAINS < CHAINS // 2)

    def swept(self, theta: np.ndarray, n_sweeps: int, rng: np.random.Generator) -> tuple:
        """(θ, T) so many sweeps on, all chains side by side."""
        for _ in range(n_sweeps):
            _, T, _ = sample_allocations(coefficients(self.model, theta, self.origin), self.F, rng)
            theta = sample_parameters(self.model, T, self.origin, rng)
        return theta, T

    def weighed(self, theta: np.ndarray, T: np.ndarray, first: np.ndarray) -> Sample:
        log_c = np.full(T.shape[1], -np.log(T.shape[1]))
        terms = log_conditionals(self.model, theta, T, log_c, self.origin)
        return Sample(theta, self.model.sum_log_likelihood(theta, self.rows), terms, first)
