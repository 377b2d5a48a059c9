r"""The exact posterior of a linear regression, from exact sums.

With y_r ~ N(w·φ_r, v), counted ω_r times, and w ~ N(0, S²), let K = S ΦᵀΩΦ S, g = S ΦᵀΩ y, q = yᵀΩ y.  Then

    log p(y | v) = −½ [n log 2πv + log |K + v| − d log v + ρ²/v],      K + v = RᵀR,   Rᵀc = g,   ρ² = q − c·c.

K, g and q are known without rounding, and the integral over w is exact at some v₀, from which the curve over
s = log v follows beside them (:mod:`._linear_factor`).  The curve is analytic for |Im s| < π, so the
trapezoid rule converges geometrically (Trefethen and Weideman 2014).

Symbols
-------
=======  =============  ==========================================================
v, s     ``v, s``       noise variance σ² and its logarithm
S        ``scales``     prior standard deviations of the coefficients, (d,)
R, c     ``R, c``       pivoted Cholesky factor of K + v₀, and of (g, q)
ρ²       ``rest``       what is left of q
=======  =============  ==========================================================
"""

from collections.abc import Iterator
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import cache
from typing import NamedTuple

import numpy as np

from ._linear_factor import DIGITS, LOGARITHM, Factor, Moments
from ._noise_prior import HalfT, InverseGamma

#: Distance in s of the points v₀, and step of the grid on which the curve is first looked at.
APART, COARSE = 8.0, 0.1
#: Nats below the maximum at which the density of s is nothing: e⁻⁶⁰ is below rounding.
NOTHING = 60.0
#: Nodes at first, and how often they are doubled at most; change at which they are enough, nats.
NODES, DOUBLINGS, TOLERANCE = 128, 12, 1e-11
#: Steps of the grid that a density has to span.
ENOUGH = 20
#: Cells of the distribution function that log σ² is drawn from, right to 10⁻⁵.
CELLS = 4096


