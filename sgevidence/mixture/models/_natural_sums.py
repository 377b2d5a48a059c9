r"""Natural coefficients and prior of Gaussian components, their sums over rows, and all derivatives.

θ = [z, μ, s, r] with the precision Λ = C diag(e^(−s)) Cᵀ of :mod:`..components._precision_factors`; r and C
where columns are correlated, and of independent ones s = log σ² of each (w = p) or of all (w = 1).  Of a row
measured from a centre c, with v = Cᵀμ and d = e^(−s),

    F = [x_i x_j (i ≤ j) or x² or |x|², x, 1],
    A = [−Λ_ii/2, −Λ_ij, C (d v), log π − ½ Σ_j (d_j v_j² + s_j + log 2π)],

where cells are missing, F = [x², x, is there, 1] and each column has its own term of the sum; μ from the same
centre.  The prior is that of :mod:`._gaussian`.  Both are written out with their derivatives: autograd alone
takes the time of a pass over some hundreds of rows.

Where the log density of a component is linear in features of the row, log π_k p(x_r | θ_k) = A_k · F_r, all
components, particles and rows are one matrix product A Fᵀ, and so is the way back,

    ∂/∂A_k Σ_r w_r log Σ_k e^(A_k · F_r) = Σ_r w_r R_kr F_r = T_k,      R = responsibilities.

Autograd continues from A to the parameters.

Symbols: ``z`` (K, M), ``mu, v`` (K, p, M), ``s, d`` (K, w, M), ``C`` (K, p, p, M): particles last, so that
inner loops are long; ``widths`` = (p, w) or (p, p, p (p − 1)/2); ``F`` = features of each row, (n, q); ``A``
= coefficients of each component and particle, (K, M, q); ``R`` = logarithms, then responsibilities,
(K, m, n) of m particles at a time; ``T`` = Σ_r w_r R_kr F_r, (K, M, q).
"""

from functools import lru_cache
from math import lgamma
from typing import Any

import numpy as np
from autograd.extend import defvjp, primitive
from scipy.special import gammaln

from ...models import log_shares, log_totals, pieces_in_cache, working_precision
from ..components import below, n_later, pairs


@primitive
def natural_coefficients(theta, K, center, widths, by_cell=False):
    """A (K, M, q) of θ (M, d); ``by_cell`` each column has a term of its own of the constant."""
    z, mu, s, C = _parts(theta, K, widths)
    d, v = np.exp(-s), _row_times(mu - center[:, None], C)
    of_cells, log_pi = d * v**2 + s + np.log(2 * np.pi), log_shares(z, axis=0)[:, None]
    constant = [-0.5 * of_cells, log_pi] if by_cell else [log_pi - 0.5 * np.sum(of_cells, 1, keepdims=True)]
    squares = -0.5 * d if C is None else _of_pairs(_products(C * d[:, None], np.swapaxes(C, 1, 2)))
    return np.swapaxes(np.concatenate([squares, _times(C, d * v), *constant], axis=1), 1, 2)


