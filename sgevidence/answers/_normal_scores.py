r"""Normal scores: coordinates in which Dirichlet and inverse gamma densities are standard normal.

Few rows leave probabilities and variances far from Gaussian.  A Dirichlet density of π is a product of beta
densities of its sticks,

    v_i = π_i / (π_i + … + π_L) ~ Beta(s_i, s_{i+1} + … + s_L),        Φ(y_i) = F_i(v_i).

A variance σ² = r / g with g ~ Gamma(s) has Φ(y) = P(g' > g), and means that have its scale, σ, are Gaussian
as (μ − m) / σ.

Symbols: ``x`` = differences of log-gammas from the last of their group, (M, L − 1); v ``log_v`` = sticks, as
log v and log(1 − v); s ``shapes`` = of a Dirichlet density, (L,); ``y`` = normal scores; l, λ ``log_scale`` =
log σ²; at the mode it is l.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import (
    betainc,
    betaincc,
    betainccinv,
    betaincinv,
    betaln,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    gammaln,
    log_ndtr,
    ndtr,
    ndtri_exp,
)

#: Probability below which a distribution function is the first term of its series.
SERIES_BELOW = 1e-250


class Sticks(NamedTuple):
    """Coordinates y in which a Dirichlet density of these shapes is standard normal."""

    shapes: np.ndarray

    @classmethod
    def of_curvature(cls, log_p: np.ndarray, P: np.ndarray) -> "Sticks":
        """The Dirichlet density with this mode (L,) and curvature (L − 1, L − 1), in differences x."""
        p = np.exp(log_p)
        unit = np.diag(p[:-1]) - np.outer(p[:-1], p[:-1])
        return cls(p * float(np.trace(np.linalg.solve(unit, P)) / len(P)))

    @property
    def rest(self) -> np.ndarray:
        """Second shapes of the beta densities, (L − 1,)."""
        return np.cumsum(self.shapes[::-1])[-2::-1]

    @property
    def slope(self) -> np.ndarray:
        """dy/dx at the mode, (L − 1, L − 1), by the curvature of the beta densities."""
        a, b = self.shapes[:-1], self.rest
        logit = np.eye(len(a)) - np.triu(a / b[:, None], 1)
        return np.sqrt(a * b / (a + b))[:, None] * logit

    def y(self, x: np.ndarray) -> np.ndarray:
        """(M, L − 1)."""
        log_v, log_rest = self._log_sticks(x)
        a, b = self.shapes[:-1], self.rest
        below, above = _log_tails(a, b, log_v, log_rest)
        return np.where(below < above, ndtri_exp(below), -ndtri_exp(above))

    def x(self, y: np.ndarray) -> np.ndarray:
        """(M, L − 1)."""
        a, b = self.shapes[:-1], self.rest
        log_tail = log_ndtr(-np.abs(y))
        log_v, log_rest = _log_quantile(a, b, log_tail)
        log_rest_above, log_v_above = _log_quantile(b, a, log_tail)
        log_v, log_rest = np.where(y < 0, log_v, log_v_above), np.where(y < 0, log_rest, log_rest_above)
        left = np.cumsum(log_rest, axis=1)
        return log_v + left - log_rest - left[:, -1:]

    def log_slope(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """log |dy/dx|, (M,)."""
        log_v, log_rest = self._log_sticks(x)
        a, b = self.shapes[:-1], self.rest
        log_beta = a * log_v + b * log_rest - betaln(a, b)  # density of the logit of a stick
        return np.sum(log_beta + 0.5 * y**2 + 0.5 * np.log(2 * np.pi), axis=1)

    def _log_sticks(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log v and log(1 − v), each (M, L − 1)."""
        z = np.column_stack([x, np.zeros(len(x))])
        left = np.logaddexp.accumulate(z[:, ::-1], axis=1)[:, ::-1]
        return z[:, :-1] - left[:, :-1], left[:, 1:] - left[:, :-1]


def _log_tails(
    a: np.ndarray, b: np.ndarray, log_v: np.ndarray, log_rest: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """log F(v) and log (1 − F(v)) of beta densities."""
    v, rest = np.exp(log_v), np.exp(log_rest)
    below = np.where(v < 0.5, betainc(a, b, v), betaincc(b, a, rest))
    above = np.where(v < 0.5, betaincc(a, b, v), betainc(b, a, rest))
    log_beta = a * log_v + b * log_rest - betaln(a, b)
    with np.errstate(divide="ignore"):
        return (
            np.where(below > SERIES_BELOW, np.log(below), log_beta - np.log(a)),
            np.where(above > SERIES_BELOW, np.log(above), log_beta - np.log(b)),
        )


def _log_quantile(a: np.ndarray, b: np.ndarray, log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log v and log(1 − v) at which F(v) = p."""
    v, rest = betaincinv(a, b, np.exp(log_p)), betainccinv(b, a, np.exp(log_p))
    with np.errstate(divide="ignore"):
        log_v = np.where(v > SERIES_BELOW, np.log(v), (log_p + np.log(a) + betaln(a, b)) / a)
        return log_v, np.where(v < 0.5, np.log1p(-v), np.log(rest))


class Variance(NamedTuple):
    """Normal score of a log-variance, whose posterior is that of an inverse gamma variance."""

    shape: float
    mode: float  #: l, where the joint density with the means has its mode
    curvature: float  #: there

    @classmethod
    def of_curvature(cls, mode: float, curvature: float, n_means: int) -> "Variance | None":
        """The density with this mode and curvature of λ, given ``n_means`` means; None if there is none."""
        shape = curvature - 0.5 * n_means
        return cls(shape, mode, curvature) if shape > 0 else None

    def y(self, log_scale: np.ndarray) -> np.ndarray:
        """(M,)."""
        log_g = self._log_g(log_scale)
        g, s = np.exp(log_g), self.shape
        below, above = gammaincc(s, g), gammainc(s, g)
        with np.errstate(divide="ignore"):
            log_below = np.where(below > SERIES_BELOW, np.log(below), (s - 1) * log_g - g - gammaln(s))
            log_above = np.where(above > SERIES_BELOW, np.log(above), s * log_g - g - gammaln(s + 1))
        return np.where(below < above, ndtri_exp(log_below), -ndtri_exp(log_above))

    def log_scale(self, y: np.ndarray) -> np.ndarray:
        """(M,)."""
        tail = ndtr(-np.abs(y))
        g = np.where(y < 0, gammainccinv(self.shape, tail), gammaincinv(self.shape, tail))
        return self.mode + np.log(self.curvature) - np.log(g)

    def log_slope(self, log_scale: np.ndarray, y: np.ndarray) -> np.ndarray:
        """log dy/dλ, (M,)."""
        log_g = self._log_g(log_scale)
        log_density = self.shape * log_g - np.exp(log_g) - gammaln(self.shape)
        return log_density + 0.5 * y**2 + 0.5 * np.log(2 * np.pi)

    def _log_g(self, log_scale: np.ndarray) -> np.ndarray:
        return np.log(self.curvature) + self.mode - log_scale
