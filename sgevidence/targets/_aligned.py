r"""The evidence of a mixture whose components overlap in many columns: a bridge to a Gaussian.

A conditional of θ given allocations is narrower than the posterior wherever a row may belong to either of
two components; in hundreds of directions at once it is nothing like it, and no number of allocations will do.
But where Gibbs chains forget quickly and rows are many the posterior of one labelling is all but Gaussian:

    Ẑ = K! Ẑ_A,    Ẑ_A from the bridge between p(θ) 1_A(θ) and N(θ; m, C)  (``_bridge.py``),

where A has one labelling of each θ, with components in slots that chains of two independent searches share.
A draw of N outside of A has no weight, so any m, C and slots are right.  m and C are those of the chains of
the other search, since a density that was fitted to the chains it is held against would seem too good.

Chains that are slow, or of several basins, have means that differ, even if all began in the same place,

    R = var_c(mean of chain c) / mean_c(variance within chain c)

(Gelman and Rubin 1992), of the slowest parameter or log p.  Of T independent draws it is 1/T.

Symbols
-------
=====  ============  ==========================================================
θ_tc   ``theta``     T draws of C chains, labels aligned, (T, C, d)
p      ``log_p``     likelihood times prior there, (T, C)
m, C   ``m, L``      mean and Cholesky factor of the covariance of a Gaussian
=====  ============  ==========================================================

References
----------
A. Gelman and D. B. Rubin (1992), Inference from iterative simulation using multiple sequences; X.-L. Meng and
S. Schilling (2002), Warp bridge sampling.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..models.allocations import sample_parameters, statistics
from ._allocation_proposal import CHAINS, Problem
from ._allocation_search import Found
from ._bridge import Estimate, bridge

#: Chains of each search; sweeps until they have forgotten where they were, and between draws that are kept.
EACH, FORGET, BETWEEN = 48, 100, 4
#: Draws of each chain, or so many of all as there are parameters times this: they make up a covariance.
LENGTH, PER_PARAMETER = 40, 12
#: Parameters beyond which they would fill the memory.
MOST_PARAMETERS = 600
#: Of R, from which on chains are slow.  Of 40 independent draws of 400 parameters the largest is 0.05.
SLOW = 0.1
#: Draws of the Gaussian.
DRAWS = 2000


class Half(NamedTuple):
    """A bridge to the chains of one search: points of the Gaussian and of these, and what they say."""

    points: np.ndarray
    estimate: Estimate
    n_sweeps: int


def by_gaussian(problem: Problem, found: list[Found], rngs: list[np.random.Generator]) -> list[Half]:
    """A bridge to the chains of either search; none where these are slow, or in several basins, or large.

    ``n_effective`` is of a hundred chains.
    """
    model, d = problem.model, problem.model.n_params
    if d > MOST_PARAMETERS:
        return []
    T = max(LENGTH, PER_PARAMETER * d // EACH)
    both = np.array([_chains(problem, one.z, T, rng) for one, rng in zip(found, rngs)])  # (2, T, C, d)
    slots = model.slot_reference(both.reshape(-1, d))
    both = model.canonicalize(both.reshape(-1, d), slots).reshape(both.shape)
    log_p = np.array([_log_p(problem, theta.reshape(-1, d)).reshape(T, EACH) for theta in both])
    everything = np.concatenate([both, log_p[..., None]], axis=3)
    if slowness(np.concatenate(list(everything), axis=1)) > SLOW:
        return []
    n_sweeps = EACH * (FORGET + T * BETWEEN)
    halves = []
    for mine in range(2):
        m, L = _fitted(both[1 - mine].reshape(-1, d))
        points, log_q = _gaussian_weights(problem, slots, m, L, rngs[mine])
        held = log_p[mine] - _log_density(both[mine].reshape(-1, d), m, L).reshape(T, EACH)
        estimate = _of_all_labels(bridge(log_q, held), model.n_components)
        halves.append(Half(np.concatenate([points, both[mine].reshape(-1, d)]), estimate, n_sweeps))
    return halves


def slowness(theta: np.ndarray) -> float:
    """R of the slowest of T draws of C chains, (T, C, q)."""
    within = np.maximum(theta.var(axis=0, ddof=1).mean(axis=0), 1e-300)
    return float(np.max(theta.mean(axis=0).var(axis=0, ddof=1) / within))


def _chains(problem: Problem, z: np.ndarray, T: int, rng: np.random.Generator) -> np.ndarray:
    """T draws of EACH chains from allocations (S, n)."""
    start = statistics(np.resize(z, (EACH, z.shape[1])), problem.F, problem.model.n_components)
    theta = sample_parameters(problem.model, start, problem.origin, rng)
    theta, _ = problem.swept(theta, FORGET, rng)
    kept = []
    for _ in range(T):
        theta, _ = problem.swept(theta, BETWEEN, rng)
        kept.append(theta)
    return np.array(kept)


def _log_p(problem: Problem, theta: np.ndarray) -> np.ndarray:
    return problem.model.log_prior(theta) + problem.model.sum_log_likelihood(theta, problem.rows)


def _fitted(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # of a covariance that is all but singular any other that is near will do
    C = np.cov(theta.T) + 1e-9 * np.diag(theta.var(axis=0))
    return theta.mean(axis=0), np.linalg.cholesky(C)


def _log_density(theta: np.ndarray, m: np.ndarray, L: np.ndarray) -> np.ndarray:
    x = solve_triangular(L, (theta - m).T, lower=True)
    return -0.5 * np.sum(x**2, axis=0) - 0.5 * len(m) * np.log(2 * np.pi) - np.sum(np.log(np.diag(L)))


def _gaussian_weights(
    problem: Problem, slots: tuple, m: np.ndarray, L: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """DRAWS of the Gaussian, and log p 1_A / N of each."""
    theta = m + rng.standard_normal((DRAWS, len(m))) @ L.T
    in_A = problem.model.is_canonical(theta, slots)
    log_w = np.where(in_A, _log_p(problem, theta) - _log_density(theta, m, L), -np.inf)
    return theta, log_w


def _of_all_labels(one: Estimate, K: int) -> Estimate:
    """The estimate for all K! labellings, with the effective chains of a hundred."""
    return one._replace(
        log_Z=one.log_Z + lgamma(K + 1),
        log_w=one.log_w + lgamma(K + 1),
        n_effective=one.n_effective * CHAINS / EACH,
    )
