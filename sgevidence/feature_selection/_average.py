"""The posterior of the coefficients, averaged over subsets and over the noise."""

from typing import Any, NamedTuple

import numpy as np

from ._moments import Moments


class Average(NamedTuple):
    """Coefficients and intercept of the line α + (x − m)·w, in the data's units."""

    m: np.ndarray  #: (p,)
    alpha: float
    coef_: np.ndarray  #: (p,)
    intercept_: float
    covariance: np.ndarray  #: of (w, α), (p + 1, p + 1)
    noise_variance: float
    noise_std_: float

    @property
    def coef_std_(self) -> np.ndarray:
        """(p,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance)[:-1], 0.0))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Mean, (n,)."""
        return self.alpha + (X - self.m) @ self.coef_

    def std(self, X: np.ndarray) -> np.ndarray:
        """Standard deviation of new values of y, (n,)."""
        phi = np.column_stack([X - self.m, np.ones(len(X))])
        return np.sqrt(self.noise_variance + np.maximum(np.sum((phi @ self.covariance) * phi, axis=1), 0.0))


def average(moments: Moments, grid: Any, subsets: list[list[int]], weight: np.ndarray) -> Average:
    """Over subsets of columns with weights that sum to one; the ``grid`` knows the posterior given one."""
    p = len(moments.m)
    mean, square = np.zeros((len(subsets), p + 1)), np.zeros((p + 1, p + 1))
    intercepts, noises = np.zeros(len(subsets)), np.zeros((len(subsets), 2))
    for k, columns in enumerate(subsets):
        at = [*columns, p]
        mean[k, at], covariance, intercepts[k], noises[k] = grid.given(columns)
        square[np.ix_(at, at)] += weight[k] * covariance
    center = weight @ mean
    deviation = mean - center
    square += (deviation * weight[:, None]).T @ deviation
    units = moments.unit / np.append(moments.units, 1.0)
    noise = weight @ noises
    return Average(
        m=moments.m * moments.units,
        alpha=float(center[p] * moments.unit),
        coef_=center[:p] * units[:p],
        intercept_=float(weight @ intercepts * moments.unit),
        covariance=square * np.multiply.outer(units, units),
        noise_variance=float(noise[0] * moments.unit**2),
        noise_std_=float(noise[1] * moments.unit),
    )
