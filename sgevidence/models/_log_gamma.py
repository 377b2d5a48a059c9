"""log Γ of arrays, and logarithms of gamma and Dirichlet variates, which themselves may underflow."""

from typing import Any

import autograd.numpy as anp
import numpy as np

from ._own_priors import HALF_LOG_2PI


def log_gamma_function(a: np.ndarray) -> np.ndarray:
    """log Γ(a) for 0 < a < 10³⁰, a fifth of scipy's time: Stirling's series at a + 8, right to 10⁻¹¹."""
    q = a * (a + 7.0)  # a (a + 1) … (a + 7) by pairs
    product = q * (q + 6.0) * (q + 10.0) * (q + 12.0)
    x = a + 8.0
    square = 1.0 / (x * x)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x
    return (x - 0.5) * np.log(x) - x + HALF_LOG_2PI + series - np.log(product)


def log_gamma_draws(shape: Any, rng: np.random.Generator, size: Any = None) -> np.ndarray:
    """Logarithms of Gamma(shape, 1) variates: Gamma(a) = Gamma(a + 1) U^(1/a)."""
    size = np.shape(shape) if size is None else size
    return np.log(rng.gamma(shape + 1.0, size=size)) + np.log1p(-rng.random(size)) / shape


def log_dirichlet(shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Logarithms of Dirichlet variates with these shapes along the first axis."""
    return log_shares(log_gamma_draws(shape, rng), axis=0)


def log_shares(z: Any, axis: int = -1) -> Any:
    """log softmax along an axis, from autograd or not: a weight itself may underflow."""
    z = z - np.max(getattr(z, "_value", z), axis=axis, keepdims=True)
    return z - anp.log(anp.sum(anp.exp(z), axis=axis, keepdims=True))
