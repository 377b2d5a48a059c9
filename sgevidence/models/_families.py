r"""Families of generalised linear models: what a family is, and those of numbers; counts are beside them.

Symbols: ``eta`` = η, ``u`` = residual in units of the noise, or log(y / mean).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import autograd.numpy as anp
import numpy as np
from autograd.scipy.special import betaln, gammaln
from scipy.special import digamma, log_ndtr

from ._own_priors import (
    GAMMA_2_01,
    HALF_LOG_2PI,
    UNIT_EXPONENTIAL,
    UNIT_HALF_T,
    check_prior,
    from_normal,
    prior_name,
)
from ._special import log_beta_tail, log_gamma_tail


class Family:
    """Distribution of y given η, and the parameters that the distribution has of its own, elementwise.

    A family is a frozen dataclass.  Its fields that are named in ``own`` are the priors of parameters beside
    η.  After y its methods take the ``known`` columns (n,), then the values of these parameters, (M, 1) each:
    ``more`` below.  ``score`` and ``curvature`` are closed forms; derivatives by its
    own parameters come from ``log_density``, in ``autograd.numpy``.
    """

    #: Names of the fields that are priors of its own parameters, and the largest value that each may have.
    own: ClassVar[dict[str, float]] = {}
    #: Name of the columns that are known beside the offset: "trials", "bounds" or "".
    known: ClassVar[str] = ""
    #: Columns of it.
    n_known: ClassVar[int] = 0
    #: ``log_cdf`` and ``log_sf`` are known, so that y may have bounds (:class:`Bounded`).
    has_tails: ClassVar[bool] = False
    #: P(y > e + t | y > e) does not depend on e.
    is_memoryless: ClassVar[bool] = False
    #: y are labels.
    is_classifier: ClassVar[bool] = False
    #: There is no other parameter that does what an intercept does.
    has_intercept: ClassVar[bool] = True
    #: log p(y | η) is concave in η, and there are no other parameters: then the posterior has one mode.
    is_log_concave: ClassVar[bool] = True
    #: Climbs that must end at one mode before it counts as the only one, where it is not log-concave.
    n_mode_checks: ClassVar[int] = 3
    #: y is never negative.
    is_positive: ClassVar[bool] = False
    #: Distance of neighbouring values of y.
    grain: ClassVar[float] = 0.0
    #: "identity" of a family with a location and a scale, "log", "logit" or "probit"; "" where none is known.
    link: ClassVar[str] = ""
    #: Added to the sum of y, for the logarithm of a mean that may be zero.
    half_a_count: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        for name, most in self.own.items():
            check_prior(getattr(self, name), name, most)

    @property
    def n_own(self) -> int:
        """Parameters beside η, K."""
        return len(self.own)

    @property
    def plain(self) -> "Family":
        """The law of y without bounds."""
        return self

    def prior_names(self) -> list[str]:
        """Parameters beside η, each with its prior, as papers write it."""
        return [f"{name} {prior_name(getattr(self, name))}" for name in self.own]

    def own_of(self, z: Any) -> list[Any]:
        """Parameters beside η, (M, 1) each, of standard normals (M, K)."""
        return [from_normal(z[:, k : k + 1], getattr(self, name)) for k, name in enumerate(self.own)]

    def named(self, own: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Parameters beside η, (M, 1) each, by name as they are reported."""
        return {name: value[:, 0] for name, value in zip(self.own, own)}

    def log_density(self, eta: Any, y: Any, *more: Any) -> Any:
        """Normalised log p(y | η), in ``autograd.numpy``."""
        raise NotImplementedError

    def summed(self, y: Any, weight: Any, *known: Any) -> Callable[..., Any]:
        """Σ_r w_r log p(y_r | η_r), (M,), as a function of η (M, n) and own parameters, (M, 1) each.

        What depends on y alone is computed once.
        """
        return lambda eta, *own: self.log_density(eta, y, *known, *own) @ weight

    def score(self, eta: Any, y: Any, *more: Any) -> Any:
        """∂ log p(y | η) / ∂η."""
        raise NotImplementedError

    def curvature(self, eta: Any, y: Any, *more: Any) -> Any:
        """−∂² log p(y | η) / ∂η², never negative if the family is log-concave."""
        raise NotImplementedError

    def log_cdf(self, eta: Any, y: Any, *own: Any) -> Any:
        """log P(Y ≤ y | η)."""
        raise NotImplementedError

    def log_sf(self, eta: Any, y: Any, *own: Any) -> Any:
        """log P(Y > y | η)."""
        raise NotImplementedError

    def log_flux(self, eta: Any, y: Any, *own: Any) -> Any:
        """log −∂P(Y ≤ y | η)/∂η: by default of a family in which η moves y, or log y with a log link."""
        return self.log_density(eta, y, *own) + (np.log(y) if self.link == "log" else 0.0)

    def flux_slope(self, eta: Any, y: Any, *own: Any) -> Any:
        """Derivative of the log flux by η."""
        return self.score(eta, y, *own)

    def mean(self, eta: Any, *more: Any) -> Any:
        """E[y | η]."""
        raise NotImplementedError

    def variance(self, eta: Any, *more: Any) -> Any:
        """Var[y | η]."""
        raise NotImplementedError

    def simulate(self, eta: Any, rng: np.random.Generator, *more: Any) -> Any:
        """A draw of y for each η."""
        raise NotImplementedError

    def entropy(self, eta: Any, *more: Any) -> Any:
        """−E[log p(y | η)]: by default no less than that, the entropy of a Gaussian of this variance.

        That of whole numbers is bounded by a Gaussian whose variance is larger by 1/12 (Massey 1988).
        """
        return 0.5 + HALF_LOG_2PI + 0.5 * np.log(self.variance(eta, *more) + self.grain**2 / 12)

    def refuse(self, y: Any, *more: Any) -> None:
        """Raise a ValueError that says which y has no density under any η."""

    def doubt(self, y: np.ndarray) -> str | None:
        """A sentence on what speaks against a y that has a density; None if nothing does."""
        return None


