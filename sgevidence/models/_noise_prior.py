r"""Priors of an unknown noise: of σ² or of σ, as densities of s = log σ².

The default is σ ~ half-Student-t(3, scale): heavy above, and 4 % below a twentieth of the scale, where
InvGamma(1, 1) on σ² has 10⁻¹⁷⁰ (Gelman 2006).  It ends at 10⁻³⁰ scales: rows that lie on a plane exactly
would otherwise have an infinite evidence.

Symbols: ``s`` = log σ².
"""

from math import lgamma
from typing import NamedTuple

import autograd.numpy as anp
import numpy as np


class InverseGamma(NamedTuple):
    """σ² ~ InvGamma(a, b)."""

    a: float
    b: float

    def log_density(self, s):
        """Log density of s, Jacobian v included."""
        return inverse_gamma_log_density(s, self.a, self.b)

    def sample(self, rng, size: int) -> np.ndarray:
        """Draws of s."""
        return np.log(self.b) - np.log(rng.gamma(self.a, size=size))

    @property
    def center(self) -> float:
        """Mode of s."""
        return float(np.log(self.b / self.a))

    @property
    def least(self) -> float:
        """No s is smaller."""
        return -np.inf


class HalfT(NamedTuple):
    """σ ~ half-Student-t with three degrees of freedom."""

    scale: float

    def log_density(self, s):
        """Log density of s, Jacobian σ/2 included."""
        u = s - 2 * np.log(self.scale)
        log_p = np.log(2 / (np.pi * np.sqrt(3))) + u / 2 - 2 * anp.log1p(anp.exp(u) / 3)
        return anp.where(s < self.least, -np.inf, log_p)

    def sample(self, rng, size: int) -> np.ndarray:
        """Draws of s."""
        return 2 * np.log(self.scale * np.abs(rng.standard_t(3, size=size)))

    @property
    def center(self) -> float:
        """Near the middle of s."""
        return float(2 * np.log(self.scale))

    @property
    def least(self) -> float:
        """No s is smaller."""
        return float(2 * np.log(self.scale * 1e-30))  # smallest σ in units of the scale of a half-t


def inverse_gamma_log_density(s, a, b):
    """log density of s = log v when v ~ InvGamma(a, b), Jacobian v included."""
    return a * np.log(b) - lgamma(a) - a * s - b * anp.exp(-s)
