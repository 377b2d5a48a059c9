r"""Evidence from two halves of a cloud, each bridged to a Student t density that is fitted to the other.

A density fitted to the very draws that it is bridged to is too high there, and the evidence then too low.
So the draws are cut in two, and q of either half has seen the other one only.  Both halves move on at the
posterior first, until what the bridge depends on has forgotten where it started: the shares of modes between
which chains do not move are those of the cloud, about which a bridge knows nothing.

Symbols: θ ``theta`` = draws of the posterior, of a half (T, C, d); φ ``phi`` = θ = m + L φ with mean m and
covariance L Lᵀ of the other half; q = Student t of 8 degrees of freedom, mean and covariance of a
half; ω ``log_w`` = p(x | θ) p(θ) / q(θ).

References
----------
X.-L. Meng and S. Schilling (2002), Warp bridge sampling; Q. F. Gronau and others (2017), A tutorial on bridge
sampling (densities fitted to one half and bridged to the other); A. M. Overstall and J. J. Forster (2010),
Default Bayesian model determination methods for generalised linear mixed models.
"""

from typing import NamedTuple

import numpy as np

from ..kernels import Coordinates
from ..targets import Target
from ._answer import Answer
from ._bridge import Estimate, bridge, cross_fitted
from ._importance import TDensity
from ._ladder import Chains, settled_chains

#: Chains at which the density is asked again, and nats by which the answer may differ: functions with noise
#: of their own have no evidence that a bridge could sharpen.
N_ASKED_AGAIN, SAME_NATS = 16, 1e-3


def fitted(theta: np.ndarray) -> TDensity:
    """q of draws (…, d), which have unit covariance in its φ; LinAlgError if they are in a plane."""
    theta = theta.reshape(-1, theta.shape[-1])
    m, scale = theta.mean(axis=0), theta.std(axis=0)
    if not np.all(scale > 0):
        raise np.linalg.LinAlgError("a coordinate does not vary")
    correlation = np.atleast_2d(np.cov(((theta - m) / scale).T))
    # degrees of freedom: tails that are heavier than those of most posteriors
    return TDensity(m, Coordinates(scale[:, None] * np.linalg.cholesky(correlation)), 8.0)


class Half(NamedTuple):
    """Chains of one half, at the posterior."""

    theta: np.ndarray  #: (T, C, d)
    log_p: np.ndarray  #: log p(x | θ) p(θ) at them, (T, C)
    n_evaluations: float  #: gradients, in particles


def cross_fitted_bridge(
    target: Target, starts: tuple[np.ndarray, np.ndarray], size: int, most: float, rng: np.random.Generator
) -> Answer | None:
    """Evidence and ``size`` draws of the posterior on all rows.

    ``starts`` (C, d) are two halves of a cloud, equally weighted; the chains of each half may cost ``most``
    gradients, in particles.

    None where chains remember their start, where the posterior ends at a wall, where the density is another
    one when it is asked again, or where few draws carry a bridge or the halves disagree.
    """
    try:
        fits = [fitted(start) for start in starts]
        halves: list[Half] = []
        for start, fit in zip(starts, reversed(fits)):
            half = _moved(target, start, fit, most, rng)
            if half is None:
                return None
            halves.append(half)
        densities = [fitted(half.theta) for half in halves]
    except np.linalg.LinAlgError:
        return None
    found = [_bridged(target, half, q, rng) for half, q in zip(halves, reversed(densities))]
    estimates = [estimate for estimate in found if estimate is not None]
    if len(estimates) < 2:
        return None
    log_Z, std, gap = cross_fitted(*estimates)
    if gap > 4.0 * std:  # standard errors by which the halves may differ
        return None
    draws = np.concatenate([half.theta for half in halves], axis=1)  # (T, 2C, d)
    theta = draws[::-1].reshape(-1, draws.shape[-1])[:size]  # the last of each chain first
    n_rows, n_gradients = len(target.likelihood.rows), sum(half.n_evaluations for half in halves)
    n_likelihoods = float(n_rows * draws[..., 0].size)
    return Answer(theta, np.zeros(len(theta)), log_Z, max(std, gap), n_likelihoods, n_gradients * n_rows)


def _moved(
    target: Target, start: np.ndarray, fit: TDensity, most: float, rng: np.random.Generator
) -> Half | None:
    """The half at the posterior, in coordinates of the other one; None if it remembers its start."""

    def log_p(phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, grad = target.value_and_grad(fit.theta(phi))
        return value, grad @ fit.coordinates.L

    log_eps = float(np.log(1.4 * len(fit.m) ** -0.25))
    chains = settled_chains(log_p, fit.phi(start), log_eps, most, rng)
    if chains is None:
        return None
    half = _in_theta(chains, fit)
    again = target.value(half.theta[-1, :N_ASKED_AGAIN])
    return half if np.all(abs(again - half.log_p[-1, :N_ASKED_AGAIN]) < SAME_NATS) else None


def _in_theta(chains: Chains, fit: TDensity) -> Half:
    phi = chains.phi
    theta = fit.theta(phi.reshape(-1, phi.shape[-1])).reshape(phi.shape)
    return Half(theta, chains.log_ratio - 0.5 * np.sum(phi**2, axis=-1), chains.n_evaluations)


def _bridged(target: Target, half: Half, q: TDensity, rng: np.random.Generator) -> Estimate | None:
    """The bridge of one half; None if few draws carry it."""
    T, C, d = half.theta.shape
    theta_q = q.draws(T * C, rng)
    with np.errstate(all="ignore"):
        log_p = target.value(theta_q)
    # share of the draws of q that may be impossible: more of them, and the posterior ends at a wall
    if not np.mean(log_p == -np.inf) <= 0.01:
        return None
    log_w_q = log_p - q.log_density(theta_q)
    log_w_p = half.log_p - np.reshape(q.log_density(half.theta.reshape(-1, d)), (T, C))
    found = bridge(log_w_q, log_w_p)
    # draws of either kind, or chains, on which each bridge must rest
    return found if found.n_effective >= 100.0 else None
