r"""The exact posterior of a linear regression, from exact sums.

With y_r ~ N(w·φ_r, v), counted ω_r times, and w ~ N(0, S²), let K = S ΦᵀΩΦ S, g = S ΦᵀΩ y, q = yᵀΩ y.  Then

    log p(y | v) = −½ [n log 2πv + log |K + v| − d log v + ρ²/v],      K + v = RᵀR,   Rᵀc = g,   ρ² = q − c·c.

K, g and q are known without rounding.  The curve over s = log v comes from the eigenvalues of K, in double
precision, where the bound of its rounding is next to nothing, and else from some
v₀ at which the integral over w is exact (:mod:`._linear_factor`), as draws always do.  It is analytic for
|Im s| < π, so the trapezoid rule converges geometrically (Trefethen and Weideman 2014).

In double precision, with K = U diag(λ) Uᵀ, γ = Uᵀg,

    log |K + v| − d log v = Σ log1p(λ/v),      ρ²(v) = q − Σ γ²/(λ + v),

at all v at once.  K, g and q are rounded to double precision, and the eigenvalues are off by u‖K‖ each.  To
first order that changes the two terms by at most, with x = (K + v)⁻¹ g and u the unit of rounding,

    u c ‖K‖ Σ 1/(λ + v),      u (c q + 2 |x| |g| + c ‖K‖ |x|²)/v,

which is next to nothing for columns and y in units of their standard deviations, and not for timestamps.

Symbols: ``v, s`` = noise variance σ² and its logarithm; S ``scales`` = prior standard deviations of the
coefficients, (d,); ``R, c`` = pivoted Cholesky factor of K + v₀, and of (g, q); ρ² ``rest`` = rest of q.
"""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from ._linear_factor import LOGARITHM, SPARE_DIGITS, Factor, Factors, Moments
from ._noise_prior import HalfT, InverseGamma

