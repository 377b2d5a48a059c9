r"""Climbs of the posterior from outside: from draws of the prior, from particles, from points known before.

Only points that are better than those next to them are climbed from, and then what stands out of the maxima
found.  A climb ends at a maximum, or at a wall, where the density jumps.  A mode that is not yet a maximum
has outposts, the best draws here and there: they tell later when it has become one.

Symbols: ``a, P`` = end of a climb and precision there.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from ..history import Rows
from ..models import Model
from ..targets import Likelihood, Target, find_mode, likelier, outstanding, peaks
from ._base import State
from ._mode_search import MODE_RADIUS, SAME_RADIUS, Mode, ModeSearch, subsample

#: Draws of the prior, and particles, that are looked at; how many are climbed from.
N_LOOKED_AT, N_CLIMBS = 1000, 6
#: Outposts, and how far they are apart, as a part of the width of the prior.
N_OUTPOSTS, OUTPOST_GAP_WIDTHS = 24, 0.1


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


def climbed(model: Model, rows: Rows, state: State, search: ModeSearch, rng: np.random.Generator) -> Ends:
    """Distinct maxima of the posterior on these rows, and walls, from particles and rivals of theirs.

    At most ``search.search_rows`` of the rows are for the way up, all for the end.
    """
    on_the_way = subsample(rows, search.search_rows, rng)
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
