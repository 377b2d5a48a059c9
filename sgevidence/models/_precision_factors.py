r"""Algebra of Gaussians with the precision Λ = C diag(e^(−s)) Cᵀ, C unit lower triangular.

The numbers below the diagonal of C are r.  The natural coefficients of F = [x_i x_j (i ≥ j), x, 1] and the
way back to s, r and μ are formed by hand, since autograd alone takes twice the time of a pass over some
hundreds of rows: with v = Cᵀμ and d = e^(−s),

    A = [−Λ_ii/2, −Λ_ij, C (d v), log π − ½ Σ_j (d_j v_j² + s_j + log 2π)].

Symbols: ``mu, s`` (..., p), ``r`` (..., p (p − 1)/2), ``C`` (..., p, p), any leading shape; ``g`` =
derivatives with respect to A.
"""

import numpy as np
from autograd.core import defvjp_argnums
from autograd.extend import defvjp, primitive

#: Nats that cancellation may take from a sum over rows before it is formed row by row.
MAX_LOSS_NATS = 0.01


def largest_term(mu: np.ndarray, s: np.ndarray, r: np.ndarray, x: np.ndarray) -> float:
    """Largest product that a row near a component is a difference of, mu and x from the same centre.

    Rows within a component's own spread of its mean count, since others have no share in it.  That spread is
    asked only where the rows' own would be too much.
    """
    L = np.abs(unit_lower(r)) * np.exp(-s / 2)[..., None, :]
    reach = np.abs(mu) + np.abs(x).max(axis=0)
    most = float(np.max(np.sum(np.matmul(reach[..., None, :], L) ** 2, axis=(-2, -1))))
    if most * len(x) * np.finfo(float).eps < MAX_LOSS_NATS:
        return most
    spread = np.sqrt(np.diagonal(covariance_of(s, r), axis1=-2, axis2=-1))
    reach = np.abs(mu) + np.minimum(3 * spread, np.abs(x).max(axis=0))
    return float(np.max(np.sum(np.matmul(reach[..., None, :], L) ** 2, axis=(-2, -1))))


def covariance_of(s: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Σ (..., p, p) = C⁻ᵀ diag(e^s) C⁻¹."""
    root = np.linalg.inv(unit_lower(r)) * np.exp(s / 2)[..., :, None]
    Sigma = np.matmul(np.swapaxes(root, -2, -1), root)
    return 0.5 * (Sigma + np.swapaxes(Sigma, -2, -1))


def times_root(s: np.ndarray, r: np.ndarray, u: np.ndarray) -> np.ndarray:
    """L⁻ᵀ u (..., p), whose covariance is Σ if that of u is the identity."""
    C = unit_lower(r)
    return np.linalg.solve(np.swapaxes(C, -2, -1), (np.exp(s / 2) * u)[..., None])[..., 0]


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
    below = np.tril_indices(p, -1)
    return np.log(d), np.swapaxes(np.linalg.inv(U), -2, -1)[(..., *below)]


def size_of(n_pairs: int) -> int:
    """p of p (p − 1)/2 pairs."""
    return round((1 + (1 + 8 * n_pairs) ** 0.5) / 2)


@primitive
def unit_lower(r):
    """C (..., p, p) of r (..., p (p − 1)/2)."""
    p = size_of(r.shape[-1])
    i, j = np.tril_indices(p, -1)
    C = np.zeros((*r.shape[:-1], p, p))
    C[..., np.arange(p), np.arange(p)] = 1.0
    C[..., i, j] = r
    return C


def _unit_lower_vjp(ans, r):
    i, j = np.tril_indices(ans.shape[-1], -1)
    return lambda g: g[..., i, j]


@primitive
def natural_of_factors(log_pi, mu, s, r):
    """A (K, M, p (p + 1)/2 + p + 1) of log π (M, K) and blocks that begin with (M, K)."""
    C, d = unit_lower(r), np.exp(-s)
    i, j = np.tril_indices(mu.shape[-1])
    scaled = C * d[..., None, :]
    v = _row_times(mu, C)
    Lambda = np.matmul(scaled, np.swapaxes(C, -2, -1))
    A = np.empty((*log_pi.T.shape, len(i) + mu.shape[-1] + 1))
    out = np.swapaxes(A, 0, 1)
    out[..., : len(i)] = Lambda[..., i, j] * np.where(i == j, -0.5, -1.0)
    out[..., len(i) : -1] = _times(scaled, v)
    out[..., -1] = log_pi - 0.5 * np.sum(d * v**2 + s + np.log(2 * np.pi), axis=-1)
    return A


def _natural_vjp(argnums, ans, args, kwargs):
    """Derivatives of all four arguments, which share most of the work."""
    _, mu, s, r = args
    C, d = unit_lower(r), np.exp(-s)
    i, j = np.tril_indices(mu.shape[-1])
    v = _row_times(mu, C)

    def vjp(g):
        g = np.swapaxes(g, 0, 1)
        quadratic, linear, constant = g[..., : len(i)], g[..., len(i) : -1], g[..., -1:]
        G = np.zeros(C.shape)
        G[..., i, j] = quadratic * np.where(i == j, -0.25, -0.5)
        G = G + np.swapaxes(G, -2, -1)  # d/dΛ, symmetric
        GC = np.matmul(G, C)
        on_linear = _row_times(linear, C)
        on_v = d * (on_linear - constant * v)
        on_d = np.sum(C * GC, axis=-2) + on_linear * v - 0.5 * constant * v**2
        on_C = 2 * GC * d[..., None, :] + linear[..., :, None] * (d * v)[..., None, :]
        on_C += mu[..., :, None] * on_v[..., None, :]
        below = on_C[(..., *np.tril_indices(mu.shape[-1], -1))]
        found = constant[..., 0], _times(C, on_v), -d * on_d - 0.5 * constant, below
        return [found[k] for k in argnums]

    return vjp


def _times(C, v):
    return np.matmul(C, v[..., None])[..., 0]


def _row_times(v, C):
    """Cᵀ v."""
    return np.matmul(v[..., None, :], C)[..., 0, :]


defvjp(unit_lower, _unit_lower_vjp)
defvjp_argnums(natural_of_factors, _natural_vjp)
