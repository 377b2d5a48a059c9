r"""Value, gradient and Hessian of a mixture with diagonal covariances, at one point and in one pass.

With l_kr = log π_k N(x_r | μ_k, σ²_k), r_kr = softmax_k l_kr and G_kr = ∇l_kr with respect to the parameters
of component k (its log-gamma z as if the weights were not normalised),

    ∇∇ log Σ_k e^l_kr = Σ_k r_kr (∇∇l_kr + G_kr G_krᵀ) − (Σ_k r_kr G_kr) (Σ_k r_kr G_kr)ᵀ,
    G = [1, u/σ, (u² − 1)/2],    u = (x − μ)/σ,    s = log σ²,
    ∂²l/∂μ² = −1/σ²,    ∂²l/∂μ∂s = −u/σ,    ∂²l/∂s² = −u²/2,

less log Σ_k e^{z_k} for each row.  Of K components of q = 2p + 1 parameters the products of all pairs are one
(Kq, n) matrix times its transpose, beside the 2d gradients that differences take.  Everything is measured
from the component's own mean in its own standard deviations, so that nothing cancels.

Symbols: ``z`` (K,), ``mu`` and ``s = log σ²`` (K, p); ``U`` = u (K, p, n), ``R`` = responsibilities (K, n),
``G`` = √w G and ``Z`` = √w r G (K, q, n), ``T`` = Σ w r G (K, q), ``N`` = Σ w r of the cells of each column
that are there (K, p), ``D`` = Σ w r G Gᵀ, then with ∇∇l (K, q, q), ``B`` = Σ Z Zᵀ of all pairs (Kq, Kq),
``H`` = D − B, then the Hessian.
"""

import numpy as np


def likelihood_derivatives(
    z: np.ndarray, mu: np.ndarray, s: np.ndarray, rows, block_elements: int, cell_units: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Derivatives of Σ_r w_r log Σ_k π_k N(x_r | μ_k, e^{s_k}) at one point: (), (K, q), (K, q, K, q).

    A missing cell, nan, is no factor of its row, and adds its unit (p,).
    """
    K, p = mu.shape
    q = 2 * p + 1
    log_pi = z - z.max()
    log_pi -= np.log(np.sum(np.exp(log_pi)))
    constant = -0.5 * (s + np.log(2 * np.pi))  # of each cell
    scale = np.exp(-s / 2)[:, :, None]

    def of_block(block):
        root = np.sqrt(block.weight)
        there = ~np.isnan(block.X.T)
        U = np.where(there, (block.X.T - mu[:, :, None]) * scale, 0.0)  # a missing cell moves nothing
        R = log_pi[:, None] + constant @ there - 0.5 * np.sum(U**2, axis=1)
        top = R.max(axis=0)
        R = np.exp(R - top)
        total = R.sum(axis=0)
        value = float((np.log(total) + top + cell_units @ ~there) @ block.weight)
        R /= total
        U[np.broadcast_to(R[:, None] == 0.0, U.shape)] = 0.0  # 0 · ∞ of a row that is beyond the component
        G = np.concatenate([np.ones((K, 1, len(block))), U * scale, 0.5 * (U**2 - there)], axis=1) * root
        Z = R[:, None] * G
        T, D = Z @ root, Z @ G.transpose(0, 2, 1)
        Z = Z.reshape(K * q, -1)
        return value, T, D, Z @ Z.T, (R * block.weight) @ there.T

    value, T, D, B, N = rows.fold(of_block, block_elements // (K * q))
    H, k, j = -B.reshape(K, q, K, q), np.arange(K)[:, None], np.arange(1, p + 1)
    D[k, j, j] -= scale[:, :, 0] ** 2 * N
    D[k, j, j + p] -= T[:, 1 : p + 1]
    D[k, j + p, j] -= T[:, 1 : p + 1]
    D[k, j + p, j + p] -= T[:, p + 1 :] + 0.5 * N
    H[k[:, 0], :, k[:, 0]] += D
    pi, n = np.exp(log_pi), np.sum(rows.weight)
    H[:, 0, :, 0] -= n * (np.diag(pi) - np.outer(pi, pi))
    T[:, 0] -= n * pi
    return value, T, H
