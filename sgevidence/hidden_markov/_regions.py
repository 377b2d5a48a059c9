r"""Bridges by regions of θ between which chains do not cross, and their sum.

Where draws of q are too thin for importance sampling, chains are needed, and the shares of regions among
their points are those of their starts.  A region is where the kernels of some chains, which visit each other,
explain a point better than all other kernels do.  The optimal bridge between draws of q and points of chains
inside of a region says how much it holds, in whatever proportions chains started:

    Ẑ = Σ_R Ẑ_R,    Z_R = ∫_R p(x | θ) p(θ) dθ.

Regions are one where chains cross freely between them.

Symbols: ``log_q, log_p`` = log-weights of draws of q, (n_q,), and of points, (n_p,), see
:mod:`~sgevidence.answers`; ``owner`` = the chain that kernels are of; ``chain`` = the chain of each point;
``pairs`` = ordered pairs of points of one chain that are in two regions, (G, G); ``label`` = the region of
each owner.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from ..answers import Estimate, bridge, importance
from ..particles import log_sum_exp

#: Crossings between two regions, in units of those of chains that forget where they were, from which they are
#: one region.
FREE_CROSSING = 0.25
#: Chains of a region without which its error bar is not known.
LEAST_CHAINS = 3
#: Draws of q, or chains, that carry a bridge at least: with fewer it lies anywhere between them.
LEAST_CARRIERS = 3.0


class Points(NamedTuple):
    """Draws of q, and after these the points of chains."""

    log_w: np.ndarray  #: log-weights, (n_q + n_p,)
    by_owner: np.ndarray  #: log density of the kernels of each owner, (n_q + n_p, owners)
    chain: np.ndarray  #: of each point, (n_p,)

    @property
    def n_q(self) -> int:
        """Draws of q."""
        return len(self.log_w) - len(self.chain)


def sum_over_regions(points: Points) -> Estimate:
    """The sum of bridges; weights of all points are those of a sample of the posterior."""
    visits = np.zeros((points.chain.max() + 1, points.by_owner.shape[1]))
    np.add.at(visits, (points.chain, points.by_owner[points.n_q :].argmax(axis=1)), 1.0)
    pairs, label = visits.T @ visits - np.diag(visits.sum(axis=0)), np.arange(visits.shape[1])
    while len(pairs) > 1:
        crossing = _crossing(pairs)
        if crossing.max() < FREE_CROSSING:
            break
        pairs, label = _merged(pairs, label, *divmod(int(np.argmax(crossing)), len(pairs)))
    region = _regions(points.by_owner, label)
    return _sum([_of_region(points, region == g) for g in range(len(pairs))], points, region)


def _crossing(pairs: np.ndarray) -> np.ndarray:
    """Crossings between regions in units of those if all points of the two were mixed, (G, G)."""
    inside = np.diag(pairs)
    total = inside[:, None] + inside + 2 * pairs
    p = (inside[:, None] + pairs) / np.maximum(total, 1e-300)
    crossing = np.where(pairs > 0, pairs / np.maximum(total * p * (1 - p), 1e-300), 0.0)
    np.fill_diagonal(crossing, 0.0)
    return crossing


def _merged(pairs: np.ndarray, label: np.ndarray, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs and labels with regions i and j as one."""
    i, j = min(i, j), max(i, j)
    pairs = pairs.copy()
    pairs[i] += pairs[j]
    pairs[:, i] += pairs[:, j]
    label = np.where(label == j, i, label)
    return np.delete(np.delete(pairs, j, 0), j, 1), label - (label > j)


def _regions(by_owner: np.ndarray, label: np.ndarray) -> np.ndarray:
    """The region of each point, whose kernels explain it best, (n_q + n_p,)."""
    each = [log_sum_exp(by_owner[:, label == g], axis=1) for g in range(label.max() + 1)]
    return np.argmax(each, axis=0)


def _of_region(points: Points, inside: np.ndarray) -> Estimate | None:
    """Evidence of a region; None where q has no draws in it.  Weights are of its own points, draws first."""
    n_q = points.n_q
    if not inside[:n_q].any():
        return None
    log_q = np.where(inside[:n_q], points.log_w[:n_q], -np.inf)
    log_p, chain = points.log_w[n_q:][inside[n_q:]], points.chain[inside[n_q:]]
    by_q = importance(log_q)
    by_q = by_q._replace(log_w=np.r_[log_q, np.full(len(log_p), -np.inf)])
    if len(np.unique(chain)) < LEAST_CHAINS:
        return by_q
    found = bridge(log_q, log_p[None])
    log_odds = np.log(len(log_p) / n_q)
    g = expit(found.log_Z - log_odds - log_p)  # points of one chain are alike
    _, which, size = np.unique(chain, return_inverse=True, return_counts=True)
    of_chain, C = np.bincount(which, weights=g), len(size)
    apart = np.sum((of_chain - size * of_chain.sum() / size.sum()) ** 2) / of_chain.sum() ** 2
    n_effective = min(found.n_effective, of_chain.sum() ** 2 / (of_chain @ of_chain))
    if n_effective < LEAST_CARRIERS:
        return by_q._replace(n_effective=n_effective)
    return found._replace(var_p=float(apart * C / (C - 1)), n_effective=float(n_effective))


def _sum(parts: list[Estimate | None], points: Points, region: np.ndarray) -> Estimate:
    """Ẑ = Σ_R Ẑ_R, and weights of all points, draws of q first."""
    log_Z = np.array([-np.inf if one is None else one.log_Z for one in parts])
    total, log_w = float(log_sum_exp(log_Z)), np.full(len(points.log_w), -np.inf)
    share, var_q, var_p, n_effective = np.exp(log_Z - total), 0.0, 0.0, 0.0
    for g, one in enumerate(parts):
        if one is None:
            continue
        mine = np.flatnonzero(np.r_[np.full(points.n_q, True), region[points.n_q :] == g])
        log_mine = one.log_w - log_sum_exp(one.log_w) + one.log_Z
        log_w[mine] = np.maximum(log_w[mine], log_mine)
        var_q, var_p = var_q + share[g] ** 2 * one.var_q, var_p + share[g] ** 2 * one.var_p
        n_effective += share[g] * one.n_effective
    return Estimate(total, float(var_q), float(var_p), float(n_effective), log_w + np.log(len(log_w)))
