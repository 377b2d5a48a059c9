"""Effects of the levels of a grouping column: levels come from a population whose spread is inferred."""

from numbers import Real
from typing import Any, NamedTuple

from ._factor import Factor
from ._interaction import Interaction


class Group(NamedTuple):
    """Every level of a column has an intercept of its own, and slopes: u ~ N(0, τ²), τ inferred.

    Use it for subjects, sites, litters: levels of which others could have been drawn.  The evidence says
    whether they differ at all, and whether slopes do.

    Parameters
    ----------
    column : str, int or tuple of these
        Name or number of the column; numbers, strings and categories are levels alike.  Levels of several
        columns are their combinations, as of groups within groups.
    by : str, int, Factor, Interaction of factors, sequence of these or None, default=None
        Columns whose slope differs from level to level, too.  They keep their linear effect.  A factor has
        contrasts that differ from level to level of the group, with one τ, that of the difference between
        two levels, whatever their order.  With ``intercept=False`` each level of the factor has a τ of its
        own.
    correlated : bool, default=True
        Intercept and slopes of a level are correlated, with an LKJ(2) prior; False: independent.  Contrasts
        of a factor are correlated with intercept and slopes, and independent of each other; with
        ``intercept=False`` the levels of a factor are correlated.
    scale : float or None, default=None
        Scale of the half-Student-t(3) prior of each standard deviation τ, in units of the linear predictor:
        standard deviations of y for Gaussian y, for a slope per unit of the column, and for a factor that of
        the difference between two levels.  None: the
        ``effect_scale`` of the estimator, 1.
    intercept : bool, default=True
        False: only the slopes of ``by`` differ from level to level.
    origin : float, sequence of float or None, default=None
        Value of ``by``, or of each of its columns, at which the levels are measured.  None: the mean of the
        first rows; 0 with ``standardize=False`` or ``fit_intercept=False``.  lme4 has 0.

    Notes
    -----
    A level that was not in the first rows has the prior: predictions know the spread of the population.

    Where levels are measured is part of the question: lines that fan out from one day differ in level at
    every other day, and are correlated there.  At the mean, the default, level and slope do not depend on
    where the column has its zero.

    Examples
    --------
    >>> from sgevidence.effects import Group
    >>> Group("subject", by="days")
    Group(column='subject', by='days', correlated=True, scale=None, intercept=True, origin=None)
    >>> Group("subject", by="days", origin=0).name  # (1 + days | subject) of lme4
    '1 + days | subject'
    """

    column: Any
    by: Any = None
    correlated: bool = True
    scale: float | None = None
    intercept: bool = True
    origin: Any = None

    @property
    def slopes(self) -> tuple:
        """Columns of ``by``, as a tuple."""
        if self.by is None:
            return ()
        return tuple(self.by) if type(self.by) in (list, tuple) else (self.by,)

    @property
    def name(self) -> str:
        """As a formula writes it."""
        return f"{' + '.join(map(words_of, self.effects))} | {self.label}"

    @property
    def effects(self) -> tuple:
        """Columns that the effects of a level multiply, None for an intercept."""
        return (*[None] * self.intercept, *self.slopes)

    @property
    def origins(self) -> tuple:
        """Value of each column of ``by`` at which levels are measured; None for the mean."""
        if self.origin is None or isinstance(self.origin, Real):
            return (self.origin,) * len(self.slopes)
        return tuple(self.origin)

    @property
    def columns_of_slopes(self) -> tuple:
        """Slopes that are columns of numbers."""
        return tuple(name for name in self.slopes if not is_of_levels(name))

    @property
    def label(self) -> str:
        """The column, or those of levels within levels."""
        return ":".join(map(str, self.column)) if isinstance(self.column, tuple) else str(self.column)


def is_of_levels(slope: Any) -> bool:
    """Whether a slope is a factor, or a product of factors."""
    return isinstance(slope, Factor | Interaction)


def words_of(effect: Any) -> str:
    """An effect of a level as a formula writes it."""
    return "1" if effect is None else str(effect.name if is_of_levels(effect) else effect)
