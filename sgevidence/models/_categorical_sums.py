r"""The log-likelihood of latent classes, summed over a block of rows, as one matrix product.

With indicators F = [1{x_j = l}, 1] of the levels and A_k = [log φ_k, log π_k],

    log π_k Π_j φ_kj(x_rj) = A_k · F_r,

so that all components, particles and rows are A Fᵀ.  A missing value has no indicator, and is a factor of
one.

Symbols: ``F`` = indicators of each row, (n, q + 1); ``A`` = coefficients of each component and particle, (K,
M, q + 1); ``R`` = logarithms, then responsibilities, (K, m, n) of m particles at a time; ``T`` = Σ_r w_r R_kr
F_r, (K, M, q + 1).
"""

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive

from ._evaluation import log_totals, pieces_in_cache, working_precision


def log_shares(z):
    """z less the logarithm of Σ e^z along the last axis."""
    z = z - np.max(getattr(z, "_value", z), axis=-1, keepdims=True)
    return z - anp.log(anp.sum(anp.exp(z), axis=-1, keepdims=True))


@primitive
def fused(theta, F, weight, K, n_levels, tape, single_below):
    """Σ_r w_r log Σ_k π_k Π_j φ_kj(x_rj), (M,)."""
    M, n, edges = len(theta), len(F), np.cumsum((0, *n_levels))
    u = theta[:, K:].reshape(M, K, -1).transpose(1, 0, 2)
    A = np.empty((K, M, F.shape[1]))
    A[:, :, -1] = log_shares(theta[:, :K]).T
    for part in map(slice, edges, edges[1:]):
        A[:, :, part] = log_shares(u[:, :, part])
    dtype = working_precision(A, F, single_below)
    features: np.ndarray = F.T.astype(dtype)
    coefficients: np.ndarray = A.astype(dtype)
    wF = None if tape is None else (F * weight[:, None]).astype(dtype)
    value, T = np.empty(M), np.empty(A.shape)
    for some in pieces_in_cache(M, K * n):
        R = (coefficients[:, some].reshape(-1, F.shape[1]) @ features).reshape(K, -1, n)
        value[some] = log_totals(R, tape is not None) @ weight  # the sum over rows in double precision
        if tape is not None:
            T[:, some] = (R.reshape(-1, n) @ wF).reshape(K, -1, F.shape[1])
    if tape is not None:
        tape.append((T, A))
    return value


def _fused_vjp(ans, theta, F, weight, K, n_levels, tape, single_below):
    T, A = tape.pop()
    M, edges = len(theta), np.cumsum((0, *n_levels))

    def vjp(g):
        out = np.empty_like(theta)
        N = T[:, :, -1].T
        out[:, :K] = N - np.exp(A[:, :, -1].T) * N.sum(axis=1, keepdims=True)
        slope = np.empty((K, M, edges[-1]))
        for part in map(slice, edges, edges[1:]):
            n = T[:, :, part]
            slope[:, :, part] = n - np.exp(A[:, :, part]) * n.sum(axis=2, keepdims=True)
        out[:, K:] = slope.transpose(1, 0, 2).reshape(M, -1)
        return g[:, None] * out

    return vjp


defvjp(fused, _fused_vjp, argnums=(0,))
