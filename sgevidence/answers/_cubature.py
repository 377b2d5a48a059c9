r"""Evidence of one to three parameters by adaptive cubature: hundreds or thousands of values in place of 10⁵.

In coordinates in which the prior is a standard normal (of priors by name) the posterior has the prior's
tails at most, and a cube |z| ≤ 9 holds it all.  Boxes are split

* where errors are a part of the integral, along the axis of the largest fourth difference;
* where a draw of a survey of the prior, which covers it evenly, or a maximum to which one climbs, is more
  likely than all nodes around it;
* where a neighbour that is far smaller holds weight: a peak beside a wide box does not end at its side.

So a peak is found whose slopes any node sees, or which holds more of the prior than the survey's mesh.
There is no answer where too many boxes are needed, weight is at the border, or the survey, as importance
sampling, does not agree.

Symbols: ``log_f`` = log joint density at the nodes of boxes (B, m) and at draws of the survey (N,).

**Boxes.**  A density is integrated in each by two rules: the value, and by their difference the
error.  Gauss–Kronrod with 15 nodes on a line; in the plane and in space the rules of degrees 7 and 5 of A. C.
Genz and A. A. Malik (1980), Remarks on algorithm 006, Journal of Computational and Applied Mathematics 6,
295.  These two agree by chance on a ridge that passes by two of the nodes.  A third rule, of degree 3, says
how far they are from a density that is a polynomial (J. Berntsen, T. O. Espelid and A. Genz 1991).

Symbols: ``lo, hi`` = corners of boxes (B, d); log f ``log_f`` = log density at the nodes of each, (B, m); u,
v ``high, low`` = weights of the rules, of a box of volume one, (m,); ``lowest`` = those of the third.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial import KDTree
from scipy.special import ndtri
from scipy.stats import qmc

from ..history import Rows
from ..models import Model
from ..particles import systematic
from ..targets import Likelihood, Target
from ._answer import Answer, Declined

#: Log density (M,) of points (M, d).
LogDensity = Callable[[np.ndarray], np.ndarray]
#: Part of a box's value that is in error where the rules of degrees 5 and 3 differ by all of it; less as the
#: square of their difference, as the differences of a sequence of rules that converges.
CHANCE_SHARE = 0.1


class Rule(NamedTuple):
    """Nodes in the cube [−1, 1]^d, and the weights of two rules."""

    nodes: np.ndarray  #: (m, d)
    high: np.ndarray
    low: np.ndarray
    lowest: np.ndarray
    cells: np.ndarray  #: corners of cells that share a box out, (c, 2, d)
    node_of_cell: np.ndarray  #: (c,)


@cache
def rule(d: int) -> Rule:
    """Gauss–Kronrod (7, 15) on a line, else Genz and Malik, of degrees 7 and 5."""
    if d == 1:
        x = np.array([
            0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
            0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
            0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
            0.207784955007898467600689403773245, 0.0,
        ])  # fmt: skip
        w = np.array([
            0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
            0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
            0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
            0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
        ])  # fmt: skip
        of_seven = np.zeros(8)
        of_seven[1::2] = [
            0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
            0.381830050505118944950369775488975, 0.417959183673469387755102040816327,
        ]  # fmt: skip
        nodes, both = np.r_[-x, x[-2::-1]], [np.r_[one, one[-2::-1]] / 2 for one in (w, of_seven)]
        edges = np.r_[-1.0, -1.0 + 2 * np.cumsum(both[0])]
        cells = np.stack([edges[:-1], edges[1:]], axis=1)[:, :, None]
        return Rule(nodes[:, None], both[0], both[1], both[1], cells, np.arange(15))
    a, b, c = np.sqrt([9 / 70, 9 / 10, 9 / 19])
    axes = [sign * one for one in np.eye(d) for sign in (1, -1)]
    pairs = [s * np.eye(d)[i] + t * np.eye(d)[j] for i, j in combinations(range(d), 2) for s, t in SIGNS]
    corners = np.array(list(product((-1.0, 1.0), repeat=d)))
    nodes = np.concatenate(
        [np.zeros((1, d)), a * np.array(axes), b * np.array(axes), b * np.array(pairs), c * corners]
    )
    counts = [1, 2 * d, 2 * d, len(pairs), 2**d]
    high = [(12824 - 9120 * d + 400 * d**2) / 19683, 980 / 6561, (1820 - 400 * d) / 19683, 200 / 19683]
    low = [(729 - 950 * d + 50 * d**2) / 729, 245 / 486, (265 - 100 * d) / 1458, 25 / 729]
    cells = np.stack([np.minimum(corners, 0.0), np.maximum(corners, 0.0)], axis=1)
    return Rule(
        nodes,
        np.repeat([*high, 6859 / 19683 / 2**d], counts),
        np.repeat([*low, 0.0], counts),
        np.repeat([1 - 10 * d / 27, 0.0, 5 / 27, 0.0, 0.0], counts),
        cells,
        np.arange(len(nodes) - 2**d, len(nodes)),
    )


SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))


class Boxes(NamedTuple):
    """Disjoint boxes with the log density at the nodes of each."""

    lo: np.ndarray
    hi: np.ndarray
    log_f: np.ndarray

    @classmethod
    def of(cls, log_density: LogDensity, lo: np.ndarray, hi: np.ndarray) -> "Boxes":
        """One evaluation of the log density at all nodes."""
        nodes = rule(lo.shape[1]).nodes
        z = (lo + hi)[:, None] / 2 + (hi - lo)[:, None] / 2 * nodes
        return cls(lo, hi, log_density(z.reshape(-1, lo.shape[1])).reshape(len(lo), len(nodes)))

    def integrals(self, top: float) -> tuple[np.ndarray, np.ndarray]:
        """Integral of each box and its error, in units of e^top."""
        rules = rule(self.lo.shape[1])
        f, volume = np.exp(self.log_f - top), np.prod(self.hi - self.lo, axis=1)
        high = volume * (f @ rules.high)
        low, lowest = volume * (f @ rules.low), volume * (f @ rules.lowest)
        chance = CHANCE_SHARE * (low - lowest) ** 2 / np.maximum(np.abs(high), 1e-300)
        return high, np.maximum(np.abs(high - low), np.minimum(chance, np.abs(low - lowest)))

    def split(self, log_density: LogDensity, which: np.ndarray) -> "Boxes":
        """With some boxes cut in halves."""
        lo, hi, k = self.lo[which], self.hi[which], np.arange(np.count_nonzero(which))
        axis = self._axes(which)
        middle = (lo[k, axis] + hi[k, axis]) / 2
        left, right = hi.copy(), lo.copy()
        left[k, axis] = right[k, axis] = middle
        halves = Boxes.of(log_density, np.concatenate([lo, right]), np.concatenate([left, hi]))
        return Boxes(*(np.concatenate([one[~which], new]) for one, new in zip(self, halves)))

    def _axes(self, which: np.ndarray) -> np.ndarray:
        """Axis of the largest fourth difference of each, of the widest side where all are alike."""
        lo, hi, log_f = (one[which] for one in self)
        d, width = lo.shape[1], hi - lo
        if d == 1:
            return np.zeros(len(lo), dtype=int)
        f = np.exp(log_f - np.maximum(log_f.max(axis=1, keepdims=True), -1e300))
        near, far = (f[:, 1 + 2 * d * k : 1 + 2 * d * (k + 1)].reshape(-1, d, 2).sum(axis=2) for k in (0, 1))
        fourth = np.abs(near - 2 * f[:, :1] - (far - 2 * f[:, :1]) / 7)  # 1/7 = (9/70)/(9/10)
        largest = fourth.max(axis=1, keepdims=True)
        alike = (fourth > 0.5 * largest) | (largest < 1e-12)
        narrow = width < width.max(axis=1, keepdims=True) / 32  # a slope along one axis must not make slivers
        return np.argmax(np.where(alike & ~narrow, width, np.where(narrow, -1.0, fourth * 1e-9)), axis=1)


#: Most parameters: in four dimensions boxes cost more than annealing.
MAX_PARAMETERS = 3
#: Half the width of the cube, in standard deviations of the prior, of which 10⁻¹⁸ lies outside.
CUBE_HALF_WIDTH = 9.0
#: Draws of the survey, 2^k, and evaluations that are too many, for each number of parameters.
SURVEY_BITS, MAX_EVALUATIONS = (10, 12, 12), (5_000, 16_000, 34_000)
#: First edges of boxes along each axis, for each number of parameters.
EDGES = ((-9, -4, -2, -1, 0, 1, 2, 4, 9), (-9, -2, 0, 2, 9), (-9, 0, 9))
#: Error of the log evidence that is aimed at, at first and in the end, and that is taken at most, nats.
FIRST_AIM, AIM, MAX_ERROR = 0.3, 3e-3, 0.03
#: Draws that climb, of those that are more likely than so many neighbours; evaluations of each, for each
#: parameter; and nats to which it finds a maximum.
MAX_CLIMBS, NEIGHBOURS, MAX_CALLS, CLIMBED_NATS = 8, (2, 8, 14), 60, 0.01
#: Nats below the largest log density that never count, and where weight is next to the border.
NEGLIGIBLE_CELL_NATS, NEAR_BORDER_NATS = 40.0, 8.0
#: Ratio of the sides of two neighbours of which the smaller holds weight, and the share that is one.
MAX_RATIO, WEIGHTY_SHARE = 8.0, 1e-3
#: Standard errors by which the survey may differ, and effective draws from which it says so.
MAX_SURVEY_GAP_STD, MIN_SURVEY_ESS = 6.0, 10.0


class Rotated(NamedTuple):
    """A target in coordinates t along other axes, z = Q t, in which a standard normal is the same."""

    target: Target
    axes: np.ndarray  #: Q, (d, d)

    def value(self, t: np.ndarray) -> np.ndarray:
        """Log joint density, −∞ where it is none, (M,)."""
        value = self.target.value(t @ self.axes.T)
        return np.where(np.isnan(value), -np.inf, value)


class Survey(NamedTuple):
    """Draws from the prior that cover it evenly."""

    z: np.ndarray  #: (N, d)
    log_f: np.ndarray  #: (N,)
    n_evaluated: int = 0

    def plus(self, other: "Survey") -> "Survey":
        """With more points."""
        return Survey(np.concatenate([self.z, other.z]), np.concatenate([self.log_f, other.log_f]))


def cubature_answer(model: Model, rows: Rows, rng: np.random.Generator, size: int) -> Answer | Declined:
    """Evidence and draws, or why boxes do not answer."""
    d = model.n_params
    z = ndtri(np.clip(qmc.Sobol(d, rng=rng).random_base2(SURVEY_BITS[d - 1]), 1e-16, 1 - 1e-16))
    target = Rotated(Target(model, Likelihood(rows)), np.eye(d))
    survey = Survey(z, target.value(z))
    peaks = climbed(target, survey)
    known = survey.plus(peaks)
    sides = np.array(list(product(list(zip(EDGES[d - 1], EDGES[d - 1][1:])), repeat=d)), dtype=float)
    boxes = Boxes.of(target.value, sides[:, :, 0], sides[:, :, 1])
    n_left = MAX_EVALUATIONS[d - 1] - len(z) - peaks.n_evaluated - boxes.log_f.size
    if d > 1:
        boxes, n_left = refined(boxes, target, known, FIRST_AIM, n_left)
        axes = _principal_axes(boxes, rng)
        if axes is not None:  # boxes along the ridge, in which the prior is the same
            target, known = target._replace(axes=axes), known._replace(z=known.z @ axes)
            boxes = Boxes.of(target.value, sides[:, :, 0], sides[:, :, 1])
            n_left -= boxes.log_f.size
    boxes, n_left = refined(boxes, target, known, AIM, n_left)
    top = _top(boxes, known)
    value, error = boxes.integrals(top)
    if not (np.isfinite(top) and value.sum() > 0 and error.sum() <= MAX_ERROR * value.sum()):
        return Declined("boxes do not find the integral within their number")
    log_Z, std = (
        top + np.log(value.sum()),
        max(error.sum() / value.sum(), AIM),
    )  # an edge may lie between nodes
    if _surprised(boxes, known, MAX_ERROR * value.sum(), top).any() or _beside_weight(boxes, value).any():
        return Declined("boxes have not come to rest")
    if _at_border(boxes, value, top) or _disagrees(survey, log_Z) or (d > 1 and _has_edge(boxes, value)):
        return Declined("weight is at a border, or the survey of the prior does not agree with boxes")
    theta = _draws(boxes, value, size, rng) @ target.axes.T
    n_evaluated = MAX_EVALUATIONS[d - 1] - n_left
    return Answer(theta, np.zeros(size), float(log_Z), float(std), float(n_evaluated * len(rows)))


def refined(boxes: Boxes, target: Rotated, survey: Survey, aim: float, n_left: int) -> tuple[Boxes, int]:
    """Boxes split until their error is a part of the integral, or no evaluations are left; and those left."""
    while n_left > 0:
        top = _top(boxes, survey)
        if not np.isfinite(top):
            break
        value, error = boxes.integrals(top)
        negligible = aim * max(float(value.sum()), 0.0)
        which = _surprised(boxes, survey, negligible, top) | _beside_weight(boxes, value)
        if not negligible > 0 or error.sum() > negligible:
            which |= _worst(error, negligible)
        if not which.any():
            break
        n_left -= 2 * np.count_nonzero(which) * boxes.log_f.shape[1]
        boxes = boxes.split(target.value, which)
    return boxes, n_left


def climbed(target: Rotated, survey: Survey) -> Survey:
    """Maxima to which the draws climb that are higher than their neighbours."""
    d = survey.z.shape[1]
    distance, near = KDTree(survey.z).query(survey.z, NEIGHBOURS[d - 1] + 1)
    if d == 1:  # one on either side
        place = np.argsort(survey.z[:, 0])
        near[place[1:-1], 1], near[place[1:-1], 2] = place[:-2], place[2:]
    is_top = np.isfinite(survey.log_f) & np.all(survey.log_f[near[:, 1:]] <= survey.log_f[:, None], axis=1)
    starts = np.flatnonzero(is_top)
    starts = starts[np.argsort(-survey.log_f[starts])][:MAX_CLIMBS]
    z, log_f, n = np.empty((len(starts), d)), np.empty(len(starts)), 0
    for k, i in enumerate(starts):
        simplex = survey.z[i] + distance[i, 1] * np.concatenate([np.zeros((1, d)), np.eye(d)])
        found = minimize(
            lambda x: -max(target.value(x[None])[0], -1e300),
            survey.z[i],
            method="Nelder-Mead",
            options=dict(initial_simplex=simplex, fatol=CLIMBED_NATS, xatol=np.inf, maxfev=MAX_CALLS * d),
        )
        z[k], log_f[k], n = found.x, -found.fun, n + found.nfev
    return Survey(z, log_f, n)


def _top(boxes: Boxes, survey: Survey) -> float:
    """Largest log density that was met."""
    return float(max(boxes.log_f.max(), survey.log_f.max()))


def _worst(error: np.ndarray, allowed: float) -> np.ndarray:
    """Boxes whose errors have to go for the others to be half of what is allowed in all."""
    order = np.argsort(error)
    return np.isin(np.arange(len(error)), order[np.cumsum(error[order]) > allowed / 2])


def _surprised(boxes: Boxes, survey: Survey, negligible: float, top: float) -> np.ndarray:
    """Boxes with a draw that is more likely than all nodes, and may count."""
    volume, best = np.prod(boxes.hi - boxes.lo, axis=1), boxes.log_f.max(axis=1)
    out = np.zeros(len(best), dtype=bool)
    for i in np.flatnonzero(survey.log_f > top - NEGLIGIBLE_CELL_NATS):
        inside = np.all((boxes.lo <= survey.z[i]) & (survey.z[i] <= boxes.hi), axis=1)
        may_count = volume * np.exp(survey.log_f[i] - top) > 0.1 * negligible
        # factor by which a draw of the survey may exceed all nodes of its box, nats
        out |= inside & may_count & (survey.log_f[i] > best + 1.0)
    return out


def _beside_weight(boxes: Boxes, value: np.ndarray) -> np.ndarray:
    """Boxes with a side far longer than that of a neighbour which holds weight."""
    lo, hi = boxes.lo, boxes.hi
    out = np.zeros(len(lo), dtype=bool)
    for k, touches in _neighbours(boxes, value):
        out |= touches & np.any(hi - lo > MAX_RATIO * (hi[k] - lo[k]), axis=1)
    return out


def _has_edge(boxes: Boxes, value: np.ndarray) -> bool:
    """Whether the density ends beside weight, at an edge along which boxes err by more than they know."""
    ends = np.any(boxes.log_f == -np.inf, axis=1)
    return any(np.any(touches & ends) for _, touches in _neighbours(boxes, value))


def _neighbours(boxes: Boxes, value: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Boxes that hold weight, and those that each touches, itself among them."""
    lo, hi = boxes.lo, boxes.hi
    for k in np.flatnonzero(value > WEIGHTY_SHARE * max(value.sum(), 0.0)):
        slack = 1e-9 * (hi[k] - lo[k])
        yield int(k), np.all((lo <= hi[k] + slack) & (hi >= lo[k] - slack), axis=1)


