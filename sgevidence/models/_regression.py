"""What regressions share: the design matrix Φ, and independent Gaussian priors of their coefficients."""

from typing import Any

import autograd.numpy as anp
import numpy as np


def design_matrix(X: np.ndarray, fit_intercept: bool) -> np.ndarray:
    """Φ = [X, 1] (n, p + 1), or X itself."""
    return np.column_stack([X, np.ones(len(X))]) if fit_intercept else X


def prior_scales(
    n_features: int, fit_intercept: bool, coef_scale: float, intercept_scale: float
) -> np.ndarray:
    """Prior standard deviation of the coefficient of each column of Φ, (p + 1,) or (p,)."""
    return np.array([coef_scale] * n_features + [intercept_scale] * fit_intercept, dtype=float)


def gaussian_log_density(theta: Any, scale: np.ndarray) -> Any:
    """Σ_j log N(θ_j | 0, scale_j²), (M,)."""
    d = theta.shape[-1]
    constant = -np.sum(np.log(np.broadcast_to(scale, d))) - 0.5 * d * np.log(2 * np.pi)
    return constant - 0.5 * anp.sum((theta / scale) ** 2, axis=-1)