@dataclass(frozen=True)
class Gaussian(Family):
    """Numbers with Gaussian noise: y ~ N(η, σ²).

    Parameters
    ----------
    noise_std : distribution
        Prior of σ: half-Student-t(3) of scale 1 by default, as in :class:`BayesianLinearRegression`.
    """

    noise_std: Any = UNIT_HALF_T

    own = {"noise_std": np.inf}
    is_log_concave = False
    link = "identity"
    has_tails = True

    def log_cdf(self, eta, y, sigma):
        return log_ndtr((y - eta) / sigma)

    def log_sf(self, eta, y, sigma):
        return log_ndtr((eta - y) / sigma)

    def log_density(self, eta, y, sigma):
        return -0.5 * anp.square((y - eta) / sigma) - anp.log(sigma) - HALF_LOG_2PI

    def score(self, eta, y, sigma):
        return (y - eta) / sigma**2

    def curvature(self, eta, y, sigma):
        return np.ones_like(eta) / sigma**2

    def mean(self, eta, sigma):
        return eta + 0.0 * sigma

    def variance(self, eta, sigma):
        return sigma**2 + 0.0 * eta

    def simulate(self, eta, rng, sigma):
        return eta + sigma * rng.standard_normal(np.shape(eta))


@dataclass(frozen=True)
class StudentT(Family):
    """Numbers with heavy-tailed noise: y = η + σ t, t ~ Student-t(ν).

    Parameters
    ----------
    noise_std : distribution
        Prior of the scale σ: half-Student-t(3) of scale 1 by default.
    degrees_of_freedom : distribution
        Prior of ν: Gamma(2, 0.1) by default, mean 20 (Juárez and Steel 2010).  The variance is infinite
        where ν ≤ 2.
    """

    noise_std: Any = UNIT_HALF_T
    degrees_of_freedom: Any = GAMMA_2_01

    own = {"noise_std": np.inf, "degrees_of_freedom": np.inf}
    is_log_concave = False
    n_mode_checks = 32  # each group of rows on a line may have its own
    link = "identity"
    has_tails = True

    def log_cdf(self, eta, y, sigma, nu):
        return self.log_sf(-eta, -y, sigma, nu)

    def log_sf(self, eta, y, sigma, nu):
        """By the beta tail of ν/(ν + u²), whose logit is that of ν/u²."""
        u, nu = np.broadcast_arrays((y - eta) / sigma, nu)
        with np.errstate(divide="ignore"):
            half = log_beta_tail(0.5 * nu, 0.5, np.log(nu) - 2 * np.log(np.abs(u)), -1) - np.log(2)
        return np.where(u > 0, half, np.log1p(-np.exp(half)))

    def log_density(self, eta, y, sigma, nu):
        u = (y - eta) / sigma
        # log Γ((ν+1)/2) − log Γ(ν/2) by the beta function: the difference is lost where ν is large
        constant = -betaln(0.5 * nu, 0.5) - 0.5 * anp.log(nu) - anp.log(sigma)
        return constant - 0.5 * (nu + 1) * anp.log1p(anp.square(u) / nu)

    def score(self, eta, y, sigma, nu):
        u = (y - eta) / sigma
        return (nu + 1) * u / (sigma * (nu + u**2))

    def curvature(self, eta, y, sigma, nu):
        u = (y - eta) / sigma
        return (nu + 1) / sigma**2 * (nu - u**2) / (nu + u**2) ** 2

    def mean(self, eta, sigma, nu):
        """The centre, also where ν ≤ 1 and there is no mean."""
        return eta + 0.0 * sigma

    def variance(self, eta, sigma, nu):
        ratio = np.where(nu > 2, nu / np.where(nu > 2, nu - 2, 1.0), np.inf)
        return sigma**2 * ratio + 0.0 * eta

    def entropy(self, eta, sigma, nu):
        by_nu = 0.5 * (nu + 1) * (digamma(0.5 * (nu + 1)) - digamma(0.5 * nu)) + 0.5 * np.log(nu)
        return by_nu + betaln(0.5 * nu, 0.5) + np.log(sigma) + 0.0 * eta

    def simulate(self, eta, rng, sigma, nu):
        return eta + sigma * rng.standard_t(np.broadcast_to(nu, np.shape(eta)))


