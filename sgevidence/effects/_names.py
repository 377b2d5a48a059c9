"""Names of effects, and of their standard deviations, as a formula writes them; and their units.

A slope is per unit of its column, so that columns in units of their standard deviations have to be undone.
"""

from functools import reduce
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from ._coding import Coding
from ._columns import level_words
from ._curves import BSpline, Smooth
from ._factors import EffectSet, Factor, Group, Monotone, contrasts, from_sets, polynomials
from ._terms import parts

#: Names of polynomials; those of higher degrees are ^4, ^5, …
POLYNOMIAL_NAMES = {1: "linear", 2: "quadratic", 3: "cubic"}


class Effect(NamedTuple):
    """One effect: its term, its level, its name, and the columns of numbers that it multiplies."""

    term: str
    level: Any  #: as in the data; words for levels of several columns
    label: str
    columns: tuple = ()


def fixed_effects(coding: Coding) -> tuple[list[Effect], np.ndarray]:
    """Effects of the levels of factors and products, and the matrix (k, n) that makes them of contrasts."""
    effects, matrices = [], []
    for term in (term for term in coding.terms if term.name in coding.means):
        each, H = zip(*(part_effects(coding, part) for part in parts(term)))
        matrices.append(reduce(np.kron, H).T)
        for one in product(*each):
            levels = [effect.level for effect in one if effect.level != ""]
            level = levels[0] if len(levels) == 1 else ":".join(map(level_words, levels))
            label = ":".join(effect.label for effect in one)
            effects.append(Effect(term.name, level, label, sum((effect.columns for effect in one), ())))
    return effects, block_diag(*matrices)


def part_effects(coding: Coding, part: Any) -> tuple[list[Effect], np.ndarray]:
    """Effects of levels, or of B-splines, and their contrasts; a column has one, of no level."""
    if isinstance(part, BSpline):
        curve = coding.curves[part.name]
        return [level_effect(part.name, j + 1) for j in range(curve.splines.size)], curve.from_contrasts
    if not isinstance(part, Factor):
        return [Effect(str(part), "", str(part), (part,))], np.eye(1)
    levels = coding.columns.levels_of(part.column)
    H = contrasts(len(levels))
    if part.polynomial:
        degrees = [POLYNOMIAL_NAMES.get(k, f"^{k}") for k in range(1, len(levels))]
        return [level_effect(part.name, degree) for degree in degrees], polynomials(len(levels)).T @ H
    if part.reference is None:
        return [level_effect(part.name, level) for level in levels], H
    others = [k for k, level in enumerate(levels) if level != part.reference]
    effects = [against(part, levels[k]) for k in others]
    return effects, H[others] - H[levels.index(part.reference)]


def against(factor: Factor, level: Any) -> Effect:
    """A level's effect less that of the reference."""
    words = f"{level_words(level)} - {level_words(factor.reference)}"
    return Effect(factor.name, level, f"{factor.name}[{words}]")


def level_effect(term: str, level: Any, columns: tuple = ()) -> Effect:
    words = level_words(level)
    return Effect(term, words if isinstance(level, tuple) else level, f"{term}[{words}]", columns)


def group_effects(coding: Coding) -> tuple[list[Effect], list[Effect], list[Any]]:
    """Effects of all levels, and standard deviations, in the order of the blocks.

    And for each block the matrix (q, k) from effects of contrasts to those of levels of factors, or None.
    """
    effects, stds = [], []
    matrices: list[Any] = []
    for term in coding.terms:
        if isinstance(term, Smooth):
            number = range(1, coding.curves[term.name].n_effects + 1)
            levels = [()] if term.by is None else [(one,) for one in coding.columns.levels_of(term.by)]
            effects += [level_effect(term.name, (*one, j) if one else j) for one in levels for j in number]
            stds.append(Effect(term.name, "", term.name))
            matrices.append(None)
        elif isinstance(term, Monotone):
            effects += [level_effect(term.name, level) for level in coding.columns.levels_of(term.column)[1:]]
            matrices.append(None)
        elif isinstance(term, Group):
            sets = coding.sets(term)
            matrices.append(from_sets(sets))
            for one in sets:
                names = [f"{one.words} | {term.label}"]
                if len(one.widths) > 1:
                    names = [f"{one.words}[{level}] | {term.label}" for level in one.levels]
                stds += [Effect(name, "", name, columns_in(one)) for name in names]
            for level in coding.columns.levels_of(term.column):
                effects += [effect for one in sets for effect in effects_in(term, one, level)]
    return effects, stds, matrices


def effects_in(term: Group, one: EffectSet, level: Any) -> list[Effect]:
    """Effects of a set of a level of a group, one for each level of a factor."""
    name = f"{one.words} | {term.label}"
    if not one.levels:
        return [level_effect(name, level, columns_in(one))]
    words = [f"{level_words(level)}:{other}" for other in one.levels]
    return [Effect(name, both, f"{name}[{both}]") for both in words]


def columns_in(one: EffectSet) -> tuple:
    return () if one.levels or one.effect is None else (one.effect,)


def other_effects(coding: Coding) -> list[Effect]:
    """Coefficients of columns and effects of levels of the predictor of another parameter."""
    if (other := coding.other) is None:
        return []
    lines = [Effect(str(name), "", str(name), (name,)) for name in other.linear_names]
    return [*lines, *fixed_effects(other)[0]]


def to_levels(coding: Coding, effects: np.ndarray, matrices: list[Any]) -> np.ndarray:
    """Effects of levels (M, k) of those of contrasts, whose layout is that of the blocks at the end of it."""
    if all(matrix is None for matrix in matrices):
        return effects
    found, at = [], 0
    for block, matrix in zip(coding.layout.blocks[-len(matrices) :], matrices):
        own = effects[:, at : at + block.size]
        at += block.size
        if matrix is not None:
            own = (own.reshape(len(own), block.n_levels, -1) @ matrix).reshape(len(own), -1)
        found.append(own)
    return np.concatenate(found, axis=1)


def divisors(coding: Coding, effects: list[Effect], scale: np.ndarray) -> np.ndarray:
    """Products of the units of the columns that each effect multiplies, (n,)."""
    place = {name: j for j, name in enumerate(coding.columns.linear)}
    return np.array([np.prod([scale[place[name]] for name in effect.columns]) for effect in effects])
