r"""Priors of an unknown noise: of σ² or of σ, as densities of s = log σ².

The default is σ ~ half-Student-t(3, scale): heavy above, and 4 % below a twentieth of the scale, where
InvGamma(1, 1) on σ² has 10⁻¹⁷⁰ (Gelman 2006).  It ends at 10⁻³⁰ scales: rows that lie on a plane exactly
would otherwise have an infinite evidence.

Symbols: ``s`` = log σ², ``most`` = a bound of half the squares that v has to explain, ``n`` = rows.
"""

from math import lgamma
from typing import NamedTuple

import autograd.numpy as anp
import numpy as np

#: Smallest σ in units of the scale of a half-t.
SMALLEST = 1e-30


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

    def bracket(self, n: float, most: float, nothing: float) -> tuple[float, float]:
        """s below which the density times the likelihood rises, and above which it falls, by ``nothing``."""
        # d/ds log p(y, s) ≥ b/v − A and ≤ (b + most)/v − A, with
        A = self.a + n / 2
        lo = np.log(self.b / A) - np.log1p(nothing / A) - 2
        hi = np.log(2 * (self.b + most) / A) + 2 * nothing / A  # there it is −A/2 already at the first term
        return float(lo), float(hi)


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
        return float(2 * np.log(self.scale * SMALLEST))

    def bracket(self, n: float, most: float, nothing: float) -> tuple[float, float]:
        """s below which there is nothing, and above which the density times the likelihood is."""
        # d/ds log p(s) ≤ −1 for v > 9 scale², and most/v − n/2 ≤ −n/4 for v > 4 most/n
        hi = max(self.center + np.log(9), np.log(4 * max(most, 1e-300) / n) if n else -np.inf)
        return self.least, float(hi + nothing / (1 + n / 4))


def inverse_gamma_log_density(s, a, b):
    """log density of s = log v when v ~ InvGamma(a, b), Jacobian v included."""
    return a * np.log(b) - lgamma(a) - a * s - b * anp.exp(-s)
