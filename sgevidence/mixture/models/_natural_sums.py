r"""Natural coefficients and prior of Gaussians with variances, one of each column or one of all columns.

θ = [z, μ, s], s = log σ² with w = p or w = 1 numbers for each component.  Of a row measured from a centre c

    F = [x², x, 1] or [|x|², x, 1],    A = [−1/2σ², μ/σ², log π − ½ Σ_j (μ_j²/σ_j² + s_j + log 2π)],

where cells are missing, F = [x², x, is there, 1] and each column has its own term of the sum; μ from the same
centre, and the prior is that of :mod:`._diagonal` and :mod:`._spherical`.  Both are
written out with their derivatives: autograd alone takes the time of a pass over some hundreds of rows.

Where the log density of a component is linear in features of the row, log π_k p(x_r | θ_k) = A_k · F_r, all
components, particles and rows are one matrix product A Fᵀ, and so is the way back,

    ∂/∂A_k Σ_r w_r log Σ_k e^(A_k · F_r) = Σ_r w_r R_kr F_r = T_k,      R = responsibilities.

Autograd continues from A to the parameters.

Symbols: ``z`` (K, M), ``mu`` (K, p, M), ``s`` (K, w, M): particles last, so that inner loops are long; ``F``
= features of each row, (n, q); ``A`` = coefficients of each component and particle, (K, M, q); ``R`` =
logarithms, then responsibilities, (K, m, n) of m particles at a time; ``T`` = Σ_r w_r R_kr F_r, (K, M, q).
"""

from math import lgamma
from typing import Any

import numpy as np
from autograd.extend import defvjp, primitive

from ...models import log_shares, log_totals, pieces_in_cache, working_precision


@primitive
def natural_of_variances(theta, K, center, by_cell=False):
    """A (K, M, w + p + 1) of θ (M, d), ``by_cell`` (K, M, w + 2p + 1)."""
    z, mu, s = _variances(theta, K, len(center))
    mu, w, p, precision = mu - center[:, None], s.shape[1], len(center), np.exp(-s)
    A = np.empty((K, w + p + 1 + p * by_cell, len(theta)))
    A[:, :w] = -0.5 * precision
    A[:, w : w + p] = mu * precision
    of_cells = mu**2 * precision + s + np.log(2 * np.pi)
    A[:, -1] = log_shares(z, axis=0)
    if by_cell:
        A[:, w + p : -1] = -0.5 * of_cells
    else:
        A[:, -1] -= 0.5 * np.sum(of_cells, axis=1)
    return np.swapaxes(A, 1, 2)


def _natural_vjp(ans, theta, K, center, by_cell=False):
    z, mu, s = _variances(theta, K, len(center))
    mu, w, p, precision = mu - center[:, None], s.shape[1], len(center), np.exp(-s)

    def vjp(g):
        g = np.swapaxes(g, 1, 2)
        squares, linear, constant = g[:, :w], g[:, w : w + p], g[:, -1:]
        cells = g[:, w + p : -1] if by_cell else constant
        on_mu = precision * (linear - mu * cells)
        on_s = precision * (squares - _of_each(mu * (2 * linear - mu * cells), w))
        on_s = 0.5 * (on_s - (_of_each(cells, w) if by_cell else p // w * constant))
        return joined(on_log_gammas(z, constant[:, 0]), on_mu, on_s)

    return vjp


@primitive
def log_prior_of_variances(theta, K, p, a, tau, variance_prior):
    """Log density of z_k = log Gamma(a), μ | σ² ~ N(0, tau² σ²) and σ² ~ InvGamma(b, c), (M,)."""
    (z, mu, s), (b, c) = _variances(theta, K, p), variance_prior
    w = s.shape[1]
    constant = K * w * (b * np.log(c) - lgamma(b)) - K * lgamma(a) - 0.5 * K * p * np.log(2 * np.pi * tau**2)
    of_variances = (b + 0.5 * p / w) * s + (c + 0.5 * _of_each(mu**2, w) / tau**2) * np.exp(-s)
    return constant + np.sum(a * z - np.exp(z), axis=0) - np.sum(of_variances, axis=(0, 1))


def _log_prior_vjp(ans, theta, K, p, a, tau, variance_prior):
    (z, mu, s), (b, c) = _variances(theta, K, p), variance_prior
    w, precision = s.shape[1], np.exp(-s)

    def vjp(g):
        on_s = (c + 0.5 * _of_each(mu**2, w) / tau**2) * precision - (b + 0.5 * p / w)
        return g[:, None] * joined(a - np.exp(z), -mu * precision / tau**2, on_s)

    return vjp


defvjp(natural_of_variances, _natural_vjp, argnums=(0,))
defvjp(log_prior_of_variances, _log_prior_vjp, argnums=(0,))


def parts_of(theta: np.ndarray, K: int, *widths: int) -> list[np.ndarray]:
    """z (K, M) and the blocks of θ (M, d) with so many numbers of each component, (K, width, M)."""
    columns, start = np.ascontiguousarray(theta.T), K
    parts = [columns[:K]]
    for width in widths:
        parts.append(columns[start : start + K * width].reshape(K, width, len(theta)))
        start += K * width
    return parts


def joined(z: np.ndarray, *blocks: np.ndarray) -> np.ndarray:
    """θ (M, d) of parts with particles last, which follow each other in the order of θ."""
    M = z.shape[-1]
    return np.ascontiguousarray(np.concatenate([z, *(block.reshape(-1, M) for block in blocks)]).T)


def on_log_gammas(z: np.ndarray, on_log_pi: np.ndarray) -> np.ndarray:
    """Derivatives with respect to z (K, M) of those with respect to log π."""
    return on_log_pi - np.exp(log_shares(z, axis=0)) * on_log_pi.sum(axis=0)


def _variances(theta: np.ndarray, K: int, p: int) -> list[np.ndarray]:
    return parts_of(theta, K, p, theta.shape[1] // K - 1 - p)


def _of_each(by_column: np.ndarray, w: int) -> np.ndarray:
    """Sums over the columns that share a variance, (K, w, M) of (K, p, M)."""
    return by_column if w > 1 else by_column.sum(axis=1, keepdims=True)


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
