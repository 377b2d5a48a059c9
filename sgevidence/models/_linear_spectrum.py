r"""The Gaussian integral over the coefficients in double precision, where its rounding is known to be small.

With the symbols of :mod:`._linear_posterior` and K = U diag(λ) Uᵀ, γ = Uᵀg,

    log |K + v| − d log v = Σ log1p(λ/v),      ρ²(v) = q − Σ γ²/(λ + v),

at all v at once.  K, g and q are rounded to double precision, and the eigenvalues are off by u‖K‖ each.  To
first order that changes the two terms by at most, with x = (K + v)⁻¹ g and u the unit of rounding,

    u c ‖K‖ Σ 1/(λ + v),      u (c q + 2 |x| |g| + c ‖K‖ |x|²)/v,

which is next to nothing for columns and y in units of their standard deviations, and not for timestamps.
"""

from typing import NamedTuple

import numpy as np

from ._linear_factor import Moments

#: Units of rounding by which an eigenvalue in d dimensions is off, for each dimension.
ROUNDINGS_PER_DIMENSION = 4


class Spectrum(NamedTuple):
    """K, g and q in the coordinates of the eigenvectors of K."""

    lam: np.ndarray  #: λ, (d,)
    gamma: np.ndarray  #: γ, (d,)
    q: float
    U: np.ndarray  #: (d, d)

    @classmethod
    def of(cls, moments: Moments) -> "Spectrum | None":
        """None where K, g and q are beyond double precision."""
        M = moments.rounded()
        if not np.isfinite(M).all():
            return None
        lam, U = np.linalg.eigh(M[:-1, :-1])
        return cls(np.maximum(lam, 0.0), U.T @ M[:-1, -1], float(M[-1, -1]), U)

    def log_likelihood(self, s: np.ndarray, n: float) -> np.ndarray:
        """log p(y | v = e^s), (m,)."""
        v = np.exp(s)
        rest = np.maximum(self.q - self.gamma**2 @ (1 / (self.lam[:, None] + v)), 0.0)
        log_ratio = np.sum(np.log1p(self.lam[:, None] / v), axis=0)
        return -0.5 * (n * (np.log(2 * np.pi) + s) + log_ratio + rest / v)

    def rounding(self, s: np.ndarray) -> np.ndarray:
        """Bound of the error of :meth:`log_likelihood`, nats, (m,)."""
        v, d = np.exp(s), len(self.lam)
        inverse = 1 / (self.lam[:, None] + v)
        size, c = float(np.max(self.lam, initial=0.0)), ROUNDINGS_PER_DIMENSION * max(d, 1)
        x2 = self.gamma**2 @ inverse**2
        of_rest = c * self.q + 2 * np.sqrt(x2) * np.linalg.norm(self.gamma) + c * size * x2
        return 0.5 * np.finfo(float).eps * (c * size * inverse.sum(axis=0) + of_rest / v)

    def means(self, s: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """E[w | y, v = e^s], (m, d)."""
        return (self.gamma / (self.lam + np.exp(s)[:, None])) @ self.U.T * scales
