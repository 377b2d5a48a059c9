r"""The evidence of a mixture as that of all components in use and that of fewer.

Chains that have settled with all of K components in use hardly ever empty one of a hundred rows, nor do those
with an empty one split a group that large, though both may hold as much.  So what the others hold is added,

    Z_K = Σ_{z: E = 0} p(x, z) + Σ_{z: E ≥ 1} p(x, z),    the latter K c Z_{K−1} E_{K−1}[1/(1 + E)],

with E empty components and c as in ``_fewer.py``, m = 1: of the allocations of K − 1 components with E empty
each is one of K in K ways, and is met 1 + E times.

Symbols
-------
=====  ============  ==================================================
E      ``n_empty``   components without a row
K      ``K``         of the larger mixture
=====  ============  ==================================================

References
----------
A. Nobile (2004), On the posterior distribution of the number of components in a finite mixture.
"""

from collections.abc import Sequence

import numpy as np

from ..models.allocations import coefficients, sample_allocations, sample_parameters, statistics
from ..particles import Weights
from ._aligned import by_gaussian
from ._allocation_answer import FEW, SIGNIFICANT, AllocationEvidence, together
from ._allocation_proposal import Problem
from ._allocation_search import Found
from ._chains import EACH, Chains, followed_from
from ._fewer import log_c

#: Share of the draws of chains by which they stay where they are, and by which they have left it.
STAY, LEFT = 0.95, 0.5
#: Share of the chains of a half that must have all components in use.
MOST = 0.75


def empties(found: Found, K: int) -> np.ndarray:
    """E of the allocations that a search ends with, (C,)."""
    return K - np.sum(np.any(found.z[:, :, None] == np.arange(K), axis=1), axis=1)


def all_in_use(chains: Chains) -> Chains | None:
    """Those that never have an empty component, if they are most of either half but not all.

    One chain of a hundred that stays with an empty component keeps all from settling.  The first of the
    others are taken twice in its place.
    """
    full = np.all(chains.n_empty == 0, axis=1)  # (2, C)
    if full.all() or full.mean(axis=1).min() < MOST:
        return None
    which = np.array([np.resize(np.flatnonzero(half), len(half)) for half in full])[:, None]
    return chains._replace(
        theta=np.take_along_axis(chains.theta, which[..., None], axis=2),
        log_p=np.take_along_axis(chains.log_p, which, axis=2),
        n_empty=np.take_along_axis(chains.n_empty, which, axis=2),
    )


def with_an_empty_one(
    problem: Problem, one: AllocationEvidence, rng: np.random.Generator
) -> AllocationEvidence:
    """What allocations with at least one empty component hold, from the evidence of one component fewer."""
    model, K = problem.model, problem.model.n_components
    fewer = problem.fewer(K - 1).model
    c = coefficients(fewer, one.theta, problem.origin)
    _, T, _ = sample_allocations(c, problem.F, rng)
    T = np.concatenate([T, np.zeros((1, *T.shape[1:]))])
    log_share = -np.log(np.sum(T[:, :, -1] == 0, axis=0))  # 1/(1 + E)
    log_all = np.log(K) + log_c(model, 1, problem.rows.weight.sum())
    log_w = one.log_weights + log_share + log_all
    return one._replace(
        log_evidence=Weights(log_w).log_mean,
        theta=sample_parameters(model, T, problem.origin, rng),
        log_weights=log_w,
    )


def with_more_in_use(
    problem: Problem, found: Sequence[Found], least: int, rngs: list[np.random.Generator]
) -> AllocationEvidence | None:
    """What chains hold that start with fewer than ``least`` empty components; None if they do not stay so.

    Not reliable where it cannot be told.
    """
    K = problem.model.n_components
    each = [one.z[empties(one, K) < least] for one in found]
    theta = []
    for own, other, rng in zip(each, each[::-1], rngs):
        z = own if len(own) else other
        T = statistics(np.resize(rng.permutation(z), (EACH, z.shape[1])), problem.F, K)
        theta.append(sample_parameters(problem.model, T, problem.origin, rng))
    chains = followed_from(problem, theta, rngs)
    stays = np.mean(chains.n_empty < least)
    if stays < LEFT:
        return None
    answer = together(problem, by_gaussian(problem, chains, rngs), FEW)
    is_known = chains.are_settled and stays > STAY and np.mean(chains.n_empty == 0) > STAY
    return answer._replace(reliable=bool(answer.reliable and is_known))


def both(one: AllocationEvidence, other: AllocationEvidence, nothing: float) -> AllocationEvidence:
    """What two that have no allocation in common hold; not the other if so many nats lower beyond doubt."""
    if other.log_evidence + SIGNIFICANT * other.log_evidence_std < one.log_evidence - nothing:
        return one._replace(n_likelihoods=one.n_likelihoods + other.n_likelihoods)
    log_Z = np.array([one.log_evidence, other.log_evidence])
    total = float(np.logaddexp(*log_Z))
    std = np.exp(log_Z - total) * [one.log_evidence_std, other.log_evidence_std]
    M = np.array([len(one.theta), len(other.theta)])
    log_M = np.log(M.sum() / M)
    return AllocationEvidence(
        log_evidence=total,
        log_evidence_std=float(np.hypot(*std)),
        theta=np.concatenate([one.theta, other.theta]),
        log_weights=np.concatenate([one.log_weights + log_M[0], other.log_weights + log_M[1]]),
        n_effective=min(one.n_effective, other.n_effective),
        reliable=one.reliable and other.reliable,
        hopeful=False,
        n_likelihoods=one.n_likelihoods + other.n_likelihoods,
    )
