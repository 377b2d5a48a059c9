r"""Which parameters change the widths of the others: the hyperparameters of a hierarchy, found from draws.

A posterior is Gaussian in x given ψ where no third derivative of log p has all of its three parameters in x.
So ψ is a set of parameters that meets every third derivative that is not small: a scale τ of groups, the
coordinate v of a funnel.  Parameters are taken one after the other, each the one that leaves least,

    t_abc = ∂³ log p / ∂θ_a ∂θ_b ∂θ_c · s_a s_b s_c,

in units of local widths s, root mean square over draws.  Derivatives are differences of gradients.

Symbols: g ``grad`` = ∇ log p, (M, d); ``P`` = −∇∇ log p, (M, k, k); t ``third`` = (d, d, d).
"""

import numpy as np

from ..kernels import ValueAndGradient

#: Steps of differences, local widths: of a gradient, and of a curvature.
GRADIENT_STEP, CURVATURE_STEP = 1e-4, 0.05
#: A third derivative beyond which more says nothing: draws in a neck would rule alone.
MAX_THIRD = 3.0


def curvature(
    log_p: ValueAndGradient, theta: np.ndarray, columns: np.ndarray, widths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (M, k) and P (M, k, k) in k columns at draws (M, d), by steps in units of widths (M, k)."""
    grad = log_p(theta)[1][:, columns]
    P, steps = np.empty((len(theta), len(columns), len(columns))), GRADIENT_STEP * widths
    for a, column in enumerate(columns):
        beside = theta.copy()
        beside[:, column] += steps[:, a]
        P[:, :, a] = (grad - log_p(beside)[1][:, columns]) / steps[:, [a]]
    return grad, np.nan_to_num(0.5 * (P + np.swapaxes(P, 1, 2)))


def local_widths(P: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Widths by the diagonal of P (M, k, k), at most those of all draws (k,)."""
    return np.minimum(np.abs(np.einsum("mkk->mk", P) + 1e-300) ** -0.5, scale)


def third_derivatives(log_p: ValueAndGradient, theta: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """t over draws (M, d) of a posterior with widths ``scale`` (d,)."""
    M, d = theta.shape
    columns = np.arange(d)
    s = local_widths(curvature(log_p, theta, columns, np.tile(scale, (M, 1)))[1], scale)
    beside = theta + CURVATURE_STEP * np.concatenate([np.zeros((1, M, d)), np.eye(d)[:, None] * s])
    P = curvature(log_p, beside.reshape(-1, d), columns, np.tile(s, (d + 1, 1)))[1].reshape(d + 1, M, d, d)
    t = (P[1:] - P[0]) / CURVATURE_STEP * s[:, :, None] * s[:, None, :]
    t = np.sqrt(np.mean(np.clip(t, -MAX_THIRD, MAX_THIRD) ** 2, axis=1))
    return (t + t.transpose(1, 2, 0) + t.transpose(2, 0, 1)) / 3  # t is symmetric but for its first axis


def by_influence(third: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parameters in the order in which they are taken, and the largest t before each, (d,) both."""
    order: list[int] = []
    left = np.empty(len(third))
    for k in range(len(third)):
        rest = np.setdiff1d(np.arange(len(third)), order)
        t = third[np.ix_(rest, rest, rest)] ** 2
        left[k] = np.sqrt(t.max())
        # what goes with a parameter: entries with it once, twice, and three times
        once, twice = t.sum(axis=(1, 2)), np.einsum("aac->a", t)
        order.append(int(rest[np.argmax(3 * once - 3 * twice + np.einsum("aaa->a", t))]))
    return np.array(order), left
