r"""Log evidence of a mixture that overlaps in many columns, from Gibbs chains that start at the truth.

In many columns allocations are too many, and sequential runs a hundred nats low.  But groups are apart enough
for chains to keep their labels, and rows enough for the posterior of one labelling to be all but Gaussian in

    φ = (log w_k/w_K, μ, log σ²),    p(φ) = p(x, θ) Π_k w_k Π_kj σ²_kj,

so Ẑ = K! times a bridge (Meng and Wong 1996) between p and a Gaussian with the moments of other chains.  The
package has the same idea in its own code; here chains start at the groups that made the rows, which no search
had to find, and are longer, and labels are not aligned.

Spare components start empty.  With E of K empty a mixture of K − m has

    Z_{K−m} = Z_K E[C(E, m)/C(K, m)] · Γ(K + n)/Γ(K) · Γ(K − m)/Γ(K − m + n),

which any draw of an allocation could be counted for (weights are Dirichlet(1)).

Chains from the truth do not see that two of its groups may be better as one, which they would have to empty
first.  So each pair is merged, and the evidence of one group fewer is taken from the moments of chains alone,
with the same factor.  Where one of them comes near that of the truth the reference is not sound.
"""

from itertools import combinations
from math import lgamma

import numpy as np
from bridge import meng_wong
from calibration_mixture_evidence import Theta, allocated, drawn, log_target, summed
from references import Reference
from scipy.linalg import solve_triangular
from scipy.special import binom, digamma

#: Chains of each of two halves, sweeps before and between the draws that are kept, and these.
CHAINS, BURN, BETWEEN, KEPT = 40, 150, 4, 60
#: Draws of the Gaussian.
DRAWS = 3000
#: Sweeps before and between draws of groups that are merged, and these; nats that their evidences err by.
SHORT, NEAR = (60, 2, 25), 5.0


def from_the_truth(X: np.ndarray, labels: np.ndarray, spare: int, rng: np.random.Generator) -> Reference:
    """Log evidence of as many components as there are groups, or of so many more."""
    K, n = labels.max() + 1, len(X)
    estimates = bridges(X, np.eye(K)[labels], rng)
    value, std = np.mean(estimates, axis=0)
    log_Z = value + lgamma(K + 1)
    error = max(std / np.sqrt(2), abs(estimates[0][0] - estimates[1][0]) / 2)
    if spare:
        empty = empties(X, np.eye(K + spare)[labels], rng)
        f = np.mean(binom(empty, spare) / binom(K + spare, spare), axis=0)
        log_Z += lgamma(K + spare) - lgamma(K + spare + n) - lgamma(K) + lgamma(K + n) - np.log(f.mean())
        error = np.hypot(error, f.std() / f.mean() / np.sqrt(len(f)))
    is_rivalled = rival(X, labels, rng) > value - NEAR
    method = "bridge sampling from a Gaussian, from the truth"
    return Reference(float(log_Z), float(error), 1.0, method, np.inf if is_rivalled else 1.0)


def rival(X: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> float:
    """The most that two of the groups hold as one, beside one labelling of all of them, nats."""
    K, n, best = labels.max() + 1, len(X), -np.inf
    for one, other in combinations(range(K), 2):
        merged = np.where(labels == other, one, labels)
        merged = np.eye(K - 1)[merged - (merged > other)]
        best = max(best, by_moments(X, merged, rng))
    return best + lgamma(K) - lgamma(K + n) - lgamma(K - 1) + lgamma(K - 1 + n) if K > 1 else best


def by_moments(X: np.ndarray, one: np.ndarray, rng: np.random.Generator) -> float:
    """log Z of one labelling as if its chains were Gaussian, and their draws independent.

    The log determinant of a sample covariance is too low in the mean (Wishart): of 163 numbers and 1000 draws
    it would make this 7 nats too low.
    """
    phi = chains(X, one, rng, *SHORT)[0].reshape(CHAINS * SHORT[2], -1)
    N, q = phi.shape
    log_p, (_, log_det) = log_density(X, phi, one.shape[1]), np.linalg.slogdet(np.cov(phi.T))
    log_det -= np.sum(digamma(0.5 * (N - 1 - np.arange(q)))) - q * np.log(0.5 * (N - 1))
    return float(log_p.mean() + 0.5 * (q + q * np.log(2 * np.pi) + log_det))


def bridges(X: np.ndarray, one: np.ndarray, rng: np.random.Generator) -> list[tuple[float, float]]:
    """(log Z of one labelling, its error) by chains of each half and a Gaussian of the other's moments."""
    halves = [chains(X, one, rng)[0] for _ in range(2)]
    found = []
    for own, other in (halves, halves[::-1]):
        m, L = other.mean(axis=(0, 1)), np.linalg.cholesky(np.cov(other.reshape(-1, other.shape[-1]).T))
        draws = m + rng.standard_normal((DRAWS, len(m))) @ L.T
        log_w = log_density(X, draws, one.shape[1]) - log_gaussian(draws, m, L)
        flat = own.reshape(-1, len(m))
        log_p = log_density(X, flat, one.shape[1]) - log_gaussian(flat, m, L)
        found.append(meng_wong(log_p.reshape(own.shape[:2]), log_w))
    return found


def empties(X: np.ndarray, one: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Components without rows, (KEPT, CHAINS)."""
    return chains(X, one, rng)[1]


def chains(
    X: np.ndarray,
    one: np.ndarray,
    rng: np.random.Generator,
    burn: int = BURN,
    between: int = BETWEEN,
    kept: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """φ (kept, CHAINS, q) and empty components (kept, CHAINS), from one allocation of rows (n, K)."""
    kept = kept or KEPT
    theta = drawn(summed(X, np.repeat(one[None], CHAINS, axis=0)), rng)
    phi, empty = [], []
    for sweep in range(1, burn + kept * between + 1):
        stats = allocated(X, theta, rng)[1]
        theta = drawn(stats, rng)
        if sweep > burn and (sweep - burn) % between == 0:
            phi.append(flattened(theta))
            empty.append(np.sum(stats.counts == 0, axis=1))
    return np.array(phi), np.array(empty)


def flattened(theta: Theta) -> np.ndarray:
    """φ, (M, K − 1 + 2 p K)."""
    u = np.log(theta.weights[:, :-1] / theta.weights[:, -1:])
    parts = (theta.means, np.log(theta.variances))
    return np.column_stack([u, *(part.transpose(1, 0, 2).reshape(len(u), -1) for part in parts)])


def log_density(X: np.ndarray, phi: np.ndarray, K: int) -> np.ndarray:
    """log p(φ), (M,)."""
    M, p = len(phi), X.shape[1]
    u = np.column_stack([phi[:, : K - 1], np.zeros(M)])
    w = np.exp(u - u.max(axis=1, keepdims=True))
    w /= w.sum(axis=1, keepdims=True)
    means, log_v = phi[:, K - 1 :].reshape(M, 2, p, K).transpose(1, 2, 0, 3)
    jacobian = np.log(w).sum(axis=1) + log_v.sum(axis=(0, 2))
    return log_target(X, Theta(w, means, np.exp(log_v))) + jacobian


def log_gaussian(phi: np.ndarray, m: np.ndarray, L: np.ndarray) -> np.ndarray:
    x = solve_triangular(L, (phi - m).T, lower=True)
    return -0.5 * np.sum(x**2, axis=0) - 0.5 * len(m) * np.log(2 * np.pi) - np.log(np.diag(L)).sum()
