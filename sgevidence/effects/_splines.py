"""Bases of B-splines as plain arrays, fixed by the first rows.

Symbols: ``B`` = the basis at x, (n, m); it sums to one.
"""

from typing import NamedTuple

import numpy as np
from scipy.interpolate import BSpline as Piecewise


class Splines(NamedTuple):
    """Knots, those beyond the range included, and the degree."""

    knots: np.ndarray  #: (m + degree + 1,)
    degree: int

    @property
    def size(self) -> int:
        """m."""
        return len(self.knots) - self.degree - 1

    @property
    def range(self) -> tuple[float, float]:
        """Least and largest x of the first rows."""
        return float(self.knots[self.degree]), float(self.knots[-self.degree - 1])

    def columns(self, x: np.ndarray) -> np.ndarray:
        """B; beyond the range its values at the end."""
        inside = np.clip(x, *self.range)
        return Piecewise.design_matrix(inside, self.knots, self.degree).toarray()

    def straight_beyond(self, x: np.ndarray) -> np.ndarray:
        """B; beyond the range on the line that it has at the end."""
        beyond = x - np.clip(x, *self.range)
        slopes = Piecewise(self.knots, np.eye(self.size), self.degree)(x - beyond, nu=1)
        return self.columns(x) + beyond[:, None] * slopes


def refuse_few_values(name: str, x: np.ndarray) -> None:
    """ValueError for a curve of fewer than three values."""
    if len(np.unique(x)) < 3:
        raise ValueError(f"{name} is a curve of fewer than three values: give the column as it is")


def quantiles(x: np.ndarray, weight: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Quantiles of weighted numbers; between two values it is their mean, whichever way x is turned."""
    order = np.argsort(x)
    below, x = np.cumsum(weight[order]) / weight.sum(), x[order]
    sides = [np.searchsorted(below, share * (1 + eps)) for eps in (-1e-12, 1e-12)]
    return np.mean([x[np.minimum(at, len(x) - 1)] for at in sides], axis=0)
