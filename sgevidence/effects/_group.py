"""Effects of the levels of a grouping column: levels come from a population whose spread is inferred."""

from typing import Any, NamedTuple


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
