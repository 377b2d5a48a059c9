r"""The exact posterior of a linear regression, from exact sums.

With y_r ~ N(w·φ_r, v), counted ω_r times, and w ~ N(0, S²), let K = S ΦᵀΩΦ S, g = S ΦᵀΩ y, q = yᵀΩ y.  Then

    log p(y | v) = −½ [n log 2πv + log |K + v| − d log v + ρ²/v],      K + v = RᵀR,   Rᵀc = g,   ρ² = q − c·c.

K, g and q are known without rounding (:mod:`._exact_sums`), and R, c, ρ² and the determinant are computed
with as many decimal digits as the columns ask for: nothing need be centred or scaled, whatever lies far out.
Only then numbers are rounded to double precision.  For an unknown noise the curve over s = log v is needed
beside the points v₀ of a coarse grid where it is known so: with U diag(σ) the left part of the singular
values of R at v₀, μ = σ² − v₀ and γ = Uᵀc,

    log |K + v| = log |K + v₀| + Σ log1p((v − v₀)/σ²),      ρ²(v) = ρ² + (v − v₀) Σ γ²/(μ + v),

which is exact at v₀, and errs beside it by rounding alone.  It is analytic for |Im s| < π, so the trapezoid
rule converges geometrically (Trefethen and Weideman 2014).

Symbols
-------
=======  =============  ==========================================================
v, s     ``v, s``       noise variance σ² and its logarithm
S        ``scales``     prior standard deviations of the coefficients, (d,)
R, c     ``R, c``       pivoted Cholesky factor of K + v₀, and of (g, q)
ρ²       ``rest``       what is left of q
=======  =============  ==========================================================
"""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from ._exact_sums import ExactSums
from ._noise_prior import HalfT, InverseGamma

#: Decimal digits beyond those that cancel.
DIGITS = 30
#: Context of logarithms whose result is rounded to double precision.
LOGARITHM = Context(prec=25, Emax=MAX_EMAX, Emin=MIN_EMIN)
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


class Factor(NamedTuple):
    """The Gaussian integral over the coefficients at one v₀."""

    v: float
    R: np.ndarray  #: (d, d), of the columns in the order of the pivots
    order: np.ndarray  #: (d,)
    c: np.ndarray  #: (d,)
    log_det: float  #: of K + v₀
    rest: float  #: ρ²/v₀
    U: np.ndarray  #: left singular vectors of R, (d, d)
    squares: np.ndarray  #: σ², (d,)
    mu: np.ndarray  #: eigenvalues of K, (d,)
    gamma: np.ndarray  #: (d,)

    @classmethod
    def of(cls, moments: "Moments", v: Decimal) -> "Factor":
        R, order, log_det, rest = moments.cholesky(v)
        d = len(order)
        c, R, v0 = R[:, d], R[:, :d], float(v)
        U, squares = np.zeros((0, 0)), np.zeros(0)
        if d:
            sva, _, U, work, _, info = lapack.dgejsv(np.asfortranarray(R.T), joba=0, jobr=0)
            if info:
                raise np.linalg.LinAlgError("singular values did not converge")
            squares = (sva * (work[0] / work[1])) ** 2
        mu = squares - v0
        mu[mu < 4 * d * np.finfo(float).eps * squares] = 0.0
        return cls(v0, R, order, c, log_det, rest, U, squares, mu, U.T @ c)

    def log_likelihood(self, s: np.ndarray, n: float) -> np.ndarray:
        """log p(y | v = e^s), (m,)."""
        v, d = np.exp(s), len(self.mu)
        ratio = (v - self.v) / self.squares[:, None]
        log_det = self.log_det + np.sum(np.log1p(ratio), axis=0) - d * s
        more = (v - self.v) * np.sum(self.gamma[:, None] ** 2 / (self.mu[:, None] + v), axis=0)
        squares = np.maximum(self.rest * self.v + more, 0.0) / v
        return -0.5 * (n * (np.log(2 * np.pi) + s) + log_det + squares)

    def draws(self, v: np.ndarray, rng: np.random.Generator, scales: np.ndarray) -> np.ndarray:
        """One draw of w | y, v for each v, (len(v), d).

        By a triangular system, in which columns far out keep their digits.
        """
        z = rng.standard_normal((len(v), len(self.mu)))
        r = (self.mu + v[:, None]) / self.squares
        t = self.U @ (self.gamma / r + np.sqrt(v[:, None] / r) * z).T
        w = np.empty((len(v), len(self.mu)))
        w[:, self.order] = solve_triangular(self.R, t, check_finite=False).T
        return w * scales


