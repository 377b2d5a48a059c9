"""Chains whose autocorrelation time is known."""

import numpy as np
from scipy.signal import lfilter


def autoregressive(rng, C, T, d, rho):
    """Stationary chains of N(0, I) with lag-one correlation ρ, (C, T, d)."""
    x = rng.standard_normal((C, T, d))
    x[:, 1:] *= np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], x, axis=1)
