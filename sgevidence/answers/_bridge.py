r"""Evidence from draws of a posterior and of a density q, by the optimal bridge (Meng and Wong 1996).

With log-weights log ω = log p(x | θ) p(θ) / q(θ) at n_q draws of q and n_p of the posterior,

    f = n_p ω / (n_p ω + n_q Z),    Σ f = n_p    over all draws,

is what it takes to tell one kind of draw from the other, and Z what makes it fair: the intercept of a
logistic regression (Geyer 1994).  Importance sampling, the mean of ω over q, sees nothing of where q is too
thin but by a draw of great weight, and is too low until it comes; draws of the posterior are there.

The same equation says that Z is the mean of (n_q + n_p) ω / (n_q + n_p ω / Z) over all draws, so with these
as weights they are one weighted sample of the posterior.

Symbols
-------
=======  ============  ===================================================================
ω        ``log_q``     at draws of q, (n_q,)
ω        ``log_p``     at draws of the posterior, chains one beside the other, (T, C)
ω        ``log_w``     at all of them, (n_q + n_p,); of an estimate, the weights above
n_p/n_q  ``log_odds``
f        ``f``         at draws of q; ``g`` = 1 − f, mean of each chain, (C,)
Z        ``log_Z``     evidence
=======  ============  ===================================================================

References
----------
X.-L. Meng and W. H. Wong (1996), Simulating ratios of normalizing constants via a simple identity;
C. J. Geyer (1994), Estimating normalizing constants and reweighting mixtures.
"""

from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from ..particles import Weights, log_sum_exp


class Estimate(NamedTuple):
    """An estimate of log Z, in nats.

    ``var_q`` and ``var_p`` are variances from draws of q and of the posterior.  ``log_w`` are weights of
    all draws, those of q first, whose mean is Z.  ``n_effective`` is the smaller of the numbers of draws of q
    and of chains on which it rests.
    """

    log_Z: float
    var_q: float
    var_p: float
    n_effective: float
    log_w: np.ndarray

    @property
    def std(self) -> float:
        """Standard error, nats."""
        return float(np.sqrt(self.var_q + self.var_p))


def importance(log_q: np.ndarray) -> Estimate:
    """By draws of q alone."""
    w = Weights(log_q)
    return Estimate(w.log_mean, w.relative_variance, 0.0, w.ess, log_q)


def bridge(log_q: np.ndarray, log_p: np.ndarray) -> Estimate:
    """The optimal bridge, for chains that are independent of each other.

    ``log_q`` (n_q,) may be −∞, but not for all, where the posterior has no density; ``log_p`` (T, C), of T
    successive draws of each of C chains, +∞, but not for all, where q has none.

    The error bar is that of the means of f over draws of q, and of 1 − f over chains, by the delta method.
    """
    n_q, n_p, log_w = len(log_q), log_p.size, np.r_[log_q, log_p.ravel()]
    finite = log_w[np.isfinite(log_w)]
    # where both densities are, the ratio of masses lies between the least and the largest ω
    shared_q, shared_p = np.mean(log_q > -np.inf), np.mean(log_p < np.inf)
    log_odds, missed = np.log(n_p / n_q), np.log(shared_q / shared_p)
    low, high = finite.min() + missed, finite.max() + missed
    while high - low > 1e-9 * (1 + abs(high)):
        log_Z = 0.5 * (low + high)
        low, high = (log_Z, high) if expit(log_odds + log_w - log_Z).sum() > n_p else (low, log_Z)
    log_Z = 0.5 * (low + high)
    f = Weights(-np.logaddexp(0.0, log_Z - log_odds - log_q))
    g = Weights(log_sum_exp(-np.logaddexp(0.0, log_odds + log_p - log_Z), axis=0))  # 1 − f of each chain
    log_w = np.log(len(log_w) / n_q) - np.logaddexp(-log_w, log_odds - log_Z)
    return Estimate(float(log_Z), f.relative_variance, g.relative_variance, min(f.ess, g.ess), log_w)


class OfHalf(Protocol):
    """Estimate of a bridge to one half of the draws, nats."""

    @property
    def log_Z(self) -> float: ...
    @property
    def var_q(self) -> float: ...
    @property
    def var_p(self) -> float: ...


def cross_fitted(first: OfHalf, second: OfHalf) -> tuple[float, float, float]:
    """log Z, its standard error, and half the gap, of halves each bridged to a density fitted to the other.

    Either half is in both estimates, so errors by draws of the posterior may be of one sign in both.
    """
    var = first.var_q + second.var_q + (first.var_p**0.5 + second.var_p**0.5) ** 2
    gap = 0.5 * abs(first.log_Z - second.log_Z)
    return 0.5 * (first.log_Z + second.log_Z), float(0.5 * np.sqrt(var + 1e-300)), gap
