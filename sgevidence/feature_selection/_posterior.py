"""The posterior over subsets: enumerated where that is possible, searched by chains where not."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from ..exceptions import DivergenceError
from ..samplers import SILENT, Progress
from ._average import Average, average, given_subset
from ._chains import DOUBTFUL_GAP, Searched, search
from ._enumeration import enumerate_subsets
from ._g_prior import IntegralOverG, UnitMoments, exact_log_bayes_factor, g_prior_of
from ._moments import Moments
from ._neighbours import Neighbours
from ._noise_grid import NoiseGrid

#: Groups to which all subsets are enumerated: 2²⁰ take some ten seconds.
MAX_ENUMERATED_GROUPS = 20
#: Subsets whose evidence is computed anew with many digits at most, from 10⁻⁷ nats of rounding on.
MAX_RECOMPUTED_SUBSETS = 60
#: Nats of rounding, averaged over subsets, that are not said; of one subset, one nat.
UNSAID_ROUNDING = 1e-3
#: Subsets of the average at least; at most 2000, or until 10⁻¹⁰ of their probability is left out.
MIN_LISTED_SUBSETS = 100


class Posterior(NamedTuple):
    """Subsets with their evidences, the most probable first."""

    columns: list[list[int]]  #: of the best subsets
    log_evidence: np.ndarray  #: of these, nats
    log_evidence_std: np.ndarray
    log_prior: np.ndarray
    probability: np.ndarray
    inclusion: np.ndarray  #: of all columns, (p,)
    total: float  #: log evidence of the average, nats
    total_std: float
    doubts: list[str]
    averaged: Any  #: with a method ``average``: the coefficients, and predictions, over the best subsets


def log_size_prior(kind: str, n_groups: int) -> np.ndarray:
    """Log prior probability of one subset by its number of groups, (n_groups + 1,)."""
    k = np.arange(n_groups + 1)
    if kind == "uniform":
        return np.full(n_groups + 1, -n_groups * np.log(2))
    chosen = gammaln(n_groups + 1) - gammaln(k + 1) - gammaln(n_groups - k + 1)
    return -np.log(n_groups + 1) - chosen


def posterior(
    sums: Any,
    model: Any,
    always: Sequence[int],
    groups: Sequence[Sequence[int]],
    size_prior: str,
    rng: np.random.Generator,
    coef_prior: str = "independent",
    rscale: Any = 1.0,
    progress: Progress = SILENT,
) -> Posterior:
    """From sums of [1, X, y] and the linear model of all columns."""
    prior = log_size_prior(size_prior, len(groups))
    way = _way(coef_prior, rscale, sums, model)
    find = _enumerated if len(groups) <= MAX_ENUMERATED_GROUPS else partial(_searched, progress=progress)
    with np.errstate(all="ignore"):  # what leaves the finite numbers is judged by its loss of digits
        moments = way.moments
        found = find(moments, always, groups, prior, rng, way.covering)
        states, log_evidence, lost, log_prior, grid, searched = found
        in_double = lost.copy()
        joint = _recomputed(way.exact, always, groups, states, log_evidence, lost, log_prior)
        total = float(logsumexp(joint)) if searched is None else searched.log_evidence
        probability = np.exp(joint - total)
        doubts = _doubts(lost, in_double, probability, searched)
        order = np.argsort(-joint, kind="stable")
        within = np.cumsum(np.exp(joint[order] - logsumexp(joint)))
        order = order[: np.clip(np.searchsorted(within, 1 - 1e-10) + 1, MIN_LISTED_SUBSETS, 2000)]
        columns = [columns_of(int(states[i]), always, groups) for i in order]
    inclusion = np.zeros(len(moments.m))
    inclusion[list(always)] = 1.0
    for g, group in enumerate(groups):
        if searched is None:
            is_in = (states >> g & 1).astype(bool)
            inclusion[list(group)] = min(float(probability[is_in].sum()), 1.0)
        else:
            inclusion[list(group)] = searched.inclusion[g]
    return Posterior(
        columns,
        log_evidence[order],
        np.zeros(len(order)),
        log_prior[order],
        probability[order],
        inclusion,
        total,
        0.0 if searched is None else searched.log_evidence_std,
        doubts,
        Averaged(moments, grid, columns, probability[order]),
    )


class Averaged(NamedTuple):
    """The best linear regressions, and their average when it is asked for."""

    moments: Moments
    grid: Any
    columns: list[list[int]]
    probability: np.ndarray

    def average(self) -> Average:
        """The coefficients and the noise, averaged."""
        with np.errstate(all="ignore"):
            is_grid = isinstance(self.grid, NoiseGrid)
            given = partial(given_subset, self.moments, self.grid) if is_grid else self.grid.given
            return average(self.moments, given, self.columns, self.probability / self.probability.sum())


def _enumerated(moments, always, groups, prior, rng, covering):
    log_evidence, lost, grid = enumerate_subsets(moments, always, groups, covering)
    states = np.arange(len(log_evidence))
    size = sum((states >> g & 1) for g in range(len(groups))) if groups else np.zeros(1, dtype=int)
    return states, log_evidence, lost, prior[size], grid, None


def _searched(moments, always, groups, prior, rng, covering, progress):
    neighbours = Neighbours(moments, always, groups, prior, covering)
    searched = search(neighbours, rng, progress)
    states = np.array(list(neighbours.evidences), dtype=object)
    log_evidence, lost = np.array(list(neighbours.evidences.values())).T
    log_prior = np.array([neighbours.log_prior(state) for state in states])
    return states, log_evidence, lost, log_prior, neighbours.grid, searched


def columns_of(state: int, always, groups) -> list[int]:
    """Columns of a subset, in their order in X."""
    return sorted([*always, *(j for g, group in enumerate(groups) if state >> g & 1 for j in group)])


def _recomputed(exact, always, groups, states, log_evidence, lost, log_prior) -> np.ndarray:
    """Log of evidence times prior; where rounding counts, from the columns themselves."""
    joint = log_evidence + log_prior
    joint[~np.isfinite(joint)] = -np.inf
    rounded = np.flatnonzero(lost > 1e-7)
    worth = joint[rounded] + np.minimum(lost[rounded], 1e6)
    for i in rounded[np.argsort(-worth, kind="stable")][:MAX_RECOMPUTED_SUBSETS]:
        value = exact(columns_of(int(states[i]), always, groups))
        if np.isfinite(value):
            log_evidence[i], lost[i], joint[i] = value, 0.0, value + log_prior[i]
    return joint


def exact_log_evidence(sums: Any, model: Any, columns: list[int]) -> float:
    """Log evidence of one subset, from its own columns; nan where these are beyond double precision."""
    part = sums.of_columns([*(j + 1 for j in columns), sums.n_values])
    try:
        return float(replace(model, n_features=len(columns)).posterior(part).log_evidence)
    except DivergenceError:
        return np.nan


def _doubts(lost: np.ndarray, in_double: np.ndarray, probability: np.ndarray, searched) -> list[str]:
    """Doubts that the user should know."""
    doubts = []
    unknown = int(np.sum(lost > 1.0))
    if unknown or np.sum(probability * np.expm1(np.minimum(lost, 50.0))) > UNSAID_ROUNDING:
        doubts.append(
            f"rounding leaves the evidence of {max(unknown, 1)} subsets open: some columns are linear "
            "combinations of others, or y of columns, to more digits than a floating-point number has; drop "
            "such columns, or scale them"
        )
    # nats of rounding in double precision from which on the posterior of the coefficients is rough
    elif np.sum(probability[in_double > 0.01]) > UNSAID_ROUNDING:
        doubts.append(
            "y is nearly a linear combination of columns, or columns of others: coef_, noise_std_, predict "
            "are in double precision and rough, while evidences and probabilities have more digits"
        )
    return [*doubts, *search_doubts(searched)]


def search_doubts(searched: Searched | None) -> list[str]:
    """Doubts of chains; None: all subsets are enumerated."""
    if searched is not None and searched.gap > DOUBTFUL_GAP:
        return [
            f"two chains over subsets differ by {searched.gap:.2f} in the probability of a column: "
            "inclusion_probabilities_ are right to about that"
        ]
    if searched is not None and not np.isfinite(searched.log_evidence_std):
        return [
            "two chains over subsets of columns have met too few subsets in common: log_evidence_ is a lower "
            "bound, and the probabilities of models_ are relative to the subsets that were met"
        ]
    return []


class Way(NamedTuple):
    """A prior of the coefficients, given the sums."""

    moments: Moments
    covering: Callable[[Any, list[np.ndarray]], Any]  #: its integral, from moments and the subsets at ends
    exact: Callable[[list[int]], float]  #: log evidence of columns


def _way(coef_prior: str, rscale: Any, sums: Any, model: Any) -> Way:
    """Independent coefficients, or a mixture of g-priors."""
    if coef_prior == "independent":
        return Way(Moments.of(sums, model), NoiseGrid.covering, partial(exact_log_evidence, sums, model))
    prior = g_prior_of(coef_prior, rscale, sums)
    exact = partial(exact_log_bayes_factor, sums, model.fit_intercept, prior)
    return Way(UnitMoments.of(sums, model), lambda moments, _: IntegralOverG(moments, prior), exact)
