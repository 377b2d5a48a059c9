r"""Curves of one column: smooth ones, and B-splines of fixed flexibility.

**A smooth curve** is a straight line, and departures from it whose size is inferred:

    f(x) = β x + Z u,        u ~ N(0, τ² I),        Z = B N (NᵀS N)^(−½),

B a basis of cubic splines, N its combinations that are allowed and S what is penalised: what it does not see
is the line, and the rest are independent normal effects (Eilers and Marx 1996; Wood 2017).

    basis   knots                              S                           N
    "ps"    evenly spaced                      second differences of u     all
    "bs"    evenly spaced, or given            ∫ f''²                      all
    "cr"    quantiles of the rows, or given    ∫ f''²                      f'' = 0 at both ends

The columns of Z are made orthogonal to 1 and x and scaled so that τ is the standard deviation of the
departures over the first rows: *is the curve a line?* is τ = 0.

A curve with a period P has no line, and is the periodic smoothing spline (Wahba 1990): of sines and cosines

    f(x) = c Σ_h h⁻² [a_h cos(2πhx/P) + b_h sin(2πhx/P)],        a_h, b_h ~ N(0, τ²),

with c such that τ is its standard deviation over a period.  It depends neither on where x has its zero nor
on the first rows.

Symbols: ``B`` = spline basis (n, m), ``Z`` = departures (n, m − 2), ``h`` = harmonic.

**A curve of fixed flexibility** has B-splines whose coefficients are exchangeable, with a prior of fixed
scale:

    f(x) = Σ_j c_j B_j(x),    c = H a / s,    a ~ N(0, scale² I),    HᵀH = I,    Hᵀ1 = 0.

The basis sums to one, so that only differences of its coefficients count: they are contrasts, as those of the
levels of a factor.  s is such that ``scale`` is the prior standard deviation of the curve over the first
rows, as ``coef_scale`` is that of a straight line.  No unit and no direction of x counts.

Symbols: ``Z`` = B H / s, (n, m − 1).  Bases are plain arrays, fixed by the first rows.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import BSpline as Piecewise
from scipy.linalg import null_space

from ..exceptions import warn_caller
from ._factors import contrasts


class Splines(NamedTuple):
    """Knots, those beyond the range included, and the degree."""

    knots: np.ndarray  #: (m + degree + 1,)
    degree: int

    @property
    def size(self) -> int:
        """m."""
        return len(self.knots) - self.degree - 1

    @property
    def range(self) -> tuple[float, float]:
        """Least and largest x of the first rows."""
        return float(self.knots[self.degree]), float(self.knots[-self.degree - 1])

    def columns(self, x: np.ndarray) -> np.ndarray:
        """B; beyond the range its values at the end."""
        inside = np.clip(x, *self.range)
        return Piecewise.design_matrix(inside, self.knots, self.degree).toarray()

    def straight_beyond(self, x: np.ndarray) -> np.ndarray:
        """B; beyond the range on the line that it has at the end."""
        beyond = x - np.clip(x, *self.range)
        slopes = Piecewise(self.knots, np.eye(self.size), self.degree)(x - beyond, nu=1)
        return self.columns(x) + beyond[:, None] * slopes


def refuse_few_values(name: str, x: np.ndarray) -> None:
    """ValueError for a curve of fewer than three values."""
    if len(np.unique(x)) < 3:
        raise ValueError(f"{name} is a curve of fewer than three values: give the column as it is")


def quantiles(x: np.ndarray, weight: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Quantiles of weighted numbers; between two values it is their mean, whichever way x is turned."""
    order = np.argsort(x)
    below, x = np.cumsum(weight[order]) / weight.sum(), x[order]
    sides = [np.searchsorted(below, share * (1 + eps)) for eps in (-1e-12, 1e-12)]
    return np.mean([x[np.minimum(at, len(x) - 1)] for at in sides], axis=0)


#: Degree of the splines.
DEGREE = 3
#: Splines of a curve by default: mcycle of R has 22 nats less with 10, and 0.1 nats more with 40.
DEFAULT_BASIS = 20


