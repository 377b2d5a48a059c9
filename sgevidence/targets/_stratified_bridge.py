r"""The evidence of a mixture basin by basin, where Gibbs chains do not go from one to another.

Chains that start in several basins hold them in the proportions in which they started.  Where draws of q are
far narrower than the posterior their weights are no guide to these (of 2000 draws ten may be effective), and
one bridge between q and all chains gives too little: of diabetes, K = 6, half a nat.  But chains of one basin
alone have the right distribution there, whatever their number.  So let each basin B have its own bridge,

    Ẑ = Σ_B Ẑ_B,    Ẑ_B = Σ_m 1_B(θ_m) p(θ_m) h_B(θ_m) / n_q  ÷  Σ_c q(θ_c) h_B(θ_c) / n_B,
    h_B = 1 / (n_q q + n_B p / Z_B),    θ_m ~ q,    θ_c of the chains of B;

a draw of q is of the basin of the allocation it was given, since that is half of a Gibbs sweep.  If a basin
is counted as two by mistake each has its share of the draws in the numerator, and the sum is the same.  If
two are taken for one their chains have the proportions in which they started, as before.

Which lineages of chains share a basin is seen by q itself: each is joined to those whose allocations
explain best where it has come to.  Then every basin that counts is given as many lineages as any other, as
rare as it was among those that the search found, and all is done again.

Symbols
-------
=====  ============  ============================================================
θ_c    ``theta``     points of L lineages, LENGTH after one another, (LENGTH L, d)
z_s    ``T``         statistics of their KEPT L allocations, lineages fastest
B      ``basin``     number of the basin of each lineage, (L,)
=====  ============  ============================================================

References
----------
X.-L. Meng and W. H. Wong (1996), Simulating ratios of normalizing constants via a simple identity.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ..models.allocations import sample_parameters, statistics
from ..particles import log_sum_exp
from ._allocation_proposal import CHAINS, LENGTH, Problem
from ._bridge import Estimate, bridge

#: Lineages at first, and of each basin that counts then; those of one that does not.
LINEAGES, EACH, REST = 100, 40, 5
#: Nats below all others together at which a basin does not count.
NEGLIGIBLE = 5.0
#: Allocations that each lineage gives to q, and other lineages that it is joined to.
KEPT, JOINED = 3, 2
#: Sweeps between draws that are kept; draws of q.
BETWEEN, DRAWS = 3, 1000
#: Times that it is done, and sweeps of each until lineages have forgotten where they were in their basin, if
#: rows · components · numbers of each are swept no more often.
STAGES, SWEEPS, MOST_SWEPT = 3, 50, 3_000_000


class Stage(NamedTuple):
    """Lineages (L, d) where they are, their basins (L,), and what these hold: (basins,) of log Ẑ_B."""

    theta: np.ndarray
    basin: np.ndarray
    log_Z: np.ndarray
    points: np.ndarray
    estimate: Estimate
    n_sweeps: int


def stratified_bridge(problem: Problem, z: np.ndarray, rng: np.random.Generator) -> Stage:
    """The last of STAGES from allocations z (S, n), and the sweeps of all.

    Its error bar includes half of what it differs by from the one before: other lumps of the same basins.
    """
    z = rng.permutation(z)[:LINEAGES]
    T = statistics(z, problem.F, problem.model.n_components)
    stages = [_stage(problem, sample_parameters(problem.model, T, problem.origin, rng), rng)]
    while len(stages) < STAGES:
        stages.append(_stage(problem, stages[-1].theta[_evenly(stages[-1], rng)], rng))
    before, last = stages[-2].estimate, stages[-1].estimate
    estimate = last._replace(var_p=last.var_p + (last.log_Z - before.log_Z) ** 2 / 4)
    return stages[-1]._replace(estimate=estimate, n_sweeps=sum(one.n_sweeps for one in stages))


def _stage(problem: Problem, theta: np.ndarray, rng: np.random.Generator) -> Stage:
    """Lineages from theta (L, d) go on, are sorted into basins, and each of these is bridged."""
    L, forget = len(theta), int(np.clip(MOST_SWEPT / problem.cost, SWEEPS // 5, SWEEPS))
    theta, T, _ = _followed(problem, theta, forget, KEPT, rng)
    theta, _, points = _followed(problem, theta, forget // 2, LENGTH, rng)
    chains = problem.weighed(points, T, np.zeros(len(points), dtype=bool))
    basin = _basins(chains.terms.reshape(LENGTH, L, KEPT, L))
    draws, allocation = problem.drawn(T, DRAWS, rng)
    log_p, estimates = chains.log_w.reshape(LENGTH, L), []
    for B in range(basin.max() + 1):
        in_B = basin[allocation % L] == B
        estimates.append(bridge(np.where(in_B, draws.log_w, -np.inf), log_p[:, basin == B]))
    estimate = _sum(estimates, basin, LENGTH)
    n_sweeps = L * (forget + forget // 2 + BETWEEN * (KEPT + LENGTH))
    log_Z = np.array([one.log_Z for one in estimates])
    return Stage(theta, basin, log_Z, np.concatenate([draws.theta, points]), estimate, n_sweeps)


def _followed(
    problem: Problem, theta: np.ndarray, n_sweeps: int, size: int, rng: np.random.Generator
) -> tuple:
    """(θ, T, points) of lineages that are swept, and then so often told of: T (K, size · L, 2p + 1)."""
    theta, _ = problem.swept(theta, n_sweeps, rng)
    allocations, points = [], []
    for _ in range(size):
        theta, T = problem.swept(theta, BETWEEN, rng)
        allocations.append(T)
        points.append(theta)
    return theta, np.concatenate(allocations, axis=1), np.concatenate(points)


def _basins(terms: np.ndarray) -> np.ndarray:
    """The basin of each lineage (L,), by what allocations (KEPT, L) add to q at its points (LENGTH, L).

    Each is joined to the JOINED others that explain its points best; its own allocations are near it for
    want of time.
    """
    L = terms.shape[1]
    by = log_sum_exp(terms, axis=2)
    by = log_sum_exp(by - by.max(axis=2, keepdims=True), axis=0)
    np.fill_diagonal(by, -np.inf)
    nearest = np.argsort(-by, axis=1)[:, :JOINED]
    one = np.repeat(np.arange(L), nearest.shape[1])
    graph = csr_array((np.ones(len(one)), (one, nearest.ravel())), shape=(L, L))
    return connected_components(graph, directed=False)[1]


def _evenly(stage: Stage, rng: np.random.Generator) -> np.ndarray:
    """Which lineages go on, as many of each basin that counts."""
    counts = stage.log_Z > stage.estimate.log_Z - NEGLIGIBLE
    each, which = max(EACH, LINEAGES // int(np.sum(counts))), []
    for B, does in enumerate(counts):
        members = rng.permutation(np.flatnonzero(stage.basin == B))
        which.append(np.resize(members, each) if does else members[:REST])
    return np.concatenate(which)


def _sum(estimates: list[Estimate], basin: np.ndarray, length: int) -> Estimate:
    """Ẑ = Σ_B Ẑ_B, with the effective chains of a hundred.

    The weights of q's draws add up over basins; chains have weights in their own basin only.
    """
    log_Z = np.array([one.log_Z for one in estimates])
    total = float(log_sum_exp(log_Z, axis=0))
    share = np.exp(log_Z - total)
    n_q = len(estimates[0].log_w) - length * np.sum(basin == 0)
    N = n_q + length * len(basin)
    log_w, chains = np.full(n_q, -np.inf), np.empty((length, len(basin)))
    for B, one in enumerate(estimates):
        mine = one.log_w + np.log(N / len(one.log_w))
        log_w = np.maximum(log_w, mine[:n_q])  # each draw is of one basin
        chains[:, basin == B] = mine[n_q:].reshape(length, -1)
    var_q = float(share**2 @ [one.var_q for one in estimates])
    var_p = float(share**2 @ [one.var_p for one in estimates])
    n_effective = CHAINS * float(
        share @ (np.array([one.n_effective for one in estimates]) / np.bincount(basin))
    )
    return Estimate(total, var_q, var_p, n_effective, np.r_[log_w, chains.ravel()])
