"""Parts that regressions share: the design matrix Φ, independent Gaussian priors of coefficients."""

from typing import Any

import autograd.numpy as anp
import numpy as np


def design_matrix(X: np.ndarray, fit_intercept: bool) -> np.ndarray:
    """Φ = [X, 1] (n, p + 1), or X itself."""
    if not fit_intercept:
        return X
    Phi = np.empty((len(X), X.shape[1] + 1))
    Phi[:, :-1], Phi[:, -1] = X, 1.0
    return Phi


def prior_scales(
    n_features: int, fit_intercept: bool, coef_scale: float, intercept_scale: float
) -> np.ndarray:
    """Prior standard deviation of the coefficient of each column of Φ, (p + 1,) or (p,)."""
    return np.array([coef_scale] * n_features + [intercept_scale] * bool(fit_intercept), dtype=float)


def gaussian_log_density(theta: Any, scale: np.ndarray) -> Any:
    """Σ_j log N(θ_j | 0, scale_j²), (M,)."""
    scale = np.broadcast_to(scale, theta.shape[-1])
    constant = -np.sum(np.log(scale)) - 0.5 * len(scale) * np.log(2 * np.pi)
    return constant - 0.5 * anp.dot(anp.square(theta), scale**-2.0)  # as one product: half the time of a sum
