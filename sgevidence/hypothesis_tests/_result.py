"""Hypotheses that a test compares, the result of a test, and checks of the input.

A test compares an effect or one side with none, or the outside of an interval with it.  With the density π of
an effect e and the evidence of a region A of it,

    m(A) = ∫_A p(y | e) π(e) de / ∫_A π(e) de,

log m(e > 0) − log p(y | 0) is that of one side, and log m(e ∉ A) − log m(A) that of an interval.  Both are
integrals of their own, not differences of probabilities, so that regions far out in a tail keep their digits.
The coordinate u of the effect is the real line, on which both integrands fall off at least exponentially.

Symbols: ``u`` = coordinate, (m,).
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import check_array

from ..model_selection import Reported, factor_in_digits, factor_or_fraction, in_words
from ..models import closed_in, rscale_of
from ..rows import cells_named, missing_in, refuse_extreme, refuse_unreadable
from ..tables import LINE_WIDTH, Table, in_lines, with_errors
from ._report import table_and_sentences

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


#: Rounding errors, in units of the largest number, within which numbers are all equal.
EQUAL_WITHIN = 4 * float(np.finfo(float).eps)
#: Shapes in words, by the number of axes.
SHAPES = ("one number", "one-dimensional", "two-dimensional")


class BayesFactorResult(Reported):
    """A Bayes factor of an alternative against a null hypothesis.

    Parameters
    ----------
    test : object
        Data, as far as the Bayes factor depends on them, and the prior: they have ``log_bayes_factor()`` with
        its error, ``with_rows(*rows)``, and in words ``name``, ``prior`` and ``hypotheses``.
    before : tuple, default=()
        Entries of ``path`` before these data.

    Attributes
    ----------
    log_bayes_factor : float
        log p(data | alternative) − log p(data | null), nats: positive speaks for the alternative.
    log_bayes_factor_std : float
        Its numerical error, nats; 0 where the answer is a closed form.
    bayes_factor : float
        The ratio itself; it may overflow to infinity.
    rscale : float or None
        Scale of the prior.
    n_samples : int
        Rows, or counts, so far.
    statistics : dict of str to float
        Classical statistics that the Bayes factor depends on, such as ``t`` and ``df``.
    path : dict of str to ndarray
        ``n_samples``, ``log_bayes_factor``, ``log_bayes_factor_std`` after the first call and after each
        :meth:`update`.

    See Also
    --------
    sgevidence.displays.BayesFactorDisplay : Draws it over ``rscale``, or over the rows.

    Examples
    --------
    >>> from sgevidence.hypothesis_tests import ttest
    >>> result = ttest([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8])
    >>> result = result.update([0.0, 2.0])
    >>> result.path["n_samples"].tolist()
    [8, 10]
    """

    def __init__(self, test: Any, before: tuple[tuple[int, float, float], ...] = ()):
        self._test = test
        self.log_bayes_factor, self.log_bayes_factor_std = test.log_bayes_factor()
        self.n_samples, self.statistics = test.n_samples, test.statistics
        self._entries = (*before, (self.n_samples, self.log_bayes_factor, self.log_bayes_factor_std))

    @property
    def bayes_factor(self) -> float:
        """The ratio p(data | alternative) / p(data | null)."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_bayes_factor))

    @property
    def rscale(self) -> float | None:
        """Scale of the prior; None: a prior without one."""
        return getattr(self._test, "rscale", None)

    @property
    def path(self) -> dict[str, np.ndarray]:
        """Bayes factors after each call, by the number of rows."""
        columns = zip(*self._entries)
        names = ("n_samples", "log_bayes_factor", "log_bayes_factor_std")
        return {name: np.array(values) for name, values in zip(names, columns)}

    def update(self, *rows: Any) -> "BayesFactorResult":
        """The result of the rows so far and more of them; this one stays as it is.

        Parameters
        ----------
        *rows : array-like
            As the test takes its data: x, or x and y, successes and trials, or a table of counts.

        Returns
        -------
        BayesFactorResult

        Notes
        -----
        A Bayes factor may be looked at after each row, and collecting may stop when it says enough, without
        any correction.  Only sums are kept, so that an update costs the same after any number of rows.
        """
        return BayesFactorResult(self._test.with_rows(*rows), self._entries)

    def with_rscale(self, rscale: Any) -> "BayesFactorResult":
        """The result of the same rows under another scale of the prior.

        Parameters
        ----------
        rscale : float or str
            As the test takes it.

        Returns
        -------
        BayesFactorResult

        Raises
        ------
        TypeError
            If the prior has no such scale: that of a contingency table.
        """
        if self.rscale is None:
            raise TypeError("a contingency table has no rscale: call contingency with another concentration")
        return BayesFactorResult(replace(self._test, rscale=rscale_of(self._test.scales, rscale)))

    def _reported(self) -> tuple[Table, list[str]]:
        test = self._test
        prior = f"Prior: {test.prior}."
        if self.rscale is not None:
            half, twice = (
                factor_or_fraction(self.with_rscale(k * self.rscale).log_bayes_factor) for k in (0.5, 2.0)
            )
            prior += f" Under half its scale the Bayes factor of H1 over H0 is {half}, under twice {twice}."
        return table_and_sentences(
            [f"{words} (H{k})" for words, k in zip(test.hypotheses, (1, 0))],
            np.array([self.log_bayes_factor, 0.0]),
            np.array([self.log_bayes_factor_std, 0.0]),
            data=self._of_data(),
            prior=prior,
            short=["H1", "H0"],
            given="if",
        )

    def _of_data(self) -> str:
        """The test and its classical statistics."""
        shown = ", ".join(f"{name} = {number:.4g}" for name, number in self.statistics.items())
        return f"{self._test.name}: {shown}"

    def __repr__(self) -> str:
        value, (alternative, null) = self.log_bayes_factor, self._test.hypotheses
        error = with_errors(np.array([value]), np.array([self.log_bayes_factor_std]))[0].strip()
        first, second = (alternative, null) if value >= 0 else (null, alternative)
        return "\n".join(
            [
                self._of_data(),
                f"Bayes factor {factor_in_digits(value)} (log: {error}); {self._test.prior}",
                *in_lines(
                    f"The data are {factor_in_digits(abs(value))} times as probable if {first} as if "
                    f"{second}: {_strength(value)}.",
                    LINE_WIDTH,
                ),
            ]
        )


