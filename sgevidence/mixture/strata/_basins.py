r"""One stratum from chains that are sorted into basins: a bridge for each of them, and their sum.

Chains (lineages) that start where searches have been are swept on, and each gives allocations to q
(``_allocation_draws.py``).  Two of them share a basin if either's allocations explain the other's points.
Draws of q belong to the basin of their allocation, so that each basin has draws of q and chains of its own,
and the optimal bridge between these says what it holds, in whatever proportions chains started.

Symbols: ``L`` = lineages, ``z`` = their allocations (L, n), ``basin`` = of each, (L,), ``log_B`` = nats of
each basin.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ...answers import Estimate, bridge, importance
from ...particles import log_sum_exp, systematic
from ._allocation_draws import weighed
from ._sweeps import Problem


class Kernels(NamedTuple):
    """Sizes of a stage, for each lineage.

    ``powers`` are λ of the kernels p(θ | λT) of q, T being the sums of an allocation.  One given all rows is
    narrower than the posterior where components overlap, and with λ = 1 alone a bridge has few effective
    chains; without it basins that are an allocation each would not be told apart.
    """

    powers: tuple[float, ...]
    n_points: int  #: of the posterior, for the bridge
    n_draws: int  #: of q


#: Sizes of the first stage; of later ones, which strata of overlapping components need; and of these with
#: more than five components, whose sums over labellings would take most of the time.
FIRST_KERNELS = Kernels((1.0,) * 3, 4, 20)
LATER_KERNELS, KERNELS_OF_MANY = Kernels((1.0, 0.6) * 5, 12, 40), Kernels((1.0, 0.6) * 2, 6, 20)


def kernels_of(k: int, stage: int) -> Kernels:
    """Sizes of a stage, the first being 0."""
    later = LATER_KERNELS if k <= 5 else KERNELS_OF_MANY
    return later if stage else FIRST_KERNELS


#: Other lineages that each is joined to, at most.
MAX_JOINED = 2
#: Nats below the sum at which a basin does not count, and from which it has its full part of the lineages.
NEGLIGIBLE_BASIN_NATS, FULL_BASIN_NATS = 10.0, 5.0
#: Lineages of each basin that counts, without which its error bar is not known, and a bridge may be much too
#: high, unlike importance sampling (breast cancer, K = 4: by 4 nats to a single chain).
LEAST_OF_BASIN = 3


class Stage(NamedTuple):
    """Estimate of a stratum from lineages.

    ``points`` are coefficients (k, M, q) of draws from the stratum's posterior, whose weights (M,) the
    estimate has, and as ``n_effective`` the share of chains, or of draws of q, that carry the answer.
    ``least`` is what the stratum holds at least, nats: the mean weight of q's draws, which is unbiased, less
    three of its relative errors; it exceeds the truth by three nats once in twenty times at most (Markov).
    A bridge to chains that q hardly covers may be too high by more than that.
    """

    z: np.ndarray
    basin: np.ndarray
    log_B: np.ndarray
    points: np.ndarray
    estimate: Estimate
    least: float
    is_tight: bool
    n_sweeps: int

    @property
    def log_Z(self) -> float:
        """Log sum over all basins, nats."""
        return self.estimate.log_Z

    @property
    def counts(self) -> np.ndarray:
        """Whether each basin holds enough to count."""
        return self.log_B > self.log_Z - NEGLIGIBLE_BASIN_NATS

    @property
    def is_thin(self) -> bool:
        """Whether a basin that counts has so few lineages that its error is not known."""
        return bool(np.any(np.bincount(self.basin)[self.counts] < LEAST_OF_BASIN))


def by_basin(
    problem: Problem,
    k: int,
    z: np.ndarray,
    forget: int,
    between: int,
    kernels: Kernels,
    rng: np.random.Generator,
) -> Stage:
    """Lineages from z (L, n) go on, are sorted into basins, and each of these is bridged.

    They are swept ``forget`` times before they tell anything, and ``between`` times between what they tell.
    """
    L, T = len(z), problem.statistics(z, k)
    powers, n_points, n_draws = kernels
    # decided once for the whole run: a kernel that is chosen by where chains are would not keep the posterior
    problem = problem._replace(is_tight=bool(np.any(T[..., -1] < problem.family.least_rows)))
    z, T, c = problem.swept(z, T, None, forget, rng)
    z, T, c, kept, _ = _followed(problem, z, T, c, len(powers), between, rng)
    z, T, c = problem.swept(z, T, c, max(forget // 2, 1), rng)
    z, T, c, _, chains = _followed(problem, z, T, c, n_points, between, rng)
    kept *= np.repeat(powers, L)[:, None]
    log_p, terms = weighed(problem, chains, kept)
    basin = _basins(terms.reshape(n_points, L, len(powers), L)[:, :, np.equal(powers, 1.0)])
    parents = systematic(np.full(kept.shape[1], 1 / kept.shape[1]), rng, n_draws * L)
    draws = problem.draw(kept[:, parents], rng)
    log_q, _ = weighed(problem, draws, kept)
    log_p = np.maximum(log_p, log_p.max() - 1e4).reshape(n_points, L)
    estimates = []
    for B in range(basin.max() + 1):
        mine = np.where(basin[parents % L] == B, log_q, -np.inf)
        estimates.append(_estimate(mine, log_p[:, basin == B]))
    estimate, log_B = _sum(estimates, basin, n_draws * L, n_points)
    n_sweeps = L * (forget + max(forget // 2, 1) + between * (len(powers) + n_points))
    points = np.concatenate([draws, chains], axis=1)
    by_draws = importance(log_q)
    least = by_draws.log_Z - 3.0 * min(by_draws.std, 1.0)
    return Stage(z, basin, log_B, points, estimate, least, problem.is_tight, n_sweeps)


def going_on(stage: Stage, size: int, rng: np.random.Generator) -> np.ndarray:
    """Allocations from which lineages continue, as many of each basin that holds much, (size or so, n)."""
    is_full, which = stage.log_B > stage.log_Z - FULL_BASIN_NATS, []
    each = max(size // int(np.sum(is_full)), LEAST_OF_BASIN)
    for B, counts in enumerate(stage.counts):
        members = rng.permutation(np.flatnonzero(stage.basin == B))
        n = each if is_full[B] else LEAST_OF_BASIN
        which.append(np.resize(members, n) if counts else members[:LEAST_OF_BASIN])
    return stage.z[np.concatenate(which)]


def _estimate(log_q: np.ndarray, log_p: np.ndarray) -> Estimate | None:
    """Estimate of the content of a basin, by its draws of q and its chains; None where it has no draws."""
    if not np.any(log_q > -np.inf):
        return None
    if log_p.shape[1] >= LEAST_OF_BASIN:
        return bridge(log_q, log_p)
    one = importance(log_q)
    return one._replace(log_w=np.r_[log_q, np.full(log_p.size, -np.inf)] + np.log1p(log_p.size / len(log_q)))


def _followed(
    problem: Problem,
    z: np.ndarray,
    T: np.ndarray,
    c: np.ndarray,
    size: int,
    between: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(z, T, c) of lineages, and what they tell so many times: T and c, (k, size · L, q)."""
    allocations, points = [], []
    for _ in range(size):
        z, T, c = problem.swept(z, T, c, between, rng)
        allocations.append(T)
        points.append(c)
    return z, T, c, np.concatenate(allocations, axis=1), np.concatenate(points, axis=1)


