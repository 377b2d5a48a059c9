"""The posterior over subsets: enumerated where that is possible, searched by chains where not.

All subsets of the columns, by elimination along a tree.

At each level a column, or a group of columns, is left out or goes into the model.  What is left of the
bordered matrix (:mod:`._moments`) is shared by all subsets further down, so that a subset costs a few
operations per node instead of k³ (Furnival and Wilson 1974).

A subset and all that differ from it in one column or group: their evidences, from one factorisation.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from ..exceptions import DivergenceError
from ..samplers import SILENT, Progress
from ._average import Average, average
from ._g_prior import IntegralOverG, UnitMoments, exact_log_bayes_factor, g_prior_of
from ._moments import Moments, step
from ._noise_grid import Lacks, NoiseGrid
from ._subsets import DOUBTFUL_GAP, Searched, Subsets, search


class Neighbours(Subsets):
    """Subsets of the columns of a linear regression.

    ``covering`` makes the integral of the prior, from the moments and the subsets at both ends.
    """

    def __init__(
        self,
        moments: Moments,
        always: Sequence[int],
        groups: Sequence[Sequence[int]],
        log_size_prior: np.ndarray,
        covering: Callable[[Any, list[np.ndarray]], Any],
    ) -> None:
        super().__init__(always, groups, log_size_prior, moments.n)
        self.moments = moments
        ends = [self.always, self.always + [j for g in self.groups for j in g][: int(moments.n)]]
        self._use(covering(moments, [np.array(columns, dtype=int) for columns in ends]))

    def _use(self, grid: Any) -> None:
        self.grid, self.T = grid, self.moments.bordered(grid.s)
        self.log_ridge = np.log(self.moments.precision)[:, None] + grid.s

    def evidence(self, state: int) -> tuple[float, float]:
        columns = np.array(self.columns(state), dtype=int)[None]
        evidence, lost = self._integrated(lambda: self.moments.direct(self.grid.s, columns))
        return float(evidence[0]), float(lost[0])

    def evidences_of_flips(self, state: int) -> tuple[np.ndarray, np.ndarray]:
        return self._integrated(lambda: self._curves(state))

    def _integrated(self, curves):
        while True:
            evidence, lost, lacks = self.grid.integrated(*curves())
            better = self.grid.improved(lacks)
            if better is None:
                return evidence, lost
            self._use(better)

    def _curves(self, state: int):
        """D, log Q and loss of all flips."""
        columns, p = self.columns(state), len(self.moments.m)
        R, log_det, loss = self._factor(columns)
        out = [np.empty((len(self.groups), len(self.grid.s))) for _ in range(3)]
        absent = [g for g in range(len(self.groups)) if not state >> g & 1]
        for width in {len(self.groups[g]) for g in absent}:
            chosen = [g for g in absent if len(self.groups[g]) == width]
            which = np.array([[*self.groups[g], p, p + 1] for g in chosen])
            left = R[:, which]
            T = self.T[which[:, :, None], which[:, None, :]] - np.einsum("kuig,kujg->uijg", left, left)
            new, diagonal = which[:, :width], self.T[which, which]
            for array, values in zip(
                out, self.moments.eliminated(T, self.log_ridge[new], log_det, loss, diagonal)
            ):
                array[chosen] = values
        self._delete(state, columns, R, log_det, loss, out)
        return out

    def _factor(self, columns: list[int]):
        """R (k, p + 2, G), the rows of Cholesky's factor; log |A| − log |v S⁻²| and loss (G,)."""
        R = self.T[columns]
        log_det, loss = np.zeros(len(self.grid.s)), np.ones(len(self.grid.s))
        for i, j in enumerate(columns):
            pivot = np.maximum(R[i, j], np.exp(self.log_ridge[j]))
            log_det += np.log(pivot) - self.log_ridge[j]
            loss = np.maximum(loss, self.T[j, j] / pivot)
            R[i] /= np.sqrt(pivot)
            R[i, columns[:i]] = 0.0
            R[i, j] = np.sqrt(pivot)
            R[i + 1 :] -= R[i][columns[i + 1 :], None] * R[i]
        return R, log_det, loss

    def _delete(self, state, columns, R, log_det, loss, out) -> None:
        """D, log Q and loss of the subsets with one group less."""
        p = len(self.moments.m)
        inverse = np.linalg.inv(np.moveaxis(R[:, columns], -1, 0))  # (G, k, k), upper triangular
        beta = inverse @ np.moveaxis(R[:, [p, p + 1]], -1, 0)  # (G, k, 2)
        left = R[:, [p, p + 1]]
        rest = self.T[p:, p:] - np.einsum("kig,kjg->ijg", left, left)
        present = [g for g in range(len(self.groups)) if state >> g & 1]
        widths = np.array([len(self.groups[g]) for g in present], dtype=int)
        starts = len(self.always) + np.cumsum(widths) - widths
        for width in set(widths.tolist()):
            of_width = widths == width
            chosen = np.array(present)[of_width]
            at = starts[of_width][:, None] + np.arange(width)
            rows, b = inverse[:, at], beta[:, at]  # (G, groups, width, …)
            P = rows @ np.swapaxes(rows, 2, 3)  # blocks of A⁻¹
            more = np.swapaxes(b, 2, 3) @ np.linalg.solve(P, b)
            ridge = self.log_ridge[[self.groups[g] for g in chosen]].sum(axis=1)
            less = np.linalg.slogdet(P)[1].T + ridge
            out[0][chosen], out[1][chosen] = self.moments.curves(
                log_det + less, rest + np.moveaxis(more, 0, -1)
            )
            out[2][chosen] = loss


