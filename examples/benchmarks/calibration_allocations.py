r"""Log evidence of a mixture by a sum over allocations: all of them for few rows, particles for more.

Parameters integrate out given which component each row comes from, z.  So with n_k rows in component k,

    p(x_t, z_t = k | x_<t, z_<t) = (n_k + 1)/(t − 1 + K) Π_j t-density(x_tj | rows of k),

and particles z_<t carry a sequential Monte Carlo over the rows (Fearnhead 2004; Chopin 2002), which sums
over z_t exactly and is moved, whenever it is resampled, by collapsed Gibbs sweeps over all rows so far.
Labels need no thought: the prior is symmetric in them.  Independent runs, each with the rows in another
order, are averaged (each is unbiased for the evidence itself), and what they differ by is the error.

Symbols
-------
=========  ==========  =================================================================
z          ``z``       component of each row, (runs · particles, rows so far)
n_k, Σx    ``counts``  rows of each component, and their sums and sums of squares
=========  ==========  =================================================================
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from references import Reference
from scipy.special import gammaln, logsumexp

#: Prior: μ | σ² ~ N(0, σ²/KAPPA), σ² ~ InvGamma(SHAPE, SCALE), weights Dirichlet(1).
KAPPA, SHAPE, SCALE = 0.25, 1.0, 1.0


class Statistics(NamedTuple):
    """What a component's rows amount to, for P particles and K components."""

    counts: np.ndarray  #: (P, K)
    sums: np.ndarray  #: (p, P, K): columns first, so that products run over long axes
    squares: np.ndarray  #: (p, P, K)

    @classmethod
    def of_nothing(cls, P: int, K: int, p: int) -> "Statistics":
        return cls(np.zeros((P, K)), np.zeros((p, P, K)), np.zeros((p, P, K)))

    def move(self, x: np.ndarray, k: np.ndarray, sign: float) -> None:
        """Put a row into component ``k`` (P,) of each particle, or take it out."""
        at = np.arange(len(k)), k
        self.counts[at] += sign
        for j, value in enumerate(x):
            self.sums[j][at] += sign * value
            self.squares[j][at] += sign * value**2

    def log_joint(self, x: np.ndarray) -> np.ndarray:
        """log p(x, z = k | rows so far), (P, K)."""
        n = self.counts
        total = n[0].sum()
        kappa, a = KAPPA + n, SHAPE + 0.5 * n
        # what depends on the number of rows alone is looked up
        table = np.arange(int(n.max()) + 1.0)
        a_table = SHAPE + 0.5 * table
        each = gammaln(a_table + 0.5) - gammaln(a_table)
        each -= 0.5 * np.log(2 * np.pi * (KAPPA + table + 1) / (KAPPA + table))
        out = np.log((n + 1) / (total + n.shape[1])) + len(x) * each[n.astype(int)]
        for j, value in enumerate(x):
            m = self.sums[j] / kappa
            b = SCALE + 0.5 * (self.squares[j] - kappa * m**2)
            out -= 0.5 * np.log(b) + (a + 0.5) * np.log1p((value - m) ** 2 * kappa / (2 * b * (kappa + 1)))
        return out

    def taken(self, who: np.ndarray) -> "Statistics":
        return Statistics(self.counts[who], self.sums[:, who], self.squares[:, who])


def by_particles(
    X: np.ndarray, K: int, rng: np.random.Generator, runs: int, particles: int, sweeps: int = 1
) -> tuple[Reference, Statistics, np.ndarray]:
    """Log evidence by ``runs`` independent sequential runs, all in one array; their particles and weights."""
    (n, p), P = X.shape, runs * particles
    orders = np.array([rng.permutation(n) for _ in range(runs)])
    rows = np.repeat(orders, particles, axis=0)  # the row that each particle meets at each time
    z, state = np.empty((P, n), dtype=np.intp), Statistics.of_nothing(P, K, p)
    log_w, log_Z = np.zeros((runs, particles)), np.zeros(runs)
    for t in range(n):
        z[:, t], increment = _draw(state, X[rows[:, t]].T, rng)
        log_w += increment.reshape(runs, particles)
        state.move(X[rows[:, t]].T, z[:, t], 1.0)
        w = np.exp(log_w - log_w.max(axis=1, keepdims=True))
        if np.any(w.sum(axis=1) ** 2 < 0.5 * particles * np.sum(w**2, axis=1)):
            log_Z += logsumexp(log_w, axis=1) - np.log(particles)
            who = _systematic(w, rng)
            z[:, : t + 1], state = z[who, : t + 1], state.taken(who)
            log_w[:] = 0.0
            for _ in range(sweeps):
                for s in range(t + 1):
                    x = X[rows[:, s]].T
                    state.move(x, z[:, s], -1.0)
                    z[:, s] = _draw(state, x, rng)[0]
                    state.move(x, z[:, s], 1.0)
    log_Z += logsumexp(log_w, axis=1) - np.log(particles)
    each = np.exp(log_Z - log_Z.max())
    relative = each.std(ddof=1) / each.mean() / np.sqrt(runs)
    value = float(log_Z.max() + np.log(each.mean()))
    known = Reference(value, float(relative), 1.0, f"{runs} sequential runs on allocations")
    weights = np.exp(log_w - logsumexp(log_w, axis=1)[:, None]) * each[:, None]
    return known, state, (weights / weights.sum()).ravel()


def _draw(state: Statistics, x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A component for each particle's row x (p, P), and log p(x | rows so far)."""
    log_p = state.log_joint(x[:, :, None])
    total = logsumexp_rows(log_p)
    cumulative = np.cumsum(np.exp(log_p - total[:, None]), axis=1)
    u = rng.random(len(log_p)) * cumulative[:, -1]
    return np.sum(u[:, None] > cumulative[:, :-1], axis=1), total


def logsumexp_rows(a: np.ndarray) -> np.ndarray:
    top = a.max(axis=1)
    return top + np.log(np.exp(a - top[:, None]).sum(axis=1))


def _systematic(w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Ancestors (runs · particles,), each run among its own."""
    runs, M = w.shape
    cumulative = np.cumsum(w / w.sum(axis=1, keepdims=True), axis=1)
    points = (rng.random((runs, 1)) + np.arange(M)) / M
    own = [
        np.minimum(np.searchsorted(c, u), M - 1) + r * M for r, (c, u) in enumerate(zip(cumulative, points))
    ]
    return np.concatenate(own)


def by_enumeration(X: np.ndarray, K: int) -> Reference:
    """Log evidence as the sum over all Kⁿ allocations, for some ten rows."""
    n, p = X.shape
    z = np.array(list(product(range(K), repeat=n)))
    state, log_p = Statistics.of_nothing(len(z), K, p), np.zeros(len(z))
    for t in range(n):
        x = np.broadcast_to(X[t][:, None], (p, len(z)))
        log_p += state.log_joint(x[:, :, None])[np.arange(len(z)), z[:, t]]
        state.move(x, z[:, t], 1.0)
    return Reference(float(logsumexp(log_p)), 0.0, 1.0, "all allocations")
