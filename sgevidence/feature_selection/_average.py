r"""The posterior of the coefficients, averaged over subsets and over the noise.

For one subset and one σ² = v the posterior is Gaussian.  With A = L Lᵀ, t = L⁻¹m, z = L⁻¹c, r = ȳ − t·z and
κ as in :mod:`._moments`,

    E[w] = L⁻ᵀ(z + t r/(κ + t²)),         cov[w] = v L⁻ᵀ(I − t tᵀ/(κ + t²)) L⁻¹,
    E[α] = ȳ − r/(n (κ + t²)),            var[α] = v t²/(n²κ(κ + t²)) + τ²/(nκ),
    cov[w, α] = v L⁻ᵀt/(n (κ + t²)),      E[b] = τ² r/(v (κ + t²)),

where α = b + m·w is the value of the line at the means of the columns, and b the intercept: far columns
leave no trace in α.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._moments import EPS, Moments
from ._noise_grid import NoiseGrid


class Average(NamedTuple):
    """Coefficients and intercept of the line α + (x − m)·w, in the data's units."""

    m: np.ndarray  #: (p,)
    alpha: float
    coef: np.ndarray  #: (p,)
    intercept: float
    covariance: np.ndarray  #: of (w, α), (p + 1, p + 1)
    noise_variance: float
    noise_std: float

    @property
    def coef_std(self) -> np.ndarray:
        """(p,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance)[:-1], 0.0))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Mean, (n,)."""
        return self.alpha + (X - self.m) @ self.coef

    def std(self, X: np.ndarray) -> np.ndarray:
        """Standard deviation of new values of y, (n,)."""
        phi = np.column_stack([X - self.m, np.ones(len(X))])
        return np.sqrt(self.noise_variance + np.maximum(np.sum((phi @ self.covariance) * phi, axis=1), 0.0))


def average(
    moments: Moments, given: Callable[[list[int]], Any], subsets: list[list[int]], weight: np.ndarray
) -> Average:
    """Over subsets of columns with weights that sum to one; ``given`` is the posterior of one."""
    p = len(moments.m)
    mean, square = np.zeros((len(subsets), p + 1)), np.zeros((p + 1, p + 1))
    intercepts, noises = np.zeros(len(subsets)), np.zeros((len(subsets), 2))
    for k, columns in enumerate(subsets):
        at = [*columns, p]
        mean[k, at], covariance, intercepts[k], noises[k] = given(columns)
        square[np.ix_(at, at)] += weight[k] * covariance
    center = weight @ mean
    deviation = mean - center
    square += (deviation * weight[:, None]).T @ deviation
    units = moments.unit / np.append(moments.units, 1.0)
    noise = weight @ noises
    return Average(
        m=moments.m * moments.units,
        alpha=float(center[p] * moments.unit),
        coef=center[:p] * units[:p],
        intercept=float(weight @ intercepts * moments.unit),
        covariance=square * np.multiply.outer(units, units),
        noise_variance=float(noise[0] * moments.unit**2),
        noise_std=float(noise[1] * moments.unit),
    )


def given_subset(moments: Moments, grid: NoiseGrid, columns: list[int]):
    """Mean and covariance of (w, α), mean of b, and of (σ², σ), of one subset in the units of the moments."""
    k, v, n = len(columns), np.exp(grid.s), moments.n
    D, log_Q, _ = moments.direct(grid.s, np.array(columns, dtype=int)[None])
    omega, noise = grid.weights(D, log_Q)
    omega = omega[0]
    A = np.broadcast_to(moments.C[np.ix_(columns, columns)], (len(v), k, k)).copy()
    A[:, np.arange(k), np.arange(k)] += v[:, None] * moments.precision[columns]
    A[:, np.arange(k), np.arange(k)] *= 1 + 4 * k * EPS  # a pivot that rounding takes
    inverse = np.linalg.inv(np.linalg.cholesky(A))
    t, z = inverse @ moments.m[columns], inverse @ moments.c[columns]  # (G, k)
    kappa = moments.tau**2 / v + 1 / n
    spread, r = kappa + np.sum(t * t, axis=1), moments.mean - np.sum(t * z, axis=1)
    means = np.empty((len(v), k + 1))
    means[:, :k] = np.einsum("gki,gk->gi", inverse, z + t * (r / spread)[:, None])
    means[:, k] = moments.mean - r / (n * spread)
    covariance = np.empty((len(v), k + 1, k + 1))
    root = _shrunk(t, kappa, spread) @ inverse
    covariance[:, :k, :k] = v[:, None, None] * (np.swapaxes(root, 1, 2) @ root)
    beside = np.einsum("gki,gk->gi", inverse, t) * (v / (n * spread))[:, None]
    covariance[:, :k, k] = covariance[:, k, :k] = beside
    covariance[:, k, k] = v * (spread - kappa) / (n**2 * kappa * spread) + moments.tau**2 / (n * kappa)
    mean = omega @ means
    deviation = means - mean
    covariance = np.tensordot(omega, covariance, 1) + (deviation * omega[:, None]).T @ deviation
    return mean, covariance, float(omega @ (moments.tau**2 * r / (v * spread))), noise[0]


def _shrunk(t: np.ndarray, kappa: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """H with HᵀH = I − t tᵀ/(κ + t²), without the difference, (G, k, k)."""
    if not t.shape[1]:
        return np.zeros((len(t), 0, 0))
    Q = np.linalg.qr(t[:, :, None], mode="complete")[0].copy()
    Q[:, :, 0] *= np.sqrt(kappa / spread)[:, None]
    return np.swapaxes(Q, 1, 2)
