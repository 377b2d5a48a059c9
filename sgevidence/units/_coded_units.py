"""Units of columns of numbers, and what terms make of columns in units: what ``Units`` is to other models.

Rows that are read have columns of numbers, those of splines, numbers of levels, then offset and trials.  The
model sees the columns of a layout in the place of all but the last two.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..effects import (
    PREDICTED,
    Coding,
    RelativeLayout,
    divisors,
    fixed_effects,
    group_effects,
    other_effects,
    to_levels,
)
from ..history import Rows
from ._units import Fold, Units


class CodedUnits(NamedTuple):
    """Units, then the coding of terms in these units."""

    units: Units
    coding: Coding
    log_unit: float  #: and what else is asked of units
    scale: np.ndarray
    spread: np.ndarray | None
    kind: str
    y_scale: float
    intercept_center: Any
    response: Any

    @classmethod
    def of(cls, units: Units, coding: Coding) -> "CodedUnits":
        same = {name: getattr(units, name) for name in cls._fields[2:]}
        return cls(units, coding, **same)

    def with_late_columns(self, rows: Rows, weight_before: float, centred: bool) -> "CodedUnits":
        """Columns that did not vary in the first rows keep the unit that they have: terms are made of it."""
        return self

    def X(self, X: np.ndarray) -> np.ndarray:
        """Columns of the layout, then offset and trials."""
        return self.coding.encoded(in_units(self.units, X, self.coding.columns.n_apart))

    def rows(self, rows: Rows) -> Rows:
        """Rows as the model sees them."""
        found = self.units.rows(numbers_alone(rows, len(self.scale), self.coding.columns.n_apart))
        return replace(found, X=self.X(rows.X))

    def restored_rows(self, rows: Rows) -> Rows:
        """Columns of numbers of rows of the model in the data's units."""
        X = self.units.restored_X(self.coding.numbers(rows.X))
        return replace(rows, X=X, y=None if rows.y is None else self.restored_y(rows.y))

    def restored_y(self, y: np.ndarray) -> np.ndarray:
        return self.units.restored_y(y)

    def restored(self, named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Named parameters, contrasts as effects of levels; effects and their deviations in the unit of y.

        The intercept, or thresholds, are those where all effects of factors and products are zero, and not
        where their columns have the means of the first rows.
        """
        coding, at = self.coding, list(self.coding.linear)
        lines = self.units._replace(center=self.units.center[at], scale=self.units.scale[at])
        out = lines.restored(named)
        effects, stds, matrices = group_effects(coding)
        if "effects" in named:
            named = named | {"effects": to_levels(coding, named["effects"], matrices)}
        labels = {"effects": effects, "effect_stds": stds}
        at_means: Any = 0.0
        if "fixed_effects" in named:
            labels["fixed_effects"], of_contrasts = fixed_effects(coding)
            contrasts = self.y_scale * coding.ratios * named["fixed_effects"]
            at_means = contrasts @ np.concatenate(list(coding.means.values()))
            named = named | {"fixed_effects": contrasts @ of_contrasts / self.y_scale}
        if (other := coding.other) is not None:
            label = next(name for name in PREDICTED if name in named)
            found = [named[label][:, : len(other.linear)]]
            if len(other.ratios):
                contrasts = named[label][:, len(other.linear) :] * other.ratios
                found.append(contrasts @ fixed_effects(other)[1])
            out[label] = np.hstack(found) / divisors(coding, other_effects(coding), self.scale)
        for term, mean in coding.step_means.items():
            of_term = [effect.term == term for effect in effects]
            at_means = at_means + self.y_scale * named["effects"][:, of_term] @ mean
        if "intercept" in out:
            out["intercept"] = out["intercept"] - at_means
        if "thresholds" in out:
            out["thresholds"] = out["thresholds"] + np.reshape(at_means, (-1, 1))
        for name in named.keys() & labels.keys():
            out[name] = named[name] * (self.y_scale / divisors(coding, labels[name], self.scale))
        return out

    def restored_path(self, path: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        is_relative = isinstance(self.coding.layout, RelativeLayout)  # to a null model: units cancel
        return path if is_relative else self.units.restored_path(path)


def numbers_alone(rows: Rows, p: int, n_apart: int) -> Rows:
    """Rows without what has no units: columns of splines, and numbers of levels."""
    return replace(rows, X=np.concatenate([rows.X[:, :p], rows.X[:, p + n_apart :]], axis=1))


def fold_of_numbers(fold: Fold, p: int, n_apart: int) -> Fold:
    """A fold whose functions are given rows without what has no units."""
    return partial(_fold_of_numbers, fold, p, n_apart)


def _fold_of_numbers(fold: Fold, p: int, n_apart: int, function: Any) -> Any:
    return fold(partial(_of_numbers, p, n_apart, function))


def _of_numbers(p: int, n_apart: int, function: Any, rows: Rows) -> Any:
    return function(numbers_alone(rows, p, n_apart))


def in_units(units: Units, X: np.ndarray, n_apart: int) -> np.ndarray:
    """Rows that are read, their numbers in units."""
    p = len(units.scale)
    found = units.X(np.concatenate([X[:, :p], X[:, p + n_apart :]], axis=1))
    return np.concatenate([found[:, :p], X[:, p : p + n_apart], found[:, p:]], axis=1)
