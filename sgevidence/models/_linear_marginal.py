r"""The marginal of the noise variance in linear regression: the coefficients integrated out.

With y_r ~ N(w·φ_r, v), counted ω_r times, and w ~ N(0, S²) the coefficients integrate out in closed form,
and one dimension is left,

    log p(y, s) = log p(s) − ½ Σ_i [log(1 + λ_i/v) + γ_i²/(λ_i + v)] − ½ [n (s + log 2π) + r²/v],

which is summed over a grid of s = log v.  It is analytic for |Im s| < π, so the trapezoid rule converges
geometrically (Trefethen and Weideman 2014): halving the step until nothing changes leaves rounding.

Symbols
-------
======  ============  ==================================================================
math    code          meaning
======  ============  ==================================================================
v, s    ``s``         noise variance σ² and its logarithm
Φ, S    ``Phi, S``    features (n, d), prior standard deviations of the coefficients (d,)
λ_i     ``lam``       eigenvalues of S Φᵀ diag(ω) Φ S = U diag(λ) Uᵀ, (d,)
γ       ``gamma``     √ω y in the left singular vectors of √ω Φ S, (d,)
r²      ``residual``  squares of √ω y that no coefficients can explain
n       ``n``         number of rows, Σ ω_r
p(s)    ``prior``     density of s (:mod:`._noise_prior`)
======  ============  ==================================================================

λ, γ and r come from orthogonal transformations of the rows, not from ΦᵀΦ: then nothing cancels where y is a
thousand prior widths away or columns are collinear.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ._noise_prior import HalfT, InverseGamma

#: Nats below the maximum at which the density of s is nothing: e⁻⁶⁰ is below rounding.
NOTHING = 60.0
#: Step of the grid on which maxima are looked for: log p(y, s) is analytic for |Im s| < π, and so varies on a
#: scale of one.
COARSE = 0.1
#: Cells of the grid for the integral, at first and at least: over 2·√120 widths they are 0.005 widths each,
#: and a density that is linear within them is right to 10⁻⁵.
CELLS = 4096
#: How often the step is halved at most.  One mode needs one, as proof; two, D apart, about log2(D √n / 500).
HALVINGS = 11
#: Change of log p(y) at which the step is small enough, nats; what rounding may change for each row or nat.
TOLERANCE, ROUNDING = 1e-9, 1e-12
#: Rows of one QR decomposition.
BLOCK = 4096


class NoiseMarginal(NamedTuple):
    """p(y, log σ²), and the Gaussian of the coefficients given σ²; :meth:`of` makes it from rows."""

    lam: np.ndarray
    gamma: np.ndarray
    residual: float
    n: float
    prior: HalfT | InverseGamma
    scales: np.ndarray  #: S, (d,)
    U: np.ndarray  #: coordinates of w/S in which they are independent given v, (d, d)

    @classmethod
    def of(cls, features, rows, scales, prior) -> "NoiseMarginal":
        """One pass over the rows, n d² + d³; ``features`` takes a block's ``X`` to Φ (n, d).

        ``scales`` (d,) are prior standard deviations of the coefficients.  A weight multiplies the
        log-likelihood of a row; without any weight the prior is left.
        """
        d = len(scales)
        R = np.zeros((d + 1, d + 1))  # of the QR decomposition of √ω [Φ S, y], block upon block
        for block in rows.blocks(BLOCK):
            A = np.column_stack([features(block.X) * scales, block.y]) * np.sqrt(block.weight)[:, None]
            top = np.linalg.qr(np.concatenate([R, A]), mode="r")
            R[: len(top)] = top
        L, singular, Ut = np.linalg.svd(R[:d, :d])
        gamma = L.T @ R[:d, d]
        total = float(np.sum(rows.weight))
        return cls(singular**2, gamma, float(R[d, d] ** 2), total, prior, scales, Ut.T)

    def log_joint(self, s) -> np.ndarray:
        """log p(y, s), normalised in y and in s = log σ², nats, for s of shape (m,)."""
        v = np.exp(s)
        out = np.asarray(self.prior.log_density(s))
        out = out - 0.5 * (self.n * (s + np.log(2 * np.pi)) + self.residual / v)
        for lam, gamma in zip(self.lam, self.gamma):
            out = out - 0.5 * (np.log1p(lam / v) + gamma**2 / (lam + v))
        return out

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws of log σ² given y, (size,).

        By inversion, of a density that is linear between at least 4096 grid points: the distribution function
        is right to 10⁻⁵.
        """
        s, log_p, _ = self._grid()
        p = np.exp(log_p - log_p.max())
        mass = np.r_[0.0, np.cumsum(p[1:] + p[:-1])]
        target = rng.random(size) * mass[-1]
        cell = np.clip(np.searchsorted(mass, target, side="right") - 1, 0, len(s) - 2)
        left, right, u = p[cell], p[cell + 1], target - mass[cell]
        # the share t of the cell with left·t + (right − left) t²/2 = u/2
        t = u / (left + np.sqrt(np.maximum(left**2 + u * (right - left), 0.0)))
        return s[cell] + t * (s[cell + 1] - s[cell])

    def sample_coefficients(self, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One exact draw of w | y, σ² for each s, (len(s), d).

        The standard normals go through the symmetric root U √· Uᵀ, which does not depend on the signs and the
        order of U: rows with weights and the same rows repeated give the same draws.
        """
        v = np.exp(s)[:, None]
        u = np.sqrt(self.lam) * self.gamma / (self.lam + v)
        z = rng.standard_normal(u.shape) @ self.U
        return (u + np.sqrt(v / (self.lam + v)) * z) @ self.U.T * self.scales

    def _grid(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Grid s over all that counts, log p(y, s) on it, and the log of the integral."""
        lo, hi = self._support()
        last = np.inf
        for cells in CELLS * 2 ** np.arange(HALVINGS):
            s = np.linspace(lo, hi, cells + 1)
            log_p = self.log_joint(s)
            top = log_p.max()
            log_Z = float(top + np.log(np.sum(np.exp(log_p - top)) * (s[1] - s[0])))
            if abs(log_Z - last) < TOLERANCE + ROUNDING * (self.n + abs(log_Z)):
                return s, log_p, log_Z
            last = log_Z
        raise ArithmeticError(f"the integral over the noise variance of {self.n:g} rows does not converge")

    def _support(self) -> tuple[float, float]:
        """Interval of s outside which the density is nothing."""
        s = np.arange(*self._bracket(), COARSE)
        value = self.log_joint(s)
        inner = value[1:-1]
        peaks = 1 + np.flatnonzero((inner >= value[:-2]) & (inner > value[2:]))
        # a peak of many rows is narrower than the grid, which may see little of it
        brackets = [(s[i - 1], s[i + 1]) for i in peaks]
        heights = [-minimize_scalar(lambda x: -self.log_joint(x), bounds=bracket).fun for bracket in brackets]
        floor = max(heights) - NOTHING
        high = peaks[np.array(heights) > floor]
        keep = np.r_[np.flatnonzero(value > floor), high]
        return float(s[keep.min() - 1]), float(s[keep.max() + 1])

    def _bracket(self) -> tuple[float, float]:
        """s below which p(y, s) rises, and above which it falls, until nothing is left."""
        most = 0.5 * (np.sum(self.lam) + np.sum(self.gamma**2) + self.residual)
        lo, hi = self.prior.bracket(self.n, most, NOTHING)
        return lo - 2 * COARSE, hi + 3 * COARSE
