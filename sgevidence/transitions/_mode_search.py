r"""Modes of a posterior, found from outside: by climbs from draws of the prior, particles and known points.

Only points that are better than those next to them are climbed from, and then what stands out of the maxima
found.  A climb ends at a maximum, or at a wall, where the density jumps.  A mode that is not yet a maximum
has outposts, the best draws here and there: they tell later when it has become one.

A mixture with too few components has several modes, each a different way to merge groups; they are climbed
to from merged k-means solutions.

Symbols: ``a, P`` = end of a climb and precision there, ``r`` = squared distance in posterior widths per
parameter.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2
from sklearn.base import BaseEstimator

from ..history import Rows
from ..models import Model
from ..targets import Likelihood, Target, find_mode, likelier, outstanding, peaks
from ._base import State

#: r within which two ends of Newton's method are one maximum: each errs by 0.02/d (its tolerance).
SAME_RADIUS = 0.1
#: r of the region that counts as a mode's own, beyond all of a Gaussian's mass for d > 10.
MODE_RADIUS = 4.0
#: Rows on which modes are sought first.
MODE_SEARCH_ROWS = 1000
#: Draws of the prior, and particles, that are looked at; how many are climbed from.
N_LOOKED_AT, N_CLIMBS = 1000, 6
#: Outposts, and how far they are apart, as a part of the width of the prior.
N_OUTPOSTS, OUTPOST_GAP_WIDTHS = 24, 0.1
#: Starts of Newton's method to modes of a mixture, the best of some times as many merged k-means solutions.
N_MIXTURE_STARTS, SOLUTIONS_PER_START = 24, 20


class Mode(NamedTuple):
    """A maximum of the posterior, and the region around it."""

    a: np.ndarray
    P: np.ndarray
    value: float  #: log joint there, nats
    radius: float  #: of the region that counts as its own
    inner: tuple["Mode", ...] = ()  #: narrower maxima inside, whose regions are not its own

    def distance(self, model: Model, theta: np.ndarray) -> np.ndarray:
        """r of the labelling that is next to it, infinite in the regions of inner maxima, (M,)."""
        u = model.canonicalize(theta, self.reference(model)) - self.a
        r = np.sum((u @ self.P) * u, axis=1) / len(self.a)
        for mode in self.inner:
            r = np.where(mode.near(model, theta), np.inf, r)
        return r

    def near(self, model: Model, theta: np.ndarray) -> np.ndarray:
        """Which points are in its own region, (M,)."""
        return self.distance(model, theta) < self.radius

    @property
    def log_evidence(self) -> float:
        """By Laplace's method, in one labelling, nats."""
        return float(self.value + 0.5 * len(self.a) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(self.P)[1])

    def reference(self, model: Model) -> tuple[np.ndarray, np.ndarray] | None:
        return None if model.slots is None else (self.a[model.slots], np.ones(model.slots.shape))


class Ends(NamedTuple):
    """Where climbs have ended.

    ``maxima`` each have the region that is their own, the best first.  At ``walls`` (W, d), of log joint
    ``values`` (W,), no step leads further up, though they are no maxima.  ``outposts`` (R, d) are the best of
    all points looked at that are not next to each other, and ``gap`` (R,) nats below the best.
    """

    maxima: list[Mode]
    walls: np.ndarray
    values: np.ndarray
    outposts: np.ndarray
    gap: np.ndarray


class End(NamedTuple):
    """The end of a climb on some rows, (d,), with the precision of the maximum (d, d), or None at a wall."""

    a: np.ndarray
    P: np.ndarray | None


def climbed(model: Model, rows: Rows, state: State, rng: np.random.Generator) -> Ends:
    """Distinct maxima of the posterior on these rows, and walls, from particles and rivals of theirs.

    A sample of the rows is for the way up, all of them for the end.
    """
    on_the_way = subsample(rows, MODE_SEARCH_ROWS, rng)
    # mass of a Gaussian that the region around a maximum leaves outside
    radius = max(MODE_RADIUS, chi2.isf(1e-4, model.n_params) / model.n_params)
    climbs = Climbs(model, rows, on_the_way, float(radius))
    prior = model.starts(rows, N_LOOKED_AT, rng)
    theta, value = _possible(climbs.few, np.concatenate([prior, state.cloud.spread_theta(N_LOOKED_AT)]))
    known = () if state.adaptation.rivals is None else state.adaptation.rivals.foremost
    ends = [climbs.up(start) for start in (*theta[peaks(theta, value, N_CLIMBS)], *known)]
    at = np.array(climbs.walls).reshape(-1, model.n_params)
    # what they hide hides nothing more, or a rugged posterior is climbed for ever
    for start in [point for end in ends if end is not None for point in climbs.hidden(end, rng)]:
        climbs.up(start)
    with np.errstate(all="ignore"):
        values = climbs.target.value(at) if len(at) else np.zeros(0)
    possible = np.isfinite(values)
    return Ends(climbs.regions(), at[possible], values[possible], *_outposts(theta, value, prior))


