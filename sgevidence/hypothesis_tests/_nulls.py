r"""Which hypotheses a test compares: an effect or one side with none, or the outside of an interval with it.

With the density π of an effect e and the evidence of a region A of it,

    m(A) = ∫_A p(y | e) π(e) de / ∫_A π(e) de,

log m(e > 0) − log p(y | 0) is that of one side, and log m(e ∉ A) − log m(A) that of an interval.  Both are
integrals of their own, not differences of probabilities, so that regions far out in a tail keep their digits.
The coordinate u of the effect is the real line, on which both integrands fall off at least exponentially.

Symbols: ``u`` = coordinate, (m,).
"""

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..models import closed_in

#: Nats below the maximum at which an integrand is nothing.
NULLS_TAIL_NATS = 45.0
#: Cells of the grid on which an integrand is looked for, panels of the first rule, and most of them.
SURVEY_CELLS, FIRST_PANELS, MAX_PANELS = 128, 8, 1024
#: Nodes of Gauss and Legendre in a panel.
PANEL_NODES, PANEL_WEIGHTS = np.polynomial.legendre.leggauss(16)
#: Nats by which two rules may differ.
RULES_GAP_NATS = 1e-10
ALTERNATIVES = ("two-sided", "greater", "less")


class Effect(NamedTuple):
    """The quantity that has the prior, over a coordinate on the real line; its null is at u = ``null``."""

    coordinate: Callable[[float], float]
    log_prior: Callable[[np.ndarray], np.ndarray]  #: density of u
    log_joint: Callable[[np.ndarray], np.ndarray]  #: and log p(y | u) − log p(y | null)
    low: float  #: nothing is left below
    high: float
    null: float = 0.0

    def log_evidence(self, regions: list[tuple[float, float]]) -> tuple[float, float]:
        """log m of a union of intervals of u, less log p(y | null), and its error, nats."""
        cut = [(max(a, self.low), min(b, self.high)) for a, b in regions]
        cut = [(a, b) for a, b in cut if a < b]
        both = [[log_integral(f, *region) for region in cut] for f in (self.log_joint, self.log_prior)]
        joint, prior = (float(logsumexp([value for value, _ in part])) for part in both)
        return joint - prior, sum(error for part in both for _, error in part)


class Nulls(NamedTuple):
    """Hypotheses as they were asked for."""

    alternative: str = "two-sided"
    interval: tuple[float, float] | None = None  #: of the effect

    @classmethod
    def of(cls, alternative: Any, null: Any, low: float = -np.inf, high: float = np.inf) -> "Nulls":
        """From the arguments of a test; a null that is no pair is the test's own business."""
        if not (isinstance(alternative, str) and alternative in ALTERNATIVES):
            raise ValueError(f"alternative must be one of {list(ALTERNATIVES)}, got {alternative!r}")
        if not isinstance(null, (tuple, list)):
            return cls(alternative)
        if alternative != "two-sided":
            raise ValueError(
                "an interval as null= is compared with the values outside: leave alternative= out"
            )
        is_pair = len(null) == 2 and all(isinstance(x, Real) and not isinstance(x, bool) for x in null)
        if not (is_pair and low <= null[0] < null[1] <= high and (null[0] > low or null[1] < high)):
            raise ValueError(
                f"null must be a number, or a pair (low, high) from {low:g} to {high:g}, got {null!r}"
            )
        return cls(alternative, (float(null[0]), float(null[1])))

    def log_bayes_factor(self, effect: Effect) -> tuple[float, float]:
        """The alternative against the null, and the error, nats."""
        infinity = float(np.inf)
        if self.interval is None:
            side = (effect.null, infinity) if self.alternative == "greater" else (-infinity, effect.null)
            return effect.log_evidence([(-infinity, infinity) if self.alternative == "two-sided" else side])
        a, b = (effect.coordinate(x) for x in self.interval)
        (inside, error), (outside, other) = (
            effect.log_evidence(regions) for regions in ([(a, b)], [(-infinity, a), (b, infinity)])
        )
        return outside - inside, error + other

    def hypotheses(self, effect: str, where: str, null: str, words: tuple[str, str]) -> tuple[str, str]:
        """Alternative and null in words: of "``where`` greater than ``null``", or of the interval."""
        if self.interval is not None:
            a, b = self.interval
            between = f"between {a:g} and {b:g}"
            if not np.isfinite([a, b]).all():
                between = f"below {b:g}" if np.isinf(a) else f"above {a:g}"
            return f"{effect} is not {between}", f"{effect} is {between}"
        if self.alternative == "two-sided":
            return words
        return f"{where} {self.alternative} than {null}", words[1]


#: An effect is compared with none.
PLAIN_NULLS = Nulls()


def log_integral(log_f: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> tuple[float, float]:
    """log ∫ exp(log_f) from ``low`` to ``high``, and how far the rule with half the panels is from it, nats.

    One hump, or one end of it, is found on grids that close in on what counts.
    """
    low, *_, high = closed_in(log_f, low, high, SURVEY_CELLS, NULLS_TAIL_NATS, 0.5)
    last, panels = np.inf, FIRST_PANELS
    while True:
        half = (high - low) / panels / 2
        middle = low + half * (2 * np.arange(panels)[:, None] + 1)
        f = log_f((middle + half * PANEL_NODES).ravel()).reshape(panels, -1)
        value = float(logsumexp(f, b=half * PANEL_WEIGHTS))
        if abs(value - last) < RULES_GAP_NATS * (1 + abs(value)) or panels == MAX_PANELS:
            return value, abs(value - last) + float(np.finfo(float).eps * np.abs(f).max())
        last, panels = value, 2 * panels


def log_integrals(log_f: Callable[[np.ndarray], np.ndarray], width: np.ndarray) -> np.ndarray:
    """log ∫ exp(log_f) over the real line of m log-concave functions at a time, (m,).

    ``log_f`` takes offsets (m, k) from modes about which the functions are some ``width`` wide (m,).  The
    trapezoid rule converges geometrically on analytic functions (Trefethen and Weideman 2014).
    """
    n_cells, n_halvings = 256, 6  # cells of the rule; halvings of the interval in which an end lies
    top, ends = log_f(np.zeros((len(width), 1))), []
    for sign in (-1.0, 1.0):
        far = 6 * width
        while np.any(counts := (log_f(sign * far[:, None]) > top - NULLS_TAIL_NATS)[:, 0]):
            far = np.where(counts, 2 * far, far)
        near = far / 2
        for _ in range(n_halvings):
            middle = (near + far) / 2
            counts = (log_f(sign * middle[:, None]) > top - NULLS_TAIL_NATS)[:, 0]
            near, far = np.where(counts, middle, near), np.where(counts, far, middle)
        ends.append(sign * far)
    step = (ends[1] - ends[0]) / n_cells
    f = log_f(ends[0][:, None] + step[:, None] * np.arange(n_cells + 1)) - top
    return top[:, 0] + np.log(np.exp(f).sum(axis=1) * step)
