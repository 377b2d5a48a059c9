r"""Effects of a factor whose levels are all there are, none of them special.

The effects of K levels sum to zero, and are K − 1 orthonormal contrasts with independent normal priors,

    a = H c,    c ~ N(0, scale² I),    HᵀH = I,    Hᵀ1 = 0,

so that no level is a reference, and the prior is the same for every order of the levels (Rouder et al. 2012).
Two levels differ by √2 · scale · N(0, 1).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import helmert


class Factor(NamedTuple):
    """Levels of a column have effects that sum to zero, with a prior of fixed scale.

    Use it for treatments and categories: levels of which there are no others.

    Parameters
    ----------
    column : str or int
        Name or number of the column.
    scale : float or None, default=None
        Prior standard deviation of an orthonormal contrast, in units of the linear predictor.  None: 1/√2 of
        the ``effect_scale`` of the estimator, 1, with which two levels have the evidence of their 0/1 column;
        with ``prior="jzs"`` r = ½.
    categories : sequence or None, default=None
        All levels; None: those that a categorical column declares, else those of the first rows.  Another one
        is refused.  Levels without rows change no evidence but that of products.
    reference : level or None, default=None
        Level that the others are compared with where effects are printed.  No prior and no evidence has it.
    polynomial : bool, default=False
        Print the linear, quadratic, … parts of the effects in the order of the levels, equally far from one
        another: orthonormal contrasts, as R prints those of ordered factors.

    References
    ----------
    J. N. Rouder, R. D. Morey, P. L. Speckman, J. M. Province (2012), Default Bayes factors for ANOVA designs,
    Journal of Mathematical Psychology 56, 356.

    Examples
    --------
    >>> from sgevidence.effects import Factor
    >>> Factor("region", categories=["north", "south", "west"]).column
    'region'
    """

    column: Any
    scale: float | None = None
    categories: Any = None
    reference: Any = None
    polynomial: bool = False

    @property
    def prior_scale(self) -> float:
        """Standard deviation of a contrast where ``prior`` is not "jzs"."""
        # scale for which two levels differ by a standard normal, as the values of a 0/1 column do
        return 0.5**0.5 if self.scale is None else self.scale

    @property
    def name(self) -> str:
        """As a formula writes it."""
        return str(self.column)


def polynomials(n_levels: int) -> np.ndarray:
    """Orthonormal polynomials of the numbers of the levels, (K, K − 1): linear, quadratic, …"""
    k = np.arange(n_levels) - 0.5 * (n_levels - 1)
    Q, R = np.linalg.qr(np.vander(k / max(n_levels - 1, 1), n_levels, increasing=True))
    return (Q * np.sign(np.diag(R)))[:, 1:]


def contrasts(n_levels: int) -> np.ndarray:
    """H, (K, K − 1); with two levels the second is the higher, as of a 0/1 column."""
    return -helmert(n_levels).T if n_levels > 1 else np.zeros((1, 0))
