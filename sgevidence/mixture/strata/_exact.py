r"""Strata of few rows without any error: the sum over all partitions of the rows, by sets.

With w(S) the weight Γ(a + |S|)/Γ(a) p(x_S) of rows S in one component, those of S in k unlabelled components
hold

    f_k(S) = Σ_{T ⊆ S, T ∋ first row of S} w(T) f_{k−1}(S \ T),    B_k = k! f_k(all rows),

some 3ⁿ/2 products for each k; draws of partitions go back by the same sums.

Symbols: ``S``, ``T`` = sets of rows as bits, ``f`` = log f_k of all sets, k = 1 … K, (K, 2ⁿ).
"""

from math import lgamma

import numpy as np
from scipy.special import logsumexp

from ._stratum import EXACT_DRAWS, Stratum
from ._sweeps import Problem


def exact_strata(problem: Problem, K: int, rng: np.random.Generator) -> list[Stratum]:
    """Strata of 1 … K components in use, with draws of their posteriors."""
    n = len(problem.F)
    rows = np.arange(2**n)[:, None] >> np.arange(n) & 1
    T = (rows @ problem.F)[None]
    w = problem.log_joint(T)
    f = np.full((min(K, n), 2**n), -np.inf)
    f[0, 1:] = w[1:]
    for size in range(2, n + 1):
        S = np.flatnonzero(rows.sum(axis=1) == size)
        first = _with_first(S, n)
        for k in range(1, min(K, size)):
            f[k, S] = logsumexp(w[first] + f[k - 1, S[:, None] ^ first], axis=1)
    return [_stratum(problem, k + 1, w, f, rng) for k in range(len(f))]


def _with_first(S: np.ndarray, n: int) -> np.ndarray:
    """All subsets with the first row of sets S of equal size c, (len(S), 2^(c − 1))."""
    bits = S[:, None] & 1 << np.arange(n)
    c = int(np.count_nonzero(bits[0]))
    own = bits[bits > 0].reshape(len(S), c)
    chosen = np.arange(2 ** (c - 1))[:, None] >> np.arange(c - 1) & 1
    return own[:, :1] + own[:, 1:] @ chosen.T


def _stratum(problem: Problem, k: int, w: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Stratum:
    """log B_k, with partitions in proportion to their weights."""
    n = len(problem.F)
    left, z = np.full(EXACT_DRAWS, 2**n - 1), np.zeros((EXACT_DRAWS, n), dtype=np.int16)
    for label in range(k - 1, 0, -1):
        drawn = np.empty_like(left)
        for S in np.unique(left):
            mine, first = np.flatnonzero(left == S), _with_first(np.array([S]), n)[0]
            log_p = w[first] + f[label - 1, S ^ first]
            p = np.exp(log_p - log_p.max())
            drawn[mine] = rng.choice(first, len(mine), p=p / p.sum())
        z[(drawn[:, None] >> np.arange(n) & 1) > 0] = label
        left ^= drawn
    points = problem.draw(problem.statistics(z, k), rng)
    log_B = float(f[k - 1, -1] + lgamma(k + 1))
    return Stratum(k, log_B, 0.0, 0.0, 1.0, 2, [z, z], points, np.zeros(EXACT_DRAWS), float(2**n))