class Climbs:
    """Climbs on the same rows, and what they have found: ``maxima``, and points ``walls`` (d,).

    ``on_the_way`` are the rows for the way up.  ``radius`` is the size of the region
    around a maximum, mean square in its own widths.
    """

    def __init__(self, model: Model, rows: Rows, on_the_way: Rows, radius: float) -> None:
        self.model, self.on_the_way, self.radius = model, on_the_way, radius
        self.few, self.target = Target(model, Likelihood(on_the_way)), Target(model, Likelihood(rows))
        self.has_more = len(rows) > len(on_the_way)
        self.maxima: list[Mode] = []
        self.walls: list[np.ndarray] = []

    def up(self, start: np.ndarray) -> End | None:
        """Where a climb ends, unless another one did."""
        end = End(*find_mode(self.few, start))
        if end.P is None:
            if any(np.allclose(end.a, other) for other in self.walls):
                return None
            self.walls.append(end.a)
            return end
        peak = Mode(end.a, end.P, np.nan, SAME_RADIUS)
        if any(_is_same(self.model, peak, other._replace(radius=SAME_RADIUS)) for other in self.maxima):
            return None
        a, P = find_mode(self.target, end.a) if self.has_more else (end.a, end.P)
        if P is None:
            return None
        mode = Mode(a, P, float(self.target.value(a[None])[0]), self.radius)
        if any(_is_same(self.model, mode, other) for other in self.maxima):
            return None
        self.maxima.append(mode)
        return end

    def hidden(self, end: End, rng: np.random.Generator) -> list[np.ndarray]:
        """Points from which to climb to what the end of a climb may hide."""
        likely = likelier(self.model, self.on_the_way, end.a)
        return [likely] if end.P is None else [likely, *outstanding(self.few, end.a, end.P, rng)]

    def regions(self) -> list[Mode]:
        """The maxima, the best first, each with the region that is its own."""
        found = sorted(self.maxima, key=lambda mode: -mode.value)
        inner = [tuple(o for o in found if o is not m and _holds(self.model, m, o)) for m in found]
        return [mode._replace(inner=within) for mode, within in zip(found, inner)]


def _is_same(model: Model, mode: Mode, other: Mode) -> bool:
    """Whether each is in the other's region.  A spike is in that of its slab, but not the slab in its."""
    return _holds(model, mode, other) and _holds(model, other, mode)


def _holds(model: Model, mode: Mode, other: Mode) -> bool:
    """Whether a maximum has another one in its region."""
    return bool(mode.near(model, other.a[None])[0])


def _possible(target: Target, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct points of finite log joint, and this."""
    with np.errstate(all="ignore"):
        value = target.value(theta)
    theta, first = np.unique(theta[np.isfinite(value)], axis=0, return_index=True)
    return theta, value[np.isfinite(value)][first]


def _outposts(theta: np.ndarray, value: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best points that are apart from each other, and how far below the best they are."""
    widths, left = theta / (np.std(prior, axis=0) + 1e-300), np.argsort(-value)
    kept: list[int] = []
    while len(left) and len(kept) < N_OUTPOSTS:
        kept.append(int(left[0]))
        left = left[
            np.sum((widths[left] - widths[kept[-1]]) ** 2, axis=1) > OUTPOST_GAP_WIDTHS**2 * theta.shape[1]
        ]
    return theta[kept], value.max(initial=-np.inf) - value[kept]


class ModeSearch(BaseEstimator):
    """Look for modes now and then, and take their share of the evidence from outside.

    Custom models may have modes that particles have missed, and mixtures of rows that nobody holds start from
    those of a sample.

    Examples
    --------
    >>> from sgevidence import SGAIS
    >>> SGAIS(mode_search=None)
    SGAIS(mode_search=None)
    """


def find_modes(
    model: Model, rows: Rows, n_search: int, max_climbs: int, max_modes: int, rng: np.random.Generator
) -> list[Mode]:
    """Distinct modes of a mixture on these rows, at most so many, the best first.

    They are sought on ``n_search`` of the rows; ``max_climbs`` of the maxima there are climbed from on all.
    """
    few = subsample(rows, n_search, rng)
    on_few, compare = Target(model, Likelihood(few)), Target(model, Likelihood(rows))
    starts = model.starts(few, SOLUTIONS_PER_START * N_MIXTURE_STARTS, rng)
    value = on_few.value(starts)
    distinct = np.unique(np.round(value, 1), return_index=True)[1]
    best = distinct[np.argsort(-value[distinct])][:N_MIXTURE_STARTS]
    found = [find_mode(on_few, start) for start in starts[best]]
    value = compare.value(np.array([a for a, _ in found]))
    modes: list[Mode] = []
    for start in each_once(model, [found[i] for i in np.argsort(-value)])[:max_climbs]:
        if any(mode.near(model, start[None])[0] for mode in modes):
            continue
        a, P = find_mode(compare, start)
        if P is not None:
            mode = Mode(a, P, float(compare.value(a[None])[0]), MODE_RADIUS)
            modes += [] if any(other.near(model, a[None])[0] for other in modes) else [mode]
        if len(modes) == max_modes:
            break
    return sorted(modes, key=lambda mode: -mode.value)


def maxima_from(target: Target, starts: list[np.ndarray]) -> list[np.ndarray]:
    """Maxima (d,) to which climbs from these points lead, each once, the best first."""
    climbs = [(a, P) for a, P in (find_mode(target, a) for a in starts) if P is not None]
    value = target.value(np.array([a for a, _ in climbs]).reshape(-1, target.model.n_params))
    return each_once(target.model, [climbs[i] for i in np.argsort(-value)])


def each_once(model: Model, found: list[tuple[np.ndarray, np.ndarray | None]]) -> list[np.ndarray]:
    """Points (d,) in their order, each maximum once in whichever labelling it was found.

    Most starts lead to the best mode of the search rows: its repetitions must not use up the climbs.
    """
    points: list[np.ndarray] = []
    maxima: list[Mode] = []
    for a, P in found:
        if any(mode.near(model, a[None])[0] for mode in maxima):
            continue
        points.append(a)
        if P is not None:
            maxima.append(Mode(a, P, np.nan, SAME_RADIUS))
    return points


def subsample(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """At most so many of the rows."""
    return rows.take(rng.choice(len(rows), most, replace=False)) if most < len(rows) else rows
