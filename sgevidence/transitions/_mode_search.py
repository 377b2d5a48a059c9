r"""Modes of a mixture, found from outside: Newton ascent from merged k-means solutions.

A mixture with too few components has several modes, each a different way to merge groups.  The one that is
best in the end may hold a millionth of the posterior after a hundred rows: then no particle is there.

Symbols: ``a, P`` = mode and its precision, ``r`` = squared distance in posterior widths per parameter.
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from .._compat import Interval
from ..history import Rows
from ..models import Model
from ..targets import Likelihood, Path, Target, find_mode

#: r within which two ends of Newton's method are one maximum: each errs by 0.02/d (its tolerance).
SAME_RADIUS = 0.1
#: r of the region that counts as a mode's own, beyond all of a Gaussian's mass for d > 10; and of smaller
#: regions, in which the posterior is nearer to Gaussian.
MODE_RADIUS, SMALL_RADII = 4.0, (1.0, 1.5, 2.0)
#: Nats by which a mode must be better to be reported as missed; standard errors by which the evidence of its
#: region alone must exceed that of the particles to call them wrong.
SIGNIFICANT_GAIN_NATS, SIGNIFICANT_ERRORS = 3.0, 3.0
#: Standard error of log Z, nats, below which particles at the mode need no help.
GOOD_ENOUGH_NATS = 0.1


class Mode(NamedTuple):
    """A maximum of the posterior of at most ``compare_rows`` rows, and the region around it."""

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


class ModeSearch(BaseEstimator):
    """Look for modes of a mixture now and then, and take their share of the evidence from outside.

    Parameters
    ----------
    first_rows : int, default=250
        Rows from which modes are looked for, and again whenever they have doubled: fewer have few that count.
    search_rows, compare_rows : int, default=1000, 10_000
        Rows for the search, and most rows for the comparison of what was found.
    n_starts : int, default=24
        Starts of Newton's method, the best of twenty times as many merged k-means solutions.
    max_climbs, max_modes : int, default=8, 4
        How many of the distinct maxima that were found are climbed on the larger sample, and kept.
    negligible : float, default=8.0
        Nats below the best mode at which a mode no longer counts: its width may make up for a few.

    References
    ----------
    S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models
    using bridge sampling techniques, The Econometrics Journal 7, 143.

    Examples
    --------
    >>> from sgevidence import SGAIS
    >>> from sgevidence.transitions import ModeSearch
    >>> SGAIS(mode_search=ModeSearch(n_starts=48)).mode_search
    ModeSearch(n_starts=48)
    """

    _parameter_constraints: dict = {
        "first_rows": [Interval(Integral, 1, None, closed="left")],
        "search_rows": [Interval(Integral, 1, None, closed="left")],
        "compare_rows": [Interval(Integral, 1, None, closed="left")],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "max_climbs": [Interval(Integral, 1, None, closed="left")],
        "max_modes": [Interval(Integral, 1, None, closed="left")],
        "negligible": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        first_rows: int = 250,
        search_rows: int = 1000,
        compare_rows: int = 10_000,
        n_starts: int = 24,
        max_climbs: int = 8,
        max_modes: int = 4,
        negligible: float = 8.0,
    ) -> None:
        self.first_rows = first_rows
        self.search_rows = search_rows
        self.compare_rows = compare_rows
        self.n_starts = n_starts
        self.max_climbs = max_climbs
        self.max_modes = max_modes
        self.negligible = negligible


def modes_are_due(search: ModeSearch, path: Path) -> bool:
    """Whether to look for modes now: of a mixture, when n passes 250, 500, 1000, …"""
    several = path.model.slots is not None and len(path.model.slots) > 1
    before, after = (np.floor(np.log2(max(n, 1.0) / search.first_rows)) for n in (path.memory.n, path.n))
    return bool(several and path.n >= search.first_rows and after > before)


def find_modes(search: ModeSearch, model: Model, rows: Rows, rng: np.random.Generator) -> list[Mode]:
    """Distinct modes within ``negligible`` nats of the best, best first."""
    few, many = subsample(rows, search.search_rows, rng), subsample(rows, search.compare_rows, rng)
    on_few, compare = Target(model, Likelihood(few)), Target(model, Likelihood(many))
    starts = model.starts(few, 20 * search.n_starts, rng)  # only the best of them are climbed from
    value = on_few.value(starts)
    distinct = np.unique(np.round(value, 1), return_index=True)[1]
    best = distinct[np.argsort(-value[distinct])][: search.n_starts]
    found = [find_mode(on_few, start) for start in starts[best]]
    value = compare.value(np.array([a for a, _ in found]))
    modes: list[Mode] = []
    for start in each_once(model, [found[i] for i in np.argsort(-value)])[: search.max_climbs]:
        if any(mode.near(model, start[None])[0] for mode in modes):
            continue
        a, P = find_mode(compare, start)
        if P is not None:
            mode = Mode(a, P, float(compare.value(a[None])[0]), MODE_RADIUS)
            modes += [] if any(other.near(model, a[None])[0] for other in modes) else [mode]
        if len(modes) == search.max_modes:
            break
    modes.sort(key=lambda mode: -mode.value)
    return [mode for mode in modes if mode.value > modes[0].value - search.negligible]


def wider(search: ModeSearch, **numbers: Any) -> ModeSearch:
    """A search with other numbers, in which no mode is negligible."""
    return ModeSearch(**search.get_params() | {"negligible": np.inf} | numbers)


def maxima_from(target: Target, starts: list[np.ndarray]) -> list[np.ndarray]:
    """Maxima (d,) to which climbs from these points lead, each once, the best first."""
    climbs = [(a, P) for a, P in (find_mode(target, a) for a in starts) if P is not None]
    value = target.value(np.array([a for a, _ in climbs]).reshape(-1, target.model.n_params))
    return each_once(target.model, [climbs[i] for i in np.argsort(-value)])


def each_once(model: Model, found: list[tuple[np.ndarray, np.ndarray | None]]) -> list[np.ndarray]:
    """Points (d,) in their order, each maximum once in whichever labelling it was found.

    Most starts lead to the best mode of the search rows: its repetitions must not use up ``max_climbs``.
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
