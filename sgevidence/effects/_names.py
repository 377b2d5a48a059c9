"""Names of effects, and of their standard deviations, as a formula writes them; and their units.

A slope is per unit of its column, so that columns in units of their standard deviations have to be undone.
"""

from typing import NamedTuple

import numpy as np

from ._coding import Coding, parts
from ._smooth import Smooth
from ._terms import Factor, Group, Interaction, contrasts


class Effect(NamedTuple):
    """One effect: its term, its level, and the columns of numbers that it multiplies."""

    term: str
    level: str
    columns: tuple = ()

    @property
    def label(self) -> str:
        return f"{self.term}[{self.level}]" if self.level else self.term


def fixed_effects(coding: Coding) -> list[Effect]:
    """Contrasts and products, in the order of their columns."""
    found = []
    for term in coding.terms:
        if isinstance(term, Factor | Interaction):
            numeric = tuple(part for part in parts(term) if not isinstance(part, Factor))
            found += [Effect(term.name, str(k + 1), numeric) for k in range(len(coding.means[term.name]))]
    return found


def group_effects(coding: Coding) -> tuple[list[Effect], list[Effect]]:
    """Effects of all levels, and standard deviations, in the order of the blocks."""
    effects, stds = [], []
    for term in coding.terms:
        if isinstance(term, Smooth):
            effects += [Effect(term.name, str(j + 1)) for j in range(term.n_basis - 2)]
            stds.append(Effect(term.name, ""))
        elif isinstance(term, Group):
            own = [("1", ()) if name is None else (str(name), (name,)) for name in term.effects]
            stds += [Effect(f"{name} | {term.label}", "", columns) for name, columns in own]
            levels = coding.columns.levels[coding.columns.place(term.column) - len(coding.columns.linear)]
            for level in levels.number:
                effects += [Effect(f"{name} | {term.label}", str(level), columns) for name, columns in own]
    return effects, stds


def divisors(coding: Coding, effects: list[Effect], scale: np.ndarray) -> np.ndarray:
    """Products of the units of the columns that each effect multiplies, (n,)."""
    place = {name: j for j, name in enumerate(coding.columns.linear)}
    return np.array([np.prod([scale[place[name]] for name in effect.columns]) for effect in effects])


def levels_of_factors(coding: Coding, fixed: np.ndarray) -> list[tuple[Effect, np.ndarray]]:
    """Effects of the levels of each factor, whose sum is zero, of its contrasts (M, n)."""
    found, at = [], 0
    for term in coding.terms:
        if not isinstance(term, Factor | Interaction):
            continue
        k = len(coding.means[term.name])
        if isinstance(term, Factor):
            levels = coding.columns.levels[coding.columns.place(term.column) - len(coding.columns.linear)]
            values = fixed[:, at : at + k] @ contrasts(k + 1).T
            found += [(Effect(term.name, str(name)), values[:, j]) for name, j in levels.number.items()]
        else:
            labels = fixed_effects(coding)[at : at + k]
            found += [(labels[j], fixed[:, at + j]) for j in range(k)]
        at += k
    return found
