r"""The log-likelihood of a mixture, summed over a block of rows, as one matrix product.

With x measured from a centre and features F = [x², x, 1], log π_k N(x_r | μ_k, σ²_k) = A_k · F_r,

    A_k = [−1/2σ²_k, μ_k/σ²_k, log π_k − ½ Σ_j (μ²_kj/σ²_kj + log 2πσ²_kj)],

so that all components, particles and rows are A Fᵀ.  Its terms cancel: of a row near μ_k they leave what
exceeds the rounding of μ²_k/σ²_k.  So the centre is the mean of the rows; but one row at 10⁹ among fifty
carries the mean away from all others, and then it is zero: the far row lies in a component of its own,
which is wide by the prior, and the others are near zero.  Where neither will do the sum is formed row by row.

Symbols
-------
==========  ==============  =====================================================
math        code            meaning
==========  ==============  =====================================================
F           ``F``           features of each row, (n, 2p + 1)
A           ``A``           coefficients of each component and particle, (K, M, 2p + 1)
T           ``T``           Σ_r w_r R_kr F_r, (K, M, 2p + 1)
==========  ==============  =====================================================
"""

import numpy as np
from autograd.extend import defvjp, primitive

from ._natural_sums import natural_pass

#: μ²/σ² from which the origin matters, and beyond which [x², x, 1] leave less than 10⁻⁴ of a row's density.
CENTERED, CANCELS = 1e6, 1e12


def center_of(mu: np.ndarray, log_variance: np.ndarray, rows) -> tuple[np.ndarray, float]:
    """Where x is measured from, (p,), and the largest μ²/σ² from there, for means (M, K, p)."""
    mean = rows.weight @ rows.X / max(np.sum(rows.weight), 1e-300)
    precision = np.exp(-log_variance)
    lost = float(np.max((mu - mean) ** 2 * precision))
    if lost > CENTERED:
        about_zero = float(np.max(mu**2 * precision))
        if about_zero < lost:
            return np.zeros_like(mean), about_zero
    return mean, lost


@primitive
def fused(theta, X, weight, K, tape, single_below, center):
    """Σ_r w_r log Σ_k π_k N(x_r | μ_k, σ²_k): with features [x², x, 1] one matrix product."""
    M, (n, p) = len(theta), X.shape
    x = X - center
    F = np.column_stack([x * x, x, np.ones(n)])
    z = theta[:, :K]
    mu = theta[:, K : K + K * p].reshape(M, K, p) - center
    precision = np.exp(-theta[:, K + K * p :]).reshape(M, K, p)
    log_pi = z - z.max(axis=1, keepdims=True)
    log_pi -= np.log(np.exp(log_pi).sum(axis=1, keepdims=True))  # not log(pi): a tiny weight underflows
    A = np.empty((K, M, 2 * p + 1))
    A[:, :, :p] = (-0.5 * precision).transpose(1, 0, 2)
    A[:, :, p : 2 * p] = (mu * precision).transpose(1, 0, 2)
    log_det = theta[:, K + K * p :].reshape(M, K, p)
    A[:, :, -1] = (log_pi - 0.5 * np.sum(mu**2 * precision + log_det + np.log(2 * np.pi), axis=2)).T
    value, T = natural_pass(A, F, weight, single_below, tape is not None)
    if tape is not None:
        tape.append((T.transpose(1, 0, 2), mu, precision, np.exp(log_pi)))
    return value


def _fused_vjp(ans, theta, X, weight, K, tape, single_below, center):
    T, mu, precision, pi = tape.pop()
    M, _, p = mu.shape

    def vjp(g):
        T2, T1, T0 = T[:, :, :p], T[:, :, p : 2 * p], T[:, :, -1:]
        out = np.empty_like(theta)
        out[:, :K] = T0[:, :, 0] - pi * T0.sum(axis=1)
        out[:, K : K + K * p] = (precision * (T1 - mu * T0)).reshape(M, -1)
        out[:, K + K * p :] = 0.5 * (precision * (T2 - 2 * mu * T1 + mu**2 * T0) - T0).reshape(M, -1)
        return g[:, None] * out

    return vjp


defvjp(fused, _fused_vjp, argnums=(0,))
