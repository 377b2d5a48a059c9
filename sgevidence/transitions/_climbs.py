"""Climbs of the posterior from outside: from draws of the prior, from particles, from points known before.

Of all of them only those that are better than the points next to them are climbed from, and then what stands
out of the maxima found (:mod:`._beside`).  A climb ends at a maximum, or at a wall, where the density jumps.
What is not yet a maximum has outposts, the best draws here and there: they tell later when it has become one.

Symbols: ``a, P`` = maximum and precision.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import chi2

from ..history import Rows
from ..models import Model
from ..targets import Likelihood, Target, find_mode
from ._base import State
from ._beside import likelier, outstanding
from ._mode_search import SAME, Mode, ModeSearch, some

#: Draws of the prior, and particles, that are looked at; how many are climbed from.
N_TRIED, N_CLIMBED = 1000, 6
#: Outposts, and how far they are apart, as a part of the width of the prior.
N_OUTPOSTS, APART = 24, 0.1
#: Mass of a Gaussian that the region around a maximum leaves outside.
OUTSIDE = 1e-4


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


def climbed(model: Model, rows: Rows, state: State, search: ModeSearch, rng: np.random.Generator) -> Ends:
    """Distinct maxima of the posterior on these rows, and walls.

    Parameters
    ----------
    model : Model
    rows : Rows
        At most ``search.search_rows`` of them for the way up, all for the end.
    state : State
        Particles, and rivals of theirs if there are any.
    search : ModeSearch
    rng : numpy.random.Generator
    """
    d = state.theta.shape[1]
    radius = float(max(search.radius, chi2.isf(OUTSIDE, d) / d))
    on_the_way = some(rows, search.search_rows, rng)
    few, target = Target(model, Likelihood(on_the_way)), Target(model, Likelihood(rows))
    known = np.empty((0, d)) if state.tuned.rivals is None else state.tuned.rivals.foremost
    prior = model.starts(rows, N_TRIED, rng)
    theta, value = _possible(few, np.concatenate([prior, state.cloud.some(N_TRIED)]))
    found: list[Mode] = []
    walls: list[np.ndarray] = []
    starts = [(start, True) for start in (*_peaks(theta, value), *known)]
    while starts:
        start, from_outside = starts.pop(0)
        a, P = find_mode(few, start)
        if P is None:
            if from_outside and not any(np.allclose(a, other) for other in walls):
                walls.append(a)
                starts.append((likelier(model, on_the_way, a), False))
            continue
        if any(_is_same(model, Mode(a, P, np.nan, SAME), mode._replace(radius=SAME)) for mode in found):
            continue
        on_few = a, P
        if len(rows) > search.search_rows:
            a, P = find_mode(target, a)
        if P is None:
            continue
        mode = Mode(a, P, float(target.value(a[None])[0]), radius)
        if not any(_is_same(model, mode, other) for other in found):
            found.append(mode)
            if from_outside:  # what they hide hides nothing more, or a rugged posterior is climbed for ever
                hidden = [likelier(model, on_the_way, a), *outstanding(few, *on_few, rng)]
                starts += [(point, False) for point in hidden]
    at = np.array(walls).reshape(-1, d)
    with np.errstate(all="ignore"):
        values = target.value(at) if len(at) else np.zeros(0)
    possible = np.isfinite(values)
    found.sort(key=lambda mode: -mode.value)
    found = [m._replace(inner=tuple(o for o in found if o is not m and _holds(model, m, o))) for m in found]
    return Ends(found, at[possible], values[possible], *_outposts(theta, value, prior))


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


def _peaks(theta: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Points that are better than all points next to them, the best first."""
    if not len(theta):
        return theta
    widths = theta / (np.std(theta, axis=0) + 1e-300)
    neighbours = cKDTree(widths).query(widths, min(2 * theta.shape[1] + 8, len(theta)))[1]
    peaks = np.flatnonzero(value >= value[neighbours.reshape(len(theta), -1)].max(axis=1))
    return theta[peaks[np.argsort(-value[peaks])][:N_CLIMBED]]


def _outposts(theta: np.ndarray, value: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best points that are APART from each other, and how far below the best they are."""
    widths, left = theta / (np.std(prior, axis=0) + 1e-300), np.argsort(-value)
    kept: list[int] = []
    while len(left) and len(kept) < N_OUTPOSTS:
        kept.append(int(left[0]))
        left = left[np.sum((widths[left] - widths[kept[-1]]) ** 2, axis=1) > APART**2 * theta.shape[1]]
    return theta[kept], value.max(initial=-np.inf) - value[kept]
