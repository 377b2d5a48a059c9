"""Estimates of a mixture's evidence from searches for its allocations, alone and combined.

Each search has two halves that know nothing of each other, so that what one has missed shows.

Symbols: ``log_Z`` = evidence, nats; ``N`` searches.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ..particles import log_sum_exp
from ._allocation_proposal import Problem
from ._bridge import Estimate

#: Effective draws, or chains of a hundred, below which a bridge is not believed.  Nats that halves may differ
#: by, and from which another search may know more (wine, K = 6: one in forty).
MIN_EFFECTIVE_CHAINS, APART, DIFFERENT = 60, 1.0, 0.4
#: Multiple of its error bar by which an answer must be higher than another that may have missed a basin.
CLEARLY = 0.5
#: Nats below another at which what is held besides does not count.
NOTHING = 5.0
#: Nats by which what is not reliable may be too low besides its error bar, if so many of a hundred chains
#: carry it.
ROUGHLY, SOME = 3.0, 20
#: Nats that what is not reliable may add at most.
ADDS = 0.2
#: Standard errors by which what is rough may exceed what is precise.
SIGNIFICANT = 3.0


class AllocationEvidence(NamedTuple):
    """Evidence of a mixture and weighted draws from its posterior.

    ``log_evidence_std`` is the largest of the standard error, of half of what two independent halves differ
    by, in nats, and with several components of three in all draws, to which comes, where draws of q are all
    there are, the share that one allocation alone makes up; where few chains carry a bridge more, by what
    this adds to importance sampling, over their number.  Where rows are tied, to this comes what
    another search may add (``_basins_met.py``).  The mean of exp(``log_weights``) (M,) is the
    evidence, ``theta`` (M, d) are the points they belong to, and ``n_effective`` of the draws, or of the
    chains if these are fewer, carry it.  Where these are few, or the halves are too far apart, neither value
    nor error bar can be trusted and ``reliable`` is False; ``hopeful`` if another search may do better.
    ``n_likelihoods`` counts points times rows.  Chains know, even where they do not settle, what the evidence
    is ``at_most``.
    """

    log_evidence: float
    log_evidence_std: float
    theta: np.ndarray
    log_weights: np.ndarray
    n_effective: float
    reliable: bool
    hopeful: bool
    n_likelihoods: float
    at_most: float = np.inf


class Half(Protocol):
    """A bridge by one half: its points, what they say, and the sweeps it took."""

    @property
    def points(self) -> np.ndarray: ...
    @property
    def estimate(self) -> Estimate: ...
    @property
    def n_sweeps(self) -> int: ...


def larger_lower_bound(one: AllocationEvidence, other: AllocationEvidence) -> AllocationEvidence:
    """The larger of two estimates that may have missed a basin, and are hardly ever much too high."""
    gain = other.log_evidence - one.log_evidence
    better = gain > CLEARLY * other.log_evidence_std or other.reliable > one.reliable
    return (other if better else one)._replace(n_likelihoods=one.n_likelihoods + other.n_likelihoods)


def prefer_precise(rough: AllocationEvidence, precise: AllocationEvidence) -> AllocationEvidence:
    """The precise estimate, if it is reliable and the rough one is not much higher.

    By as many errors as it says more, the error bar is longer (Birge 1932).
    """
    std = np.hypot(rough.log_evidence_std, precise.log_evidence_std)
    z = (rough.log_evidence - precise.log_evidence) / std
    wider = precise._replace(log_evidence_std=precise.log_evidence_std * float(max(z, 1.0)))
    taken = wider if precise.reliable and not precise.hopeful and z < SIGNIFICANT else rough
    return taken._replace(n_likelihoods=rough.n_likelihoods + precise.n_likelihoods)


def combine_halves(problem: Problem, halves: Sequence[Half], least: float) -> AllocationEvidence:
    """Mean of two halves, reliable if at least ``least`` of a hundred chains are effective in each."""
    n_effective = min(half.estimate.n_effective for half in halves)
    each = [
        AllocationEvidence(
            log_evidence=half.estimate.log_Z,
            log_evidence_std=half.estimate.std,
            theta=half.points,
            log_weights=half.estimate.log_w,
            n_effective=n_effective,
            reliable=True,
            hopeful=False,
            n_likelihoods=float(len(half.points) * len(problem.rows) + half.n_sweeps * len(problem.F)),
        )
        for half in halves
    ]
    apart = abs(each[0].log_evidence - each[1].log_evidence)
    return average(each)._replace(
        reliable=bool(n_effective > least and apart < APART),
        hopeful=bool(n_effective > least and apart > DIFFERENT),
    )


def average(found: list[AllocationEvidence]) -> AllocationEvidence:
    """Average over independent searches: the mean of their evidences, and all their draws.

    None is chosen for its error bar, which would prefer those that have missed a basin altogether.
    """
    if len(found) == 1:
        return found[0]
    N, n_draws = len(found), sum(len(one.theta) for one in found)
    log_Z = np.array([one.log_evidence for one in found])
    std = np.array([one.log_evidence_std for one in found])
    std_of_mean = max(np.sqrt(np.sum(std**2)) / N, np.ptp(log_Z) / 2, std.min())
    n_effective = min(one.n_effective for one in found)
    return AllocationEvidence(
        log_evidence=float(log_sum_exp(log_Z, axis=0) - np.log(N)),
        log_evidence_std=float(std_of_mean),
        theta=np.concatenate([one.theta for one in found]),
        log_weights=np.concatenate([one.log_weights - np.log(N * len(one.theta) / n_draws) for one in found]),
        n_effective=n_effective,
        reliable=all(one.reliable or one.hopeful for one in found) and bool(std_of_mean < APART / 2),
        hopeful=found[-1].hopeful,
        n_likelihoods=sum(one.n_likelihoods for one in found),
    )


def add_disjoint(one: AllocationEvidence, other: AllocationEvidence) -> AllocationEvidence:
    """Sum of two estimates without a common allocation; the lower is left out if its bound is far lower.

    An error bar that is not reliable does not say so: of few effective draws it may be too short.  Half of
    what it may add is an error.
    """
    spent = one.n_likelihoods + other.n_likelihoods
    one, other = sorted([one, other], key=lambda each: -each.log_evidence)
    if upper_bound(other) < one.log_evidence - NOTHING:
        return one._replace(n_likelihoods=spent)
    log_Z = np.array([one.log_evidence, other.log_evidence])
    total = float(np.logaddexp(*log_Z))
    std = np.exp(log_Z - total) * [one.log_evidence_std, other.log_evidence_std]
    doubt = 0.0 if other.reliable else np.logaddexp(one.log_evidence, upper_bound(other)) - total
    M = np.array([len(one.theta), len(other.theta)])
    log_M = np.log(M.sum() / M)
    return AllocationEvidence(
        log_evidence=total,
        log_evidence_std=float(np.hypot(np.hypot(*std), doubt / 2)),
        theta=np.concatenate([one.theta, other.theta]),
        log_weights=np.concatenate([one.log_weights + log_M[0], other.log_weights + log_M[1]]),
        n_effective=min(one.n_effective, other.n_effective) if other.reliable else one.n_effective,
        reliable=bool(one.reliable and doubt < ADDS),
        hopeful=False,
        n_likelihoods=spent,
    )


def upper_bound(one: AllocationEvidence) -> float:
    """Upper bound of an estimate, in nats."""
    highest = one.log_evidence + SIGNIFICANT * one.log_evidence_std
    if one.reliable:
        return highest
    return min(one.at_most, highest + ROUGHLY if one.n_effective > SOME else np.inf)
