r"""Families of counts, and of successes among trials.

Densities are written so that no two large terms cancel.  With x = log(α mean) and r = 1/α that of a negative
binomial is

    log p(y) = −log[(y + r) B(y + 1, r)] − y log(1 + e^(−x)) − r log(1 + e^x),

which goes over into a Poisson as α → 0.

Symbols: ``alpha`` = dispersion α, ``hazard`` = φ(η)/Φ(η).
"""

from dataclasses import dataclass
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive
from autograd.numpy.numpy_vjps import unbroadcast_f
from autograd.scipy.stats.norm import logcdf
from scipy.special import betaln, digamma, erfcx, expit, gammaln, ndtr, xlogy

from ._families import Family
from ._own_priors import UNIT_EXPONENTIAL
from ._special import log_beta_tail, log_gamma_tail

#: Logarithm of the largest rate whose counts fit into 64 bits, as numpy draws them.
LARGEST_LOG_RATE = np.log(2.0**63) - 1e-6
#: Links of a probability.
LINKS = ("logit", "probit")


def softplus(x: Any) -> Any:
    """log(1 + e^x), in ``autograd.numpy``: ``logaddexp`` takes nine times as long."""
    return anp.maximum(x, 0.0) + anp.log1p(anp.exp(-anp.abs(x)))


class Counts(Family):
    """Whole numbers from zero."""

    is_positive = True
    grain = 1.0
    link = "log"
    half_a_count = 0.5

    def refuse(self, y, *more):
        if np.any(y < 0):
            raise ValueError(f"y must be counts, but has the negative value {y.min():g}")

    def doubt(self, y):
        if np.any(y != np.round(y)):
            return "y are not counts: the log evidence is not that of a distribution"
        return None


@dataclass(frozen=True)
class Poisson(Counts):
    """Counts with the log link: y ~ Poisson(e^η)."""

    has_tails = True

    def log_cdf(self, eta, y):
        return log_gamma_tail(np.floor(y) + 1, np.exp(eta), 1)

    def log_sf(self, eta, y):
        return log_gamma_tail(np.floor(y) + 1, np.exp(eta), -1)

    def log_flux(self, eta, y):
        return eta + self.log_density(eta, y)

    def flux_slope(self, eta, y):
        return 1 + self.score(eta, y)

    def log_density(self, eta, y):
        return y * eta - anp.exp(eta) - gammaln(y + 1)

    def summed(self, y, weight):
        constant, with_y = weight @ gammaln(y + 1), weight * y
        return lambda eta: eta @ with_y - np.exp(eta) @ weight - constant

    def score(self, eta, y):
        return y - np.exp(eta)

    def curvature(self, eta, y):
        return np.exp(eta)

    def mean(self, eta):
        return np.exp(eta)

    def variance(self, eta):
        return np.exp(eta)

    def entropy(self, eta):
        """By summation for means up to 12, where the series of Stirling's type is right to 10⁻⁵."""
        mean, y = np.exp(eta), np.arange(60.0)
        small = np.clip(mean, np.finfo(float).tiny, 12.0)[..., None]
        log_p = y * np.log(small) - small - gammaln(y + 1)
        large = np.maximum(mean, 12.0)
        series = 0.5 * (1 + np.log(2 * np.pi * large)) - 1 / (12 * large) - 1 / (24 * large**2)
        return np.where(mean <= 12.0, -np.sum(np.exp(log_p) * log_p, axis=-1), series - 19 / (360 * large**3))

    def simulate(self, eta, rng):
        if (largest := np.max(eta, initial=-np.inf)) > LARGEST_LOG_RATE:
            raise ValueError(
                f"no counts have a rate of e^{largest:.0f}: the rows are too far from those learnt from"
            )
        return rng.poisson(np.exp(eta))


@primitive
def log_choices(alpha: Any, y: Any) -> Any:
    """log Γ(y + r) / [Γ(r) y!] with r = 1/α, from the distinct values of y: it costs more than all else."""
    values, index = np.unique(y, return_inverse=True)
    return (-np.log(values + 1 / alpha) - betaln(values + 1, 1 / alpha))[..., index]


def _log_choices_vjp(ans: Any, alpha: Any, y: Any) -> Any:
    values, index = np.unique(y, return_inverse=True)
    slope = (digamma(1 / alpha) - digamma(values + 1 / alpha)) / alpha**2
    return unbroadcast_f(alpha, lambda g: g * slope[..., index])


defvjp(log_choices, _log_choices_vjp, argnums=(0,))