def _strength(log_factor: float) -> str:
    words = in_words(log_factor)
    return words if words.startswith("not") else f"{words} evidence"


def array_of(name: str, values: Any, ndim: int) -> np.ndarray:
    """Finite numbers with so many axes."""
    refuse_unreadable(**{name: values})
    try:
        with cells_named(**{name: values}):
            found = check_array(
                values,
                dtype=np.float64,
                ensure_2d=False,
                allow_nd=True,
                ensure_min_samples=0,
                ensure_min_features=0,
                input_name=name,
            )
    except ValueError as error:
        raise ValueError(str(error) if name in str(error) else f"{name} must be numbers: {error}") from error
    except TypeError as error:
        raise TypeError(f"{name} must be numbers: {error}") from error
    if found.ndim != ndim:
        raise ValueError(f"{name} must be {SHAPES[ndim]}, got the shape {found.shape}")
    refuse_extreme(**{name: found})
    return found


def coded_levels(name: str, values: Any, n: int, other: str = "y") -> tuple[np.ndarray, list[Any]]:
    """Numbers of the levels of each row, (n,), and the levels, in their order or that which they declare.

    Levels are what Python calls equal, and 1 is not "1".
    """
    if np.ma.is_masked(values):
        raise ValueError(f"{name} is a masked array with masked entries: drop those rows")
    found = np.asarray(values, dtype=object)  # dates stay dates, which a categorical may declare
    if found.shape != (n,):
        raise ValueError(f"{name} must have the shape of {other}, ({n},), got {found.shape}")
    if (missing := np.flatnonzero(missing_in(found))).size:
        raise ValueError(f"{name} has missing values, the first in row {missing[0]} (drop such rows)")
    cells = found.tolist()
    try:
        distinct = dict.fromkeys(cells)
    except TypeError as error:
        raise TypeError(f"{name} has entries that are no levels: {error}") from None
    if len(distinct) < 2:
        raise ValueError(f"{name} must have two levels or more")
    if len(distinct) >= n:
        raise ValueError(f"{name} has a level of its own in each row")
    declared = getattr(getattr(values, "dtype", None), "categories", None)
    levels = list(distinct) if declared is None else [level for level in list(declared) if level in distinct]
    if declared is None:
        with suppress(TypeError):  # members of an enumeration have no order but that of the rows
            levels = sorted(levels, key=lambda level: (type(level).__name__, level))
    number = {level: k for k, level in enumerate(levels)}
    return np.array([number[level] for level in cells]), levels


def counts_of(name: str, values: np.ndarray) -> np.ndarray:
    """Whole numbers that are not negative."""
    if (values < 0).any():
        raise ValueError(f"{name} has a negative count, {values.min():g}")
    if (values != np.round(values)).any():
        raise ValueError(f"{name} must be whole numbers, got {values[values != np.round(values)][0]:g}")
    return values


def count_of(name: str, value: Any) -> int:
    """A whole number that is not negative."""
    return int(counts_of(name, array_of(name, value, 0)))


def number_of(name: str, value: Any, low: float = -np.inf, high: float = np.inf) -> float:
    """A number between two, without them."""
    if isinstance(value, Real) and not isinstance(value, bool) and low < float(value) < high:
        return float(value)
    where = "a finite number" if low == -np.inf else f"a number between {low:g} and {high:g}"
    raise ValueError(f"{name} must be {where}, got {value!r}")
