r"""Parts that Gaussian components share: a point that features are measured from, and moments.

Squares of columns that lie far from zero would cancel, so features are those of x − o with o the median of
each column.  The prior has its means at zero, which is −o there; x − o is exact to the last digit.

Cells that are missing at random, nan, are left out of a row's density: where each variance has columns of its
own, features count the cells of each column, N_j, in the place of rows.  The density of a row is per the
units of all its columns, so that a missing cell adds the logarithm u_j of its unit.

Symbols: o ``origin`` = where features are measured from, (p,); b, β ``b, beta`` = shape and scale of the
inverse gamma prior of a variance; κ ``kappa`` = 1 / mean_scale², rows that the prior of a mean is worth;
``N`` = rows of a component, or its cells in each column; κ + N ``kappa_n``; u ``cell_units`` = log units of
columns in which rows are given, (p,).
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np

from ._component import ComponentFamily


class GaussianParameters(NamedTuple):
    """Means (..., p), and variances (..., p), (...) or covariances (..., p, p)."""

    means: np.ndarray
    covariances: np.ndarray


@dataclass(frozen=True)
class GaussianComponent(ComponentFamily):
    """Gaussian components with a conjugate prior."""

    n_features: int
    mean_scale: float = 2.0  #: prior standard deviation of a mean, around zero, in units of its σ
    variance_prior: tuple[float, float] = (1.0, 1.0)  #: shape and scale of an inverse gamma
    cell_log_units: tuple[float, ...] = ()  #: u of each column, 0 by default
    reference: np.ndarray | None = field(default=None, compare=False)
    has_gaps: bool = field(default=False, compare=False)  #: features count the cells of each column

    @property
    def origin(self) -> np.ndarray:
        """Where features are measured from, (p,)."""
        return np.zeros(self.n_features) if self.reference is None else self.reference

    @property
    def kappa(self) -> float:
        """Rows that the prior of a mean is worth."""
        return self.mean_scale**-2.0

    def at(self, X: np.ndarray) -> Self:
        """Measured from the median of each column: one far row would carry a mean away from all others."""
        if not (gaps := np.isnan(X)).any():
            return replace(self, reference=np.median(X, axis=0))
        medians = [np.median(x[~gap]) if not gap.all() else 0.0 for x, gap in zip(X.T, gaps.T)]
        return replace(self, reference=np.array(medians), has_gaps=True)

    @property
    def cell_units(self) -> np.ndarray:
        """u, (p,)."""
        return np.array(self.cell_log_units) if self.cell_log_units else np.zeros(self.n_features)

    def cells(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """X from the origin, 0 where a cell is missing, and which cells are there, (n, p) each."""
        there = ~np.isnan(X)
        return np.where(there, X - self.origin, 0.0), there

    def rounding(self, X: np.ndarray) -> float:
        """Rounding of squares, in units of the smallest variance that the prior lets so many rows have.

        A component is at least as wide as its mean is far from the prior's, so that a row which is as far
        from there as from the origin loses nothing.
        """
        b, beta = self.variance_prior
        least = beta + 0.5 * self.kappa / (self.kappa + 1) * X**2
        lost = np.nanmax((X - self.origin) ** 2 / least, initial=0.0)
        return float(np.finfo(float).eps * lost * (b + 0.5 * len(X)) * self.n_features)

    def points(self, X: np.ndarray) -> np.ndarray:
        """Columns in units of their standard deviations, in their mean where a cell is missing."""
        if self.has_gaps:
            X = without_gaps(X)
        scale = X.std(axis=0)
        return (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)

    def _means(
        self, first: np.ndarray, N: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """κ + N (..., 1); posterior mean and x̄, from the origin, and x̄ from the prior's mean (..., p)."""
        kappa_n, mean = self.kappa + N, first / np.maximum(N, 1e-300)
        return kappa_n, (first - self.kappa * self.origin) / kappa_n, mean, mean + self.origin


def without_gaps(X: np.ndarray) -> np.ndarray:
    """X with the mean of its column in the place of a missing cell."""
    there = ~np.isnan(X)
    if there.all():
        return X
    mean = np.sum(np.where(there, X, 0.0), axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.where(there, X, mean)
