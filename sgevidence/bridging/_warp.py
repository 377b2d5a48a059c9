r"""Warp-III bridge sampling: the posterior is centred, whitened and made symmetric before the bridge.

    p̃(x) = |det L| [p(m + L x) + p(m − L x)] / 2,    ω(x) = p̃(x) / N(x; 0, I)

p̃ has the mass of p for any m and L, no skewness and nearly unit width, so that the standard normal is close.
m and L L' are mean and covariance of draws other than those that the bridge uses.

Draws of another posterior than that of p are seen by moves that leave p as it is (Barker 1965): to the mirror
image, and to a draw y of the normal,

    E_p[x_j / (1 + e^a)] = 0,    a = log p(m + L x) − log p(m − L x),
    E_p[(y_j² − x_j²) / (1 + ω(x) / ω(y))] = 0.

Symbols
-------
=======  ===========  ==========================================================
θ        ``theta``    draws of the posterior, (C, T, d)
x        ``x``        L⁻¹(θ − m), and draws of the standard normal
g        ``g``        n_q Z / (n_p ω + n_q Z), up to a factor, at draws of the posterior, (C, T)
=======  ===========  ==========================================================

References
----------
X.-L. Meng and S. Schilling (2002), Warp bridge sampling; S. Frühwirth-Schnatter (2004), Estimating marginal
likelihoods for mixture and Markov switching models using bridge sampling techniques (the error with
autocorrelated draws).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from ..answers import bridge
from ..kernels import Coordinates
from ._draws import LogDensity, evaluate
from ._mixing import mixing


class Half(NamedTuple):
    """The bridge to the draws of one half, in nats.

    ``n_gaussian`` is the effective number of draws of the Gaussian, ``mismatch`` the largest distance of the
    means above from zero, in standard errors.
    """

    log_Z: float
    var_q: float
    var_p: float
    n_gaussian: float
    mismatch: float


def bridged(
    log_density: LogDensity,
    theta: np.ndarray,
    log_p: np.ndarray,
    other: np.ndarray,
    rng: np.random.Generator,
) -> Half:
    """A bridge between the draws ``theta``, of density ``log_p``, and a Gaussian fitted to ``other``."""
    C, T, d = theta.shape
    # draws of the Gaussian are as many as those of the posterior, and at least this number
    n_p, n_q = C * T, max(C * T, 1000)
    m, scale = other.reshape(-1, d).mean(axis=0), other.reshape(-1, d).std(axis=0)
    correlation = np.atleast_2d(np.cov(((other - m) / scale).reshape(-1, d).T))
    warp = Coordinates(scale[:, None] * np.linalg.cholesky(correlation))
    x_p = warp.whiten((theta - m).reshape(-1, d))
    x_q = rng.standard_normal((n_q, d))
    height = log_p.max()  # large constants would cost digits
    here, mirror = log_p.ravel() - height, evaluate(log_density, m - warp.unwhiten(x_p)) - height
    log_omega = _log_ratio(x_p, here, mirror, warp)
    plus, minus = (evaluate(log_density, m + warp.unwhiten(y)) - height for y in (x_q, -x_q))
    log_omega_q = _log_ratio(x_q, plus, minus, warp)
    if not (log_omega_q > -np.inf).any():
        raise ValueError("log_density is −inf at all draws of a Gaussian that was fitted to the draws")
    estimate = bridge(log_omega_q, log_omega[None])
    log_g = log_expit(estimate.log_Z - np.log(n_p / n_q) - log_omega).reshape(C, T)
    g = np.exp(log_g - log_g.max())  # up to a factor
    var_p = g.var() / g.mean() ** 2 / mixing(g).n_effective
    barker = expit(log_omega_q[:n_p] - log_omega)[:, None]
    flows = np.hstack([x_p * expit(mirror - here)[:, None], (x_q[:n_p] ** 2 - x_p**2) * barker])
    return Half(
        estimate.log_Z + height,
        estimate.var_q,
        var_p,
        n_q / (1 + n_q * estimate.var_q),
        max(_mean_in_errors(flow.reshape(C, T)) for flow in flows.T),
    )


def _log_ratio(x: np.ndarray, log_p: np.ndarray, mirror: np.ndarray, warp: Coordinates) -> np.ndarray:
    """log ω, (M,)."""
    log_q = -0.5 * np.sum(x**2, axis=1) - 0.5 * x.shape[1] * np.log(2 * np.pi)
    return np.logaddexp(log_p, mirror) - np.log(2) + np.log(np.diag(warp.L)).sum() - log_q


def _mean_in_errors(x: np.ndarray) -> float:
    """The distance of the mean from zero along chains (C, T), in standard errors."""
    return float(abs(x.mean()) / np.sqrt(x.var() / mixing(x).n_effective + 1e-300))
