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
    """Effective number of draws, at most as many as there are, and R̂.

    ``excess`` is the variance between chains in units of what the autocorrelation within them explains.
    """

    n_effective: float
    r_hat: float
    excess: float = 1.0


def mixing(x: np.ndarray) -> Mixing:
    """The mixing of one scalar along chains, (C, T)."""
    C, T = x.shape
    s = autocovariances(x)
    W, between = s[0] * T / (T - 1), x.mean(axis=1).var(ddof=1) if C > 1 else 0.0
    V = s[0] + between
    if not V > 0:  # a constant is known from any draw
        return Mixing(float(C * T), 1.0)
    tau = _time(1.0 - (W - s) / V)
    if not W > 0:
        return Mixing(float(C * T / tau), np.inf, np.inf)
    explained = W * _time(s / s[0]) / T
    return Mixing(float(C * T / tau), float(np.sqrt(V / W)), float(between / explained))


def autocovariances(x: np.ndarray) -> np.ndarray:
    """Averages over chains (C, T), by lag, (T,)."""
    T = x.shape[1]
    transform = np.fft.rfft(x - x.mean(axis=1, keepdims=True), next_fast_len(2 * T))
    return np.fft.irfft(np.abs(transform) ** 2, next_fast_len(2 * T))[:, :T].mean(axis=0) / T


def correlations(x: np.ndarray) -> np.ndarray:
    """Autocorrelations within chains (C, T), by lag, (T,); zero of a constant."""
    s = autocovariances(x)
    return s / s[0] if s[0] > 0 else np.zeros_like(s)


def _time(rho: np.ndarray) -> float:
    """τ, at least 1, by the initial positive monotone sequence."""
    rho = np.append(1.0, rho[1:])
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0)
    return max(float(-1.0 + 2.0 * np.minimum.accumulate(pairs)[positive].sum()), 1.0)


def split_mixing(x: np.ndarray) -> Mixing:
    """The worse mixing of place and width: normal scores of x and of |x − median|, chains cut in two."""
    T = x.shape[1] // 2
    halves = np.concatenate([x[:, :T], x[:, -T:]])
    both = [mixing(normal_scores(y)) for y in (halves, np.abs(halves - np.median(halves)))]
    apart = max(both, key=lambda m: m.r_hat)
    return Mixing(min(m.n_effective for m in both), apart.r_hat, apart.excess)


def normal_scores(x: np.ndarray) -> np.ndarray:
    """Ranks among all, as quantiles of the standard normal, shape of x."""
    return ndtri((rankdata(x).reshape(x.shape) - 0.375) / (x.size + 0.25))