def _basins(terms: np.ndarray) -> np.ndarray:
    """The basin of each lineage (L,): allocations add to q at its points, (points, L, kernels, L).

    Each is joined to the MAX_JOINED others that explain its points best, if chains cross between them.
    """
    L = terms.shape[1]
    by = log_sum_exp(terms, axis=2)
    by = log_sum_exp(by - by.max(axis=2, keepdims=True), axis=0)
    own = np.diag(by).copy()
    np.fill_diagonal(by, -np.inf)
    nearest = np.argsort(-by, axis=1)[:, :MAX_JOINED]
    behind = own[:, None] - np.take_along_axis(by, nearest, axis=1)
    # nats by which allocations of another lineage explain points less than a lineage's own where no chain
    # crosses.  Between overlapping groups (1000 rows, K = 3) the two best others are up to 50 nats behind,
    # between basins 80 to 750.  And how often that of the median lineage comes to it, where all are slow.
    crosses = behind < 60.0 + 3.0 * max(np.median(behind), 0.0)
    one, other = np.nonzero(crosses)[0], nearest[crosses]
    graph = csr_array((np.ones(len(one)), (one, other)), shape=(L, L))
    return connected_components(graph, directed=False)[1]


def _sum(
    estimates: list[Estimate | None], basin: np.ndarray, n_q: int, n_points: int
) -> tuple[Estimate, np.ndarray]:
    """Ẑ = Σ_B Ẑ_B with weights of all draws and the effective share, and log Ẑ_B.

    Weights of q's draws add up, each draw being of one basin; those of chains are each basin's own.
    """
    log_B = np.array([-np.inf if one is None else one.log_Z for one in estimates])
    total = float(log_sum_exp(log_B, axis=0))
    share = np.exp(log_B - total)
    N, size = n_q + n_points * len(basin), np.bincount(basin)
    log_w, chains = np.full(n_q, -np.inf), np.full((n_points, len(basin)), -np.inf)
    var_q = var_p = effective = 0.0
    for B, one in enumerate(estimates):
        if one is None:
            continue
        mine = one.log_w + np.log(N / len(one.log_w))
        log_w = np.maximum(log_w, mine[:n_q])
        chains[:, basin == B] = mine[n_q:].reshape(n_points, -1)
        var_q, var_p = var_q + share[B] ** 2 * one.var_q, var_p + share[B] ** 2 * one.var_p
        effective += share[B] * min(one.n_effective / size[B], 1.0)
    log_w = np.r_[log_w, chains.ravel()]
    return Estimate(total, float(var_q), float(var_p), float(effective), log_w), log_B
