r"""Effects of one level of a group, in sets: its intercept, slopes, and what factors add.

A factor of K levels within a group that has an intercept adds orthonormal contrasts with one τ,

    c ~ N(0, τ²/2 · I),    a = H c,

so that two of its levels differ by N(0, τ²) and no order of them counts; with two levels c is the slope of
their 0/1 column.  Without an intercept each level of the factor has an effect and a τ of its own.  Contrasts
are the first effects of a level: their correlations with the others are free, and those among them are zero.

Symbols: ``H`` = contrasts (K, K − 1); ``Z`` = what the effects of a set multiply (n, size).
"""

from collections.abc import Callable
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from ._columns import level_words
from ._factor import Factor, contrasts
from ._group import Group, is_of_levels, words_of
from ._interaction import Interaction


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
