r"""The exact posterior of a linear regression: coefficients given the noise, and the noise by quadrature.

Given the noise, all is closed (:mod:`._linear_spectrum`).  The curve over s = log v is analytic for
|Im s| < π, so the trapezoid rule converges geometrically (Trefethen and Weideman 2014).  A y that fewer
columns than rows explain exactly has residuals of rounding alone: σ is then no smaller than what these say
for certain, and its evidence is that of y with the digits that numbers have, whatever the order of rows.

Symbols: ``s`` = log σ².
"""

from functools import cache, cached_property

import numpy as np

from ..exceptions import DivergenceError
from ._linear_spectrum import Spectrum
from ._noise_prior import HalfT, InverseGamma
from ._qr_sums import MAX_ROUNDING_NATS

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
            high = np.flatnonzero(f > f.max() - TAIL_OF_S_NATS)
            first, last = max(high[0] - 1, 0), min(high[-1] + 1, len(s) - 1)
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