class Smooth(NamedTuple):
    """A curve of one column: its linear effect, and a spline around it.

    Parameters
    ----------
    column : str or int
        Name or number of a column of numbers.
    n_basis : int, default=20
        Splines, 5 or more; two of their dimensions are the straight line.  More change little: how smooth a
        curve is, the rows say.  A warning says where a curve asks for more.
    scale : float or None, default=None
        Scale of the half-Student-t(3) prior of τ, the standard deviation of the curve around the line in
        units of the linear predictor.  None: the ``effect_scale`` of the estimator, 1.
    by : str, int or None, default=None
        Column of levels each of which has departures of its own, with one τ: those of a factor, or of a
        :class:`Group` term.  Lines of the levels are terms of their own, ``Interaction`` or ``Group(by=)``;
        a formula has them with ``s(x, by=g)``.
    period : float or None, default=None
        Period of a cyclic curve, in the unit of the column: 12 for months.  Such a curve has no line.
    basis : {"ps", "bs", "cr"}, default="ps"
        P-splines; cubic splines, by the integral of their squared curvature; natural ones, whose knots are
        where the rows are.
    knots : sequence of float or None, default=None
        Knots of "bs" between the ends of the column, or of "cr", in the unit of the column.

    References
    ----------
    P. H. C. Eilers, B. D. Marx (1996), Flexible smoothing with B-splines and penalties, Statistical Science
    11, 89; G. Wahba (1990), Spline Models for Observational Data, ch. 2; S. N. Wood (2017), Generalized
    Additive Models, 2nd ed.

    Examples
    --------
    >>> from sgevidence.effects import Smooth
    >>> Smooth("age").name
    's(age)'
    >>> Smooth("month", period=12).name
    's(month, period=12)'
    """

    column: Any
    n_basis: int = DEFAULT_BASIS
    scale: float | None = None
    by: Any = None
    period: float | None = None
    basis: str = "ps"
    knots: Any = None

    @property
    def name(self) -> str:
        """As a formula writes it."""
        options = {"by": self.by, "period": self.period, "bs": self.basis if self.basis != "ps" else None}
        written = [f"{key}={value}" for key, value in options.items() if value is not None]
        return f"s({', '.join([str(self.column), *written])})"


class Curve(NamedTuple):
    """Departures from a line, as the first rows have fixed them."""

    splines: Splines
    from_basis: np.ndarray  #: N (NᵀS N)^(−½), (m, k)
    line: np.ndarray  #: their coefficients of 1 and x, (2, k)
    size: float

    @classmethod
    def of(cls, x: np.ndarray, weight: np.ndarray, term: Smooth, unit: tuple[float, float]) -> "Curve":
        """The curve of the first rows; ValueError if they have fewer than three values.

        ``unit`` has the centre and the scale that x is measured in.
        """
        refuse_few_values(term.name, x)
        splines = Splines(knots_of(x, weight, term, unit), DEGREE)
        from_basis = departures(splines, term)
        Z, w, line = splines.columns(x) @ from_basis, np.sqrt(weight)[:, None], with_one(x)
        coefficients = np.linalg.lstsq(w * line, w * Z, rcond=None)[0]
        Z = Z - line @ coefficients
        size = float(np.sqrt(np.sum(weight @ Z**2) / np.sum(weight)))
        return cls(splines, from_basis, coefficients, size)

    @property
    def n_effects(self) -> int:
        """Columns of Z."""
        return self.from_basis.shape[1]

    def columns(self, x: np.ndarray) -> np.ndarray:
        """Z, (n, k)."""
        Z = self.splines.straight_beyond(x) @ self.from_basis
        return (Z - with_one(x) @ self.line) / self.size


def knots_of(x: np.ndarray, weight: np.ndarray, term: Smooth, unit: tuple[float, float]) -> np.ndarray:
    """All knots of a curve, (m + 4,): evenly spaced ones go on beyond the ends, others are repeated there."""
    low, high = x.min(), x.max()
    if term.basis == "ps":
        n_pieces = term.n_basis - DEGREE
        knots = low + np.ptp(x) / n_pieces * np.arange(-DEGREE, n_pieces + DEGREE + 1)
        knots[-DEGREE - 1] = high
        return knots
    # a natural spline of k knots has k dimensions, another one two more
    n_inner = term.n_basis - 2 if term.basis == "cr" else term.n_basis - DEGREE - 1
    if term.knots is not None:
        inner = (np.sort(np.asarray(term.knots, dtype=float)) - unit[0]) / unit[1]
        inner = inner[(inner > low) & (inner < high)]
    elif term.basis == "cr":
        inner = quantiles(x, weight, np.linspace(0, 1, n_inner + 2)[1:-1])
        inner = np.unique(inner[(inner > low) & (inner < high)])
    else:
        inner = np.linspace(low, high, n_inner + 2)[1:-1]
    return np.concatenate([np.full(DEGREE + 1, low), inner, np.full(DEGREE + 1, high)])


def departures(splines: Splines, term: Smooth) -> np.ndarray:
    """Combinations of the basis whose penalty is the sum of their squares, (m, k)."""
    if term.basis == "ps":
        return np.linalg.pinv(np.diff(np.eye(term.n_basis), n=2, axis=0))
    second = Piecewise(splines.knots, np.eye(splines.size), DEGREE).derivative(2)
    ends = np.unique(splines.knots)
    # f'' is linear between knots: Simpson's rule has the integral of its square
    points = np.column_stack([ends[:-1], 0.5 * (ends[:-1] + ends[1:]), ends[1:]])
    points[:, 2] = np.nextafter(points[:, 2], -np.inf)  # on this side of a knot
    root = (
        second(points.ravel()) * np.sqrt((np.diff(ends)[:, None] * np.array([1, 4, 1]) / 6).ravel())[:, None]
    )
    free = np.eye(splines.size)
    if term.basis == "cr":
        free = null_space(second(points[[0, -1], [0, 2]]))
    values, axes = np.linalg.eigh((root @ free).T @ (root @ free))
    kept = np.arange(len(values)) >= 2  # a line has no curvature
    return free @ axes[:, kept] / np.sqrt(values[kept])


