r"""Shares between zero and one: a beta regression with the logit link.

    y ~ Beta(μφ, (1 − μ)φ),    μ = 1 / (1 + e^(−η)),    Var y = μ(1 − μ) / (1 + φ)

Symbols: ``mu`` = μ, ``phi`` = precision φ, ``a, b`` = μφ, (1 − μ)φ.

References
----------
S. Ferrari, F. Cribari-Neto (2004), Beta regression for modelling rates and proportions, Journal of Applied
Statistics 31, 799.
"""

from dataclasses import dataclass
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.scipy.special import betaln
from scipy.special import digamma, entr, expit, gammaln, xlog1py, xlogy, zeta

from ._families import Family
from ._own_priors import ROOT_UNIFORM, UNIFORM
from ._special import log_gamma_function

#: Precision φ up to which log B may be a difference of log Γ, which are φ log φ: beyond, it loses digits.
MAX_DIFFERENCE_PRECISION = 1e6


@dataclass(frozen=True)
class Beta(Family):
    """Shares with the logit link: y ~ Beta(μφ, (1 − μ)φ), whose mean is μ = 1 / (1 + e^(−η)).

    Parameters
    ----------
    precision : distribution
        Prior of φ.  By default 1/√(1 + φ) is uniform: the standard deviation as a part of √(μ(1 − μ)), the
        largest that shares of this mean can have.
    """

    precision: Any = ROOT_UNIFORM

    own = {"precision": np.inf}
    is_log_concave = False
    is_positive = True
    link = "logit"

    def probability(self, eta: Any) -> Any:
        """μ."""
        return expit(eta)

    def log_density(self, eta, y, phi):
        a, b = phi / (1 + anp.exp(-eta)), phi / (1 + anp.exp(eta))
        return (a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - betaln(a, b)

    def summed(self, y, weight):
        log_y, log_rest, n = weight * np.log(y), weight * np.log1p(-y), weight.sum()
        constant, exact = log_y.sum() + log_rest.sum(), super().summed(y, weight)

        def total(eta, phi):
            if not np.max(phi) < MAX_DIFFERENCE_PRECISION:
                return exact(eta, phi)
            a, b = phi / (1 + np.exp(-eta)), phi / (1 + np.exp(eta))
            log_betas = (log_gamma_function(a) + log_gamma_function(b)) @ weight - n * gammaln(phi[:, 0])
            return a @ log_y + b @ log_rest - constant - log_betas

        return total

    def _parts(self, eta: Any, y: Any, phi: Any) -> tuple[Any, Any, Any, Any]:
        """a, b, dμ/dη, and the distance of logit y from its mean."""
        a, b = phi * expit(eta), phi * expit(-eta)
        return a, b, expit(eta) * expit(-eta), np.log(y) - np.log1p(-y) - digamma(a) + digamma(b)

    def score(self, eta, y, phi):
        _, _, slope, distance = self._parts(eta, y, phi)
        return phi * slope * distance

    def curvature(self, eta, y, phi):
        a, b, slope, distance = self._parts(eta, y, phi)
        trigammas = zeta(2.0, a) + zeta(2.0, b)
        return phi * slope * (phi * slope * trigammas - (expit(-eta) - expit(eta)) * distance)

    def mean(self, eta, phi):
        return expit(eta) + 0.0 * phi

    def variance(self, eta, phi):
        return expit(eta) * expit(-eta) / (1 + phi)

    def entropy(self, eta, phi):
        a, b = phi * expit(eta), phi * expit(-eta)
        of_parts = (a - 1) * digamma(a) + (b - 1) * digamma(b)
        return betaln(a, b) - of_parts + (phi - 2) * digamma(phi)

    def simulate(self, eta, rng, phi):
        tiny = np.finfo(float)
        y = rng.beta(np.maximum(phi * expit(eta), tiny.tiny), np.maximum(phi * expit(-eta), tiny.tiny))
        return np.clip(y, tiny.tiny, 1 - tiny.epsneg)

    def refuse(self, y):
        if np.any((y <= 0) | (y >= 1)):
            wrong = y[(y <= 0) | (y >= 1)][0]
            raise ValueError(
                f"y must be shares between 0 and 1, both excluded, but has {wrong:g}: a beta density is 0 or "
                "infinite there; family='zero_one_beta' has shares of exactly 0 and 1, and successes among "
                "trials are of family='binomial'"
            )


#: The law between the ends.
BETA = Beta()


@dataclass(frozen=True)
class ZeroOneBeta(Family):
    """Shares of which some are exactly 0 or 1, and the others are Beta(μφ, (1 − μ)φ).

        P(y = 0) = ψ(1 − ω),    P(y = 1) = ψω,    p(y) = (1 − ψ) Beta(y | μφ, (1 − μ)φ) between them

    Parameters
    ----------
    precision : distribution
        Prior of φ, as of :class:`Beta`.
    share_of_ends : distribution
        Prior of ψ: uniform by default.
    share_of_ones : distribution
        Prior of ω, the share of ones among these: uniform by default.
    """

    precision: Any = ROOT_UNIFORM
    share_of_ends: Any = UNIFORM
    share_of_ones: Any = UNIFORM

    own = {"precision": np.inf, "share_of_ends": 1.0, "share_of_ones": 1.0}
    is_log_concave = False
    is_positive = True
    link = "logit"
    half_a_count = 0.5

    def probability(self, eta: Any) -> Any:
        """μ."""
        return BETA.probability(eta)

    @staticmethod
    def _inside(y: Any) -> tuple[Any, Any]:
        """Whether y is between the ends, and y there."""
        is_inside = (y > 0) & (y < 1)
        return is_inside, np.where(is_inside, y, 0.5)

    def log_density(self, eta, y, phi, ends, ones):
        is_inside, between = self._inside(y)
        of_which = anp.where(y == 0, anp.log1p(-ones) + 0.0 * y, anp.log(ones) + 0.0 * y)
        at_ends = anp.log(ends) + of_which
        of_beta = anp.log1p(-ends) + BETA.log_density(eta, between, phi)
        return anp.where(is_inside, of_beta, at_ends)

    def summed(self, y, weight):
        is_inside, _ = self._inside(y)
        of_beta, n = BETA.summed(y[is_inside], weight[is_inside]), weight[is_inside].sum()
        n_zeros, n_ones = weight[y == 0].sum(), weight[y == 1].sum()

        def total(eta, phi, ends, ones):
            psi, omega = ends[:, 0], ones[:, 0]
            at_ends = (n_zeros + n_ones) * np.log(psi) + xlog1py(n_zeros, -omega) + xlogy(n_ones, omega)
            return of_beta(eta[:, is_inside], phi) + n * np.log1p(-psi) + at_ends

        return total

    def score(self, eta, y, phi, ends, ones):
        is_inside, between = self._inside(y)
        return np.where(is_inside, BETA.score(eta, between, phi), 0.0)

    def curvature(self, eta, y, phi, ends, ones):
        is_inside, between = self._inside(y)
        return np.where(is_inside, BETA.curvature(eta, between, phi), 0.0)

    def mean(self, eta, phi, ends, ones):
        return (1 - ends) * expit(eta) + ends * ones

    def variance(self, eta, phi, ends, ones):
        square = (1 - ends) * (BETA.variance(eta, phi) + expit(eta) ** 2) + ends * ones
        return square - self.mean(eta, phi, ends, ones) ** 2

    def entropy(self, eta, phi, ends, ones):
        of_which = entr(ends * ones) + entr(ends * (1 - ones)) + entr(1 - ends)
        return of_which + (1 - ends) * BETA.entropy(eta, phi)

    def simulate(self, eta, rng, phi, ends, ones):
        is_end, is_one = rng.random(np.shape(eta)) < ends, rng.random(np.shape(eta)) < ones
        return np.where(is_end, np.where(is_one, 1.0, 0.0), BETA.simulate(eta, rng, phi))

    def refuse(self, y):
        if np.any((y < 0) | (y > 1)):
            raise ValueError(f"y must be shares from 0 to 1, but has {y[(y < 0) | (y > 1)][0]:g}")
