"""Logarithms of gamma and Dirichlet variates, of shapes so small that the variates underflow."""

from typing import Any

import autograd.numpy as anp
import numpy as np


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
