"""The exact posterior of a linear regression: coefficients given the noise, and the noise by quadrature.

Given the noise, all is closed (below).  The curve over s = log v is analytic for
|Im s| < π, so the trapezoid rule converges geometrically (Trefethen and Weideman 2014).  A y that fewer
columns than rows explain exactly has residuals of rounding alone: σ is then no smaller than what these say
for certain, and its evidence is that of y with the digits that numbers have, whatever the order of rows.

Symbols: ``s`` = log σ².

A linear regression given its noise, in the coordinates of the singular vectors of its centred columns.

With y_r ~ N(w·x_r + b, v), counted ω_r times, w ~ N(0, s² I) and b ~ N(0, τ²), the rows about their means
come first, and the mean of y given them.  With s √ω (X − x̄) = U diag(σ) Vᵀ, λ = σ², c = Uᵀ √ω (y − ȳ), ρ² the
squares of y − ȳ that U leaves, m = s x̄ and μ = Vᵀm,

    log p(y | v) = −½ [n log 2πv + D + Q/v],
    D = Σ log1p(λ/v) + log1p(n h),              h = Σ μ²/(λ + v) + |m − Vμ|²/v + τ²/v,
    Q = ρ² + Σ c² v/(λ + v) + n r²/(1 + n h),   r = ȳ − Σ μ σ c/(λ + v).

All terms of D and of Q are positive: nothing cancels, however far columns and y are from zero, and τ = 0 is a
regression without an intercept.

**Rounding.**  Columns x_j and y of the factor are off by ε of their lengths.  To first order, with residuals
of length e = √(ρ² + Σ (c v/(λ + v))²) and the posterior mean ŵ, log p(y | v) is then off by

    ε Σ_j |x_j| |K^½ (K + v)⁻¹ V_j|  +  e δ/v,       δ = ε (|y| + Σ_j |x_j| |ŵ_j|),

and to second order by δ²/2v, where columns do not reach all of y: below some v, residuals are rounding.

**Draws.**  w given the rows about their means is V diag(√(v/(λ + v))) Vᵀ z + z − VVᵀz about its mean, a
symmetric root, so that singular vectors which are arbitrary leave no trace.  Matheron's rule moves w and b to
where the mean of y is right.

Symbols: ``v, s`` = noise variance σ² and its logarithm, (m,); ``scale`` = s, of w; ``tau2`` = τ²; ``sigma, c,
V, mu, h, r`` as above; ``beside`` = m − Vμ; ``W`` = (w, b), (m, d + 1).

References
----------
Z. Drmač and K. Veselić (2008), New fast and accurate Jacobi SVD algorithm, SIAM J. Matrix Anal. Appl. 29.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.linalg import lapack

from ..exceptions import DivergenceError
from ._log_integral import span
from ._noise_prior import HalfT, InverseGamma
from ._qr_sums import COLUMN_ROUNDING, MAX_ROUNDING_NATS, QRSums

#: Singular values, in sizes of their rounding, below which columns say nothing of a direction.
MIN_SINGULAR_ROUNDINGS = 3.0
#: Ratio of the lengths of columns beyond which bidiagonalisation would lose digits of short ones.
MAX_LENGTH_RATIO = 1e3


@dataclass(frozen=True)
class Spectrum:
    """The rows in the coordinates of the singular vectors of their centred columns."""

    n: float
    scale: float
    tau2: float
    sigma: np.ndarray  #: (k,)
    V: np.ndarray  #: (d, k)
    c: np.ndarray  #: (k,)
    rest: float  #: ρ²
    mean: float  #: ȳ
    m: np.ndarray  #: (d,)
    mu: np.ndarray  #: (k,)
    beside: np.ndarray  #: (d,)
    lengths: np.ndarray  #: of the columns about their means, (d,)
    length_of_y: float  #: about its mean
    reaches_all: bool  #: U has as many columns as there are rows about the mean

    @classmethod
    def of(cls, sums: QRSums, scale: float, tau: float) -> "Spectrum":
        """From sums of [1, X, y]."""
        A, y, means = scale * sums.rest[:, :-1], sums.rest[:, -1], sums.means
        lengths, m = np.linalg.norm(A, axis=0), scale * means[:-1]
        varies = lengths > 0
        U, sigma, V = np.zeros((len(A), 0)), np.zeros(0), np.zeros((len(m), 0))
        if np.any(varies):
            U, sigma, of_varying = _singular(A[:, varies], lengths[varies])
            is_seen = sigma > MIN_SINGULAR_ROUNDINGS * COLUMN_ROUNDING * (
                lengths[varies] @ np.abs(of_varying)
            )
            U, sigma = U[:, is_seen], sigma[is_seen]
            V = np.zeros((len(m), len(sigma)))
            V[varies] = of_varying[:, is_seen]
        c, mu = U.T @ y, V.T @ m
        beside = m - V @ mu
        if len(sigma) == np.count_nonzero(varies):  # rounding would leave some
            beside[varies] = 0.0
        reaches_all = len(sigma) == len(A)
        rest = 0.0 if reaches_all else float(np.sum((y - U @ c) ** 2))
        of_rows = dict(n=sums.total_weight, sigma=sigma, V=V, c=c, rest=rest, reaches_all=reaches_all)
        of_means = dict(mean=float(means[-1]), m=m, mu=mu, beside=beside)
        length_of_y = float(np.linalg.norm(y))
        return cls(scale=scale, tau2=tau**2, lengths=lengths, length_of_y=length_of_y, **of_rows, **of_means)  # type: ignore[arg-type]

    def _inverse(self, v: np.ndarray) -> np.ndarray:
        """1/(λ + v), (m, k)."""
        return 1 / (self.sigma**2 + v[:, None])

    def _of_mean(self, v: np.ndarray, inverse: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """h and r, (m,)."""
        h = inverse @ self.mu**2 + (self.beside @ self.beside + self.tau2) / v
        return h, self.mean - inverse @ (self.mu * self.sigma * self.c)

    def log_likelihood(self, s: np.ndarray) -> np.ndarray:
        """log p(y | v = e^s), (m,)."""
        v = np.exp(s)
        inverse = self._inverse(v)
        h, r = self._of_mean(v, inverse)
        D = np.sum(np.log1p(self.sigma**2 / v[:, None]), axis=1) + np.log1p(self.n * h)
        Q_by_v = self.rest / v + inverse @ self.c**2 + self.n * r**2 / (1 + self.n * h) / v
        return -0.5 * (self.n * (np.log(2 * np.pi) + s) + D + Q_by_v)

    def rounding(self, s: np.ndarray) -> np.ndarray:
        """Nats of log p(y | v = e^s) that rounding may change, (m,)."""
        v = np.exp(s)
        inverse = self._inverse(v)
        h, r = self._of_mean(v, inverse)
        leverage = np.sqrt(inverse**2 * self.sigma**2 @ self.V.T**2)
        w = np.abs(self.means(s)[:, : len(self.m)]) / self.scale
        delta = COLUMN_ROUNDING * (self.length_of_y + w @ self.lengths)
        residuals = np.sqrt(self.rest + (v[:, None] * inverse) ** 2 @ self.c**2)
        least = np.min(self.sigma, initial=np.inf) ** 2 if self.reaches_all else 0.0
        of_mean = (
            COLUMN_ROUNDING * (abs(self.mean) + w @ np.abs(self.m)) * np.abs(r) * self.n / (1 + self.n * h)
        )
        of_residuals = (residuals * delta + of_mean) / v + 0.5 * delta**2 / (least + v)
        return COLUMN_ROUNDING * leverage @ self.lengths + of_residuals

    def least_log_noise(self, small: float) -> float:
        """log v at which the rounding of residuals may change log p(y | v) by ``MAX_ROUNDING_NATS``.

        At most that of a noise which is ``small`` in standard deviations of y; the coefficients are those of
        no noise, but for directions of which rounding alone tells.
        """
        if not self.length_of_y:
            return -np.inf
        s = 2 * np.log(small * self.length_of_y) - np.log(self.n)
        w = self.means(np.array([s]))[0, : len(self.m)] / self.scale
        delta = COLUMN_ROUNDING * (self.length_of_y + np.abs(w) @ self.lengths)
        return float(min(2 * np.log(delta) - np.log(2 * MAX_ROUNDING_NATS), s))

    def _gain(self, v: np.ndarray, inverse: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Moves of w, and of b, if the mean of y is one more than they say, (m, d + 1)."""
        w = (inverse * self.mu) @ self.V.T + self.beside / v[:, None]
        return np.column_stack([w, self.tau2 / v]) * (self.n / (1 + self.n * h))[:, None]

    def _in_units(self, W: np.ndarray) -> np.ndarray:
        """(w, b), or w without an intercept, from w in units of its prior and b, (m, d + 1) or (m, d)."""
        W[:, :-1] *= self.scale
        return np.ascontiguousarray(
            W if self.tau2 else W[:, :-1]
        )  # products of copies then have the same digits

    def means(self, s: np.ndarray) -> np.ndarray:
        """E[w, b | y, v = e^s], (m, d + 1) or (m, d)."""
        v = np.exp(s)
        inverse = self._inverse(v)
        h, r = self._of_mean(v, inverse)
        W = self._gain(v, inverse, h) * r[:, None]
        W[:, :-1] += (inverse * self.sigma * self.c) @ self.V.T
        return self._in_units(W)

    def draws(self, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One draw of (w, b) | y, v = e^s for each s, (m, d + 1) or (m, d)."""
        v, d = np.exp(s), len(self.m)
        inverse, z = self._inverse(v), rng.standard_normal((len(s), d + 2))
        W = z[:, : d + 1]
        W[:, d] *= np.sqrt(self.tau2)
        shrunk = np.sqrt(v[:, None] * inverse) - 1
        W[:, :d] += (inverse * self.sigma * self.c + shrunk * (W[:, :d] @ self.V)) @ self.V.T
        if self.n:
            noise = np.sqrt(v / self.n) * z[:, -1]
            missing = self.mean - W[:, :d] @ self.m - W[:, d] - noise
            W += self._gain(v, inverse, self._of_mean(v, inverse)[0]) * missing[:, None]
        return self._in_units(W)


def largest_rounding(sums: QRSums, scale: float, tau: float, std: float) -> float:
    """Nats that ``Spectrum.rounding`` cannot exceed where σ is at least ``std``; infinite or nan if unknown.

    With w and b of least squares, whose residuals are ρ², the posterior means of any σ have
    |ŵ|² + b̂²/τ² ≤ |w|² + b²/τ² = W² and residuals e² ≤ ρ² + σ² W².
    """
    A, y, m = scale * sums.rest[:-1, :-1], sums.rest[:, -1], scale * sums.means[:-1]
    with np.errstate(all="ignore"):
        w, is_singular = lapack.dtrtrs(A, y[:-1]) if len(m) else (m, 0)
        if is_singular:
            return np.inf
        length, mean = np.linalg.norm(A), sums.means[-1]
        W = np.hypot(np.linalg.norm(w), (mean - m @ w) / tau)
        delta = COLUMN_ROUNDING * (np.linalg.norm(y) + W * length)
        of_mean = COLUMN_ROUNDING * (abs(mean) + W * np.linalg.norm(m)) * W / tau
        of_columns = COLUMN_ROUNDING * length * np.sqrt(len(m)) / (2 * std)
        residuals = np.hypot(y[-1], std * W) / std
        return float(of_columns + of_mean + residuals * (delta / std) + 0.5 * (delta / std) ** 2)


def _singular(A: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, σ and V of A = U diag(σ) Vᵀ.

    Where columns differ much in length, by Jacobi's rotations, which keep the digits of the short ones (Drmač
    and Veselić 2008) and take four times as long.
    """
    if lengths.max() <= MAX_LENGTH_RATIO * lengths.min():
        U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
        return U, sigma, Vt.T
    is_tall = A.shape[0] >= A.shape[1]
    sigma, U, V, work, _, info = lapack.dgejsv(np.asfortranarray(A if is_tall else A.T), joba=2, jobr=0)
    if info:
        raise np.linalg.LinAlgError("singular values did not converge")
    U, V = (U, V) if is_tall else (V, U)
    return U, sigma * (work[0] / work[1]), V


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
#: Share of the log evidence that rounding may change beside MAX_ROUNDING_NATS.
MAX_ROUNDING_SHARE = 1e-10
#: Noise, in standard deviations of y, below which y is fitted exactly where rounding counts.
SMALLEST_NOISE = 1e-7
#: Words for columns that are beyond double precision.
UNRESOLVED = (
    "columns of X, times their prior scales, differ by more than double precision resolves in what they "
    "determine: centre and scale X (StandardScaler), or lower coef_scale"
)


def _refuse(rounding: float, log_evidence: float) -> None:
    """DivergenceError where rounding may change the log evidence by more than a Bayes factor may be off."""
    if not rounding <= MAX_ROUNDING_NATS + MAX_ROUNDING_SHARE * abs(log_evidence):
        raise DivergenceError(UNRESOLVED)


class KnownNoise:
    """The posterior where σ is given."""

    def __init__(self, spectrum: Spectrum, noise_std: float) -> None:
        self.spectrum, self.s = spectrum, np.array([2 * np.log(noise_std)])
        self.log_evidence = float(spectrum.log_likelihood(self.s)[0])
        _refuse(float(spectrum.rounding(self.s)[0]), self.log_evidence)

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws of w, (size, d)."""
        return self.spectrum.draws(np.full(size, self.s[0]), rng)

    @property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """θ and weights by which posterior means are sums."""
        return self.spectrum.means(self.s), np.ones(1)


class UnknownNoise:
    """The posterior of the coefficients and of log σ²."""

    def __init__(self, spectrum: Spectrum, prior: InverseGamma | HalfT) -> None:
        self.spectrum, self.prior = spectrum, prior
        #: no s is smaller
        self.least = max(prior.least, spectrum.least_log_noise(SMALLEST_NOISE))
        self.support = self._support()
        self._integrate()
        s, weight = self._quadrature
        squares = spectrum.n * float(weight @ np.exp(s))
        if squares > (SMALLEST_NOISE * spectrum.length_of_y) ** 2:
            _refuse(float(weight @ spectrum.rounding(s)), self.log_evidence)

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
        return np.column_stack([self.spectrum.draws(s, rng), s])

    def log_joint(self, s: np.ndarray) -> np.ndarray:
        """log p(y, s), nats, (m,)."""
        return np.asarray(self.prior.log_density(s), dtype=float) + self.spectrum.log_likelihood(s)

    @cached_property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """θ and weights by which posterior means are sums."""
        s, weight = self._quadrature
        return np.column_stack([self.spectrum.means(s), s]), weight

    def _integrate(self) -> None:
        """Set the log of the integral and the nodes that it is a sum over."""
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
                return
            last, cells = self.log_evidence, 2 * cells
        raise ArithmeticError(f"the integral over the noise of {self.spectrum.n:g} rows does not converge")

    def _nodes(self, lo: float, hi: float, cells: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights: the trapezoid rule, or Gauss–Legendre where the prior ends first."""
        if lo > self.least:
            return np.linspace(lo, hi, cells + 1), np.full(cells + 1, (hi - lo) / cells)
        x, weight = gauss_legendre(min(cells, 1024))
        return lo + (hi - lo) * (x + 1) / 2, weight * (hi - lo) / 2

    def _support(self) -> tuple[float, float]:
        """Interval of s outside which the density is nothing.

        Looked at from the prior's s to that of the squares of y, and on from there while it counts.
        """
        ends = sorted([self.prior.center, self._log_mean_square()])
        s = np.arange(max(ends[0] - 1, self.least), ends[1] + 1 + SUPPORT_STEP, SUPPORT_STEP)
        f = self.log_joint(s)
        while f[0] > f.max() - TAIL_OF_S_NATS and s[0] > self.least:
            more = np.arange(max(s[0] - S_GROWTH, self.least), s[0], SUPPORT_STEP)  # one at least
            s, f = np.r_[more, s], np.r_[self.log_joint(more), f]
        while f[-1] > f.max() - TAIL_OF_S_NATS:
            more = np.arange(s[-1] + SUPPORT_STEP, s[-1] + S_GROWTH, SUPPORT_STEP)
            s, f = np.r_[s, more], np.r_[f, self.log_joint(more)]
        while True:
            first, last = span(f, TAIL_OF_S_NATS)
            if last - first > MIN_SPANNED_STEPS or s[last] - s[first] < 1e-9:
                return float(s[first]), float(s[last])
            # a peak of many rows is narrower than the grid: again, where all is within a few steps
            s = np.linspace(s[first], s[last], 20 * MIN_SPANNED_STEPS + 1)
            f = self.log_joint(s)

    def _log_mean_square(self) -> float:
        """log of the mean square of y, or the prior's s where y is zero."""
        n = max(self.spectrum.n, 1e-300)
        square = self.spectrum.mean**2 + self.spectrum.length_of_y**2 / n
        return float(np.log(square)) if square > 0 else self.prior.center


@cache
def gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [−1, 1], which take 10 ms."""
    return np.polynomial.legendre.leggauss(n)
