r"""The content of a basin by stepping stones: rows are fixed to an allocation, and released block by block.

Where components overlap, an allocation says much more of the parameters than the rows alone, and conditionals
p(θ | x, z) of any affordable number do not cover the posterior: they are too narrow in all directions at
once.  Between a conditional and the posterior lie the densities in which the first m rows of an allocation z*
stay where they are,

    π_m(θ) = p(θ) Π_{r ≤ m} π_{z*_r} f(x_r | θ) Π_{r > m} p(x_r | θ),    π_n / ∫ π_n = p(θ | x, z*),

which Gibbs sweeps of the other rows sample.  The integral of π_n has a closed form; the ratio of two
neighbours is a bridge whose weights are responsibilities of the rows between them,

    log π_l(θ) − log π_m(θ) = −Σ_{l < r ≤ m} log r_{z*_r}(θ),    l < m,

and the last step is to the stratum's own posterior, all of whose labellings are equal, from the average of
π_m over all labellings, a permanent.  This is the ordinate of Chib (1995) at an allocation in the place of
parameters, estimated by stepping stones (Xie et al. 2011), with bridges (Meng and Wong 1996) for their means.

Chains rise from one density to the next, so that the errors of all steps of one chain go together: the error
bar is that of the sum of what each chain adds to the answer, by the delta method.

Symbols: ``labels`` = z*, rows in the order in which the last is released first, (n,); ``m`` = rows that are
fixed, ``l`` = after the next step; ``c`` = coefficients (k, M, q), M = draws · chains; ``size`` = chains.

References
----------
S. Chib (1995), Marginal likelihood from the Gibbs output; W. Xie, P. O. Lewis, Y. Fan, L. Kuo and M.-H. Chen
(2011), Improving marginal likelihood estimation for Bayesian phylogenetic model selection.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from ...answers import bridge
from ...particles import log_sum_exp
from ._allocation_draws import log_permanent, sample_allocations, statistics
from ._occupied import log_likelihood_in_use
from ._sweeps import Problem

#: Standard deviation of log weights, nats, up to which rows are released in one step: the error of a given
#: number of sweeps hardly depends on it below two, and each step has sweeps that do not count.
STEP_NATS = 1.5
#: Points by which the number of rows of a step is chosen.
N_POINTS_OF_CHOICE = 64


class Released(NamedTuple):
    """The content of a basin by one allocation of it."""

    log_B: float  #: nats
    std: float
    z: np.ndarray  #: where its chains are, (size, n)
    points: np.ndarray  #: of the posterior, (k, M, q)
    n_sweeps: float  #: of all rows


def released(problem: Problem, k: int, z: np.ndarray, n_draws: int, rng: np.random.Generator) -> Released:
    """From the allocation of one of the chains z (S, n), which all go on as chains of the posterior."""
    (size, n), burn = z.shape, n_draws // 2
    path = _Path.of(problem, z[rng.integers(size)], k, rng)
    log_B = float(problem.log_joint(path.fixed(n))[0])
    points = problem.draw(np.repeat(path.fixed(n), size * n_draws, axis=1), rng)
    m, moved, n_sweeps = n, np.zeros(size), 0.0
    while l := path.next_step(points[:, rng.integers(points.shape[1], size=N_POINTS_OF_CHOICE)], m):
        log_low, c, kept = path.log_step(points, l, m), points[:, -size:], []
        for sweep in range(burn + n_draws):
            c = problem.draw(path.fixed(l) + sample_allocations(c, path.F[l:], rng)[1], rng)
            kept += [c] * (sweep >= burn)
        points = np.concatenate(kept, axis=1)
        ratio, low, high = bridged_chains(log_low, path.log_step(points, l, m), size)
        log_B, moved, m = log_B + ratio, moved + low - high, l
        n_sweeps += size * (burn + n_draws) * (n - m) / n
    z, T, c = problem.swept(z, problem.statistics(z, k), None, burn, rng)
    kept = []
    for _ in range(n_draws):
        z, T, c = problem.swept(z, T, c, 1, rng)
        kept.append(c)
    top = np.concatenate(kept, axis=1)
    ratio, low, high = bridged_chains(path.log_last_step(points, m), path.log_last_step(top, m), size)
    var = (np.var(moved + low, ddof=1) + np.var(high, ddof=1)) / size
    return Released(log_B + ratio, float(np.sqrt(var)), z, top, n_sweeps + size * (burn + n_draws))


class _Path(NamedTuple):
    """Features of the rows and their labels, in the order in which the last is released first."""

    problem: Problem
    F: np.ndarray
    labels: np.ndarray
    k: int

    @classmethod
    def of(cls, problem: Problem, z: np.ndarray, k: int, rng: np.random.Generator) -> "_Path":
        """In random order, but for one row of each component, which come first."""
        order = rng.permutation(len(z))
        first = np.array([np.argmax(z[order] == j) for j in range(k)])
        order = np.r_[order[first], np.delete(order, first)]
        return cls(problem, problem.F[order], z[order], k)

    def fixed(self, m: int) -> np.ndarray:
        """T of the first m rows, (k, 1, q)."""
        return statistics(self.labels[None, :m], self.F[:m], self.k)

    def next_step(self, c: np.ndarray, m: int) -> int:
        """The number of rows that stay fixed when STEP_NATS have been released; 0 for the last step."""
        if m == self.k or np.std(self.log_last_step(c, m)) < STEP_NATS:
            return 0
        spread = np.std(np.cumsum(self._log_own(c, 0, m)[:, ::-1], axis=1), axis=0)
        return max(m - max(int(np.argmax(np.r_[spread, np.inf] > STEP_NATS)), 1), self.k)

    def log_step(self, c: np.ndarray, l: int, m: int) -> np.ndarray:
        """log π_l − log π_m at points, (M,)."""
        return -self._log_own(c, l, m).sum(axis=1)

    def log_last_step(self, c: np.ndarray, m: int) -> np.ndarray:
        """log P(all in use) of the stratum's posterior, less log of π_m averaged over labellings, (M,)."""
        log_r = self._log_responsibilities(c, 0, m)
        log_A = np.stack([log_r[:, :, self.labels[:m] == j].sum(axis=2) for j in range(self.k)])
        top = log_A.max(axis=1)
        log_A = log_A - top[:, None]
        log_sum = top.sum(axis=0) + log_permanent(log_A, np.exp(log_A))
        return log_likelihood_in_use(c, self.problem.F)[1] - log_sum + lgamma(self.k + 1)

    def _log_own(self, c: np.ndarray, l: int, m: int) -> np.ndarray:
        """log r of rows l … m − 1 in the components that they are fixed to, (M, m − l)."""
        labels = self.labels[None, None, l:m].astype(np.intp)
        return np.take_along_axis(self._log_responsibilities(c, l, m), labels, axis=0)[0]

    def _log_responsibilities(self, c: np.ndarray, l: int, m: int) -> np.ndarray:
        """log r of rows l … m − 1, (k, M, m − l)."""
        log_p = c @ self.F[l:m].T
        return log_p - log_sum_exp(log_p, axis=0)


def bridged_chains(
    log_low: np.ndarray, log_high: np.ndarray, size: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """log of the ratio of two integrals, nats, by log ratios of densities at draws of either.

    With it what each chain of the lower, and of the higher, adds to the answer (size,): means of f and of
    1 − f, over the mean of all, less one.
    """
    low, high = log_low.reshape(-1, size), log_high.reshape(-1, size)
    ratio, log_odds = bridge(log_low, high).log_Z, np.log(high.size / low.size)
    f, g = expit(low + log_odds - ratio).mean(axis=0), expit(ratio - log_odds - high).mean(axis=0)
    return ratio, f / f.mean() - 1.0, g / g.mean() - 1.0
