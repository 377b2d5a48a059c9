r"""The evidence of a mixture as that of all components in use and that of fewer.

Chains that have settled with all of K components in use hardly ever empty one of a hundred rows, nor do those
with some empty split a group that large, though both may hold as much.  So what the others hold is added,

    Z_K = Σ_{z: E < m} p(x, z) + Σ_{z: E ≥ m} p(x, z),    the latter C(K, m) c Z_{K−m} E_{K−m}[1/C(E + m, m)],

with E empty components and c as in ``_smaller_mixtures.py``: of the allocations of K − m components with E
empty each is one of K in C(K, m) ways, and is met C(E + m, m) times.  Those of the former with exactly e
empty are likewise those of K − e components, all in use, whose posterior a Gaussian may resemble: an empty
one is as wide as the prior.  Chains of these start where a search has been, and, split, where it has been
with one fewer in use.

Symbols
-------
=====  ============  ==================================================
E      ``n_empty``   components without a row
e, m   ``e``, ``m``  so many without a row
K      ``K``         of the larger mixture
=====  ============  ==================================================

References
----------
A. Nobile (2004), On the posterior distribution of the number of components in a finite mixture.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import binom

from ..models.allocations import coefficients, sample_allocations, sample_parameters, statistics
from ..particles import Weights
from ._allocation_proposal import Problem
from ._allocation_search import Found, least_alike
from ._chains import EACH, Chains, followed_from, shared
from ._combine import AllocationEvidence
from ._merge_split import split_off
from ._separated_modes import sum_of_separated_modes
from ._smaller_mixtures import log_c


def empties(z: np.ndarray, K: int) -> np.ndarray:
    """E of allocations (C, n), (C,)."""
    return K - np.sum(np.any(z[:, :, None] == np.arange(K), axis=1), axis=1)


def all_occupied(
    problem: Problem, chains: Chains, found: Sequence[Found], rngs: list[np.random.Generator]
) -> Chains | None:
    """Chains from where others never have an empty component, and searches do not, if there is such a place.

    One of a hundred that stays with an empty component keeps all from settling.
    """
    full = np.all(chains.n_empty == 0, axis=1)  # (2, C)
    theta = [last[which] for last, which in zip(chains.theta[:, -1], full)]
    more = _starts(problem, _known(problem, found, 0), _known(problem, found, 1), rngs)
    if more is not None:
        theta = [np.concatenate(both) for both in zip(theta, more)]
    starts = shared(theta, rngs)
    return None if starts is None else followed_from(problem, starts, rngs)


def log_ways(problem: Problem, m: int) -> float:
    """log C(K, m) c."""
    K = problem.model.n_components
    return float(np.log(binom(K, m)) + log_c(problem.model, m, problem.rows.weight.sum()))


def with_empty_ones(
    problem: Problem, one: AllocationEvidence, m: int, rng: np.random.Generator
) -> AllocationEvidence:
    """Sum over allocations with at least m empty components, from the evidence of m components fewer."""
    model, K = problem.model, problem.model.n_components
    c = coefficients(problem.fewer(K - m).model, one.theta, problem.origin)
    _, T, _ = sample_allocations(c, problem.F, rng)
    T = np.concatenate([T, np.zeros((m, *T.shape[1:]))])
    log_share = -np.log(binom(np.sum(T[:, :, -1] == 0, axis=0), m))  # 1/C(E + m, m)
    log_all = log_ways(problem, m)
    log_w = one.log_weights + log_share + log_all
    return one._replace(
        log_evidence=Weights(log_w).log_mean,
        theta=sample_parameters(model, T, problem.origin, rng),
        log_weights=log_w,
        at_most=one.at_most + log_all,  # shares are at most one
    )


def with_more_in_use(
    problem: Problem, found: Sequence[Found], least: int, rngs: list[np.random.Generator]
) -> Iterator[AllocationEvidence]:
    """Sum for each number of empty components below ``least``, where chains stay with it.

    Not reliable where it cannot be told.
    """
    next_to_it = _known(problem, found, least)
    for e in reversed(range(least)):
        fewer = problem.fewer(problem.model.n_components - e)
        theta = _starts(fewer, _known(problem, found, e), next_to_it, rngs)
        next_to_it = [z[:0] for z in next_to_it]
        if theta is None:
            continue
        chains = followed_from(fewer, theta, rngs)
        answer = sum_of_separated_modes(fewer, chains, rngs)
        if answer is not None:
            next_to_it = _where_full(fewer, chains, rngs)
            yield with_empty_ones(problem, answer, e, rngs[0])


def _known(problem: Problem, found: Sequence[Found], e: int) -> list[np.ndarray]:
    """Allocations (S, n) of either search with e empty components, these the last."""
    K = problem.model.n_components
    return [_without_gaps(one.ever[empties(one.ever, K) == e], K) for one in found]


def _starts(
    fewer: Problem, known: list[np.ndarray], next_to_it: list[np.ndarray], rngs: list[np.random.Generator]
) -> list[np.ndarray] | None:
    """(EACH, d) with all components in use, from what is known, and from one component less by a split.

    A search ranks what it has by scores, which are the lower the more components overlap: of two that are
    about as good as one it often keeps the latter alone (five groups, 500 rows of 20 columns: four of them
    in use hold the most, by 3 nats, and six searches of eight do not know them).
    """
    K, halves = fewer.model.n_components, []
    for own, less, rng in zip(known, next_to_it, rngs):
        own, less = (least_alike(z, K, EACH) if len(z) else z for z in (own, less))
        free = np.full((len(less), 1), K - 1, dtype=less.dtype)
        halves.append(np.concatenate([own, split_off(less, fewer.X, free, rng)]))
    z = shared(halves, rngs)
    if z is None:
        return None
    T = [statistics(half, fewer.F, K) for half in z]
    return [sample_parameters(fewer.model, half, fewer.origin, rng) for half, rng in zip(T, rngs)]


def _where_full(problem: Problem, chains: Chains, rngs: list[np.random.Generator]) -> list[np.ndarray]:
    """Allocations (S, n) of either half that chains have come to with all components in use."""
    z = []
    for theta, n_empty, rng in zip(chains.theta[:, -1], chains.n_empty[:, -1], rngs):
        c = coefficients(problem.model, theta[n_empty == 0], problem.origin)
        z.append(sample_allocations(c, problem.F, rng)[0])
    return z


def _without_gaps(z: np.ndarray, K: int) -> np.ndarray:
    """Allocations (C, n) with the labels that are in use from zero on."""
    is_used = np.any(z[:, :, None] == np.arange(K), axis=1)  # (C, K)
    return np.take_along_axis(np.cumsum(is_used, axis=1) - 1, z.astype(np.intp), axis=1)
