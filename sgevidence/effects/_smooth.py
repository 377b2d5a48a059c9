r"""A smooth curve: a straight line, and departures from it whose size is inferred.

    f(x) = β x + B(x) Dᵀ(DDᵀ)⁻¹ u,        u ~ N(0, τ² I),

B a basis of cubic splines and D second differences: what the penalty of a P-spline does not see is the line,
and the rest are independent normal effects (Eilers and Marx 1996; Wood 2017).  Their columns are made
orthogonal to 1 and x and scaled so that τ is the standard deviation of the departures over the first rows:
*is the curve a line?* is τ = 0.

Symbols: ``B`` = spline basis (n, m), ``Z`` = departures (n, m − 2).
"""

from typing import Any, NamedTuple

import numpy as np

from ._splines import Splines, refuse_few_values

#: Degree of the splines.
DEGREE = 3


class Smooth(NamedTuple):
    """A curve of one column: its linear effect, and a spline around it.

    Parameters
    ----------
    column : str or int
        Name or number of a column of numbers.
    n_basis : int, default=10
        Splines, 5 or more; two of their dimensions are the straight line.
    scale : float or None, default=None
        Scale of the half-Student-t(3) prior of τ, the standard deviation of the curve around the line in
        units of the linear predictor.  None: the ``effect_scale`` of the estimator, 1.

    References
    ----------
    P. H. C. Eilers, B. D. Marx (1996), Flexible smoothing with B-splines and penalties, Statistical Science
    11, 89; S. N. Wood (2017), Generalized Additive Models, 2nd ed.

    Examples
    --------
    >>> from sgevidence.effects import Smooth
    >>> Smooth("age").name
    's(age)'
    """

    column: Any
    n_basis: int = 10
    scale: float | None = None

    @property
    def name(self) -> str:
        """As a formula writes it."""
        return f"s({self.column})"


class Curve(NamedTuple):
    """Departures from a line, as the first rows have fixed them."""

    splines: Splines
    from_basis: np.ndarray  #: Dᵀ(DDᵀ)⁻¹, (m, m − 2)
    line: np.ndarray  #: their coefficients of 1 and x, (2, m − 2)
    size: float

    @classmethod
    def of(cls, x: np.ndarray, weight: np.ndarray, term: Smooth) -> "Curve":
        """The curve of the first rows; ValueError if they have fewer than three values."""
        refuse_few_values(term.name, x)
        n_pieces = term.n_basis - DEGREE
        knots = x.min() + np.ptp(x) / n_pieces * np.arange(-DEGREE, n_pieces + DEGREE + 1)
        knots[-DEGREE - 1] = x.max()
        splines = Splines(knots, DEGREE)
        D = np.diff(np.eye(term.n_basis), n=2, axis=0)
        from_basis = np.linalg.pinv(D)
        Z, w, line = splines.columns(x) @ from_basis, np.sqrt(weight)[:, None], with_one(x)
        coefficients = np.linalg.lstsq(w * line, w * Z, rcond=None)[0]
        Z = Z - line @ coefficients
        size = float(np.sqrt(np.sum(weight @ Z**2) / np.sum(weight)))
        return cls(splines, from_basis, coefficients, size)

    def columns(self, x: np.ndarray) -> np.ndarray:
        """Z, (n, m − 2)."""
        Z = self.splines.straight_beyond(x) @ self.from_basis
        return (Z - with_one(x) @ self.line) / self.size


def with_one(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(x)), x])
