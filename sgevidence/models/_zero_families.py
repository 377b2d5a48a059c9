r"""Counts with more zeros than their law has, or fewer: zero-inflated laws, and a hurdle.

    zero-inflated    p(y) = π [y = 0] + (1 − π) law(y | η)
    hurdle           p(0) = π,    p(y) = (1 − π) law(y | η) / (1 − law(0 | η))   where y > 0

Symbols: ``share`` = π, ``q`` = probability that a zero is one of the law's, ``tau`` = mean of a count that is
positive.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import autograd.numpy as anp
import numpy as np
from scipy.special import expit

from ._count_families import Counts, NegativeBinomial, Poisson, softplus
from ._families import Family
from ._own_priors import UNIFORM, UNIT_EXPONENTIAL

#: η beyond which a Poisson has no zeros: e^(−10¹³⁰) is none, and e^(2 · 300) is still a number.
NO_ZEROS = 300.0
#: y of a zero and of a one, which broadcast.
ZERO_COUNT, ONE_COUNT = np.zeros(1), np.ones(1)
#: η below which a Poisson with rate e^η is zero or one: the rest has a probability of 10⁻²⁶.
RARE_ETA = -30.0


class ZeroInflated(Counts):
    """A law of counts of which a share is zero: the law's own parameters come before the share."""

    law: ClassVar[Family]
    has_tails = True

    def log_cdf(self, eta, y, *more):
        *own, share = more
        return np.logaddexp(np.log(share), np.log1p(-share) + self.law.log_cdf(eta, y, *own))

    def log_sf(self, eta, y, *more):
        *own, share = more
        return np.log1p(-share) + self.law.log_sf(eta, y, *own)

    def log_flux(self, eta, y, *more):
        *own, share = more
        return np.log1p(-share) + self.law.log_flux(eta, y, *own)

    def flux_slope(self, eta, y, *more):
        return self.law.flux_slope(eta, y, *more[:-1])

    def log_density(self, eta, y, *more):
        *own, share = more
        of_law = anp.log1p(-share) + self.law.log_density(eta, y, *own)
        return anp.where(y == 0, anp.logaddexp(anp.log(share), of_law), of_law)

    def summed(self, y, weight):
        is_zero = y == 0
        of_law, of_zeros = self.law.summed(y[~is_zero], weight[~is_zero]), weight[is_zero]
        n_positive = weight[~is_zero].sum()

        def total(eta, *more):
            *own, share = more
            log_rest = np.log1p(-share)
            odds = log_rest + self.law.log_density(eta[:, is_zero], ZERO_COUNT, *own) - np.log(share)
            zeros = softplus(odds) @ of_zeros + np.log(share[:, 0]) * of_zeros.sum()
            return zeros + of_law(eta[:, ~is_zero], *own) + log_rest[:, 0] * n_positive

        return total

    def _of_zeros(self, eta: Any, own: Any, share: Any) -> tuple[Any, Any]:
        """Probability that a zero is one of the law's, and the law's score there."""
        eta = np.minimum(eta, NO_ZEROS)  # beyond, the probability is zero, and 0 · ∞ no number
        q = expit(np.log1p(-share) + self.law.log_density(eta, ZERO_COUNT, *own) - np.log(share))
        return q, self.law.score(eta, ZERO_COUNT, *own)

    def score(self, eta, y, *more):
        *own, share = more
        q, slope = self._of_zeros(eta, own, share)
        return np.where(y == 0, q * slope, self.law.score(eta, y, *own))

    def curvature(self, eta, y, *more):
        *own, share = more
        q, slope = self._of_zeros(eta, own, share)
        at_zero = self.law.curvature(np.minimum(eta, NO_ZEROS), ZERO_COUNT, *own)
        return np.where(y == 0, q * at_zero - q * (1 - q) * slope**2, self.law.curvature(eta, y, *own))

    def mean(self, eta, *more):
        *own, share = more
        return (1 - share) * self.law.mean(eta, *own)

    def variance(self, eta, *more):
        *own, share = more
        return (1 - share) * (self.law.variance(eta, *own) + share * self.law.mean(eta, *own) ** 2)

    def simulate(self, eta, rng, *more):
        *own, share = more
        return self.law.simulate(eta, rng, *own) * (rng.random(np.shape(eta)) >= share)


@dataclass(frozen=True)
class ZeroInflatedPoisson(ZeroInflated):
    """Counts of which a share π are zero whatever the rate: p(y) = π [y = 0] + (1 − π) Poisson(y | e^η).

    Parameters
    ----------
    share_of_zeros : distribution
        Prior of π: uniform by default.  Zeros of the Poisson part come on top.
    """

    share_of_zeros: Any = UNIFORM

    own = {"share_of_zeros": 1.0}
    law = Poisson()
    is_log_concave = False


@dataclass(frozen=True)
class ZeroInflatedNegativeBinomial(ZeroInflated):
    """Overdispersed counts of which a share π are zero whatever the rate.

    Parameters
    ----------
    dispersion : distribution
        Prior of α, as of :class:`NegativeBinomial`: Exp(1) by default.
    share_of_zeros : distribution
        Prior of π: uniform by default.  Zeros of the negative binomial part come on top.
    """

    dispersion: Any = UNIT_EXPONENTIAL
    share_of_zeros: Any = UNIFORM

    own = {"dispersion": np.inf, "share_of_zeros": 1.0}
    law = NegativeBinomial()
    is_log_concave = False


