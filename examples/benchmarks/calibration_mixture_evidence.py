r"""Log evidence of a mixture by bridge sampling from the allocations that sequential runs end with.

    q(θ) = (1/S) Σ_s (1/K!) Σ_π p(θ | x, π z_s),    Ẑ = E_q[p h] / E_p[q h],    h = 1 / (s_p p/Ẑ + s_q q)

(Meng and Wong 1996; Frühwirth-Schnatter 2004) takes draws of q and of Gibbs chains.  Importance sampling, the
first expectation with h = 1/q, is too low without a sign of it where q is narrower than the posterior, as
where components overlap: by 0.2 nats with a twentieth of the draws effective.  Both may miss a basin; the
sequential runs of ``calibration_allocations.py`` may not, but are less precise.  So they are held against
each other, and where they differ, or q fits badly, the runs' own value stands.  The package has the same q
and the same bridge in its own code; here the allocations come from another search, chains are longer, and
the sum over labels π is written out over subsets.

Symbols
-------
=====  ==========  ==========================================================
z_s    ``S``       rows, sums and squares of the components of allocation s
θ      ``Theta``   weights (M, K), means and variances (p, M, K)
=====  ==========  ==========================================================
"""

from collections.abc import Callable
from math import factorial
from typing import NamedTuple

import numpy as np
from bridge import meng_wong
from calibration_allocations import KAPPA, SCALE, SHAPE, Statistics, by_enumeration, by_particles
from references import Reference
from scipy.special import gammaln, logsumexp
from sklearn.cluster import KMeans

#: Allocations of each kind in q, pilot draws, draws; the share of draws that must be effective.
S, PILOT, DRAWS, ENOUGH = 120, 1000, 1500, 0.01
#: Gibbs sweeps of each chain that starts from k-means.
SWEEPS = 40
#: Draws of each chain for the bridge.
KEPT = 12
#: Sweeps of each chain before and between its draws, if rows · components · numbers of each are swept no more
#: often.  On five overlapping groups (K = 3, 200 rows) 60 in all were up to 0.2 nats low.
MOST_SWEPT, LONGEST, SHORTEST = 6_000_000, 1600, 100
#: Share of q's draws from which on the shortest chains do: they start from the posterior, all but exactly.
PLENTY = 0.5
METHOD = "bridge sampling from allocations of sequential runs"
#: Numbers in one array of (draws, rows, components).
BLOCK = 2_000_000


class Theta(NamedTuple):
    weights: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    def only(self, part: slice) -> "Theta":
        return Theta(self.weights[part], self.means[:, part], self.variances[:, part])


def mixture(
    X: np.ndarray,
    K: int,
    rng: np.random.Generator,
    runs: int = 4,
    particles: int = 80,
    starts: Callable | None = None,
) -> Reference:
    """All allocations one by one if these are few, else sequential runs and importance sampling from them.

    Other allocations come from ``starts``, or from chains that start at k-means.
    """
    if K ** len(X) < 70_000:
        return by_enumeration(X, K)
    run, ends, weights = by_particles(X, K, rng, runs, particles)
    # each run as often as the others: its own evidence is too rough to judge its basins by
    within = weights.reshape(runs, particles)
    within = (within / within.sum(axis=1, keepdims=True)).ravel() / runs
    chains = (starts or from_clusters)(X, K, rng)
    found = joined(ends.taken(rng.choice(len(within), S, p=within)), chains)
    theta, log_w = weighted_draws(X, found, PILOT, rng)
    w = np.exp(log_w - logsumexp(log_w))
    halves = [bridged(X, found, theta.only(rng.choice(PILOT, S, p=w)), rng) for _ in range(2)]
    value, std, share = np.mean(halves, axis=0)
    error = max(std / np.sqrt(2), abs(halves[0][0] - halves[1][0]) / 2)
    if share < ENOUGH or value < run.log_evidence - 4 * np.hypot(error, max(run.std, 0.1)):
        return run
    return Reference(float(value), float(error), float(share), METHOD)


def sequential(X: np.ndarray, K: int, rng: np.random.Generator, runs: int, particles: int) -> Reference:
    """The runs alone: where components overlap allocations are many, and each says little."""
    return by_particles(X, K, rng, runs, particles)[0]