@dataclass(frozen=True)
class NegativeBinomial(Counts):
    """Counts whose variance is larger than their mean μ = e^η: Var y = μ + α μ².

    Parameters
    ----------
    dispersion : distribution
        Prior of α: Exp(1) by default; α = 0 is Poisson.
    """

    dispersion: Any = UNIT_EXPONENTIAL

    own = {"dispersion": np.inf}
    is_log_concave = False
    has_tails = True

    def log_cdf(self, eta, y, alpha):
        return self._log_tail(eta, y, alpha, 1)

    def log_sf(self, eta, y, alpha):
        return self._log_tail(eta, y, alpha, -1)

    def _log_tail(self, eta: Any, y: Any, alpha: Any, direction: int) -> Any:
        """P(Y > y) = P(B ≤ αμ / (1 + αμ)), B ~ Beta(y + 1, 1/α)."""
        return log_beta_tail(np.floor(y) + 1, 1 / alpha, eta + np.log(alpha), direction)

    def log_flux(self, eta, y, alpha):
        return self.log_density(eta, y, alpha) + np.log(alpha * y + 1) + eta - softplus(eta + np.log(alpha))

    def flux_slope(self, eta, y, alpha):
        return self.score(eta, y, alpha) + expit(-eta - np.log(alpha))

    def log_density(self, eta, y, alpha):
        x = eta + anp.log(alpha)
        return log_choices(alpha, y) - y * softplus(-x) - softplus(x) / alpha

    def summed(self, y, weight):
        values, index = np.unique(y, return_inverse=True)
        counts, with_y = np.bincount(index, weight), weight * y

        def total(eta, alpha):
            x = eta + np.log(alpha)
            log_q = softplus(x)
            return log_choices(alpha, values) @ counts + (x - log_q) @ with_y - (log_q @ weight) / alpha[:, 0]

        return total

    def score(self, eta, y, alpha):
        x = eta + np.log(alpha)
        return y * expit(-x) - expit(x) / alpha

    def curvature(self, eta, y, alpha):
        x = eta + np.log(alpha)
        return (y + 1 / alpha) * expit(x) * expit(-x)

    def mean(self, eta, alpha):
        return np.exp(eta) + 0.0 * alpha

    def variance(self, eta, alpha):
        return np.exp(eta) + alpha * np.exp(2 * eta)

    def simulate(self, eta, rng, alpha):
        rate = rng.gamma(np.broadcast_to(1 / alpha, np.shape(eta))) * alpha
        return Poisson().simulate(eta + np.log(np.maximum(rate, np.finfo(float).tiny)), rng)


@dataclass(frozen=True)
class Binomial(Counts):
    """Successes among trials: y ~ Binomial(trials, p), p = 1 / (1 + e^(−η)) or Φ(η).

    Parameters
    ----------
    link : {"logit", "probit"}
    """

    link: str = "logit"  # type: ignore[misc]

    known = "trials"
    n_known = 1

    def __post_init__(self) -> None:
        if self.link not in LINKS:
            raise ValueError(f"link must be one of {LINKS}, got {self.link!r}")

    def log_probability(self, eta):
        """log p, and log (1 − p) at −η, in ``autograd.numpy``."""
        return -softplus(-eta) if self.link == "logit" else logcdf(eta)

    def probability(self, eta):
        return expit(eta) if self.link == "logit" else ndtr(eta)

    def _derivatives(self, eta):
        """First and second derivative of log p of a probit, the second with its sign changed."""
        hazard = np.sqrt(2 / np.pi) / erfcx(-eta / np.sqrt(2))
        return hazard, np.clip(hazard * (hazard + eta), 0.0, 1.0)  # it cancels far below zero

    def log_density(self, eta, y, trials=1.0):
        log_choices = -np.log(trials + 1) - betaln(y + 1, trials - y + 1) if self.known else 0.0
        if self.link == "logit":  # log (1 − p) = log p − η
            return log_choices + trials * self.log_probability(eta) - (trials - y) * eta
        failures = (trials - y) * self.log_probability(-eta)
        return log_choices + y * self.log_probability(eta) + failures

    def summed(self, y, weight, trials=1.0):
        if self.link != "logit":
            return super().summed(y, weight, *([trials] if self.known else []))
        constant = weight @ (-np.log(trials + 1) - betaln(y + 1, trials - y + 1)) if self.known else 0.0
        successes, failures = weight * y, weight * (trials - y)

        def total(eta):
            log_q = softplus(eta)
            return constant + (eta - log_q) @ successes - log_q @ failures

        return total

    def score(self, eta, y, trials=1.0):
        if self.link == "logit":
            return y - trials * expit(eta)
        return y * self._derivatives(eta)[0] - (trials - y) * self._derivatives(-eta)[0]

    def curvature(self, eta, y, trials=1.0):
        if self.link == "logit":
            return trials * expit(eta) * expit(-eta)
        return y * self._derivatives(eta)[1] + (trials - y) * self._derivatives(-eta)[1]

    def mean(self, eta, trials=1.0):
        return trials * self.probability(eta)

    def variance(self, eta, trials=1.0):
        return trials * self.probability(eta) * self.probability(-eta)

    def simulate(self, eta, rng, trials=1.0):
        return rng.binomial(np.asarray(trials).astype(np.int64), self.probability(eta))

    def refuse(self, y, trials=1.0):
        super().refuse(y)
        if np.any(y != np.round(y)):
            raise ValueError(
                f"y must be successes, but has {y[y != np.round(y)][0]:g}: multiply shares by their trials"
            )
        if np.any(y > trials):
            r = np.flatnonzero(y > trials)[0]
            raise ValueError(
                f"y has {y[r]:g} successes among {np.broadcast_to(trials, y.shape)[r]:g} trials in row {r}"
            )


@dataclass(frozen=True)
class Bernoulli(Binomial):
    """Two classes, y = 0 or 1: p(y = 1) = 1 / (1 + e^(−η)) or Φ(η).

    Parameters
    ----------
    link : {"logit", "probit"}
    """

    known = ""
    n_known = 0
    is_classifier = True

    def entropy(self, eta):
        p, q = self.probability(eta), self.probability(-eta)
        return -(xlogy(p, p) + xlogy(q, q))