def enumerate_subsets(
    moments: Moments,
    always: Sequence[int],
    groups: Sequence[Sequence[int]],
    covering: Callable[[Any, list[np.ndarray]], Any],
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Log evidence of all subsets, its error from rounding, nats, and the integral of the prior.

    ``covering`` makes this integral from the moments and the subsets at both ends.  Arrays are
    (2**len(groups),): bit g of a subset's index says whether group g is in.
    """
    always, every = list(always), [j for group in groups for j in group]
    grid = covering(moments, [np.array(always), np.array(always + every)])
    while True:
        found, lost, lacks = _pass(moments, grid, always, groups)
        better = grid.improved(lacks)
        if better is None:
            return found, lost, grid
        grid = better


def _pass(moments, grid, always, groups):
    order = [*always, *(j for group in groups for j in group)]
    p = len(moments.m)
    T = moments.bordered(grid.s)[np.ix_([*order, p, p + 1], [*order, p, p + 1])][None]
    log_ridge = np.log(moments.precision[order])[:, None] + grid.s
    diagonal = T[0, np.arange(len(order)), np.arange(len(order))]
    start = (T, np.zeros((1, len(grid.s))), np.ones((1, len(grid.s))))
    node = _with(start, range(len(always)), log_ridge, diagonal)
    stops = np.cumsum([len(always), *map(len, groups)])
    found = np.empty(2 ** len(groups))
    lost = np.empty_like(found)
    lacks = Lacks()
    # levels of the tree that are computed as arrays; those above are walked one by one
    head = max(len(groups) - 10, 0)

    def walk(node, level, index):
        nonlocal lacks
        if level < head:
            columns = range(stops[level], stops[level + 1])
            walk(_without(node, len(columns)), level + 1, index)
            walk(_with(node, columns, log_ridge, diagonal), level + 1, index + 2**level)
            return
        for g in range(level, len(groups)):
            columns = range(stops[g], stops[g + 1])
            out, put = _without(node, len(columns)), _with(node, columns, log_ridge, diagonal)
            node = tuple(np.concatenate(pair) for pair in zip(out, put))
        T, log_det, loss = node
        evidence, error, new = grid.integrated(*moments.curves(log_det, T), loss)
        where = index + 2**head * np.arange(len(evidence))
        found[where], lost[where] = evidence, error
        lacks = lacks.either(new)

    walk(node, 0, 0)
    return found, lost, lacks


def _without(node, width):
    T, log_det, loss = node
    return T[:, width:, width:], log_det, loss


def _with(node, columns, log_ridge, diagonal):
    T, log_det, loss = node
    for j in columns:
        log_det, loss, T = step(T, log_det, loss, log_ridge[j], diagonal[j])
    return T, log_det, loss


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


#: Rows whose densities at all nodes are held at a time.
ROWS_AT_A_TIME = 1000


class Averaged(NamedTuple):
    """The best linear regressions, and their average when it is asked for."""

    moments: Moments
    grid: Any
    columns: list[list[int]]
    probability: np.ndarray

    def average(self) -> Average:
        """The coefficients and the noise, averaged."""
        with np.errstate(all="ignore"):
            weight = self.probability / self.probability.sum()
            return average(self.moments, self.grid, self.columns, weight)

    def log_density(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Log predictive density of rows, (n,), averaged over the subsets."""
        error = np.max(np.abs(y - self.average().predict(X)), initial=0.0) / self.moments.unit
        X, y, grid = X / self.moments.units, y / self.moments.unit, self.grid.reaching(error)
        log_weight, found = np.log(self.probability / self.probability.sum()), np.full(len(y), -np.inf)
        with np.errstate(all="ignore"):
            for start in range(0, len(y), ROWS_AT_A_TIME):
                part = slice(start, start + ROWS_AT_A_TIME)
                for one, columns in zip(log_weight, self.columns):
                    log_p = one + grid.log_density(columns, X[part], y[part])
                    found[part] = np.logaddexp(found[part], log_p)
        return found - np.log(self.moments.unit)


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
