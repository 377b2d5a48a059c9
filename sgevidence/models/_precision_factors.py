r"""Algebra of Gaussians with the precision Λ = C diag(e^(−s)) Cᵀ, C unit lower triangular.

The numbers below the diagonal of C are r.

Symbols: ``mu, s`` (..., p), ``r`` (..., p (p − 1)/2), ``C`` (..., p, p), any leading shape.
"""

from functools import cache

import numpy as np
from autograd.extend import defvjp, primitive

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