def _at_border(boxes: Boxes, value: np.ndarray, top: float) -> bool:
    """Whether there is weight next to the sides of the cube."""
    outer = np.any((boxes.lo <= -CUBE_HALF_WIDTH) | (boxes.hi >= CUBE_HALF_WIDTH), axis=1)
    lo, hi, nodes = boxes.lo[outer], boxes.hi[outer], rule(boxes.lo.shape[1]).nodes
    z = (lo + hi)[:, None] / 2 + (hi - lo)[:, None] / 2 * nodes
    f = np.exp(boxes.log_f[outer] - top) * np.prod(hi - lo, axis=1)[:, None]
    return bool(np.any(f[np.any(np.abs(z) > NEAR_BORDER_NATS, axis=2)] > 1e-6 * value.sum()))


def _disagrees(survey: Survey, log_Z: float) -> bool:
    """Whether importance sampling from the prior has another answer."""
    log_prior = -0.5 * np.sum(survey.z**2 + np.log(2 * np.pi), axis=1)
    w = np.exp(survey.log_f - log_prior - log_Z)
    ess = float(w.sum() ** 2 / max(w @ w, 1e-300))
    allowed = MAX_SURVEY_GAP_STD * float(w.std()) / np.sqrt(len(w)) + MAX_ERROR
    return ess > MIN_SURVEY_ESS and abs(float(w.mean()) - 1) > allowed


