"""Logarithms of gamma variates, of shapes so small that the variates underflow."""

from typing import Any

import numpy as np


def log_gamma_draws(shape: Any, rng: np.random.Generator, size: Any = None) -> np.ndarray:
    """Logarithms of Gamma(shape, 1) variates: Gamma(a) = Gamma(a + 1) U^(1/a)."""
    size = np.shape(shape) if size is None else size
    return np.log(rng.gamma(shape + 1.0, size=size)) + np.log1p(-rng.random(size)) / shape
