r"""Priors of σ as functions of a standard normal, beside the half-Student-t.

Symbols: ``z`` = standard normal, ``value`` = σ.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np
from scipy.special import gammainccinv, gammaincinv, ndtr


class Known(NamedTuple):
    """σ is known: z says nothing of it, and the rows say nothing of z."""

    value: float

    def from_normal(self, z: np.ndarray) -> np.ndarray:
        return np.full(np.shape(z), self.value)

    def logpdf(self, value: np.ndarray) -> np.ndarray:
        return np.full(np.shape(value), np.inf)  # so that dσ/dz = 0

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf


class Flat(NamedTuple):
    """log σ has a flat density: z is log σ."""

    def from_normal(self, z: np.ndarray) -> np.ndarray:
        return np.exp(z)

    def logpdf(self, value: np.ndarray) -> np.ndarray:
        return -np.log(value)

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf


class RootInverseGamma(NamedTuple):
    """σ² ~ InvGamma(a, b)."""

    a: float
    b: float

    def from_normal(self, z: np.ndarray) -> np.ndarray:
        precision = np.where(z < 0, gammainccinv(self.a, ndtr(z)), gammaincinv(self.a, ndtr(-z)))
        return np.sqrt(self.b / precision)

    def logpdf(self, value: np.ndarray) -> np.ndarray:
        log_variance = 2 * np.log(value)
        log_density = self.a * np.log(self.b) - lgamma(self.a) - self.a * log_variance - self.b / value**2
        return log_density + np.log(2 / value)

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf
