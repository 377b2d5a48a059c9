r"""Families of times until an event: accelerated failure times,

    log t = η + σ ε,

with ε the logarithm of a unit exponential (Weibull, exponential), a standard normal (log-normal) or a
standard logistic (log-logistic).  :mod:`._bounds` has times that are censored, or come late.

Symbols: ``u`` = (log t − η)/σ, ``sigma`` = σ.

References
----------
J. D. Kalbfleisch, R. L. Prentice (2002), The Statistical Analysis of Failure Time Data, 2nd ed., chapter 2.
"""

from dataclasses import dataclass
from typing import Any

import autograd.numpy as anp
import numpy as np
from scipy.special import expit, gamma, log_ndtr

from ._count_families import softplus
from ._families import Family
from ._own_priors import HALF_LOG_2PI, UNIT_HALF_T

#: Logarithm of a cumulative hazard beyond which nothing survives.
MAX_LOG_HAZARD = 600.0


class Times(Family):
    """Positive times with a log link."""

    is_positive = True
    link = "log"
    has_tails = True

    def median(self, eta: Any, *own: Any) -> Any:
        """The time that is exceeded with probability one half."""
        raise NotImplementedError

    def refuse(self, y):
        if np.any(y <= 0):
            raise ValueError(f"y must be positive times, but has {y.min():g}")


def log_of_less_than_one(log_hazard: Any) -> Any:
    """log(1 − e^(−H)) of a cumulative hazard H, given log H."""
    H = np.exp(np.minimum(log_hazard, MAX_LOG_HAZARD))
    with np.errstate(divide="ignore"):
        return np.where(log_hazard < -30.0, log_hazard, np.log(-np.expm1(-H)))  # where H is 10⁻¹³


@dataclass(frozen=True)
class Weibull(Times):
    """Weibull times: S(t) = exp(−(t e^(−η))^(1/σ)), of shape 1/σ.

    Parameters
    ----------
    scale : distribution
        Prior of σ: half-Student-t(3) of scale 1 by default, as that of :class:`LogNormal`.  At σ = 1 times
        are exponential, below it the hazard rises.
    """

    scale: Any = UNIT_HALF_T

    own = {"scale": np.inf}
    is_log_concave = False

    def log_density(self, eta, y, sigma):
        log_y = np.log(y)
        u = (log_y - eta) / sigma
        return u - anp.log(sigma) - log_y - anp.exp(u)

    def log_cdf(self, eta, y, sigma):
        return log_of_less_than_one((np.log(y) - eta) / sigma)

    def log_sf(self, eta, y, sigma):
        return -np.exp((np.log(y) - eta) / sigma)

    def score(self, eta, y, sigma):
        return np.expm1((np.log(y) - eta) / sigma) / sigma

    def curvature(self, eta, y, sigma):
        return np.exp((np.log(y) - eta) / sigma) / sigma**2

    def mean(self, eta, sigma):
        return np.exp(eta) * gamma(1 + sigma)

    def variance(self, eta, sigma):
        return np.exp(2 * eta) * (gamma(1 + 2 * sigma) - gamma(1 + sigma) ** 2)

    def entropy(self, eta, sigma):
        return eta + np.log(sigma) + np.euler_gamma * (1 - sigma) + 1

    def median(self, eta, sigma):
        return np.exp(eta) * np.log(2) ** sigma

    def simulate(self, eta, rng, sigma):
        return np.exp(eta) * rng.exponential(size=np.shape(eta)) ** sigma


@dataclass(frozen=True)
class ExponentialTimes(Times):
    """Exponential times of mean e^η: a constant hazard."""

    is_memoryless = True

    def log_density(self, eta, y):
        return -eta - y * anp.exp(-eta)

    def log_cdf(self, eta, y):
        return log_of_less_than_one(np.log(y) - eta)

    def log_sf(self, eta, y):
        return -y * np.exp(-eta)

    def score(self, eta, y):
        return np.expm1(np.log(y) - eta)

    def curvature(self, eta, y):
        return y * np.exp(-eta)

    def mean(self, eta):
        return np.exp(eta)

    def variance(self, eta):
        return np.exp(2 * eta)

    def entropy(self, eta):
        return eta + 1

    def median(self, eta):
        return np.exp(eta) * np.log(2)

    def simulate(self, eta, rng):
        return np.exp(eta) * rng.exponential(size=np.shape(eta))


