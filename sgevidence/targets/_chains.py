r"""Gibbs chains of a mixture that have forgotten where they started, as far as they can tell.

Chains that are slow, or of several basins, have means that differ, even if all began in the same place,

    R = var_c(mean of chain c) / mean_c(variance within chain c)

(Gelman and Rubin 1992), of the slowest parameter or log p.  Of T independent draws it is 1/T.  Where it is
too large but not hopeless they go on, with more sweeps from draw to draw.

They start from draws of q (``_allocation_proposal.py``) that weigh enough, of all basins that matter: of
those that a search ends in most do not (four groups, 500 rows of 34 columns: 15 nats lower, and no chain
leaves them).

Symbols
-------
=======  ============  ==========================================================================
θ_tc     ``theta``     T draws of C chains of either half, labels aligned, (2, T, C, d)
p        ``log_p``     likelihood times prior there, (2, T, C)
E        ``n_empty``   components without a row, in the allocation that θ was drawn given, (2, T, C)
=======  ============  ==========================================================================

References
----------
A. Gelman and D. B. Rubin (1992), Inference from iterative simulation using multiple sequences.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._allocation_proposal import Problem, Sample

#: Chains of each half; nats below the best of its thousand draws at which all of them hold no more than it.
EACH, NEAR = 48, 7.0
#: Sweeps until they have forgotten where they were, and between draws that are kept.
FORGET, BETWEEN = 100, 4
#: Draws of each chain, or so many of all as there are parameters times this: they make up a covariance.
LENGTH, PER_PARAMETER = 40, 12
#: Values of R from which chains are slow, and from which they are in several basins.  Of 40 independent draws
#: of 400 parameters the largest is 0.05.
SLOW, STUCK = 0.1, 2.0
#: Slow chains go on with so many times the sweeps, if they are no more than so many a parameter: annealing
#: takes as long.  Rows · components · numbers of each are swept no more often, which takes a few minutes.
LONGER, MOST_SWEEPS, MOST_SWEPT = 4, 5000, 1.2e11
#: Rows · components · numbers of each · parameters below which particles know as much in about ten seconds,
#: and chains do not go on.
SMALL = 1_000_000
#: Parameters beyond which draws would fill the memory.
MOST_PARAMETERS = 600


class Chains(NamedTuple):
    """Draws of either half, labels in ``slots`` that both share, and the sweeps of all."""

    theta: np.ndarray
    log_p: np.ndarray
    n_empty: np.ndarray
    slots: tuple
    n_sweeps: int

    @property
    def have_converged(self) -> bool:
        return self.slowness < SLOW

    @property
    def slowness(self) -> float:
        """R of all chains."""
        both = np.concatenate([self.theta, self.log_p[..., None]], axis=3)
        return slowness(np.concatenate(list(both), axis=1))


def followed(problem: Problem, draws: Sequence[Sample], rngs: list[np.random.Generator]) -> Chains | None:
    """Chains of either half that have settled, if there is hope; None where they would fill the memory.

    ``draws`` are those of q, by halves that know nothing of each other.
    """
    if problem.model.n_params > MOST_PARAMETERS:
        return None
    return followed_from(problem, [_starts(half, rng) for half, rng in zip(draws, rngs)], rngs)


def followed_from(
    problem: Problem, theta: list[np.ndarray], rngs: list[np.random.Generator], longer: int = 1
) -> Chains:
    """Chains that start at points (EACH, d) of either half, with ``longer`` times the sweeps."""
    d = problem.model.n_params
    T, n_sweeps = max(LENGTH, PER_PARAMETER * d // EACH), 0
    while True:
        n_sweeps += 2 * EACH * longer * (FORGET + T * BETWEEN)
        both = [_kept(problem, one, T, longer, rng) for one, rng in zip(theta, rngs)]
        kept, n_empty = (np.array(part) for part in zip(*both))
        chains = _in_slots(problem, kept, n_empty, n_sweeps)
        is_costly = LONGER * n_sweeps > min(MOST_SWEEPS * d, MOST_SWEPT / problem.cost)
        if is_small(problem) or problem.is_wide or is_costly or not SLOW < chains.slowness < STUCK:
            return chains
        theta, longer = list(kept[:, -1]), LONGER * longer


def is_small(problem: Problem) -> bool:
    """Whether annealing is about as good."""
    return problem.cost * problem.model.n_params < SMALL


def slowness(theta: np.ndarray) -> float:
    """R of the slowest of T draws of C chains, (T, C, q)."""
    within = np.maximum(theta.var(axis=0, ddof=1).mean(axis=0), 1e-300)
    return float(np.max(theta.mean(axis=0).var(axis=0, ddof=1) / within))


def log_posterior(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """Likelihood times prior, (M,)."""
    return problem.model.log_prior(theta) + problem.model.sum_log_likelihood(theta, problem.rows)


def shared(halves: list[np.ndarray], rngs: list[np.random.Generator]) -> list[np.ndarray] | None:
    """EACH of either half, more than once where it has fewer, or of the other where it has none."""
    if not any(len(half) for half in halves):
        return None
    halves = [own if len(own) else other for own, other in zip(halves, halves[::-1])]
    return [half[np.resize(rng.permutation(len(half)), EACH)] for half, rng in zip(halves, rngs)]


def _starts(half: Sample, rng: np.random.Generator) -> np.ndarray:
    """Draws that weigh enough, (EACH, d), any of them: the best may all be of one basin of several."""
    near = np.flatnonzero(half.log_w > half.log_w.max() - NEAR)
    return half.theta[np.resize(rng.permutation(near), EACH)]


def _kept(problem: Problem, theta: np.ndarray, T: int, longer: int, rng: np.random.Generator) -> tuple:
    """T draws of chains from points (EACH, d), (T, EACH, d), and how many components are empty, (T, EACH)."""
    theta, _ = problem.swept(theta, longer * FORGET, rng)
    kept, n_empty = [], []
    for _ in range(T):
        theta, statistics = problem.swept(theta, longer * BETWEEN, rng)
        kept.append(theta)
        n_empty.append(np.sum(statistics[:, :, -1] == 0, axis=0))
    return np.array(kept), np.array(n_empty)


def _in_slots(problem: Problem, theta: np.ndarray, n_empty: np.ndarray, n_sweeps: int) -> Chains:
    flat = theta.reshape(-1, theta.shape[-1])
    slots = problem.model.slot_reference(flat)
    flat = problem.model.canonicalize(flat, slots)
    log_p = np.concatenate(
        [log_posterior(problem, part) for part in np.array_split(flat, 2 * theta.shape[1])]
    )
    return Chains(flat.reshape(theta.shape), log_p.reshape(theta.shape[:-1]), n_empty, slots, n_sweeps)
