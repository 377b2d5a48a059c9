r"""Families of times of which some are censored: the event has not come up to t.

    log t = η + σ ε,    log p(t, event) = event · log f(t) + (1 − event) · log S(t),

with ε the logarithm of a unit exponential (Weibull, exponential) or a standard normal (log-normal):
accelerated failure times.  Each method has ``event`` (n,) after y, 1 where t is the time of the event and 0
where it is censored on the right; predictions, simulations and entropies are those of times that are waited
for.

Symbols: ``u`` = (log t − η)/σ, ``event``, ``sigma`` = σ.

References
----------
J. D. Kalbfleisch, R. L. Prentice (2002), The Statistical Analysis of Failure Time Data, 2nd ed., chapter 3.
"""

from dataclasses import dataclass
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.scipy.stats.norm import logcdf
from scipy.special import erfcx, gamma, log_ndtr

from ._families import Family
from ._own_priors import HALF_LOG_2PI, UNIT_HALF_T


class Times(Family):
    """Positive times with a log link, each of an event or censored."""

    is_positive = True
    link = "log"
    known = "event"

    def log_survival(self, eta: Any, y: Any, *own: Any) -> Any:
        """log P(t > y | η), in ``autograd.numpy``."""
        return self.log_density(eta, y, 0.0, *own)

    def median(self, eta: Any, *own: Any) -> Any:
        """The time that is exceeded with probability one half."""
        raise NotImplementedError

    def refuse(self, y, event=1.0):
        if np.any(y <= 0):
            raise ValueError(f"y must be positive times, but has {y.min():g}")


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

    def log_density(self, eta, y, event, sigma):
        log_y = np.log(y)
        u = (log_y - eta) / sigma
        return event * (u - anp.log(sigma) - log_y) - anp.exp(u)

    def score(self, eta, y, event, sigma):
        return (np.exp((np.log(y) - eta) / sigma) - event) / sigma

    def curvature(self, eta, y, event, sigma):
        return np.exp((np.log(y) - eta) / sigma) / sigma**2

    def mean(self, eta, event, sigma):
        return np.exp(eta) * gamma(1 + sigma)

    def variance(self, eta, event, sigma):
        return np.exp(2 * eta) * (gamma(1 + 2 * sigma) - gamma(1 + sigma) ** 2)

    def entropy(self, eta, event, sigma):
        return eta + np.log(sigma) + np.euler_gamma * (1 - sigma) + 1

    def median(self, eta, sigma):
        return np.exp(eta) * np.log(2) ** sigma

    def simulate(self, eta, rng, event, sigma):
        return np.exp(eta) * rng.exponential(size=np.shape(eta)) ** sigma


@dataclass(frozen=True)
class ExponentialTimes(Times):
    """Exponential times of mean e^η: a constant hazard."""

    def log_density(self, eta, y, event):
        return -event * eta - y * anp.exp(-eta)

    def score(self, eta, y, event):
        return y * np.exp(-eta) - event

    def curvature(self, eta, y, event):
        return y * np.exp(-eta)

    def mean(self, eta, event):
        return np.exp(eta)

    def variance(self, eta, event):
        return np.exp(2 * eta)

    def entropy(self, eta, event):
        return eta + 1

    def median(self, eta):
        return np.exp(eta) * np.log(2)

    def simulate(self, eta, rng, event):
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

    def log_density(self, eta, y, event, sigma):
        log_y = np.log(y)
        u = (log_y - eta) / sigma
        of_event = -0.5 * anp.square(u) - anp.log(sigma) - log_y - HALF_LOG_2PI
        return anp.where(event > 0, of_event, logcdf(-u))

    def summed(self, y, weight, event):
        is_event, log_y = event > 0, np.log(y)
        of_events, of_censored = weight[is_event], weight[~is_event]
        n_events, constant = of_events.sum(), of_events @ (log_y[is_event] + HALF_LOG_2PI)

        def total(eta, sigma):
            u = (log_y - eta) / sigma
            of_event = -0.5 * np.square(u[:, is_event]) @ of_events - n_events * np.log(sigma[:, 0])
            return of_event - constant + log_ndtr(-u[:, ~is_event]) @ of_censored

        return total

    @staticmethod
    def _hazard(u: Any) -> Any:
        """φ(u)/Φ(−u)."""
        return np.sqrt(2 / np.pi) / erfcx(u / np.sqrt(2))

    def score(self, eta, y, event, sigma):
        u = (np.log(y) - eta) / sigma
        return np.where(event > 0, u, self._hazard(u)) / sigma

    def curvature(self, eta, y, event, sigma):
        u = (np.log(y) - eta) / sigma
        hazard = self._hazard(u)
        censored = np.clip(hazard * (hazard - u), 0.0, 1.0)  # it cancels far above zero
        return np.where(event > 0, 1.0, censored) / sigma**2

    def mean(self, eta, event, sigma):
        return np.exp(eta + 0.5 * sigma**2)

    def variance(self, eta, event, sigma):
        return np.expm1(sigma**2) * np.exp(2 * eta + sigma**2)

    def entropy(self, eta, event, sigma):
        return eta + 0.5 + np.log(sigma) + HALF_LOG_2PI

    def median(self, eta, sigma):
        return np.exp(eta) + 0.0 * sigma

    def simulate(self, eta, rng, event, sigma):
        return np.exp(eta + sigma * rng.standard_normal(np.shape(eta)))
