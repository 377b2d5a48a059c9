r"""Terms of a formula: groups, whose levels come from a population of inferred spread; factors; interactions.

The effects of a factor's K levels, which are all there are, sum to zero, and are K − 1 orthonormal contrasts
with independent normal priors,

    a = H c,    c ~ N(0, scale² I),    HᵀH = I,    Hᵀ1 = 0,

so that no level is a reference, and the prior is the same for every order of the levels (Rouder et al. 2012).
Two levels differ by √2 · scale · N(0, 1).

In a regression whose terms have no scale to infer contrasts and products are columns like others, so that a
factor of two levels has the evidence of its 0/1 column, to the last digit.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import helmert

from ..models import GLMModel, LinearModel


class Group(NamedTuple):
    """Every level of a column has an intercept of its own, and slopes: u ~ N(0, τ²), τ inferred.

    Use it for subjects, sites, litters: levels of which others could have been drawn.  The evidence says
    whether they differ at all, and whether slopes do.

    Parameters
    ----------
    column : str, int or tuple of these
        Name or number of the column; numbers, strings and categories are levels alike.  Levels of several
        columns are their combinations, as of groups within groups.
    by : str, int, sequence of these or None, default=None
        Columns whose slope differs from level to level, too.  They keep their linear effect.
    correlated : bool, default=True
        Intercept and slopes of a level are correlated, with an LKJ(2) prior; False: independent.
    scale : float, default=1.0
        Scale of the half-Student-t(3) prior of each standard deviation τ, in units of the linear predictor:
        standard deviations of y for Gaussian y, and for a slope per unit of the column.
    intercept : bool, default=True
        False: only the slopes of ``by`` differ from level to level.

    Notes
    -----
    A level that was not in the first rows has the prior: predictions know the spread of the population.

    Examples
    --------
    >>> from sgevidence.effects import Group
    >>> Group("subject", by="days")
    Group(column='subject', by='days', correlated=True, scale=1.0, intercept=True)
    """

    column: Any
    by: Any = None
    correlated: bool = True
    scale: float = 1.0
    intercept: bool = True

    @property
    def slopes(self) -> tuple:
        """Columns of ``by``, as a tuple."""
        if self.by is None:
            return ()
        return tuple(self.by) if type(self.by) in (list, tuple) else (self.by,)

    @property
    def name(self) -> str:
        """As a formula writes it."""
        return f"{' + '.join('1' if name is None else str(name) for name in self.effects)} | {self.label}"

    @property
    def effects(self) -> tuple:
        """Columns that the effects of a level multiply, None for an intercept."""
        return (*[None] * self.intercept, *self.slopes)

    @property
    def label(self) -> str:
        """The column, or those of levels within levels."""
        return ":".join(map(str, self.column)) if isinstance(self.column, tuple) else str(self.column)


#: Scale for which two levels differ by a standard normal, as the values of a 0/1 column do.
FACTOR_SCALE_OF_01 = 0.5**0.5


class Factor(NamedTuple):
    """Levels of a column have effects that sum to zero, with a prior of fixed scale.

    Use it for treatments and categories: levels of which there are no others.

    Parameters
    ----------
    column : str or int
        Name or number of the column.
    scale : float or None, default=None
        Prior standard deviation of an orthonormal contrast, in units of the linear predictor.  None: 1/√2,
        with which two levels have the evidence of their 0/1 column; with ``prior="jzs"`` r = ½.
    categories : sequence or None, default=None
        All levels; None: those of the first rows.  Another one is refused.

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

    @property
    def prior_scale(self) -> float:
        """Standard deviation of a contrast where ``prior`` is not "jzs"."""
        return FACTOR_SCALE_OF_01 if self.scale is None else self.scale

    @property
    def name(self) -> str:
        """As a formula writes it."""
        return str(self.column)


def contrasts(n_levels: int) -> np.ndarray:
    """H, (K, K − 1); with two levels the second is the higher, as of a 0/1 column."""
    return -helmert(n_levels).T if n_levels > 1 else np.zeros((1, 0))


class Interaction(NamedTuple):
    """The effect of one column depends on another: products of columns in their units, centred.

    Parameters
    ----------
    a, b : str, int or Factor
        Columns, or factors, whose contrasts are multiplied.  Columns keep their linear effects; the main
        effects of a factor are a term of their own.

    Notes
    -----
    Prior standard deviations are products: that of coefficients for each column, the scale of each factor.

    Examples
    --------
    >>> from sgevidence.effects import Factor, Interaction
    >>> Interaction("dose", Factor("supplement")).name
    'dose:supplement'
    """

    a: Any
    b: Any

    @property
    def name(self) -> str:
        """As a formula writes it."""
        return ":".join(str(getattr(part, "column", part)) for part in self)


def products(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """All products of a column of A and one of B, (n, p q)."""
    return (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)


def parted(named: dict[str, np.ndarray], n_linear: int) -> dict[str, np.ndarray]:
    """Coefficients of columns, and those of contrasts and products."""
    coef = named["coef"]
    return named | {"coef": coef[:, :n_linear], "fixed_effects": coef[:, n_linear:]}


@dataclass(frozen=True)
class LinearModelWithTerms(LinearModel):
    n_linear: int = 0

    def parameters(self, theta):
        return parted(super().parameters(theta), self.n_linear)


@dataclass(frozen=True)
class GLMWithTerms(GLMModel):
    n_linear: int = 0

    def parameters(self, theta):
        return parted(super().parameters(theta), self.n_linear)