def bridged(X: np.ndarray, found: Statistics, theta: Theta, rng: np.random.Generator) -> tuple:
    """Log evidence, its error and the effective share of draws of q, by one bridge.

    Allocations of q are those of S draws of the posterior θ, and as many of those found; chains start from
    draws of q, by weight.
    """
    again = allocated(X, theta, rng)[1]
    q = joined(found.taken(rng.choice(len(found.counts), S, replace=False)), again)
    theta, log_w = weighted_draws(X, q, DRAWS, rng)
    w = np.exp(log_w - logsumexp(log_w))
    share = 1 / np.sum(w**2) / DRAWS
    numbers = len(X) * theta.weights.shape[1] * (2 * X.shape[1] + 1)
    sweeps = SHORTEST if share > PLENTY else int(np.clip(MOST_SWEPT / numbers, SHORTEST, LONGEST))
    own = posterior_weights(X, q, theta.only(rng.choice(DRAWS, S, p=w)), sweeps, rng)
    return *meng_wong(own, log_w), share


def posterior_weights(
    X: np.ndarray, q: Statistics, theta: Theta, sweeps: int, rng: np.random.Generator
) -> np.ndarray:
    """log p(x | θ) p(θ) / q(θ) along the second half of Gibbs chains from θ, (KEPT, S)."""
    n_sweeps, log_w = sweeps // (2 * KEPT), []
    for kept in range(2 * KEPT):
        for _ in range(n_sweeps):
            theta = drawn(allocated(X, theta, rng)[1], rng)
        if kept >= KEPT:
            log_w.append(log_target(X, theta) - log_mixture(theta, q))
    return np.array(log_w)


def joined(one: Statistics, two: Statistics) -> Statistics:
    return Statistics(*(np.concatenate([a, b], axis=-2) for a, b in zip(one, two)))


def from_clusters(X: np.ndarray, K: int, rng: np.random.Generator) -> Statistics:
    """Where Gibbs chains get to from k-means, its clusters merged at random if there are too many."""
    starts = []
    for chain in range(S):
        clusters = min(K + chain % 4, len(X))
        seed = int(rng.integers(2**31))
        z = KMeans(clusters, init="random" if chain % 2 else "k-means++", n_init=1, random_state=seed).fit(X)
        merge = np.r_[rng.permutation(min(K, clusters)), rng.integers(K, size=max(0, clusters - K))]
        starts.append(np.eye(K)[rng.permutation(merge)[z.labels_]])
    return settled(X, np.array(starts), rng)


def settled(X: np.ndarray, one: np.ndarray, rng: np.random.Generator) -> Statistics:
    """Where Gibbs chains get to from allocations of ones and zeros, (S, n, K)."""
    stats = summed(X, one)
    for _ in range(SWEEPS):
        stats = allocated(X, drawn(stats, rng), rng)[1]
    return stats


def conditional(stats: Statistics) -> tuple:
    """κ, m, a, b of normal–inverse-gamma conditionals: (S, K), (p, S, K), (S, K), (p, S, K)."""
    kappa, a = KAPPA + stats.counts, SHAPE + 0.5 * stats.counts
    m = stats.sums / kappa
    return kappa, m, a, SCALE + 0.5 * (stats.squares - kappa * m**2)


def drawn(stats: Statistics, rng: np.random.Generator) -> Theta:
    """One θ ~ p(θ | x, z) for each allocation."""
    kappa, m, a, b = conditional(stats)
    gamma = rng.gamma(1 + stats.counts)
    variances = b / rng.gamma(np.broadcast_to(a, b.shape))
    means = m + np.sqrt(variances / kappa) * rng.standard_normal(m.shape)
    return Theta(gamma / gamma.sum(axis=1, keepdims=True), means, variances)


def weighted_draws(X: np.ndarray, stats: Statistics, size: int, rng: np.random.Generator) -> tuple:
    """Draws of q and log p(x | θ) p(θ) / q(θ)."""
    theta = drawn(stats.taken(rng.integers(len(stats.counts), size=size)), rng)
    return theta, log_target(X, theta) - log_mixture(theta, stats)


def log_mixture(theta: Theta, stats: Statistics) -> np.ndarray:
    """log q(θ), (M,)."""
    blocks = _blocks(theta, stats.counts.size * len(stats.sums))
    return np.concatenate([log_proposal(t, stats) for t in blocks])


