r"""Algebra of Gaussians with the precision Λ = C diag(e^(−s)) Cᵀ, C unit lower triangular.

The numbers below the diagonal of C are r.

Natural coefficients and prior are those of θ = [z, μ, s, r] in :mod:`._full`.  With v = Cᵀμ and d =
e^(−s)

    A = [−Λ_ii/2, −Λ_ij, C (d v), log π − ½ Σ_j (d_j v_j² + s_j + log 2π)],

μ from the centre of the rows, of F = [x_i x_j (i ≥ j), x, 1].  Both are written out with their derivatives:
autograd alone takes the time of a pass over a thousand rows.

Symbols: ``mu, s`` (..., p), ``r`` (..., p (p − 1)/2), ``C`` (..., p, p), any leading shape; for coefficients
``z`` (K, M), ``mu, s, d, v`` (K, p, M), ``C`` (K, p, p, M): particles last, so that inner loops are long.
"""

from functools import cache
from math import lgamma

import numpy as np
from autograd.extend import defvjp, primitive
from scipy.special import gammaln

from ...models import log_shares
from ._natural_sums import joined, on_log_gammas, parts_of

#: Nats that cancellation may take from a sum over rows before it is formed row by row.
MAX_LOSS_NATS = 0.01


def largest_term(mu: np.ndarray, s: np.ndarray, r: np.ndarray, x: np.ndarray) -> float:
    """Largest product that a row near a component is a difference of, mu and x from the same centre.

    Rows within a component's own spread of its mean count, since others have no share in it.  That spread is
    asked only where the rows' own would be too much.
    """
    size, d, most = np.abs(unit_lower(r)), np.exp(-s), np.abs(x).max(axis=0)

    def largest(reach: np.ndarray) -> float:
        return float(np.max(np.sum(np.matmul(reach[..., None, :], size)[..., 0, :] ** 2 * d, axis=-1)))

    found = largest(np.abs(mu) + most)
    if found * len(x) * np.finfo(float).eps < MAX_LOSS_NATS:
        return found
    spread = np.sqrt(np.diagonal(covariance_of(s, r), axis1=-2, axis2=-1))
    return largest(np.abs(mu) + np.minimum(3 * spread, most))