class Hurdle(Counts):
    """Counts that are zero with a probability π, and otherwise a law's without its zero; as above.

    Zeros say nothing of the law.
    """

    law: ClassVar[Family]
    is_log_concave = False

    def log_zero(self, eta: Any, *own: Any) -> Any:
        """log law(0 | η), in ``autograd.numpy``."""
        raise NotImplementedError

    def log_positive(self, eta: Any, *own: Any) -> Any:
        """log P(y > 0) of the law."""
        rare = self.law.log_density(eta, ONE_COUNT, *own)
        some = anp.log(-anp.expm1(self.log_zero(anp.maximum(eta, RARE_ETA), *own)))
        return anp.where(eta > RARE_ETA, some, rare)

    def log_density(self, eta, y, *more):
        *own, share = more
        truncated = self.law.log_density(eta, y, *own) - self.log_positive(eta, *own)
        return anp.where(y == 0, anp.log(share) + 0.0 * y, anp.log1p(-share) + truncated)

    def summed(self, y, weight):
        is_zero = y == 0
        of_positive, n_zeros = super().summed(y[~is_zero], weight[~is_zero]), weight[is_zero].sum()
        return lambda eta, *more: of_positive(eta[:, ~is_zero], *more) + np.log(more[-1][:, 0]) * n_zeros

    def _ratio(self, eta: Any, own: Any) -> tuple[Any, Any]:
        """law(0) / (1 − law(0)), and −∂ log law(0)/∂η."""
        return 1 / np.expm1(-self.log_zero(eta, *own)), -self.law.score(eta, ZERO_COUNT, *own)

    def score(self, eta, y, *more):
        *own, _ = more
        ratio, slope = self._ratio(np.clip(eta, RARE_ETA, NO_ZEROS), own)
        return np.where(y == 0, 0.0, self.law.score(eta, y, *own) - ratio * slope)

    def curvature(self, eta, y, *more):
        *own, _ = more
        inside = np.clip(eta, RARE_ETA, NO_ZEROS)
        ratio, slope = self._ratio(inside, own)
        of_zero = ratio * (self.law.curvature(inside, ZERO_COUNT, *own) - slope**2 * (1 + ratio))
        return np.where(y == 0, 0.0, self.law.curvature(eta, y, *own) + of_zero)

    def mean(self, eta, *more):
        (*own, share), eta = more, np.maximum(eta, RARE_ETA)
        return (1 - share) * np.exp(np.log(self.law.mean(eta, *own)) - self.log_positive(eta, *own))

    def variance(self, eta, *more):
        (*own, _), eta = more, np.maximum(eta, RARE_ETA)
        mean, of_law = self.mean(eta, *more), self.law.mean(eta, *own)
        return mean * (self.law.variance(eta, *own) / of_law + of_law - mean)


def positive_poisson(rate: Any, rng: np.random.Generator) -> Any:
    """Poisson numbers that are not zero: a first arrival before the end, and a number of others after it."""
    rest = rate + np.log1p(rng.random(np.shape(rate)) * np.expm1(-rate))
    return 1 + Poisson().simulate(np.log(np.maximum(rest, np.finfo(float).tiny)), rng)


@dataclass(frozen=True)
class HurdlePoisson(Hurdle):
    """Counts that are zero with probability π; the others have a Poisson law of rate e^η without zero.

    Parameters
    ----------
    share_of_zeros : distribution
        Prior of π: uniform by default.  There are no other zeros, and they say nothing of the rate.
    """

    share_of_zeros: Any = UNIFORM

    own = {"share_of_zeros": 1.0}
    law = Poisson()

    def log_zero(self, eta):
        return -anp.exp(eta)

    def simulate(self, eta, rng, share):
        return positive_poisson(np.exp(eta), rng) * (rng.random(np.shape(eta)) >= share)


@dataclass(frozen=True)
class HurdleNegativeBinomial(Hurdle):
    """Counts that are zero with probability π; the others have a negative binomial law without zero.

    Parameters
    ----------
    dispersion : distribution
        Prior of α, as of :class:`NegativeBinomial`: Exp(1) by default.
    share_of_zeros : distribution
        Prior of π: uniform by default.  There are no other zeros, and they say nothing of the rate.
    """

    dispersion: Any = UNIT_EXPONENTIAL
    share_of_zeros: Any = UNIFORM

    own = {"dispersion": np.inf, "share_of_zeros": 1.0}
    law = NegativeBinomial()

    def log_zero(self, eta, alpha):
        return -softplus(eta + anp.log(alpha)) / alpha

    def simulate(self, eta, rng, alpha, share):
        """Rates λ of positive counts have a density λ^(r−1) (e^(−bλ) − e^(−(b+1)λ)), b = r e^(−η): a mixture
        of gammas of shape r + 1 over their rate t between b and b + 1, whose t^(−r) is uniform.
        """
        u, r = rng.random(np.shape(eta)), 1 / alpha
        log_t = np.log(r) - eta - np.log1p(u * np.expm1(self.log_zero(eta, alpha))) / r
        rate = rng.gamma(np.broadcast_to(r + 1, np.shape(eta))) * np.exp(-log_t)
        positive = positive_poisson(np.maximum(rate, np.finfo(float).tiny), rng)
        return positive * (rng.random(np.shape(eta)) >= share)
