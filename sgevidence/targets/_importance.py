r"""Importance sampling of one mode's basin, from a t density of its curvature.

Symbols: ``a, P`` = mode and precision, ``q`` = t density around it, ``nu`` = its degrees of freedom,
``R`` = Cholesky factor of P, ``M, d`` = draws and parameters.
"""

from collections.abc import Callable
from math import lgamma

import numpy as np
from scipy.linalg import solve_triangular

from ..particles import Weights


def importance_draws(
    log_joint: Callable[[np.ndarray], np.ndarray],
    a: np.ndarray,
    P: np.ndarray,
    log_copies: float,
    M: int,
    rng: np.random.Generator,
    nu: float = 5.0,
) -> tuple[np.ndarray, Weights]:
    """M draws from q and their weights: the mean weight estimates ``exp(log_copies)`` times the basin's mass.

    ``log_joint`` gives log p(rows, θ) of a cloud; ``log_copies`` = log K! for the labellings of K
    exchangeable components.
    """
    d = len(a)
    R = np.linalg.cholesky(P)
    t = rng.standard_normal((M, d)) / np.sqrt(rng.chisquare(nu, (M, 1)) / nu)
    theta = a + solve_triangular(R.T, t.T, lower=False).T
    log_q = lgamma((nu + d) / 2) - lgamma(nu / 2) - 0.5 * d * np.log(nu * np.pi) + np.sum(np.log(np.diag(R)))
    log_q = log_q - 0.5 * (nu + d) * np.log1p(np.sum(t**2, axis=1) / nu)
    return theta, Weights(log_joint(theta) + log_copies - log_q)
