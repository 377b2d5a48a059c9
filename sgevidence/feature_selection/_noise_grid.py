r"""The integral over s = log σ² of many subsets at once.

D and log Q (:mod:`._moments`) vary on a scale of one in s, however many rows there are, since they are
analytic for |Im s| < π; the density is √(2/n) wide.  So D and log Q are computed at the Chebyshev nodes of a
few panels and interpolated to the nodes of a quadrature: the trapezoid rule, which converges geometrically
(Trefethen and Weideman 2014), and Gauss and Legendre's where the prior ends before the density does.

For one subset and one σ² = v the posterior is Gaussian.  With A = L Lᵀ, t = L⁻¹m, z = L⁻¹c, r = ȳ − t·z and
κ as in :mod:`._moments`,

    E[w] = L⁻ᵀ(z + t r/(κ + t²)),         cov[w] = v L⁻ᵀ(I − t tᵀ/(κ + t²)) L⁻¹,
    E[α] = ȳ − r/(n (κ + t²)),            var[α] = v t²/(n²κ(κ + t²)) + τ²/(nκ),
    cov[w, α] = v L⁻ᵀt/(n (κ + t²)),      E[b] = τ² r/(v (κ + t²)),

where α = b + m·w is the value of the line at the means of the columns, and b the intercept: far columns
leave no trace in α.

Symbols: ``s`` = Chebyshev nodes (G,), ``fine`` = quadrature nodes (M,), ``W`` = interpolation (G, M).
"""

from typing import NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from ..particles import log_sum_exp
from ._moments import EPS, Moments

#: Nats below the maximum at which the density of s is nothing.
TAIL_NATS = 36.0
#: Nodes of a panel of length 4 in s at most: the error is (π/2 + √(1 + π²/4))⁻²⁰ = 2·10⁻¹¹.
NODES_OF_PANEL = 20
#: Units of s by which ends are moved.
ENDS_STEP = 2.0
#: Nats that rounding may change at the smallest s that is looked at.
MAX_LOST_NATS = 1e-4


class Lacks(NamedTuple):
    """Is there density below or above the ends, and are the nodes too few for D and log Q?"""

    below: bool = False
    above: bool = False
    coarse: bool = False

    def either(self, other: "Lacks") -> "Lacks":
        """Lacks of one or the other."""
        return Lacks(*(bool(a or b) for a, b in zip(self, other)))