class KnownNoise(NamedTuple):
    """The posterior where σ is given."""

    factor: Factor
    moments: Moments

    @classmethod
    def of(cls, moments: Moments, noise_std: float) -> "KnownNoise":
        with localcontext(Context(prec=2 * DIGITS)):
            v = Decimal(float(noise_std)) ** 2
        return cls(Factor.of(moments, v), moments)

    @property
    def log_evidence(self) -> float:
        """log p(y), nats."""
        s = np.array([2 * np.log(self.factor.v) / 2])
        d = len(self.factor.mu)
        n_log = self.moments.n * (np.log(2 * np.pi) + s[0])
        return float(-0.5 * (n_log + self.factor.log_det - d * s[0] + self.factor.rest))

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws of w, (size, d)."""
        return self.factor.draws(np.full(size, self.factor.v), rng, self.moments.scales)


class UnknownNoise:
    """The posterior of the coefficients and of log σ²."""

    def __init__(self, moments: Moments, prior: InverseGamma | HalfT) -> None:
        self.moments, self.prior = moments, prior
        self._factors: dict[int, Factor] = {}
        self._last: int | None = None  #: of the factor that tells the curve at all smaller v
        self.n = moments.n
        self.support = self._support()
        self.highest, self.log_evidence = self._integral()

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws of (w, log σ²), (size, d + 1): by inversion, then the Gaussian given σ²."""
        s = np.linspace(*self.support, CELLS + 1)
        p = np.exp(self.log_joint(s) - self.highest)
        mass = np.r_[0.0, np.cumsum(p[1:] + p[:-1])]
        target = rng.random(size) * mass[-1]
        cell = np.clip(np.searchsorted(mass, target, side="right") - 1, 0, CELLS - 1)
        left, right, u = p[cell], p[cell + 1], target - mass[cell]
        # the share t of the cell with left·t + (right − left) t²/2 = u/2
        t = u / (left + np.sqrt(np.maximum(left**2 + u * (right - left), 0.0)))
        s = s[cell] + t * (s[cell + 1] - s[cell])
        out = np.empty((size, len(self.moments.scales) + 1))
        out[:, -1] = s
        for factor, which in self._factors_at(s):
            out[which, :-1] = factor.draws(np.exp(s[which]), rng, self.moments.scales)
        return out

    def log_joint(self, s: np.ndarray) -> np.ndarray:
        """log p(y, s), nats, (m,)."""
        out = np.asarray(self.prior.log_density(s), dtype=float)
        for factor, which in self._factors_at(s):
            out[which] += factor.log_likelihood(s[which], self.n)
        return out

    def _factors_at(self, s: np.ndarray) -> Iterator[tuple[Factor, np.ndarray]]:
        """Factors at the points v₀ next to s, from above, and which s they are for."""
        k = np.rint(s / APART).astype(int)
        for one in np.unique(k)[::-1].tolist():
            if self._last is None or one >= self._last:
                yield self._factor(one), k == one
            else:
                yield self._factors[self._last], k <= one
                return

    def _factor(self, k: int) -> Factor:
        if k not in self._factors:
            factor = Factor.of(self.moments, Decimal(float(np.exp(k * APART)))).last_of(self.moments)
            self._factors[k], self._last = factor, k if factor.is_last else self._last
        return self._factors[k]

    def _integral(self) -> tuple[float, float]:
        """The largest log p(y, s) that was met, and the log of the integral."""
        lo, hi = self.support
        last, cells = np.inf, NODES
        for _ in range(DOUBLINGS):
            s, weight = self._nodes(lo, hi, cells)
            log_p = self.log_joint(s)
            top = log_p.max()
            log_Z = float(top + np.log(np.sum(np.exp(log_p - top) * weight)))
            if abs(log_Z - last) < TOLERANCE * (1 + 0.1 * abs(log_Z)):
                return float(top), log_Z
            last, cells = log_Z, 2 * cells
        raise ArithmeticError(f"the integral over the noise variance of {self.n:g} rows does not converge")

    def _nodes(self, lo: float, hi: float, cells: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights: the trapezoid rule, or Gauss–Legendre where the prior ends first."""
        if lo > self.prior.least:
            return np.linspace(lo, hi, cells + 1), np.full(cells + 1, (hi - lo) / cells)
        x, weight = gauss_legendre(min(cells, 1024))
        return lo + (hi - lo) * (x + 1) / 2, weight * (hi - lo) / 2

    def _support(self) -> tuple[float, float]:
        """Interval of s outside which the density is nothing.

        Looked at from the prior's s to that of the squares of y, and on from there while it counts.
        """
        with localcontext(Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            q = self.moments._matrix()[-1, -1]
            of_y = float((q / Decimal(max(self.n, 1e-300))).ln(LOGARITHM)) if q > 0 else self.prior.center
        ends = sorted([self.prior.center, of_y])
        s = np.arange(max(ends[0] - 1, self.prior.least), ends[1] + 1 + COARSE, COARSE)
        f = self.log_joint(s)
        while f[0] > f.max() - NOTHING and s[0] > self.prior.least:
            more = np.arange(max(s[0] - APART, self.prior.least), s[0] - COARSE / 2, COARSE)
            s, f = np.r_[more, s], np.r_[self.log_joint(more), f]
        while f[-1] > f.max() - NOTHING:
            more = np.arange(s[-1] + COARSE, s[-1] + APART, COARSE)
            s, f = np.r_[s, more], np.r_[f, self.log_joint(more)]
        while True:
            high = np.flatnonzero(f > f.max() - NOTHING)
            first, last = max(high[0] - 1, 0), min(high[-1] + 1, len(s) - 1)
            if last - first > ENOUGH or s[last] - s[first] < 1e-9:
                return float(s[first]), float(s[last])
            # a peak of many rows is narrower than the grid: again, where all is within a few steps
            s = np.linspace(s[first], s[last], 20 * ENOUGH + 1)
            f = self.log_joint(s)


@cache
def gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [−1, 1], which take 10 ms."""
    return np.polynomial.legendre.leggauss(n)
