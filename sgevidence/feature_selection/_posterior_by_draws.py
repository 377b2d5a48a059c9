r"""The posterior over subsets of any regression: Laplace's evidence, and draws where the probability is.

Laplace's evidence leads: all subsets of a few groups, or those that two chains meet.  The most probable
subsets are drawn, until the tolerance is reached or little is left.  The differences between the evidences by
draws and Laplace's, by a line in the number of columns, correct the subsets that are not drawn; their scatter
about that line and the correction are the standard error of those.  With P_j the inclusion probability of a
column, p_k and s_k the probability and the standard error of subset k, and I_jk = 1 where column j is in
subset k, P_j has the error

    √( Σ_drawn (p_k (I_jk − P_j) s_k)² + (Σ_others p_k (I_jk − P_j) s_k)² ),

the errors of draws being independent and those of other subsets one, to be safe.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..samplers import EvidenceResult, Progress
from ._posterior import MIN_LISTED_SUBSETS, Posterior, columns_of, log_size_prior, search_doubts
from ._regressions import LaplaceSubsets, Regressions
from ._subset_evidence import ROUGH_SUBSET_NATS
from ._subsets import DOUBTFUL_GAP, Searched, members, search

#: Groups to which all subsets are weighed; about a second with a thousand rows.
MAX_WEIGHED_GROUPS = 10
#: Probability of the subsets that are not drawn at which no more are, and subsets that are, at most.
UNDRAWN_SHARE, MAX_DRAWN = 0.01, 64
#: Drawn subsets, at least, whose scatter about Laplace's evidences says how far others may be off.
MIN_DRAWN = 8
#: Standard error that one subset may leave in that of all, in tolerances: 64 of them leave 0.8.
SHARE_OF_TOLERANCE = 0.1


class SubsetWeights(NamedTuple):
    """Evidences and probabilities of all subsets, by those drawn so far."""

    log_evidence: np.ndarray  #: nats, (S,)
    std: np.ndarray  #: (S,)
    probability: np.ndarray  #: among these subsets, (S,)
    log_sum: float  #: log Σ evidence times prior over these subsets

    def error(self, drawn: list[int]) -> float:
        """Standard error of ``log_sum``, nats: errors of draws are independent, and those of others one."""
        share = self.probability * self.std
        of_drawn = share[drawn]
        return float(np.hypot(np.linalg.norm(of_drawn), share.sum() - of_drawn.sum()))


def posterior_by_draws(
    regressions: Regressions,
    always: Sequence[int],
    groups: Sequence[Sequence[int]],
    size_prior: str,
    rng: np.random.Generator,
    tolerance: float,
    progress: Progress,
) -> Posterior:
    """The subsets of an estimator's columns, weighed at the price of Newton's method and of some draws."""
    subsets = LaplaceSubsets(regressions, always, groups, log_size_prior(size_prior, len(groups)))
    searched = _weighed(subsets, rng, progress)
    states = [*subsets.evidences, *(s for s in subsets.without if s not in subsets.evidences)]
    guide = np.array([subsets.log_joint(s) - subsets.log_prior(s) for s in states])
    log_prior = np.array([subsets.log_prior(s) for s in states])
    drawn: dict[int, EvidenceResult] = {}
    # Laplace's evidence of one subset may be .8 nats off where that of others is right to .1: no error tells
    may_stop = regressions.is_log_concave
    while True:
        weights = _weights(guide, log_prior, drawn, states)
        left = [i for i in range(len(states)) if i not in drawn]
        enough = weights.probability[left].sum() < UNDRAWN_SHARE or (
            may_stop and len(drawn) >= MIN_DRAWN and weights.error(list(drawn)) < tolerance
        )
        enough = enough and bool(np.isfinite(guide[left]).all())
        if not left or enough or len(drawn) == MAX_DRAWN:
            break
        unknown = [i for i in left if not np.isfinite(guide[i])]
        best = unknown[0] if unknown else max(left, key=lambda i: weights.probability[i])
        p_best, p_left = weights.probability[best], weights.probability[left].sum()
        # part of the probability of the subsets that are not drawn, below which those that may still
        # be are not worth their time: those that are tell how far Laplace's evidences are off
        if not unknown and len(drawn) >= MIN_DRAWN and (MAX_DRAWN - len(drawn)) * p_best < 0.25 * p_left:
            break
        progress(
            f"draws: {len(drawn)} of {MAX_DRAWN} subsets at most, and {p_left:.1%} of the probability is "
            "in others"
        )
        rough = SHARE_OF_TOLERANCE * tolerance / max(p_best, 1e-300)
        wish = tolerance if unknown else float(np.clip(rough, tolerance, max(tolerance, ROUGH_SUBSET_NATS)))
        drawn[best] = subsets.answered(states[best], wish)
    return _arranged(regressions, subsets, states, guide, log_prior, drawn, weights, searched)


def _weighed(subsets: LaplaceSubsets, rng: np.random.Generator, progress: Progress) -> Searched | None:
    """Ask for the evidences of all subsets, or of those that chains meet."""
    if len(subsets.groups) > MAX_WEIGHED_GROUPS:
        return search(subsets, rng, progress)
    for g in range(len(subsets.groups) + 1):  # all whose last group is the g-th, each next to one before
        states = range(2**g // 2, 2**g)
        progress(f"search: {states[0]} of {2 ** len(subsets.groups)} subsets")
        subsets.weigh(states)
        for state in states:
            subsets.log_joint(state)
    return None


def _weights(
    guide: np.ndarray, log_prior: np.ndarray, drawn: dict[int, EvidenceResult], states: list[int]
) -> SubsetWeights:
    """Evidences by draws, and of other subsets Laplace's with the difference of these from it."""
    log_evidence, std = guide.copy(), np.zeros(len(guide))
    known = [i for i in drawn if np.isfinite(guide[i])]
    if known:
        size = np.array([state.bit_count() for state in states])
        difference = np.array([drawn[i].log_evidence for i in known]) - guide[known]
        degree = min(1, len(set(size[known])) - 1)
        line = np.polyfit(size[known], difference, degree)
        squares = np.sum((difference - np.polyval(line, size[known])) ** 2)
        scatter = np.sqrt(squares / max(len(known) - degree - 1, 1))
        correction = np.polyval(line, np.clip(size, min(size[known]), max(size[known])))
        log_evidence, std = log_evidence + correction, np.hypot(scatter, correction)
    for i, one in drawn.items():
        log_evidence[i], std[i] = one.log_evidence, one.log_evidence_std
    joint = log_evidence + log_prior
    log_sum = float(logsumexp(joint)) if np.isfinite(joint).any() else -np.inf
    probability = np.exp(joint - log_sum) if np.isfinite(log_sum) else np.full(len(joint), 1 / len(joint))
    return SubsetWeights(log_evidence, std, probability, log_sum)


