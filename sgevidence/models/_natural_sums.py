r"""The log-likelihood of a mixture, summed over a block of rows, from natural coefficients.

Where the log density of a component is linear in features of the row, log π_k p(x_r | θ_k) = A_k · F_r, all
components, particles and rows are one matrix product A Fᵀ, and so is the way back,

    ∂/∂A_k Σ_r w_r log Σ_k e^(A_k · F_r) = Σ_r w_r R_kr F_r = T_k,      R = responsibilities.

Autograd continues from A to the parameters.

Symbols: ``F`` = features of each row, (n, q); ``A`` = coefficients of each component and particle, (K, M, q);
``R`` = logarithms, then responsibilities, (K, m, n) of m particles at a time; ``T`` = Σ_r w_r R_kr F_r, (K,
M, q).
"""

from typing import Any

import numpy as np
from autograd.extend import defvjp, primitive

from ._evaluation import log_totals, pieces_in_cache, working_precision


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
