r"""The posterior over subsets by fits of an estimator, where they carry the probability.

Laplace's evidence leads: all subsets of a few groups, or those that two chains meet.  The most probable
subsets are fitted, or answered by draws (:mod:`._drawn_subsets`), until the tolerance is reached or little
is left.  The differences
between fits and Laplace's evidences, by a line in the number of columns, correct the subsets that are not
fitted; their scatter about that line and the correction are the standard error of those.  With P_j the
inclusion probability of a column, p_k and s_k the probability and the standard error of subset k, and
I_jk = 1 where column j is in subset k, P_j has the error

    √( Σ_fitted (p_k (I_jk − P_j) s_k)² + (Σ_others p_k (I_jk − P_j) s_k)² ),

the errors of fits being independent and those of other subsets one, to be safe.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..particles import log_mixture, mixture_moments
from ..samplers import SILENT, Progress
from ._chains import DOUBTFUL_GAP, Searched, members, search
from ._drawn_subsets import ROUGH_SUBSET_NATS
from ._posterior import MIN_LISTED_SUBSETS, Posterior, columns_of, log_size_prior, search_doubts
from ._regressions import LaplaceSubsets, Regressions


class FittedAverage:
    """Models with weights that sum to one; each model has the indices of its columns of X in ``columns_``."""

    def __init__(self, models: list[Any], weight: np.ndarray, n_features: int) -> None:
        self.models, self.weight = models, weight
        shape = (*np.shape(models[0].coef_)[:-1], n_features)
        means, stds = np.zeros((len(models), *shape)), np.zeros((len(models), *shape))
        for k, model in enumerate(models):
            means[k][..., model.columns_] = model.coef_
            stds[k][..., model.columns_] = model.coef_std_
        self.coef, self.coef_std = mixture_moments(weight, means, stds)
        self.intercept = np.tensordot(weight, np.array([model.intercept_ for model in models]), 1)

    def average(self) -> "FittedAverage":
        """Itself: there is nothing to compute."""
        return self

    def moments(self, X: Any, **known: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of new values of y, (n,) each."""
        answers = [model.predict(X, return_std=True, **known) for model in self.models]
        return mixture_moments(self.weight, *np.array(answers).transpose(1, 0, 2))

    def mean(self, X: Any, **known: Any) -> np.ndarray:
        """Mean of y, (n,)."""
        return self.weight @ np.array([model.predict(X, **known) for model in self.models])

    def log_probabilities(self, X: Any, **known: Any) -> np.ndarray:
        """Log probabilities of the classes, (n, n_classes)."""
        logs = [model.predict_log_proba(X, **known) for model in self.models]
        return log_mixture(self.weight, np.array(logs))


#: Groups to which all subsets are weighed; about a second with a thousand rows.
MAX_WEIGHED_GROUPS = 10
#: Probability of the subsets that are not fitted at which no more are, and the most fits.
UNFITTED_SHARE, MAX_FITTED = 0.01, 64
#: Fits, at least, whose scatter about Laplace's evidences says how far others may be off.
MIN_FITTED = 8
#: Standard error that one subset may leave in that of all, in tolerances: 64 of them leave 0.8.
SHARE_OF_TOLERANCE = 0.1


class Weights(NamedTuple):
    """Subsets by the fits so far."""

    log_evidence: np.ndarray  #: nats, (S,)
    std: np.ndarray  #: (S,)
    probability: np.ndarray  #: among these subsets, (S,)
    log_sum: float  #: log Σ evidence times prior over these subsets

    def error(self, fitted: list[int]) -> float:
        """Standard error of ``log_sum``, nats: errors of fits are independent, and those of others one."""
        share = self.probability * self.std
        of_fits = share[fitted]
        return float(np.hypot(np.linalg.norm(of_fits), share.sum() - of_fits.sum()))


def posterior_by_fits(
    regressions: Regressions,
    always: Sequence[int],
    groups: Sequence[Sequence[int]],
    size_prior: str,
    rng: np.random.Generator,
    tolerance: float,
    progress: Progress = SILENT,
) -> Posterior:
    """The subsets of an estimator's columns, weighed at the price of Newton's method and of some fits."""
    subsets = LaplaceSubsets(regressions, always, groups, log_size_prior(size_prior, len(groups)))
    searched = _weighed(subsets, rng, progress)
    states = [*subsets.evidences, *(s for s in subsets.without if s not in subsets.evidences)]
    guide = np.array([subsets.log_joint(s) - subsets.log_prior(s) for s in states])
    log_prior = np.array([subsets.log_prior(s) for s in states])
    fits: dict[int, Any] = {}
    while True:
        weights = _weights(guide, log_prior, fits, states)
        left = [i for i in range(len(states)) if i not in fits]
        enough = weights.probability[left].sum() < UNFITTED_SHARE or (
            len(fits) >= MIN_FITTED and weights.error(list(fits)) < tolerance
        )
        enough = enough and bool(np.isfinite(guide[left]).all())
        if not left or enough or len(fits) == MAX_FITTED:
            break
        unknown = [i for i in left if not np.isfinite(guide[i])]
        best = unknown[0] if unknown else max(left, key=lambda i: weights.probability[i])
        p_best, p_left = weights.probability[best], weights.probability[left].sum()
        # part of the probability of the subsets that are not fitted, below which the fits that are left to
        # the most are not worth their time: those that there are tell how far Laplace's evidences are off
        if not unknown and len(fits) >= MIN_FITTED and (MAX_FITTED - len(fits)) * p_best < 0.25 * p_left:
            break
        progress(
            f"fits: {len(fits)} of {MAX_FITTED} at most, and {p_left:.1%} of the probability is in subsets "
            "that are not fitted"
        )
        rough = SHARE_OF_TOLERANCE * tolerance / max(p_best, 1e-300)
        wish = tolerance if unknown else float(np.clip(rough, tolerance, max(tolerance, ROUGH_SUBSET_NATS)))
        fits[best] = subsets.answered(states[best], wish)
    return _arranged(regressions, subsets, states, guide, log_prior, fits, weights, searched)


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