def log_target(X: np.ndarray, theta: Theta) -> np.ndarray:
    """log p(x | θ) p(θ), (M,)."""
    prior = Statistics.of_nothing(1, theta.weights.shape[1], len(theta.means))
    return log_likelihood(X, theta) + log_proposal(theta, prior)


def log_likelihood(X: np.ndarray, theta: Theta) -> np.ndarray:
    blocks = _blocks(theta, len(X) * theta.weights.shape[1])
    return np.concatenate([logsumexp(log_terms(X, t), axis=2).sum(axis=1) for t in blocks])


def log_terms(X: np.ndarray, theta: Theta) -> np.ndarray:
    """log π_k N(x | μ_k, σ_k²), (M, n, K)."""
    out = np.log(theta.weights)[:, None] + np.zeros((1, len(X), 1))
    for x, m, v in zip(X.T, theta.means, theta.variances):
        out -= 0.5 * ((x[:, None] - m[:, None]) ** 2 / v[:, None] + np.log(2 * np.pi * v)[:, None])
    return out


def allocated(X: np.ndarray, theta: Theta, rng: np.random.Generator) -> tuple[np.ndarray, Statistics]:
    """One z ~ p(z | x, θ) for each θ, (M, n), and its statistics."""
    labels, parts = [], []
    for t in _blocks(theta, len(X) * theta.weights.shape[1]):
        log_p = log_terms(X, t)
        z = np.argmax(log_p + rng.gumbel(size=log_p.shape), axis=2)
        labels.append(z)
        parts.append(summed(X, np.eye(log_p.shape[2])[z]))
    return np.concatenate(labels), Statistics(*(np.concatenate(f, axis=-2) for f in zip(*parts)))


def summed(X: np.ndarray, one: np.ndarray) -> Statistics:
    """Statistics of allocations as ones and zeros, (M, n, K)."""
    sums = [np.einsum("n,mnk->mk", x, one) for x in X.T]
    squares = [np.einsum("n,mnk->mk", x**2, one) for x in X.T]
    return Statistics(one.sum(axis=1), np.array(sums), np.array(squares))


def log_proposal(theta: Theta, stats: Statistics) -> np.ndarray:
    """log q(θ), all labellings averaged, (M,)."""
    kappa, m, a, b = conditional(stats)
    n, K = stats.counts, stats.counts.shape[1]
    A = (
        n[None, :, None, :] * np.log(theta.weights)[:, None, :, None]
    )  # of θ's component k under z_s' component l
    for j, (mean, variance) in enumerate(zip(theta.means, theta.variances)):
        v = variance[:, None, :, None]
        A = A + (a * np.log(b[j]) - gammaln(a) + 0.5 * np.log(kappa / (2 * np.pi)))[None, :, None, :]
        A -= (a + 1.5)[None, :, None, :] * np.log(v)
        deviation = mean[:, None, :, None] - m[j][None, :, None, :]
        A -= (b[j][None, :, None, :] + 0.5 * kappa[None, :, None, :] * deviation**2) / v
    normaliser = gammaln(K + n.sum(axis=1)) - gammaln(1 + n).sum(axis=1)
    return logsumexp(log_permanent(A) + normaliser - np.log(factorial(K) * len(n)), axis=1)


def log_permanent(A: np.ndarray) -> np.ndarray:
    """log Σ_π Π_k exp A[..., k, π(k)], by the rows so far over every subset of columns.

    Columns and then rows are scaled to at most one: many rows of data make columns differ by a thousand nats.
    """
    K, columns = A.shape[-1], A.max(axis=-2, keepdims=True)
    rows = (A - columns).max(axis=-1, keepdims=True)
    E = np.exp(A - columns - rows)
    sums = {0: np.ones(A.shape[:-2])}
    for subset in range(1, 2**K):
        row = subset.bit_count() - 1
        members = [l for l in range(K) if subset >> l & 1]
        sums[subset] = np.sum([sums[subset ^ 1 << l] * E[..., row, l] for l in members], axis=0)
    with np.errstate(divide="ignore"):
        return np.log(sums[2**K - 1]) + columns.sum(axis=(-1, -2)) + rows.sum(axis=(-1, -2))


def _blocks(theta: Theta, numbers: int) -> list[Theta]:
    size = max(1, BLOCK // numbers)
    return [theta.only(slice(i, i + size)) for i in range(0, len(theta.weights), size)]