@dataclass(frozen=True)
class Gamma(Family):
    """Positive numbers with the log link: y ~ Gamma(k, rate k e^(−η)), whose mean is e^η.

    Parameters
    ----------
    shape : distribution
        Prior of k = 1 / (coefficient of variation)²: Exp(1) by default.
    """

    shape: Any = UNIT_EXPONENTIAL

    own = {"shape": np.inf}
    is_log_concave = False
    is_positive = True
    link = "log"
    has_tails = True

    def log_cdf(self, eta, y, k):
        return log_gamma_tail(k, k * np.exp(np.log(y) - eta), -1)

    def log_sf(self, eta, y, k):
        return log_gamma_tail(k, k * np.exp(np.log(y) - eta), 1)

    def log_density(self, eta, y, k):
        u = np.log(y) - eta
        return k * (u - anp.exp(u)) + k * anp.log(k) - gammaln(k) - np.log(y)

    def summed(self, y, weight, *known):
        log_y, n = np.log(y), weight.sum()
        of_y = log_y @ weight

        def total(eta, k):
            u, k = log_y - eta, k[:, 0]
            return k * ((u - np.exp(u)) @ weight) + n * (k * np.log(k) - gammaln(k)) - of_y

        return total

    def score(self, eta, y, k):
        return k * np.expm1(np.log(y) - eta)

    def curvature(self, eta, y, k):
        return k * np.exp(np.log(y) - eta)

    def mean(self, eta, k):
        return np.exp(eta) + 0.0 * k

    def variance(self, eta, k):
        return np.exp(2 * eta) / k

    def entropy(self, eta, k):
        return eta + k - np.log(k) + gammaln(k) + (1 - k) * digamma(k)

    def simulate(self, eta, rng, k):
        return np.exp(eta) * rng.gamma(np.broadcast_to(k, np.shape(eta))) / k

    def refuse(self, y):
        if np.any(y <= 0):
            raise ValueError(
                f"y must be positive, but has {y.min():g}, where a gamma density is 0 or infinite"
            )