class Moments(NamedTuple):
    """K, g and q of rows, exactly."""

    sums: ExactSums  #: of [1, X, y]
    scales: np.ndarray  #: of X, and of 1 if there is an intercept
    fit_intercept: bool

    @property
    def n(self) -> float:
        return self.sums.total_weight

    def cholesky(self, v: Decimal) -> tuple[np.ndarray, np.ndarray, float, float]:
        """R with c as its last column (d, d + 1), the pivots' order, log |K + v| and ρ²/v."""
        with localcontext(Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)) as context:
            A = self._matrix()
            trace, q, d = sum(np.diag(A)[:-1], v), A[-1, -1], len(A) - 1
            cancel = max((trace / v * max(d, 1)).adjusted(), 0) + max((1 + q / v).adjusted(), 0)
            if cancel > 0:
                context.prec = DIGITS + cancel
                A = self._matrix()
            order, log_det = np.arange(d), Decimal(0)
            A[np.arange(d), np.arange(d)] += v
            for k in range(d):
                p = k + int(np.argmax(np.diag(A)[k:d]))
                swap = [p, k]
                A[[k, p]], order[[k, p]] = A[swap], order[swap]
                A[:, [k, p]] = A[:, swap]
                log_det += A[k, k].ln(LOGARITHM)
                A[k, k:] /= A[k, k].sqrt()
                A[k + 1 :, k + 1 :] -= np.multiply.outer(A[k, k + 1 :], A[k, k + 1 :])
            rest = float(max(A[d, d], Decimal(0)) / v)
        R = A[:d].astype(float)
        R[np.tril_indices(d, -1)] = 0.0
        return R, order, float(log_det), rest

    def _matrix(self) -> np.ndarray:
        """[[K, g], [gᵀ, q]] in the precision of the context."""
        sums, p = self.sums, len(self.sums.exponents) - 2
        columns = [*range(1, p + 1), *([0] if self.fit_intercept else []), p + 1]
        factors = np.array([Decimal(2) ** int(sums.exponents[j]) for j in columns], dtype=object)
        factors[:-1] *= np.array([Decimal(float(scale)) for scale in self.scales], dtype=object)
        M = sums.integers[np.ix_(columns, columns)]
        M = np.array([Decimal(int(value)) for value in M.ravel()], dtype=object).reshape(M.shape)
        return M * (np.multiply.outer(factors, factors) * Decimal(2) ** sums.unit)


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
        for k, which in self._places(s):
            out[which, :-1] = self._factor(k).draws(np.exp(s[which]), rng, self.moments.scales)
        return out

    def log_joint(self, s: np.ndarray) -> np.ndarray:
        """log p(y, s), nats, (m,)."""
        out = np.asarray(self.prior.log_density(s), dtype=float)
        for k, which in self._places(s):
            out[which] += self._factor(k).log_likelihood(s[which], self.n)
        return out

    def _places(self, s: np.ndarray):
        """Which point v₀ is next to which s."""
        k = np.rint(s / APART).astype(int)
        return [(int(one), k == one) for one in np.unique(k)]

    def _factor(self, k: int) -> Factor:
        if k not in self._factors:
            self._factors[k] = Factor.of(self.moments, Decimal(float(np.exp(k * APART))))
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
        x, weight = np.polynomial.legendre.leggauss(min(cells, 1024))
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
