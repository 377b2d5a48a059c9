r"""A weighted cloud and what it says of the evidence: what every sampler of particles carries.

    log Ẑ = log_Z + log (1/M) Σ_i w_i                                             (Alg. 8, line 13)

Resampling draws particle i M·W_i times in expectation, with M survivors, by default as many as there are.

Symbols: θ_i ``theta`` = particles, (M, d); w_i ``weights`` = since the last resampling, which left them
equal; Ẑ ``log_Z`` = log of the mean weights folded in at resamplings; ``M`` = number of particles.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ._weights import Genealogy, Weights, siblings


def systematic(W: np.ndarray, rng: np.random.Generator, M: int | None = None) -> np.ndarray:
    """One uniform, M evenly spaced points: the counts differ from M·W_i by less than one."""
    M = M or len(W)
    return _invert_cdf(W, (rng.random() + np.arange(M)) / M)


def multinomial(W: np.ndarray, rng: np.random.Generator, M: int | None = None) -> np.ndarray:
    """M independent draws."""
    return _invert_cdf(W, np.sort(rng.random(M or len(W))))


def spread(W: np.ndarray, n: int) -> np.ndarray:
    """n points evenly spaced through the weights, without randomness."""
    return _invert_cdf(W, (np.arange(n) + 0.5) / n)


def _invert_cdf(W: np.ndarray, u: np.ndarray) -> np.ndarray:
    cdf = np.cumsum(W)
    # u·cdf[-1] < cdf[-1] may round up to it; the last particle of positive weight is then meant
    return np.minimum(np.searchsorted(cdf, u * cdf[-1], side="right"), np.flatnonzero(W)[-1])


RESAMPLING = {"systematic": systematic, "multinomial": multinomial}


class Cloud(NamedTuple):
    """Particles, their weights and their past; a value, never changed in place."""

    theta: np.ndarray
    weights: Weights
    log_Z: float
    genealogy: Genealogy
    shared_var: float = 0.0  #: variance of log Ẑ that all particles share, from sub-samples of the rows

    @classmethod
    def planted(cls, theta: np.ndarray) -> "Cloud":
        """Independent draws of unit weight (Alg. 8, lines 1 and 2).

        They say nothing of a part of 1/M that none has met: where all agree, log Ẑ is known to 1/M, not to 0.
        """
        M = len(theta)
        return cls(theta, Weights.ones(M), 0.0, Genealogy.planted(M, 1 / M**2))

    @property
    def M(self) -> int:
        return len(self.theta)

    @property
    def W(self) -> np.ndarray:
        """Normalised weights."""
        return self.weights.W

    @property
    def mean(self) -> np.ndarray:
        """Weighted mean of the particles, (d,)."""
        return self.W @ self.theta

    def spread_theta(self, n: int) -> np.ndarray:
        """At most n of the particles, spread evenly over the weight, (m, d)."""
        return self.theta[spread(self.W, min(n, self.M))]

    @property
    def log_evidence(self) -> float:
        """log Ẑ, nats."""
        return self.log_Z + self.weights.log_mean

    @property
    def log_evidence_std(self) -> float:
        """From the spread of the weight over ancestors, and the noise of sub-samples, nats."""
        return float(np.sqrt(self.genealogy.variance(self.W) + self.shared_var))

    def weighted(self, increment: np.ndarray | float) -> "Cloud":
        """w_i ← w_i exp(increment_i)."""
        return self._replace(weights=self.weights.add(increment))

    def corrected(self, bias: float) -> "Cloud":
        """Without what is known to be wrong with log Ẑ, nats."""
        return self._replace(log_Z=self.log_Z - bias)

    def thinned(self, scheme: Callable, M: int, rng: np.random.Generator) -> "Cloud":
        """M of more particles of nearly even weights: log Ẑ is what it was, and so is its variance.

        By their roots it would be 1/M more, which the weights of the next rows have.
        """
        parents = scheme(self.W, rng, M)
        genealogy = siblings(parents, self.genealogy.variance(self.W))
        return Cloud(self.theta[parents], Weights.ones(M), self.log_evidence, genealogy, self.shared_var)

    def resampled(self, scheme: Callable, M: int, rng: np.random.Generator) -> "Cloud":
        """M particles in proportion to w_i, then w_i ← 1; the mean weight is folded into Ẑ."""
        parents = scheme(self.W, rng, M)
        return self._replace(
            theta=self.theta[parents],
            weights=Weights.ones(M),
            log_Z=self.log_Z + self.weights.log_mean,
            genealogy=self.genealogy.descend(parents, self.W),
        )
