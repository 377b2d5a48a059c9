r"""Student t densities, and importance sampling of one mode's basin from that of its curvature.

The shape k of a generalised Pareto tail of the weights says whether their mean has an error bar: a variance
exists for k < 1/2; up to 0.7 the error of the mean is what the weights say (Vehtari et al. 2024).

Symbols: ``a, P`` = mode and precision, ``q`` = t density around it, θ = m + L φ with φ of the standard
density; ``nu`` = its degrees of freedom, ``M, d`` = draws and parameters.

References
----------
J. Zhang and M. A. Stephens (2009), A new and efficient estimation method for the generalized Pareto
distribution, Technometrics 51, 316;
A. Vehtari, D. Simpson, A. Gelman, Y. Yao, J. Gabry (2024), Pareto smoothed importance sampling, Journal of
Machine Learning Research 25(72).
"""

from collections.abc import Callable
from math import lgamma
from typing import NamedTuple

import numpy as np

from ..kernels import Coordinates
from ..particles import Weights


def pareto_k(log_w: np.ndarray) -> float:
    """k of the largest weights, about 3√n of n (by the estimator of Zhang and Stephens); −∞ if all are equal.

    Shrunk by ten draws of k = 1/2, as in the reference.
    """
    M = len(log_w)
    n = int(min(0.2 * M, 3 * M**0.5))
    top = np.sort(np.exp(log_w - np.max(log_w)))[-n - 1 :]
    x = top[1:] - top[0]
    if n < 5 or not x[-1] > 0:
        return -np.inf
    x = np.maximum(x, 1e-300)
    m = 30 + int(n**0.5)
    theta = 1 / x[-1] + (1 - np.sqrt(m / (np.arange(m) + 0.5))) / (3 * x[int(n / 4 + 0.5) - 1])
    k = -np.mean(np.log1p(-theta[:, None] * x), axis=1)  # −k in their sign
    with np.errstate(all="ignore"):
        log_L = n * (np.log(theta / k) + k - 1)
    log_L = np.where(np.isnan(log_L), -np.inf, log_L)
    w = np.exp(log_L - log_L.max())
    best = np.sum(theta * w) / w.sum()
    shape = np.mean(np.log1p(-best * x))
    return float((n * shape + 10 * 0.5) / (n + 10))


#: Degrees of freedom of a t at a mode, and as many more as there are parameters: tails of a posterior.
MIN_DEGREES = 6.0
#: Pareto k of weights beyond which the error of their mean is not known (Vehtari et al. 2024).
MAX_PARETO_K = 0.7


def t_draws(rng: np.random.Generator, shape: tuple[int, ...], nu: float) -> np.ndarray:
    """Draws of the standard Student t of the last axis, (…, d)."""
    return rng.standard_normal(shape) / np.sqrt(rng.chisquare(nu, (*shape[:-1], 1)) / nu)


def log_t(phi: np.ndarray, nu: float) -> np.ndarray:
    """Log density of the standard Student t at φ (…, d), (…)."""
    d = phi.shape[-1]
    constant = lgamma((nu + d) / 2) - lgamma(nu / 2) - 0.5 * d * np.log(nu * np.pi)
    return constant - 0.5 * (nu + d) * np.log1p(np.sum(phi**2, axis=-1) / nu)


class TDensity(NamedTuple):
    """Student t around m of scale matrix L Lᵀ."""

    m: np.ndarray
    coordinates: Coordinates
    nu: float

    @classmethod
    def at_mode(cls, a: np.ndarray, P: np.ndarray) -> "TDensity":
        """With a posterior's curvature at its mode, and tails; LinAlgError if P is no precision."""
        return cls(a, Coordinates.from_precision(P), MIN_DEGREES + len(a))

    def theta(self, phi: np.ndarray) -> np.ndarray:
        """θ of φ, (M, d) each."""
        return self.m + self.coordinates.unwhiten(phi)

    def phi(self, theta: np.ndarray) -> np.ndarray:
        """φ of θ, (M, d) each."""
        return self.coordinates.whiten(theta - self.m)

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, d)."""
        return self.theta(t_draws(rng, (n, len(self.m)), self.nu))

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """At θ (M, d), (M,)."""
        return log_t(self.phi(theta), self.nu) - np.sum(np.log(np.diag(self.coordinates.L)))


def importance_draws(
    log_joint: Callable[[np.ndarray], np.ndarray],
    a: np.ndarray,
    P: np.ndarray,
    log_copies: float,
    M: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, Weights]:
    """M draws from q and their weights: the mean weight estimates ``exp(log_copies)`` times the basin's mass.

    q has five degrees of freedom.  ``log_joint`` gives log p(rows, θ) of a cloud; ``log_copies`` = log K! for
    the labellings of K exchangeable components.
    """
    q = TDensity(a, Coordinates.from_precision(P), nu=5.0)
    theta = q.draws(M, rng)
    return theta, Weights(log_joint(theta) + log_copies - q.log_density(theta))