class NoiseGrid:
    """Nodes between two ends of s, or one node where σ is known."""

    def __init__(self, moments: Moments, ends: tuple[float, float], n_nodes: int = NODES_OF_PANEL) -> None:
        self.moments, self.ends, self.n_nodes = moments, ends, n_nodes
        lo, hi = ends
        if moments.noise_std is not None:
            self.s = self.fine = np.array([lo])
            self.W, self.log_weight = np.ones((1, 1)), np.zeros(1)
            return
        shape = moments.n + 4 + 2 * getattr(moments.prior, "a", 0.0)
        # step of the trapezoid rule in standard deviations of s, and its largest step in s
        M = int(np.ceil((hi - lo) / min(0.7 * np.sqrt(2 / shape), 0.4))) + 1
        if lo > least(moments):
            x, weight = np.linspace(-1, 1, M), np.full(M, 2 / (M - 1))
        else:
            x, weight = np.polynomial.legendre.leggauss(min(2 * M, 2000))
        self.fine = lo + (hi - lo) * (x + 1) / 2
        self.log_weight = moments.log_prior(self.fine) + np.log(weight * (hi - lo) / 2)
        self._interpolate()

    def _interpolate(self) -> None:
        """Nodes, W, and the last two coefficients of each panel from values at the nodes."""
        (lo, hi), G = self.ends, self.n_nodes
        self.edges = np.linspace(lo, hi, max(int(np.ceil((hi - lo) / 4.0)), 1) + 1)
        x = np.cos(np.pi * (np.arange(G) + 0.5) / G)
        to_coefficients = chebvander(x, G - 1) * (2 / G)  # of values at the nodes, (G, G)
        to_coefficients[:, 0] /= 2
        half = (self.edges[1] - self.edges[0]) / 2
        self.s = (self.edges[:-1, None] + half * (x + 1)).ravel()
        self.W = np.zeros((len(self.s), len(self.fine)))
        panel = self.panel(self.fine)
        for k in range(len(self.edges) - 1):
            at = panel == k
            t = np.clip((self.fine[at] - self.edges[k]) / half - 1, -1, 1)
            self.W[k * G : (k + 1) * G, at] = to_coefficients @ chebvander(t, G - 1).T
        self.tail = to_coefficients[:, -2:]

    def panel(self, s: np.ndarray) -> np.ndarray:
        """Number of the panel that s is in."""
        return np.clip(np.searchsorted(self.edges, s, side="right") - 1, 0, len(self.edges) - 2)

    @classmethod
    def covering(cls, moments: Moments, subsets: list[np.ndarray]) -> "NoiseGrid":
        """Ends beyond which no subset of these, each an array of columns, has any density."""
        if moments.noise_std is not None:
            s = 2 * np.log(moments.noise_std) - moments.shift
            return cls(moments, (float(s), float(s)))
        first = floor(moments)
        top = max(np.log((moments.q + moments.n * moments.mean**2) / moments.n + 1e-300), first + 9.0)
        while True:
            s = np.arange(first, top + 1.0, 0.25)
            curves = [moments.direct(s, np.asarray(columns, dtype=int)[None]) for columns in subsets]
            exact = np.all([EPS * loss[0] < MAX_LOST_NATS for _, _, loss in curves], axis=0)
            f = np.array([log_likelihood(moments, s, D[0], log_Q[0]) for D, log_Q, _ in curves])
            s, f = s[exact], f[:, exact] + moments.log_prior(s[exact])
            high = np.flatnonzero((f > f.max(axis=1, keepdims=True) - TAIL_NATS).any(axis=0))
            if len(s) > 2 and high[-1] < len(s) - 1:
                return cls(moments, (float(s[max(high[0] - 1, 0)]), float(s[high[-1] + 1])))
            top += 10.0

    def improved(self, lacks: Lacks) -> "NoiseGrid | None":
        """A grid without what this one lacks; None if it lacks nothing that can be given."""
        lo, hi = self.ends
        if lacks.below or lacks.above:
            lo = max(lo - ENDS_STEP, floor(self.moments)) if lacks.below else lo
            return NoiseGrid(self.moments, (lo, hi + ENDS_STEP if lacks.above else hi))
        more = lacks.coarse and self.n_nodes < 4 * NODES_OF_PANEL
        return NoiseGrid(self.moments, self.ends, 2 * self.n_nodes) if more else None

    def reaching(self, error: float) -> "NoiseGrid":
        """A grid that has the noise under which an error of this size in y is no outlier."""
        high = 2 * float(np.log(max(error, 1e-300))) + ENDS_STEP
        if self.moments.noise_std is not None or high < self.ends[1]:
            return self
        return NoiseGrid(self.moments, (self.ends[0], high), self.n_nodes)

    def integrated(self, D: np.ndarray, log_Q: np.ndarray, loss: np.ndarray):
        """log p(y) in the data's unit and what rounding may have changed of it, nats (B,); and Lacks."""
        out, error, lacks = np.empty(len(D)), np.empty(len(D)), Lacks()
        size = max((2**21) // len(self.fine), 1)  # numbers in an array that is exponentiated at a time
        for start in range(0, len(D), size):
            part = slice(start, start + size)
            f = self.log_joint(D[part], log_Q[part])
            at = np.argmax(f, axis=1)
            top = f[np.arange(len(f)), at]
            out[part] = top + np.log(np.exp(f - top[:, None]).sum(axis=1))
            near = np.abs(self.s - self.fine[at, None]).argmin(axis=1)
            lost = loss[part][np.arange(len(f)), near]
            error[part] = EPS * lost * (1 + self.moments.q * np.exp(-self.fine[at]))
            if self.moments.noise_std is None:
                beyond = f[:, [0, -1]] - top[:, None]
                is_open = self.ends[0] > least(self.moments)
                error[part] += 2 * np.exp(beyond[:, 0]) * is_open  # the prior's density falls like e^(s/2)
                can_move = is_open & (EPS * loss[part].max(axis=1) < MAX_LOST_NATS)
                below = (beyond[:, 0] > -TAIL_NATS / 1.5) & can_move & (self.ends[0] > floor(self.moments))
                above = beyond[:, 1] > -TAIL_NATS / 1.5
                # nats by which the interpolation may be wrong
                coarse = self._interpolation_error(D[part], log_Q[part], self.fine[at]) > 1e-9
                lacks = lacks.either(Lacks(bool(below.any()), bool(above.any()), bool(coarse.any())))
        error[~np.isfinite(error)] = np.inf
        return out - self.moments.n * np.log(self.moments.unit), error, lacks

    def _interpolation_error(self, D, log_Q, mode) -> np.ndarray:
        """Last coefficients in the panel of the mode, in units of what many rows make of rounding."""
        where, k = np.arange(len(D)), self.panel(mode)
        shape = (len(D), len(self.edges) - 1, self.n_nodes)
        D, log_Q = D.reshape(shape)[where, k], log_Q.reshape(shape)[where, k]
        power = np.exp(log_Q.mean(axis=1) - mode)  # Q/v
        error = np.abs(D @ self.tail).sum(axis=1) + power * np.abs(log_Q @ self.tail).sum(axis=1)
        return error / (1 + 1e-4 * self.moments.n)

    def log_joint(self, D: np.ndarray, log_Q: np.ndarray) -> np.ndarray:
        """log p(y, s) plus the logarithm of the quadrature's weights at its nodes, (B, M)."""
        return log_likelihood(self.moments, self.fine, D @ self.W, log_Q @ self.W) + self.log_weight

    def weights(self, D: np.ndarray, log_Q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log probabilities of the fine nodes, (B, M); weights of the nodes, (B, G); and E[σ²], E[σ], (B, 2).

        Weights have Σ_g w_g h(s_g) = E[h(s) | y] for smooth h.
        """
        f = self.log_joint(D, log_Q)
        log_p = f - log_sum_exp(f, axis=1)[:, None]
        p = np.exp(log_p)
        return log_p, p @ self.W.T, p @ np.exp(np.column_stack([self.fine, self.fine / 2]))

    def given(self, columns: list[int]):
        """Mean and covariance of (w, α), mean of b, and of (σ², σ) of one subset, in the moments' units."""
        at = Conditionals.of(self, columns)
        mean = at.omega @ at.means
        deviation = at.means - mean
        covariance = np.tensordot(at.omega, at.covariance, 1) + (deviation * at.omega[:, None]).T @ deviation
        return mean, covariance, float(at.omega @ at.intercepts), at.noise

    def log_density(self, columns: list[int], X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """log p(y | x) of one subset, (n,), for rows in the units of the moments.

        A mixture of Gaussians over the fine nodes, whose means and variances are interpolated.
        """
        at = Conditionals.of(self, columns)
        phi = np.column_stack([X[:, columns] - self.moments.m[columns], np.ones(len(X))])
        top = int(np.argmax(at.log_p))
        # nats that the worst row may gain by a larger noise, so that these nodes count for it, too
        gain = 0.5 * np.max((y - phi @ (at.means.T @ self.W[:, top])) ** 2) * np.exp(-self.fine[top])
        near = at.log_p > at.log_p[top] - TAIL_NATS - gain
        W, log_p = self.W[:, near], at.log_p[near]
        line = np.sum((phi @ at.covariance) * phi, axis=2).T  # variance of the line, (n, G)
        log_v = np.log(np.exp(self.s) + np.maximum(line, 0.0)) @ W
        squares = (y[:, None] - phi @ at.means.T @ W) ** 2 * np.exp(-log_v)
        return log_sum_exp(log_p - 0.5 * (np.log(2 * np.pi) + log_v + squares), axis=1)


class Conditionals(NamedTuple):
    """The posterior of one subset at the nodes s, and the density of these."""

    log_p: np.ndarray  #: log probabilities of the fine nodes of the grid, (M,)
    omega: np.ndarray  #: weights of the nodes, for means of smooth functions of s, (G,)
    noise: np.ndarray  #: means of σ² and σ, (2,)
    means: np.ndarray  #: of (w, α), (G, k + 1)
    covariance: np.ndarray  #: (G, k + 1, k + 1)
    intercepts: np.ndarray  #: means of b, (G,)

    @classmethod
    def of(cls, grid: "NoiseGrid", columns: list[int]) -> "Conditionals":
        """In the units of the moments."""
        moments, k, v = grid.moments, len(columns), np.exp(grid.s)
        n = moments.n
        D, log_Q, _ = moments.direct(grid.s, np.array(columns, dtype=int)[None])
        log_p, omega, noise = (found[0] for found in grid.weights(D, log_Q))
        A = np.broadcast_to(moments.C[np.ix_(columns, columns)], (len(v), k, k)).copy()
        A[:, np.arange(k), np.arange(k)] += v[:, None] * moments.precision[columns]
        A[:, np.arange(k), np.arange(k)] *= 1 + 4 * k * EPS  # a pivot that rounding takes
        inverse = np.linalg.inv(np.linalg.cholesky(A))
        t, z = inverse @ moments.m[columns], inverse @ moments.c[columns]  # (G, k)
        kappa = moments.tau**2 / v + 1 / n
        spread, r = kappa + np.sum(t * t, axis=1), moments.mean - np.sum(t * z, axis=1)
        means = np.empty((len(v), k + 1))
        means[:, :k] = np.einsum("gki,gk->gi", inverse, z + t * (r / spread)[:, None])
        means[:, k] = moments.mean - r / (n * spread)
        covariance = np.empty((len(v), k + 1, k + 1))
        root = _shrunk(t, kappa, spread) @ inverse
        covariance[:, :k, :k] = v[:, None, None] * (np.swapaxes(root, 1, 2) @ root)
        beside = np.einsum("gki,gk->gi", inverse, t) * (v / (n * spread))[:, None]
        covariance[:, :k, k] = covariance[:, k, :k] = beside
        covariance[:, k, k] = v * (spread - kappa) / (n**2 * kappa * spread) + moments.tau**2 / (n * kappa)
        return cls(log_p, omega, noise, means, covariance, moments.tau**2 * r / (v * spread))


def _shrunk(t: np.ndarray, kappa: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """H with HᵀH = I − t tᵀ/(κ + t²), without the difference, (G, k, k)."""
    if not t.shape[1]:
        return np.zeros((len(t), 0, 0))
    Q = np.linalg.qr(t[:, :, None], mode="complete")[0].copy()
    Q[:, :, 0] *= np.sqrt(kappa / spread)[:, None]
    return np.swapaxes(Q, 1, 2)


def log_likelihood(moments: Moments, s, D, log_Q) -> np.ndarray:
    """log p(y | s)."""
    return -0.5 * (moments.n * (np.log(2 * np.pi) + s) + D + np.exp(np.minimum(log_Q - s, 600.0)))


def least(moments: Moments) -> float:
    """No s is smaller a priori."""
    return float(moments.prior.least - moments.shift)


def floor(moments: Moments) -> float:
    """Smallest s that is looked at: below, rounding of q is larger than the noise."""
    lowest = np.log(EPS * moments.q / moments.n) if moments.q > 0 else -200.0
    return float(max(lowest, least(moments)))