#: Steps in s of the grid on which the curve is first looked at, and by which that grid grows.
SUPPORT_STEP, S_GROWTH = 0.1, 8.0
#: Nats below the maximum at which the density of s is nothing: e⁻⁶⁰ is below rounding.
TAIL_OF_S_NATS = 60.0
#: Nodes at first, and how often they are doubled at most; change at which they are enough, nats.
N_FIRST_NODES, MAX_NODE_DOUBLINGS, NODES_TOLERANCE_NATS = 128, 12, 1e-11
#: Steps of the grid that a density has to span.
MIN_SPANNED_STEPS = 20
#: Cells of the distribution function that log σ² is drawn from, right to 10⁻⁵.
CDF_CELLS = 4096
#: Rounding that double precision may have, nats: of the log evidence for each row and nat; of the curve.
LINEAR_ROUNDING, ROUNDING_OF_CURVE = 1e-12, 1e-2


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
        # units of rounding by which an eigenvalue in d dimensions is off, for each dimension
        size, c = float(np.max(self.lam, initial=0.0)), 4 * max(d, 1)
        x2 = self.gamma**2 @ inverse**2
        of_rest = c * self.q + 2 * np.sqrt(x2) * np.linalg.norm(self.gamma) + c * size * x2
        return 0.5 * np.finfo(float).eps * (c * size * inverse.sum(axis=0) + of_rest / v)

    def means(self, s: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """E[w | y, v = e^s], (m, d)."""
        return (self.gamma / (self.lam + np.exp(s)[:, None])) @ self.U.T * scales


class KnownNoise:
    """The posterior where σ is given."""

    def __init__(self, moments: Moments, noise_std: float) -> None:
        self.moments, self.noise_std = moments, noise_std
        s = np.array([2 * np.log(noise_std)])
        self.spectrum = Spectrum.of(moments)
        if self.spectrum is not None:
            self.log_evidence = float(self.spectrum.log_likelihood(s, moments.n)[0])
            error = float(self.spectrum.rounding(s)[0])
        if self.spectrum is None or not error <= LINEAR_ROUNDING * (1 + moments.n + abs(self.log_evidence)):
            self.spectrum, self.log_evidence = None, self._of_factor()

    @cached_property
    def _factor(self) -> Factor:
        with localcontext(Context(prec=2 * SPARE_DIGITS)):
            v = Decimal(float(self.noise_std)) ** 2
        return Factor.of(self.moments, v)

    def _of_factor(self) -> float:
        factor, d = self._factor, len(self.moments.scales)
        s = np.log(factor.v)
        n_log = self.moments.n * (np.log(2 * np.pi) + s)
        return float(-0.5 * (n_log + factor.log_det - d * s + factor.rest))

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws of w, (size, d)."""
        factor = self._factor
        return factor.draws(np.full(size, factor.v), rng, self.moments.scales)

    @cached_property
    def nodes(self) -> tuple[np.ndarray, np.ndarray] | None:
        """θ and weights by which posterior means are sums; None where double precision does not tell them."""
        if self.spectrum is None:
            return None
        s = np.array([2 * np.log(self.noise_std)])
        return self.spectrum.means(s, self.moments.scales), np.ones(1)


class UnknownNoise:
    """The posterior of the coefficients and of log σ²."""

    def __init__(self, moments: Moments, prior: InverseGamma | HalfT) -> None:
        self.moments, self.prior = moments, prior
        self.n, self.factors = moments.n, Factors(moments)
        self.curve: Spectrum | Factors = self.factors
        self.spectrum = Spectrum.of(moments)
        if self.spectrum is None or not self._answers_in_double_precision(self.spectrum):
            self.spectrum, self.curve = None, self.factors
            self.support = self._support()
            if not self._integrate():
                raise ArithmeticError(f"the integral over the noise of {self.n:g} rows does not converge")

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws of (w, log σ²), (size, d + 1): by inversion, then the Gaussian given σ²."""
        s = np.linspace(*self.support, CDF_CELLS + 1)
        p = np.exp(self.log_joint(s) - self.highest)
        mass = np.r_[0.0, np.cumsum(p[1:] + p[:-1])]
        target = rng.random(size) * mass[-1]
        cell = np.clip(np.searchsorted(mass, target, side="right") - 1, 0, CDF_CELLS - 1)
        left, right, u = p[cell], p[cell + 1], target - mass[cell]
        # the share t of the cell with left·t + (right − left) t²/2 = u/2
        t = u / (left + np.sqrt(np.maximum(left**2 + u * (right - left), 0.0)))
        s = s[cell] + t * (s[cell + 1] - s[cell])
        return np.column_stack([self.factors.draws(s, rng), s])

    def log_joint(self, s: np.ndarray) -> np.ndarray:
        """log p(y, s), nats, (m,)."""
        return np.asarray(self.prior.log_density(s), dtype=float) + self.curve.log_likelihood(s, self.n)

    @cached_property
    def nodes(self) -> tuple[np.ndarray, np.ndarray] | None:
        """θ and weights by which posterior means are sums; None where double precision does not tell them."""
        if self.spectrum is None:
            return None
        s, weight = self._quadrature
        return np.column_stack([self.spectrum.means(s, self.moments.scales), s]), weight

    def _answers_in_double_precision(self, spectrum: Spectrum) -> bool:
        """Integrate over its curve; False where its rounding counts."""
        self.curve = spectrum
        self.support = self._support()
        if not spectrum.rounding(np.array(self.support[:1]))[0] <= ROUNDING_OF_CURVE:
            return False
        if not self._integrate():
            return False
        s, weight = self._quadrature
        return bool(weight @ spectrum.rounding(s) <= LINEAR_ROUNDING * (1 + self.n + abs(self.log_evidence)))

    def _integrate(self) -> bool:
        """Set the log of the integral and the nodes that it is a sum over; False if it does not converge."""
        lo, hi = self.support
        last, cells = np.inf, N_FIRST_NODES
        for _ in range(MAX_NODE_DOUBLINGS):
            s, weight = self._nodes(lo, hi, cells)
            log_p = self.log_joint(s)
            self.highest = float(log_p.max())
            p = np.exp(log_p - self.highest) * weight
            total = np.sum(p)
            self.log_evidence = float(self.highest + np.log(total))
            if abs(self.log_evidence - last) < NODES_TOLERANCE_NATS * (1 + 0.1 * abs(self.log_evidence)):
                self._quadrature = s, p / total
                return True
            last, cells = self.log_evidence, 2 * cells
        return False

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
        ends = sorted([self.prior.center, self._log_mean_square()])
        s = np.arange(max(ends[0] - 1, self.prior.least), ends[1] + 1 + SUPPORT_STEP, SUPPORT_STEP)
        f = self.log_joint(s)
        while f[0] > f.max() - TAIL_OF_S_NATS and s[0] > self.prior.least:
            more = np.arange(max(s[0] - S_GROWTH, self.prior.least), s[0] - SUPPORT_STEP / 2, SUPPORT_STEP)
            s, f = np.r_[more, s], np.r_[self.log_joint(more), f]
        while f[-1] > f.max() - TAIL_OF_S_NATS:
            more = np.arange(s[-1] + SUPPORT_STEP, s[-1] + S_GROWTH, SUPPORT_STEP)
            s, f = np.r_[s, more], np.r_[f, self.log_joint(more)]
        while True:
            high = np.flatnonzero(f > f.max() - TAIL_OF_S_NATS)
            first, last = max(high[0] - 1, 0), min(high[-1] + 1, len(s) - 1)
            if last - first > MIN_SPANNED_STEPS or s[last] - s[first] < 1e-9:
                return float(s[first]), float(s[last])
            # a peak of many rows is narrower than the grid: again, where all is within a few steps
            s = np.linspace(s[first], s[last], 20 * MIN_SPANNED_STEPS + 1)
            f = self.log_joint(s)

    def _log_mean_square(self) -> float:
        """log q/n, or the prior's s where y is zero."""
        if self.spectrum is not None and self.spectrum.q > 0:
            return float(np.log(self.spectrum.q) - np.log(max(self.n, 1e-300)))
        with localcontext(Context(prec=SPARE_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            q = self.moments._matrix()[-1, -1]
            return float((q / Decimal(max(self.n, 1e-300))).ln(LOGARITHM)) if q > 0 else self.prior.center


@cache
def gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [−1, 1], which take 10 ms."""
    return np.polynomial.legendre.leggauss(n)
