r"""How many independent draws chains are worth, and whether the chains agree.

    n_eff = C T / τ,    τ = −1 + 2 Σ_k (ρ_2k + ρ_2k+1),    ρ_t = 1 − (W − mean_c s_ct) / V

The sum runs over the initial positive monotone sequence (Geyer 1992), and V counts what chains differ by,
so chains in different modes are worth hardly more draws than there are chains.

Symbols
-------
======  =========  =============================================================
x       ``x``      a scalar along C chains of T draws, (C, T)
s_ct    ``s``      autocovariance of chain c at lag t
W, V    ``W, V``   variance within chains; of all draws, from within and between
R̂       ``r_hat``  √(V / W)
======  =========  =============================================================

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner (2021), Rank-normalization, folding, and
localization: an improved R̂ for assessing convergence of MCMC.
"""

from typing import NamedTuple

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import ndtri
from scipy.stats import rankdata


class Mixing(NamedTuple):
    """Effective number of draws, at most as many as there are, and R̂."""

    n_effective: float
    r_hat: float


def mixing(x: np.ndarray) -> Mixing:
    """The mixing of one scalar along chains, (C, T)."""
    C, T = x.shape
    mean = x.mean(axis=1, keepdims=True)
    transform = np.fft.rfft(x - mean, next_fast_len(2 * T))
    s = np.fft.irfft(np.abs(transform) ** 2, next_fast_len(2 * T))[:, :T].mean(axis=0) / T
    W = s[0] * T / (T - 1)
    V = s[0] + (mean.var(ddof=1) if C > 1 else 0.0)
    if not V > 0:  # a constant is known from any draw
        return Mixing(float(C * T), 1.0)
    rho = 1.0 - (W - s) / V
    rho[0] = 1.0
    pairs = rho[: T // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0)
    tau = -1.0 + 2.0 * np.minimum.accumulate(pairs)[positive].sum()
    return Mixing(float(C * T / max(tau, 1.0)), float(np.sqrt(V / W)) if W > 0 else np.inf)


def split_mixing(x: np.ndarray) -> Mixing:
    """The worse mixing of place and width: normal scores of x and of |x − median|, chains cut in two."""
    T = x.shape[1] // 2
    halves = np.concatenate([x[:, :T], x[:, -T:]])
    both = [mixing(_normal_scores(y)) for y in (halves, np.abs(halves - np.median(halves)))]
    return Mixing(min(m.n_effective for m in both), max(m.r_hat for m in both))


def _normal_scores(x: np.ndarray) -> np.ndarray:
    return ndtri((rankdata(x).reshape(x.shape) - 0.375) / (x.size + 0.25))
