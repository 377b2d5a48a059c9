r"""Exact draws from the posterior of a linear regression, with known noise or unknown.

In the basis that diagonalises the information S ΦᵀwΦ S = U diag(g) Uᵀ (S = prior scales, w = weights of the
rows) the coefficients W = S U v are independent given s = log σ²,

    v_i | s ~ N( g_i v̂_i / (e^s + g_i),  e^s / (e^s + g_i) ),     v̂ = least squares,                    (1)

and integrating them out leaves one dimension, with R the residual sum of squares and n the total weight:

    log p(y | s) = −½ [ n (s + log 2π) + Σ_i log(1 + g_i e^−s) + R e^−s + Σ_i g_i v̂_i² / (e^s + g_i) ].  (2)

All of it holds for weights that are no integers, and so for every tempered posterior.

Symbols
-------
=======  =============  =========================================================================
paper    code           meaning
=======  =============  =========================================================================
S U      ``basis``      columns of the basis, (d, d)
g        ``g``          information about each, (d,)
v̂        ``v``          least-squares solution, 0 where there is no information, (d,)
R, n     ``R, n``       residual sum of squares, total weight
=======  =============  =========================================================================
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

#: Information below this share of the largest is rounding.
RANK_TOLERANCE = 1e-13
#: Nodes of the grid, how far below its top log p is followed (e⁻⁴⁰ of the mass is in the tails), and the most
#: refinements: each narrows the range to the nodes above that, so that three are the rule.
N_NODES, DEPTH, MOST_ROUNDS = 513, 40.0, 20


class Conjugate(NamedTuple):
    """What the posterior of the coefficients depends on."""

    basis: np.ndarray
    g: np.ndarray
    v: np.ndarray
    R: float
    n: float

    @classmethod
    def of(cls, Phi: np.ndarray, y: np.ndarray, weight: np.ndarray, scales: np.ndarray) -> "Conjugate":
        """From the design matrix (n, d), targets and weights (n,) and the prior's scales (d,)."""
        A = Phi * scales
        g, U = np.linalg.eigh((A.T * weight) @ A)
        g = np.where(g > RANK_TOLERANCE * max(g[-1], 0.0), g, 0.0)
        v = np.divide(U.T @ (A.T @ (weight * y)), g, out=np.zeros_like(g), where=g > 0)
        r = y - A @ (U @ v)
        return cls(scales[:, None] * U, g, v, float(weight @ r**2), float(np.sum(weight)))

    def log_evidence(self, s: np.ndarray) -> np.ndarray:
        """log p(y | s), Eq. (2), of the shape of s."""
        precision = np.exp(-s)
        information = self.g * precision[..., None]
        explained = np.sum(information * self.v**2 / (1 + information), axis=-1)
        log_det = np.sum(np.log1p(information), axis=-1)
        return -0.5 * (self.n * (s + np.log(2 * np.pi)) + log_det + self.R * precision + explained)

    def coefficients(self, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One draw of W for each s, Eq. (1), (M, d)."""
        shrunk = 1 / (1 + self.g * np.exp(-s)[:, None])
        v = (1 - shrunk) * self.v + np.sqrt(shrunk) * rng.standard_normal(shrunk.shape)
        return v @ self.basis.T


class LogLinear(NamedTuple):
    """A density on the line, piecewise exponential between the nodes of a grid and beyond its ends.

    Parameters
    ----------
    s, v : ndarray of shape (G,)
        Nodes and log density at them, up to a constant.
    slopes : ndarray of shape (G + 1,)
        Of the log density in each piece, the two tails included: the first is positive, the last negative.
    """

    s: np.ndarray
    v: np.ndarray
    slopes: np.ndarray

    @classmethod
    def near(cls, log_p: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> "LogLinear":
        """Close to exp(log_p), most of whose mass is between the two numbers."""
        for _ in range(MOST_ROUNDS):
            s = np.linspace(low, high, N_NODES)
            v = log_p(s)
            inside = np.flatnonzero(v > v.max() - DEPTH)
            low, high = s[max(inside[0] - 1, 0)], s[min(inside[-1] + 1, N_NODES - 1)]
            if inside[-1] - inside[0] > 0.8 * N_NODES:
                break
        slopes = np.diff(v) / np.diff(s)
        # beyond its ends the grid has e^-DEPTH of the mass however slowly the tails fall, and the slower they
        # fall, the surer a particle that comes from there is moved
        tail = 1.0 / (s[-1] - s[0])
        return cls(s, v - v.max(), np.r_[tail, slopes, -tail])

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Up to a constant."""
        k = np.searchsorted(self.s, x)
        node = np.maximum(k - 1, 0)
        return self.v[node] + self.slopes[k] * (x - self.s[node])

    def draw(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent draws, (size,)."""
        rise = self.slopes[1:-1] * np.diff(self.s)
        pieces = np.diff(self.s) * np.exp(self.v[:-1]) * _mean_exponential(rise)
        mass = np.r_[np.exp(self.v[0]) / self.slopes[0], pieces, -np.exp(self.v[-1]) / self.slopes[-1]]
        k = np.minimum(np.searchsorted(np.cumsum(mass), mass.sum() * rng.random(size)), len(mass) - 1)
        u = 1.0 - rng.random(size)  # in (0, 1]
        tail = np.log(u) / np.where(self.slopes[k] == 0, 1.0, self.slopes[k])
        inner = np.clip(k - 1, 0, len(rise) - 1)
        within = np.diff(self.s)[inner] * _fraction(rise[inner], u)
        x = self.s[inner] + within
        return np.where(k == 0, self.s[0] + tail, np.where(k == len(mass) - 1, self.s[-1] + tail, x))


def _mean_exponential(rise: np.ndarray) -> np.ndarray:
    """∫₀¹ e^(rise·t) dt."""
    small = np.abs(rise) < 1e-6
    safe = np.where(small, 1.0, rise)
    return np.where(small, 1 + rise / 2, np.expm1(safe) / safe)


def _fraction(rise: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Quantile u of the density ∝ e^(rise·t) on (0, 1)."""
    small = np.abs(rise) < 1e-6
    safe = np.where(small, 1.0, rise)
    return np.where(small, u, np.log1p(u * np.expm1(safe)) / safe)


def metropolis(
    x: np.ndarray,
    log_p: Callable[[np.ndarray], np.ndarray],
    proposal: LogLinear,
    rng: np.random.Generator,
) -> np.ndarray:
    """One independence-Metropolis step for each of x (M,): exactly invariant, however coarse the grid."""
    new = proposal.draw(rng, len(x))
    with np.errstate(all="ignore"):
        log_ratio = log_p(new) - proposal.log_density(new) - (log_p(x) - proposal.log_density(x))
    return np.where(np.log1p(-rng.random(len(x))) < np.nan_to_num(log_ratio, nan=np.inf), new, x)
