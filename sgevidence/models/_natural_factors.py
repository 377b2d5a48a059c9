r"""Natural coefficients and prior of Gaussians by the factors of their precisions, Λ = C diag(e^(−s)) Cᵀ.

θ = [z, μ, s, r] as in :mod:`._full_mixture`, r below the diagonal of C, which is unit lower triangular.
With v = Cᵀμ and d = e^(−s)

    A = [−Λ_ii/2, −Λ_ij, C (d v), log π − ½ Σ_j (d_j v_j² + s_j + log 2π)],

μ from the centre of the rows, of F = [x_i x_j (i ≥ j), x, 1].  Both are written out with their derivatives:
autograd alone takes the time of a pass over a thousand rows.

Symbols: ``z`` (K, M), ``mu, s, d, v`` (K, p, M), ``C`` (K, p, p, M): particles last, so that inner loops are
long.
"""

from math import lgamma

import numpy as np
from autograd.extend import defvjp, primitive
from scipy.special import gammaln

from ._natural_variances import joined, log_shares, on_log_gammas, parts_of
from ._precision_factors import below

#: Columns from which a call of BLAS for each matrix takes less time than a loop over the particles of all.
FROM_BLAS = 10


@primitive
def natural_of_factors(theta, K, center):
    """A (K, M, p (p + 1)/2 + p + 1) of θ (M, d)."""
    p, (z, mu, s, C) = len(center), _factors(theta, K, len(center))
    mu, d, (i, j) = mu - center[:, None], np.exp(-s), below(p, 0)
    scaled, v = C * d[:, None], _row_times(mu, C)
    A = np.empty((K, len(i) + p + 1, len(theta)))
    A[:, : len(i)] = _products(scaled, np.swapaxes(C, 1, 2))[:, i, j] * np.where(i == j, -0.5, -1.0)[:, None]
    A[:, len(i) : -1] = _times(scaled, v)
    A[:, -1] = log_shares(z) - 0.5 * np.sum(d * v**2 + s + np.log(2 * np.pi), axis=1)
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
    if A.shape[1] < FROM_BLAS:
        return np.einsum("kijm,kjlm->kilm", A, B)
    A, B = (np.ascontiguousarray(np.moveaxis(each, -1, 1)) for each in (A, B))  # as BLAS takes them
    return np.moveaxis(A @ B, 1, -1)