def covariance_of(s: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Σ (..., p, p) = C⁻ᵀ diag(e^s) C⁻¹."""
    root = inverse(unit_lower(r)) * np.exp(s / 2)[..., :, None]
    Sigma = np.matmul(np.swapaxes(root, -2, -1), root)
    return 0.5 * (Sigma + np.swapaxes(Sigma, -2, -1))


def times_root(s: np.ndarray, r: np.ndarray, u: np.ndarray) -> np.ndarray:
    """L⁻ᵀ u (..., p), whose covariance is Σ if that of u is the identity."""
    return np.matmul((np.exp(s / 2) * u)[..., None, :], inverse(unit_lower(r)))[..., 0, :]


def factors_of(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s (..., p) and r (..., p (p − 1)/2) of Σ (..., p, p), which is U diag(e^s) Uᵀ with U = C⁻ᵀ."""
    rest, p = np.array(covariance), covariance.shape[-1]
    U, d = np.zeros_like(rest), np.empty(rest.shape[:-1])
    for j in reversed(range(p)):
        d[..., j] = np.maximum(rest[..., j, j], np.finfo(float).tiny)
        U[..., : j + 1, j] = rest[..., : j + 1, j] / d[..., None, j]
        U[..., j, j] = 1.0
        u = U[..., :j, j]
        rest[..., :j, :j] -= d[..., j, None, None] * u[..., :, None] * u[..., None, :]
    return np.log(d), inverse(np.swapaxes(U, -2, -1))[(..., *below(p, -1))]


def inverse(C: np.ndarray) -> np.ndarray:
    """C⁻¹ by substitution: no θ is singular, and where one overflows the others are not harmed."""
    found = np.zeros_like(C) + np.eye(C.shape[-1])
    for i in range(1, C.shape[-1]):
        found[..., i, :i] = -np.matmul(C[..., i, None, :i], found[..., :i, :i])[..., 0, :]
    return found


def size_of(n_pairs: int) -> int:
    """p of p (p − 1)/2 pairs."""
    return round((1 + (1 + 8 * n_pairs) ** 0.5) / 2)


@cache
def below(p: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the numbers at and below the k-th diagonal of a p × p matrix."""
    return np.tril_indices(p, k)


@primitive
def unit_lower(r):
    """C (..., p, p) of r (..., p (p − 1)/2)."""
    p = size_of(r.shape[-1])
    C = np.zeros((*r.shape[:-1], p, p))
    C[..., range(p), range(p)] = 1.0
    C[(..., *below(p, -1))] = r
    return C


def _unit_lower_vjp(ans, r):
    return lambda g: g[(..., *below(ans.shape[-1], -1))]


defvjp(unit_lower, _unit_lower_vjp)


@primitive
def natural_of_factors(theta, K, center):
    """A (K, M, p (p + 1)/2 + p + 1) of θ (M, d)."""
    p, (z, mu, s, C) = len(center), _factors(theta, K, len(center))
    mu, d, (i, j) = mu - center[:, None], np.exp(-s), below(p, 0)
    scaled, v = C * d[:, None], _row_times(mu, C)
    A = np.empty((K, len(i) + p + 1, len(theta)))
    A[:, : len(i)] = _products(scaled, np.swapaxes(C, 1, 2))[:, i, j] * np.where(i == j, -0.5, -1.0)[:, None]
    A[:, len(i) : -1] = _times(scaled, v)
    A[:, -1] = log_shares(z, axis=0) - 0.5 * np.sum(d * v**2 + s + np.log(2 * np.pi), axis=1)
    return np.swapaxes(A, 1, 2)


def _natural_vjp(ans, theta, K, center):
    p, (z, mu, s, C) = len(center), _factors(theta, K, len(center))
    mu, d, (i, j) = mu - center[:, None], np.exp(-s), below(p, 0)
    v = _row_times(mu, C)

    def vjp(g):
        g = np.swapaxes(g, 1, 2)
        squares, linear, constant = g[:, : len(i)], g[:, len(i) : -1], g[:, -1:]
        G = np.empty_like(C)  # d/dΛ, symmetric
        G[:, i, j] = G[:, j, i] = -0.5 * squares
        GC = _products(G, C)
        on_linear = _row_times(linear, C)
        on_v = d * (on_linear - constant * v)
        on_d = np.sum(C * GC, axis=1) + on_linear * v - 0.5 * constant * v**2
        row, column = below(p, -1)
        on_r = 2 * GC[:, row, column] * d[:, column] + linear[:, row] * (d * v)[:, column]
        on_r += mu[:, row] * on_v[:, column]
        on_z = on_log_gammas(z, constant[:, 0])
        return joined(on_z, _times(C, on_v), -d * on_d - 0.5 * constant, on_r)

    return vjp


@primitive
def log_prior_of_factors(theta, K, p, a, tau, shapes, beta):
    """Log density of z_k = log Gamma(a), μ | Σ ~ N(0, tau² Σ) and Σ by Bartlett's decomposition, (M,).

    ``shapes`` (p,) are those of the inverse gamma prior of each e^(s_j).
    """
    (z, mu, s, C), later = _factors(theta, K, p), np.arange(p - 1, -1, -1)  # columns after each
    energy = np.exp(-s) * (beta * np.sum(C**2, axis=1) + _row_times(mu, C) ** 2 / (2 * tau**2))
    constant = np.sum(shapes * np.log(beta) - gammaln(shapes) + later / 2 * np.log(beta / np.pi))
    constant = K * (constant - p / 2 * np.log(2 * np.pi * tau**2) - lgamma(a))
    of_factors = energy + (shapes + (later + 1) / 2)[:, None] * s
    return constant + np.sum(a * z - np.exp(z), axis=0) - np.sum(of_factors, axis=(0, 1))


def _log_prior_vjp(ans, theta, K, p, a, tau, shapes, beta):
    (z, mu, s, C), later, (row, column) = _factors(theta, K, p), np.arange(p - 1, -1, -1), below(p, -1)
    d, v = np.exp(-s), _row_times(mu, C)

    def vjp(g):
        on_v = -d * v / tau**2
        on_s = d * (beta * np.sum(C**2, axis=1) + v**2 / (2 * tau**2))
        on_s -= (shapes + (later + 1) / 2)[:, None]
        on_r = mu[:, row] * on_v[:, column] - 2 * beta * d[:, column] * C[:, row, column]
        return g[:, None] * joined(a - np.exp(z), _times(C, on_v), on_s, on_r)

    return vjp


defvjp(natural_of_factors, _natural_vjp, argnums=(0,))
defvjp(log_prior_of_factors, _log_prior_vjp, argnums=(0,))


def _factors(theta, K, p):
    """z (K, M), μ and s (K, p, M), C (K, p, p, M)."""
    (i, j), (z, mu, s, r) = below(p, -1), parts_of(theta, K, p, p, p * (p - 1) // 2)
    C = np.zeros((K, p, p, len(theta)))
    C[:, range(p), range(p)] = 1.0
    C[:, i, j] = r
    return z, mu, s, C


def _times(C, v):
    return np.einsum("kijm,kjm->kim", C, v)


def _row_times(v, C):
    """Cᵀ v."""
    return np.einsum("kijm,kim->kjm", C, v)


def _products(A, B):
    """A B of matrices (K, p, p, M)."""
    # columns from which a call of BLAS for each matrix takes less time than a loop over the particles of all
    if A.shape[1] < 10:
        return np.einsum("kijm,kjlm->kilm", A, B)
    A, B = (np.ascontiguousarray(np.moveaxis(each, -1, 1)) for each in (A, B))  # as BLAS takes them
    return np.moveaxis(A @ B, 1, -1)