def _principal_axes(boxes: Boxes, rng: np.random.Generator) -> np.ndarray | None:
    """Principal axes of the posterior, (d, d); None where the parameters are hardly correlated."""
    value, _ = boxes.integrals(float(boxes.log_f.max()))
    if not value.sum() > 0:
        return None
    covariance = np.cov(_draws(boxes, value, 4096, rng).T)
    sd = np.sqrt(np.diag(covariance))
    # correlation from which boxes are laid along the principal axes
    if np.max(np.abs(covariance / np.outer(sd, sd) - np.eye(len(sd)))) < 0.3:
        return None
    return np.linalg.eigh(covariance)[1]


def _draws(boxes: Boxes, value: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of cells in proportion to their integrals, even within each, (size, d)."""
    rules = rule(boxes.lo.shape[1])
    f = np.exp(boxes.log_f[:, rules.node_of_cell] - boxes.log_f.max(axis=1, keepdims=True).clip(-1e300))
    f *= np.prod(rules.cells[:, 1] - rules.cells[:, 0], axis=1)
    share = f / np.maximum(f.sum(axis=1, keepdims=True), 1e-300) * np.maximum(value, 0.0)[:, None]
    chosen = rng.permutation(systematic(share.ravel() / share.sum(), rng, size))
    k, cell = np.unravel_index(chosen, share.shape)
    corners = rules.cells[cell]
    u = corners[:, 0] + rng.random((size, corners.shape[2])) * (corners[:, 1] - corners[:, 0])
    return (boxes.lo + boxes.hi)[k] / 2 + (boxes.hi - boxes.lo)[k] / 2 * u
