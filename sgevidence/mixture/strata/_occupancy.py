r"""The ratio of two strata from how many components chains have in use.

Gibbs chains of k components, each of which may lose its rows, have j of them in use with p(j) ∝ C(k, j) B_j
(Nobile 2004), so that

    log B_k − log B_{k−1} = log p(k) − log p(k − 1) + log k.

Where components come and go within a few sweeps, this is sharper than a bridge.  It is wrong where stratum k
holds a basin that no chain meets, which a bridge between searched basins knows.

Symbols: ``z`` = allocations of S chains (S, n), ``visits`` = sweeps of each chain with k, and k − 1,
components in use, (2, S).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._allocation_draws import sample_allocations
from ._sweeps import Problem

#: Sweeps of each chain before visits count, then in rounds until the error is SHARP_ERROR_NATS; sweeps
#: between points.
BURN_SWEEPS, SWEEPS_OF_ROUNDS, SHARP_ERROR_NATS, SWEEPS_BETWEEN_POINTS = 80, (200, 400, 800), 0.1, 5
#: Rows · components · numbers of each · sweeps of the chains of a half, and chains that it has at least.
MAX_HALF_WORK, MIN_HALF_CHAINS = 5e9, 8


class Occupancy(NamedTuple):
    """log B_k − log B_{k−1}, its error and what halves differ by, nats; points of stratum k, (k, M, q)."""

    log_ratio: float
    std: float
    gap: float
    points: np.ndarray
    n_sweeps: int


def occupancy(
    problem: Problem, k: int, z: Sequence[np.ndarray], rngs: Sequence[np.random.Generator]
) -> Occupancy | None:
    """From chains that start at allocations of two halves; None where they mostly stay, or halves differ."""
    most = max(int(MAX_HALF_WORK / (problem.cost(k) * sum(SWEEPS_OF_ROUNDS))), MIN_HALF_CHAINS)
    z = [half[np.linspace(0, len(half) - 1, min(most, len(half))).astype(int)] for half in z]
    T = [problem.statistics(half, k) for half in z]
    visits, points = [np.zeros((2, len(half))) for half in z], []
    for n_sweeps in (BURN_SWEEPS, *SWEEPS_OF_ROUNDS):
        for i, rng in enumerate(rngs):
            T[i], new, more = _followed(problem, T[i], n_sweeps, rng)
            # visits without which chains hardly change the number of components
            if new.sum(axis=1).min() < 10:
                return None
            visits[i] += new * (n_sweeps != BURN_SWEEPS)
            points += [more] * (n_sweeps != BURN_SWEEPS)
        both, error = _log_ratio(np.concatenate(visits, axis=1))
        if error < SHARP_ERROR_NATS:
            break
    halves = [_log_ratio(one) for one in visits]
    gap = abs(halves[0][0] - halves[1][0])
    # standard errors that ratios of two halves may differ by
    # nats of error beyond which changes are so rare that they do not tell their own error
    if error > 0.2 or not gap < 3.0 * np.hypot(halves[0][1], halves[1][1]):
        return None
    last = SWEEPS_OF_ROUNDS.index(n_sweeps)
    n_sweeps = (BURN_SWEEPS + sum(SWEEPS_OF_ROUNDS[: last + 1])) * sum(map(len, z))
    return Occupancy(both + np.log(k), max(error, gap / 2), gap, np.concatenate(points, axis=1), n_sweeps)


def _log_ratio(visits: np.ndarray) -> tuple[float, float]:
    """log of the ratio of visits and its standard error, chains being independent of each other."""
    if not np.all(visits.sum(axis=1) > 0):
        return 0.0, np.inf
    share = visits / visits.sum(axis=1, keepdims=True)
    ratio = np.log(visits[0].sum()) - np.log(visits[1].sum())
    return float(ratio), float(np.sqrt(np.sum((share[0] - share[1]) ** 2)))


def _followed(
    problem: Problem, T: np.ndarray, n_sweeps: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T of chains some sweeps on, their visits, and points with all k components in use."""
    k, visits, points = len(T), np.zeros((2, T.shape[1])), []
    for sweep in range(n_sweeps):
        c = problem.draw(T, rng)
        T = sample_allocations(c, problem.F, rng)[1]
        in_use = np.sum(T[..., -1] > 0, axis=0)
        visits += in_use == np.array([[k], [k - 1]])
        if sweep % SWEEPS_BETWEEN_POINTS == 0:
            points.append(c[:, in_use == k])
    return T, visits, np.concatenate(points, axis=1)
