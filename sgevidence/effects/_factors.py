"""Terms of a linear predictor that are no curves: factors, products, groups and monotone effects.

**Factors** have levels that are all there are, none of them special.  The effects of K levels sum to zero,
and are K − 1 orthonormal contrasts with independent normal priors,

    a = H c,    c ~ N(0, scale² I),    HᵀH = I,    Hᵀ1 = 0,

so that no level is a reference, and the prior is the same for every order of the levels (Rouder et al. 2012).
Two levels differ by √2 · scale · N(0, 1).

**Groups.**  Effects of one level are in sets: its intercept, slopes, and what factors add.  A factor of K
levels within a group that has an intercept adds orthonormal contrasts with one τ,

    c ~ N(0, τ²/2 · I),    a = H c,

so that two of its levels differ by N(0, τ²) and no order of them counts; with two levels c is the slope of
their 0/1 column.  Without an intercept each level of the factor has an effect and a τ of its own.  Contrasts
are the first effects of a level: their correlations with the others are free, and those among them are zero.

**Monotone effects** of an ordered column are its total, and the shares that its steps have of it:

    effect of level k = b Σ_{j ≤ k} ζ_j,    b ~ N(0, r² scale²),    ζ ~ Dirichlet(1, …, 1),    k = 1, …, m,

the lowest level having none (Bürkner and Charpentier 2020).  Given ζ the effect is linear in b, so that it is
one more Gaussian coefficient; ζ is a function of standard normals, by the shares that one after the other
leaves of the rest, 1 − V_j with V_j ~ Beta(1, m − j).

r = √(12 m/(m + 2)) is the range of m + 1 equally spaced numbers over their standard deviation: with equal
steps b is what a straight line of prior N(0, scale²) in such units has from end to end, so that *are the
steps equal?* is a question of their shares alone.  r = 1 of two levels, which are a 0/1 column.

Symbols: ``H`` = contrasts (K, K − 1); ``Z`` = what the effects of a set multiply (n, size); ``m`` = steps,
``z`` = standard normals (M, m − 1).
"""

from collections.abc import Callable
from functools import reduce
from itertools import product
from numbers import Real
from typing import Any, NamedTuple

import autograd.numpy as anp
import numpy as np
from autograd.scipy.stats import norm
from scipy.linalg import block_diag, helmert

from ._columns import level_words


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


class Interaction(tuple):
    """The effect of one column depends on others: products of columns in their units, centred.

    Parameters
    ----------
    *parts : str, int or Factor
        Two or more columns, or factors, whose contrasts are multiplied.  Columns keep their linear effects;
        the main effects of a factor, and products of fewer parts, are terms of their own.

    Notes
    -----
    Prior standard deviations are products: that of coefficients for each column, the scale of each factor.

    Examples
    --------
    >>> from sgevidence.effects import Factor, Interaction
    >>> Interaction("dose", Factor("supplement")).name
    'dose:supplement'
    >>> Interaction("dose", Factor("supplement"), Factor("sex")).name
    'dose:supplement:sex'
    """

    def __new__(cls, *parts: Any) -> "Interaction":
        return super().__new__(cls, parts)

    def __getnewargs__(self) -> tuple:
        return tuple(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self))})"

    @property
    def name(self) -> str:
        """As a formula writes it."""
        return ":".join(str(getattr(part, "column", part)) for part in self)


def column_products(columns: list[np.ndarray]) -> np.ndarray:
    """All products of one column of each array, (n, p q …), the last one's running first."""
    n = len(columns[0])
    return reduce(lambda A, B: (A[:, :, None] * B[:, None, :]).reshape(n, -1), columns)


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


class EffectSet(NamedTuple):
    """Effects of a level that are one term of a formula."""

    effect: Any  #: None for the intercept, a column, a factor or a product of factors
    words: str
    widths: tuple[int, ...]  #: effects that share a τ
    levels: tuple = ()  #: of the factor, in words
    matrix: Any = None  #: from numbers of levels to Z, (levels, size)
    to_levels: Any = None  #: from effects to those of levels, (size, levels)

    @property
    def size(self) -> int:
        return sum(self.widths)

    @property
    def are_contrasts(self) -> bool:
        return len(self.levels) > 0 and len(self.widths) == 1


def effect_sets(columns: Any, term: Group, is_relative: bool) -> list[EffectSet]:
    """Sets of a group in the order of the layout; ``columns`` read the levels of factors."""
    of_levels = [set_of(columns, slope, term, is_relative) for slope in term.slopes if is_of_levels(slope)]
    plain = [None] * term.intercept + list(term.columns_of_slopes)
    return of_levels + [EffectSet(name, words_of(name), (1,)) for name in plain]


def set_of(columns: Any, slope: Any, term: Group, is_relative: bool) -> EffectSet:
    factors = slope if isinstance(slope, Interaction) else (slope,)
    known = [columns.levels_of(factor.column) for factor in factors]
    words = tuple(":".join(map(level_words, levels)) for levels in product(*known))
    if not term.intercept:
        identity = np.eye(len(words))
        return EffectSet(slope, words_of(slope), (1,) * len(words), words, identity, identity)
    # difference of two levels in a contrast, for each factor; g of JZS priors is that of a contrast
    unit = 1.0 if is_relative else 0.5 ** (0.5 * len(factors))
    H = unit * reduce(np.kron, (contrasts(len(levels)) for levels in known))
    return EffectSet(slope, words_of(slope), (H.shape[1],), words, H, H.T)


def columns_of(columns: Any, one: EffectSet, X: np.ndarray, origin: dict[Any, float]) -> list[np.ndarray]:
    """Z of rows that were read, as columns (n, 1)."""
    if one.effect is None:
        return [np.ones((len(X), 1))]
    if one.matrix is None:
        j = columns.linear.index(one.effect)
        return [X[:, j : j + 1] - origin[one.effect]]
    factors = one.effect if isinstance(one.effect, Interaction) else (one.effect,)
    at = np.zeros(len(X), dtype=np.int64)
    for factor in factors:
        code = X[:, columns.place(factor.column)].astype(np.int64)
        at = at * len(columns.levels_of(factor.column)) + code
    return list(one.matrix[at].T[:, :, None])


def from_sets(sets: list[EffectSet]) -> np.ndarray | None:
    """From the effects of a level to those that are reported, (q, k); None where they are the same."""
    if all(one.to_levels is None or one.to_levels is one.matrix for one in sets):
        return None
    return block_diag(*(np.eye(1) if one.to_levels is None else one.to_levels for one in sets))


def with_factors(term: Any, has_levels: Callable[[Any], bool]) -> Any:
    """A group whose slopes of columns with levels are factors."""
    if not isinstance(term, Group):
        return term
    slopes = [Factor(one) if not is_of_levels(one) and has_levels(one) else one for one in term.slopes]
    return term if tuple(slopes) == term.slopes else term._replace(by=tuple(slopes))


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