def _natural_vjp(ans, theta, K, center, widths, by_cell=False):
    p, (z, mu, s, C) = len(center), _parts(theta, K, widths)
    mu, d = mu - center[:, None], np.exp(-s)
    v = _row_times(mu, C)

    def vjp(g):
        g, last = np.swapaxes(g, 1, 2), -p * by_cell - 1
        squares, linear, constant = g[:, : last - p], g[:, last - p : last], g[:, -1:]
        cells = g[:, last:-1] if by_cell else constant
        on_linear = _row_times(linear, C)
        on_v = d * (on_linear - cells * v)
        on_d, on_r = _of_each(on_linear * v - 0.5 * cells * v**2, widths), []
        if C is None:
            on_d = on_d - 0.5 * squares
        else:
            G, (i, j), (row, column) = np.empty_like(C), pairs(p), below(p)  # G: d/dΛ, symmetric
            G[:, i, j] = G[:, j, i] = -0.5 * squares
            GC = _products(G, C)
            on_d = on_d + np.sum(C * GC, axis=1)
            on_r = [2 * GC[:, row, column] * d[:, column] + linear[:, row] * (d * v)[:, column]]
            on_r[0] += mu[:, row] * on_v[:, column]
        on_s = -d * on_d - 0.5 * (_of_each(cells, widths) if by_cell else p // widths[1] * cells)
        return joined(on_log_gammas(log_shares(z, axis=0), constant[:, 0]), _times(C, on_v), on_s, *on_r)

    return vjp


@primitive
def log_prior_of_components(theta, K, widths, a, tau, variance_prior):
    """Log density of z_k = log Gamma(a), μ | Σ ~ N(0, tau² Σ) and Σ by Bartlett's decomposition, (M,)."""
    (z, mu, s, C), beta = _parts(theta, K, widths), variance_prior[1]
    constant, powers = _constants(K, widths, a, tau, variance_prior)
    of_factors = _energy(mu, s, C, widths, tau, beta) + powers * s
    return constant + np.sum(a * z - np.exp(z), axis=0) - np.sum(of_factors, axis=(0, 1))


def _log_prior_vjp(ans, theta, K, widths, a, tau, variance_prior):
    (z, mu, s, C), beta = _parts(theta, K, widths), variance_prior[1]
    d, v = np.exp(-s), _row_times(mu, C)

    def vjp(g):
        on_v, on_r = -d * v / tau**2, []
        if C is not None:
            row, column = below(widths[0])
            on_r = [mu[:, row] * on_v[:, column] - 2 * beta * d[:, column] * C[:, row, column]]
        on_s = _energy(mu, s, C, widths, tau, beta) - _constants(K, widths, a, tau, variance_prior)[1]
        return g[:, None] * joined(a - np.exp(z), _times(C, on_v), on_s, *on_r)

    return vjp


defvjp(natural_coefficients, _natural_vjp, argnums=(0,))
defvjp(log_prior_of_components, _log_prior_vjp, argnums=(0,))


@lru_cache(maxsize=64)
def _constants(K, widths, a, tau, variance_prior):
    """Constant of the prior, and powers of e^(−s): shape, half of the means and r it scales, (w, 1)."""
    p, w, (b, beta), later = widths[0], widths[1], variance_prior, n_later(widths)
    shapes = b + later / 2
    constant = np.sum(shapes * np.log(beta) - gammaln(shapes) + later / 2 * np.log(beta / np.pi))
    constant = K * (constant - p / 2 * np.log(2 * np.pi * tau**2) - lgamma(a))
    return constant, (b + later + p / w / 2)[:, None]


def _energy(mu, s, C, widths, tau, beta):
    """Energy of each variance, the means and the r that it scales under the prior, (K, w, M)."""
    squares = 1.0 if C is None else np.sum(C**2, axis=1)
    return np.exp(-s) * (beta * squares + _of_each(_row_times(mu, C) ** 2, widths) / (2 * tau**2))


def _parts(theta, K, widths):
    """z (K, M), μ (K, p, M), s (K, w, M), and C (K, p, p, M) or None."""
    columns, start, parts, p = np.ascontiguousarray(theta.T), K, [], widths[0]
    for width in widths:
        parts.append(columns[start : start + K * width].reshape(K, width, len(theta)))
        start += K * width
    mu, s, *r = parts
    if not r:
        return columns[:K], mu, s, None
    C = np.zeros((K, p, p, len(theta)))
    C[:, range(p), range(p)] = 1.0
    C[(slice(None), *below(p))] = r[0]
    return columns[:K], mu, s, C


def _of_each(by_column, widths):
    """Sums over the columns that share a variance, (K, w, M) of (K, p, M)."""
    return by_column if widths[1] > 1 else np.sum(by_column, axis=1, keepdims=True)


def _times(C, v):
    return v if C is None else np.einsum("kijm,kjm->kim", C, v)


def _row_times(v, C):
    """Cᵀ v."""
    return v if C is None else np.einsum("kijm,kim->kjm", C, v)


def _of_pairs(L):
    """Coefficients of x_i x_j, i ≤ j, of symmetric matrices Λ (K, p, p, M)."""
    i, j = pairs(L.shape[1])
    return L[:, i, j] * np.where(i == j, -0.5, -1.0)[:, None]


def _products(A, B):
    """A B of matrices (K, p, p, M)."""
    # columns from which a call of BLAS for each matrix takes less time than a loop over the particles of all
    if A.shape[1] < 10:
        return np.einsum("kijm,kjlm->kilm", A, B)
    A, B = (np.ascontiguousarray(np.moveaxis(each, -1, 1)) for each in (A, B))  # as BLAS takes them
    return np.moveaxis(A @ B, 1, -1)


def joined(z: np.ndarray, *blocks: np.ndarray) -> np.ndarray:
    """θ (M, d) of parts with particles last, which follow each other in the order of θ."""
    M = z.shape[-1]
    return np.ascontiguousarray(np.concatenate([z, *(block.reshape(-1, M) for block in blocks)]).T)


def on_log_gammas(log_pi: np.ndarray, on_log_pi: np.ndarray) -> np.ndarray:
    """Derivatives with respect to z (K, M) of those with respect to log π."""
    return on_log_pi - np.exp(log_pi) * on_log_pi.sum(axis=0)


def natural_pass(
    A: np.ndarray, F: np.ndarray, weight: np.ndarray, single_below: float, moments: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Σ_r w_r log Σ_k exp(A_k · F_r), (M,), and T, which is not filled without ``moments``."""
    (K, M, q), n = A.shape, len(F)
    dtype = working_precision(A, F, single_below)
    features: np.ndarray = F.T.astype(dtype)
    A = A.astype(dtype)
    wF = (F * weight[:, None]).astype(dtype) if moments else F
    value, T = np.empty(M), np.empty(A.shape)
    for some in pieces_in_cache(M, K * n):
        R = (A[:, some].reshape(-1, q) @ features).reshape(K, -1, n)
        value[some] = log_totals(R, moments) @ weight  # the sum over rows in double precision
        if moments:
            T[:, some] = (R.reshape(-1, n) @ wF).reshape(K, -1, q)
    return value, T


@primitive
def natural_sum(A: Any, F: np.ndarray, weight: np.ndarray, tape: list | None, single_below: float) -> Any:
    """:func:`natural_pass`, differentiable in A; the residuals of the way back are on the ``tape``."""
    value, T = natural_pass(A, F, weight, single_below, tape is not None)
    if tape is not None:
        tape.append(T)
    return value


def _natural_sum_vjp(ans, A, F, weight, tape, single_below):
    T = tape.pop()
    return lambda g: g[:, None] * T


defvjp(natural_sum, _natural_sum_vjp, argnums=(0,))
