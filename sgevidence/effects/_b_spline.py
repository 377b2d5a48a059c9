r"""A curve of fixed flexibility: B-splines whose coefficients are exchangeable, with a prior of fixed scale.

    f(x) = Σ_j c_j B_j(x),    c = H a / s,    a ~ N(0, scale² I),    HᵀH = I,    Hᵀ1 = 0.

The basis sums to one, so that only differences of its coefficients count: they are contrasts, as those of the
levels of a factor.  s is such that ``scale`` is the prior standard deviation of the curve over the first
rows, as ``coef_scale`` is that of a straight line.  No unit and no direction of x counts.

Symbols: ``Z`` = B H / s, (n, m − 1).
"""

from typing import Any, NamedTuple

import numpy as np

from ..exceptions import warn_caller
from ._factor import contrasts
from ._splines import Splines, quantiles, refuse_few_values


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