class Cycle(NamedTuple):
    """Columns of a cyclic curve."""

    start: float  #: least x of the first rows, from which a period is drawn
    period: float
    n_harmonics: int

    @property
    def n_effects(self) -> int:
        """Columns of Z."""
        return 2 * self.n_harmonics

    @property
    def range(self) -> tuple[float, float]:
        """A period."""
        return self.start, self.start + self.period

    def columns(self, x: np.ndarray) -> np.ndarray:
        """Z, (n, 2 h)."""
        h = np.arange(1, self.n_harmonics + 1)
        angle = 2 * np.pi * np.mod(x / self.period, 1.0)[:, None] * h
        size = h**-2.0 / np.sqrt(np.sum(h**-4.0))
        return np.concatenate([size * np.cos(angle), size * np.sin(angle)], axis=1)


def with_one(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(x)), x])


class BSpline(NamedTuple):
    """A curve of one column by a fixed number of B-splines, as ``bs(x)`` of R and patsy.

    Its flexibility is chosen, by ``df``, where that of :class:`Smooth` is inferred.  It takes the place of
    the column, which has no linear effect beside it.

    Parameters
    ----------
    column : str or int
        Name or number of a column of numbers.
    df : int or None, default=None
        Coefficients, ``degree`` or more: there are ``df - degree`` inner knots, at quantiles of the rows of
        the first call.  None: ``degree``, a polynomial.
    degree : int, default=3
        Degree of the pieces: 3 is cubic, 1 is straight lines, 0 is steps.
    scale : float or None, default=None
        Prior standard deviation of the curve over these rows, in units of the linear predictor.  None: the
        ``effect_scale`` of the estimator, 1.
    knots : sequence of float or None, default=None
        Inner knots in the unit of the column, in place of ``df``.

    Notes
    -----
    Beyond the range of the first rows the curve stays at its end value, and a warning says so.

    References
    ----------
    C. de Boor (2001), A Practical Guide to Splines, revised ed.

    Examples
    --------
    >>> from sgevidence.effects import BSpline
    >>> BSpline("age", df=6).name
    'bs(age, df=6)'
    """

    column: Any
    df: int | None = None
    degree: int = 3
    scale: float | None = None
    knots: Any = None

    @property
    def name(self) -> str:
        """As a formula writes it."""
        options: dict[str, Any] = {"df": self.df} if self.df is not None else {}
        options |= {"degree": self.degree} if self.degree != 3 else {}
        options |= {"knots": f"c({', '.join(map(str, self.knots))})"} if self.knots is not None else {}
        return f"bs({', '.join([str(self.column), *(f'{key}={value}' for key, value in options.items())])})"

    @property
    def n_contrasts(self) -> int:
        """Columns of Z."""
        if self.knots is not None:
            return self.degree + len(self.knots)
        return self.degree if self.df is None else self.df

    @property
    def prior_scale(self) -> float:
        """Standard deviation of a."""
        return 1.0 if self.scale is None else self.scale


class FixedCurve(NamedTuple):
    """Columns of B-splines, as the first rows have fixed them."""

    name: str
    splines: Splines
    from_contrasts: np.ndarray  #: H / s, (m, m − 1)

    @classmethod
    def of(cls, x: np.ndarray, weight: np.ndarray, term: BSpline) -> "FixedCurve":
        """Knots and size of the first rows; ValueError if they have fewer than three values."""
        refuse_few_values(term.name, x)
        share = np.linspace(0, 1, term.n_contrasts - term.degree + 2)[1:-1]
        inner = quantiles(x, weight, share) if term.knots is None else np.sort(np.array(term.knots, float))
        if ((inner < x.min()) | (inner > x.max())).any():
            raise ValueError(
                f"{term.name}: knots lie between {x.min():.6g} and {x.max():.6g}, the ends of the rows"
            )
        ends = [np.full(term.degree + 1, end) for end in (x.min(), x.max())]
        splines, H = (
            Splines(np.concatenate([ends[0], inner, ends[1]]), term.degree),
            contrasts(term.n_contrasts + 1),
        )
        Z, share = splines.columns(x) @ H, weight / weight.sum()
        return cls(term.name, splines, H / np.sqrt(np.sum(share @ (Z - share @ Z) ** 2)))

    def columns(self, x: np.ndarray) -> np.ndarray:
        """Z; a warning if x goes beyond the first rows."""
        low, high = self.splines.range
        if n := int(np.sum((x < low) | (x > high))):
            warn_caller(
                f"{self.name} is known from {low:.6g} to {high:.6g}, the range of the first call, and stays "
                f"at its end value in {n} of these rows, which lie beyond: s() continues as a line"
            )
        return self.splines.columns(x) @ self.from_contrasts