@dataclass(frozen=True)
class LogNormal(Times):
    """Log-normal times: log t ~ N(η, σ²).

    Parameters
    ----------
    scale : distribution
        Prior of σ: half-Student-t(3) of scale 1 by default.
    """

    scale: Any = UNIT_HALF_T

    own = {"scale": np.inf}
    is_log_concave = False

    def log_density(self, eta, y, sigma):
        log_y = np.log(y)
        return -0.5 * anp.square((log_y - eta) / sigma) - anp.log(sigma) - log_y - HALF_LOG_2PI

    def log_cdf(self, eta, y, sigma):
        return log_ndtr((np.log(y) - eta) / sigma)

    def log_sf(self, eta, y, sigma):
        return log_ndtr((eta - np.log(y)) / sigma)

    def summed(self, y, weight):
        log_y, n = np.log(y), weight.sum()
        constant = weight @ (log_y + HALF_LOG_2PI)
        return lambda eta, sigma: (
            -0.5 * np.square((log_y - eta) / sigma) @ weight - n * np.log(sigma[:, 0]) - constant
        )

    def score(self, eta, y, sigma):
        return (np.log(y) - eta) / sigma**2

    def curvature(self, eta, y, sigma):
        return 1.0 / sigma**2 + 0.0 * eta

    def mean(self, eta, sigma):
        return np.exp(eta + 0.5 * sigma**2)

    def variance(self, eta, sigma):
        return np.expm1(sigma**2) * np.exp(2 * eta + sigma**2)

    def entropy(self, eta, sigma):
        return eta + 0.5 + np.log(sigma) + HALF_LOG_2PI

    def median(self, eta, sigma):
        return np.exp(eta) + 0.0 * sigma

    def simulate(self, eta, rng, sigma):
        return np.exp(eta + sigma * rng.standard_normal(np.shape(eta)))


@dataclass(frozen=True)
class LogLogistic(Times):
    """Log-logistic times: S(t) = 1 / (1 + (t e^(−η))^(1/σ)), whose hazard rises and falls where σ < 1.

    Parameters
    ----------
    scale : distribution
        Prior of σ: half-Student-t(3) of scale 1 by default.  There is no mean where σ ≥ 1.
    """

    scale: Any = UNIT_HALF_T

    own = {"scale": np.inf}
    is_log_concave = False

    def log_density(self, eta, y, sigma):
        log_y = np.log(y)
        u = (log_y - eta) / sigma
        return -softplus(u) - softplus(-u) - anp.log(sigma) - log_y

    def log_cdf(self, eta, y, sigma):
        return -softplus((eta - np.log(y)) / sigma)

    def log_sf(self, eta, y, sigma):
        return -softplus((np.log(y) - eta) / sigma)

    def score(self, eta, y, sigma):
        return np.tanh(0.5 * (np.log(y) - eta) / sigma) / sigma

    def curvature(self, eta, y, sigma):
        u = (np.log(y) - eta) / sigma
        return 2 * expit(u) * expit(-u) / sigma**2

    def mean(self, eta, sigma):
        return np.exp(eta) * self._moment(sigma)

    def variance(self, eta, sigma):
        second, first = self._moment(2 * sigma), self._moment(sigma)
        return np.exp(2 * eta) * (second - np.where(np.isfinite(second), first, 0.0) ** 2)

    @staticmethod
    def _moment(sigma: Any) -> Any:
        """E[t^k e^(−kη)] = kσ π / sin(kσ π), given kσ."""
        return np.where(sigma < 1, 1.0 / np.sinc(np.minimum(sigma, 0.999_999_999)), np.inf)

    def entropy(self, eta, sigma):
        return eta + np.log(sigma) + 2

    def median(self, eta, sigma):
        return np.exp(eta) + 0.0 * sigma

    def simulate(self, eta, rng, sigma):
        return np.exp(eta + sigma * rng.logistic(size=np.shape(eta)))
