r"""Forecasts of an autoregression: a mixture of Gaussians, one for each draw of the parameters.

Given the parameters the h-th value ahead is Gaussian with

    m_h = d_h + Σ_j φ_j m_{h−j},        v_h = σ² Σ_{i<h} ψ_i²,        ψ_0 = 1, ψ_h = Σ_j φ_j ψ_{h−j},

where m_h for h ≤ 0 are the last values and d_h is what intercept, trend and exogenous columns add.  So only
the parameters are sampled, and moments and quantiles of the mixture are computed.

Symbols: ``phi`` = φ (M, p), ``drift`` = d (M, steps), ``mean``, ``std`` = m, √v (M, steps), ``W`` = weights
(M,).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

#: Halvings of the bracket of a quantile, which leave 10⁻¹⁵ of its length.
HALVINGS = 50


class ForecastMixture(NamedTuple):
    """Gaussians, one for each draw and step, and the weights of the draws."""

    mean: np.ndarray  #: (M, steps)
    std: np.ndarray  #: (M, steps)
    W: np.ndarray  #: (M,)

    @classmethod
    def of(
        cls, phi: np.ndarray, drift: np.ndarray, noise_std: np.ndarray, last: np.ndarray, W: np.ndarray
    ) -> "ForecastMixture":
        """From the parameters and the last values, the latest first, (p,).

        ValueError if a draw explodes beyond the floating-point numbers.
        """
        p, steps = phi.shape[1], drift.shape[1]
        with np.errstate(all="ignore"):
            mean = simulated(phi, drift, last)
            psi = simulated(phi, np.eye(1, steps), np.zeros(p))
            std = noise_std[:, None] * np.sqrt(np.cumsum(psi**2, axis=1))
        if not (np.isfinite(mean).all() and np.isfinite(std).all()):
            share = 1 - np.mean(np.isfinite(mean[:, -1] + std[:, -1]))
            raise ValueError(
                f"{share:.1%} of the posterior's draws leave the floating-point numbers within {steps} "
                "steps: forecast fewer"
            )
        return cls(mean, std, W)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the mixture, (steps,)."""
        mean = self.W @ self.mean
        return mean, np.sqrt(self.W @ (self.std**2 + (self.mean - mean) ** 2))

    def quantile(self, level: float) -> np.ndarray:
        """Where the mixture's distribution function has this value, (steps,)."""
        with np.errstate(over="ignore"):
            each = self.mean + ndtri(level) * self.std
        low, high = each.min(axis=0), each.max(axis=0)
        for _ in range(HALVINGS):
            middle = low + (high - low) / 2
            below = self.W @ ndtr((middle - self.mean) / self.std) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return low + (high - low) / 2


def simulated(phi: np.ndarray, added: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Future values for each row of φ, with ``added``, (M, steps) or (1, steps), at each step; (M, steps)."""
    (M, p), steps = phi.shape, added.shape[1]
    values = np.empty((p + steps, M))  # of the past, the oldest first, and of the future
    values[:p] = last[::-1, None]
    backwards = phi[:, ::-1].T.copy()
    for h in range(steps):
        values[p + h] = added[:, h] + np.sum(backwards * values[h : h + p], axis=0)
    return values[p:].T
