r"""A monotone effect of an ordered column: its total, and the shares that its steps have of it.

    effect of level k = b Σ_{j ≤ k} ζ_j,    b ~ N(0, r² scale²),    ζ ~ Dirichlet(1, …, 1),    k = 1, …, m,

the lowest level having none (Bürkner and Charpentier 2020).  Given ζ the effect is linear in b, so that it is
one more Gaussian coefficient; ζ is a function of standard normals, by the shares that one after the other
leaves of the rest, 1 − V_j with V_j ~ Beta(1, m − j).

r = √(12 m/(m + 2)) is the range of m + 1 equally spaced numbers over their standard deviation: with equal
steps b is what a straight line of prior N(0, scale²) in such units has from end to end, so that *are the
steps equal?* is a question of their shares alone.  r = 1 of two levels, which are a 0/1 column.

Symbols: ``m`` = steps, ``z`` = standard normals (M, m − 1).
"""

from typing import Any, NamedTuple

import autograd.numpy as anp
import numpy as np
from autograd.scipy.stats import norm


class Monotone(NamedTuple):
    """Levels in their order have effects that only rise or only fall, in steps of any size.

    Use it for questionnaires, grades and doses: ordered levels whose distances nobody knows.  It takes the
    place of the column, which has no linear effect beside it.

    Parameters
    ----------
    column : str or int
        Name or number of an ordered categorical column, or of a column of numbers.
    scale : float or None, default=None
        Prior standard deviation of equal steps over levels of equal frequency, in units of the linear
        predictor, as ``coef_scale`` is that of a straight line.  The highest level differs from the lowest
        by √(12 (K − 1)/(K + 1)) times as much, K levels; by ``scale`` where there are two.  None: the
        ``effect_scale`` of the estimator, 1.
    categories : sequence or None, default=None
        All levels from the lowest to the highest.  None: those that an ordered categorical column declares,
        or the numbers of the first rows.  Another one is refused.

    Notes
    -----
    The shares of the steps are uniform a priori, all vectors that sum to one alike.  Whichever end of the
    levels comes first changes no evidence.

    References
    ----------
    P.-C. Bürkner, E. Charpentier (2020), Modelling monotonic effects of ordinal predictors in Bayesian
    regression models, British Journal of Mathematical and Statistical Psychology 73, 420.

    Examples
    --------
    >>> from sgevidence.effects import Monotone
    >>> Monotone("agreement", categories=["no", "rather", "yes"]).name
    'mo(agreement)'
    """

    column: Any
    scale: float | None = None
    categories: Any = None

    @property
    def name(self) -> str:
        """As a formula writes it."""
        return f"mo({self.column})"


def whole_scale(term: Monotone, m: int) -> float:
    """Prior standard deviation of b, of m steps."""
    scale = 1.0 if term.scale is None else term.scale
    return scale * (1.0 if m == 1 else float(np.sqrt(12 * m / (m + 2))))


def cumulative_shares(z: Any) -> Any:
    """Σ_{j ≤ k} ζ_j of each step but the lowest level's, (M, m), in ``autograd.numpy``."""
    left = norm.logcdf(-z) / np.arange(z.shape[1], 0, -1)  # log (1 − V)
    below = 1 - anp.exp(anp.cumsum(left, axis=1))
    return anp.concatenate([below, np.ones((len(z), 1))], axis=1)