def _weights(guide: np.ndarray, log_prior: np.ndarray, fits: dict[int, Any], states: list[int]) -> Weights:
    """Evidences of fits, and of other subsets Laplace's with what the fits differ from it by."""
    log_evidence, std = guide.copy(), np.zeros(len(guide))
    known = [i for i in fits if np.isfinite(guide[i])]
    if known:
        size = np.array([state.bit_count() for state in states])
        difference = np.array([fits[i].log_evidence_ for i in known]) - guide[known]
        degree = min(1, len(set(size[known])) - 1)
        line = np.polyfit(size[known], difference, degree)
        squares = np.sum((difference - np.polyval(line, size[known])) ** 2)
        scatter = np.sqrt(squares / max(len(known) - degree - 1, 1))
        correction = np.polyval(line, np.clip(size, min(size[known]), max(size[known])))
        log_evidence, std = log_evidence + correction, np.hypot(scatter, correction)
    for i, fit in fits.items():
        log_evidence[i], std[i] = fit.log_evidence_, fit.log_evidence_std_
    joint = log_evidence + log_prior
    log_sum = float(logsumexp(joint)) if np.isfinite(joint).any() else -np.inf
    probability = np.exp(joint - log_sum) if np.isfinite(log_sum) else np.full(len(joint), 1 / len(joint))
    return Weights(log_evidence, std, probability, log_sum)


def _arranged(
    regressions: Regressions,
    subsets: LaplaceSubsets,
    states: list[int],
    guide: np.ndarray,
    log_prior: np.ndarray,
    fits: dict[int, Any],
    weights: Weights,
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
    is_fitted = np.isin(np.arange(len(states)), list(fits))
    share = p * weights.std
    of_inclusion = share[:, None] * (is_in - of_groups)
    of_fits = np.sum(of_inclusion[is_fitted] ** 2, axis=0)
    errors = np.sqrt(of_fits + of_inclusion[~is_fitted].sum(axis=0) ** 2)
    inclusion = np.zeros(regressions.n_features)
    inclusion[subsets.always] = 1.0
    for g, group in enumerate(subsets.groups):
        inclusion[group] = of_groups[g]
    doubts = [*search_doubts(searched), *_doubts(errors.max(initial=0.0), guide, is_fitted, fits, p)]
    order = np.argsort(-p, kind="stable")
    listed = order[: max(MIN_LISTED_SUBSETS, len(fits))]
    best = [int(i) for i in order if i in fits]
    weight = p[best] / p[best].sum()
    models = [fits[i] for i in best]
    if regressions.are_drawn:
        found = [(columns_of(states[i], subsets.always, subsets.groups), fits[i]) for i in best]
        models, weight = [regressions.pooled(found, weight)], np.ones(1)
        doubts += models[0].warnings_
    return Posterior(
        [columns_of(states[i], subsets.always, subsets.groups) for i in listed],
        weights.log_evidence[listed],
        weights.std[listed],
        log_prior[listed],
        covered * p[listed],
        inclusion,
        total,
        float(np.hypot(weights.error(list(fits)), total_std)),
        doubts,
        FittedAverage(models, weight, regressions.n_features),
    )


def _doubts(
    error: float, guide: np.ndarray, is_fitted: np.ndarray, fits: dict[int, Any], p: np.ndarray
) -> list[str]:
    """Doubts of the evidences of subsets."""
    doubts = []
    if error > DOUBTFUL_GAP:
        doubts.append(
            f"the errors of the log evidences of subsets leave {error:.2f} open in the probability of a "
            "column: give the estimator a sampler with more particles"
        )
    if unknown := int(np.sum(~np.isfinite(guide) & ~is_fitted)):
        doubts.append(f"{unknown} subsets of columns were left out: no mode of their posteriors was found")
    said = {i: fit.warnings_ for i, fit in fits.items() if fit.warnings_}
    # probability of subsets whose fits warn that is not said
    if said and (share := sum(p[i] for i in said)) > 0.05:
        worst = max(said, key=lambda i: p[i])
        doubts.append(
            f"the fits of {len(said)} subsets, with {share:.0%} of the probability, warn; the most probable "
            f"of them: {said[worst][0]}"
        )
    return doubts