def _arranged(
    regressions: Regressions,
    subsets: LaplaceSubsets,
    states: list[int],
    guide: np.ndarray,
    log_prior: np.ndarray,
    drawn: dict[int, EvidenceResult],
    weights: SubsetWeights,
    searched: Searched | None,
) -> Posterior:
    """The best subsets first, inclusion probabilities with their errors, and doubts."""
    before, p = logsumexp(guide + log_prior), weights.probability
    is_in = members(states, len(subsets.groups)).astype(float)  # (S, n_groups)
    of_groups, covered, total, total_std = p @ is_in, 1.0, weights.log_sum, 0.0
    if searched is not None:
        covered = min(float(np.exp(before - searched.log_evidence)), 1.0)
        of_groups = searched.inclusion + covered * (of_groups - np.exp(guide + log_prior - before) @ is_in)
        total, total_std = weights.log_sum + searched.log_evidence - before, searched.log_evidence_std
    of_groups = np.clip(of_groups, 0.0, 1.0)
    is_drawn = np.isin(np.arange(len(states)), list(drawn))
    share = p * weights.std
    of_inclusion = share[:, None] * (is_in - of_groups)
    of_drawn = np.sum(of_inclusion[is_drawn] ** 2, axis=0)
    errors = np.sqrt(of_drawn + of_inclusion[~is_drawn].sum(axis=0) ** 2)
    inclusion = np.zeros(regressions.n_features)
    inclusion[subsets.always] = 1.0
    for g, group in enumerate(subsets.groups):
        inclusion[group] = of_groups[g]
    doubts = [*search_doubts(searched), *_doubts(errors.max(initial=0.0), guide, is_drawn, drawn, p)]
    order = np.argsort(-p, kind="stable")
    listed = order[: max(MIN_LISTED_SUBSETS, len(drawn))]
    best = [int(i) for i in order if i in drawn]
    found = [(columns_of(states[i], subsets.always, subsets.groups), drawn[i]) for i in best]
    average = regressions.average(found, p[best])
    return Posterior(
        [columns_of(states[i], subsets.always, subsets.groups) for i in listed],
        weights.log_evidence[listed],
        weights.std[listed],
        log_prior[listed],
        covered * p[listed],
        inclusion,
        total,
        float(np.hypot(weights.error(list(drawn)), total_std)),
        [*doubts, *average.warnings_],
        average,
    )


def _doubts(
    error: float, guide: np.ndarray, is_drawn: np.ndarray, drawn: dict[int, EvidenceResult], p: np.ndarray
) -> list[str]:
    """Doubts of the evidences of subsets."""
    doubts = []
    if error > DOUBTFUL_GAP:
        doubts.append(
            f"the errors of the log evidences of subsets leave {error:.2f} open in the probability of a "
            "column: give the estimator a sampler with more particles"
        )
    if unknown := int(np.sum(~np.isfinite(guide) & ~is_drawn)):
        doubts.append(f"{unknown} subsets of columns were left out: no mode of their posteriors was found")
    said = {i: one.warnings for i, one in drawn.items() if one.warnings}
    # probability of subsets in doubt that is not said
    if said and (share := sum(p[i] for i in said)) > 0.05:
        worst = max(said, key=lambda i: p[i])
        doubts.append(
            f"the draws of {len(said)} subsets, with {share:.0%} of the probability, warn; the most probable "
            f"of them: {said[worst][0]}"
        )
    return doubts
