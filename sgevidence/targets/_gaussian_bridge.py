r"""The evidence of a mixture whose components overlap in many columns: a bridge to a Gaussian.

A conditional of θ given allocations is narrower than the posterior wherever a row may belong to either of
two components; in hundreds of directions at once it is nothing like it, and no number of allocations will do.
But where Gibbs chains forget quickly and rows are many the posterior of one labelling is all but Gaussian:

    Ẑ = K! Ẑ_A,    Ẑ_A from the bridge between p(θ) 1_A(θ) and N(θ; m, C)  (``_bridge.py``),

where A has one labelling of each θ, with components in slots that the chains of two independent halves share.
A draw of N outside of A has no weight, so any m, C and slots are right.  m and C are those of the chains of
the other half, since a density that was fitted to the chains it is held against would seem too good.

A term that is hard to know need not be known where it is small.  Of all densities with covariance C the
Gaussian has the most entropy.  So with chains of one labelling, and the mean of log p over the best of them,

    log Z ≤ log K! + max log p + ½ log det 2πe C    (``at_most``).

Symbols
-------
=====  ============  ==========================================================
θ_tc   ``theta``     T draws of C chains (``_chains.py``)
p      ``log_p``     likelihood times prior there
m, C   ``m, L``      mean and Cholesky factor of the covariance of a Gaussian
=====  ============  ==========================================================

References
----------
X.-L. Meng and S. Schilling (2002), Warp bridge sampling.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import digamma

from ._allocation_proposal import CHAINS, Problem
from ._bridge import Estimate, bridge
from ._chains import EACH, Chains, log_posterior

#: Draws of the Gaussian.
DRAWS = 2000


class Half(NamedTuple):
    """A bridge to the chains of one half: points of the Gaussian and of these, and what they say."""

    points: np.ndarray
    estimate: Estimate
    n_sweeps: int


def gaussian_bridge(problem: Problem, chains: Chains, rngs: list[np.random.Generator]) -> list[Half]:
    """A bridge to the chains of either half, which have settled; ``n_effective`` is of a hundred chains."""
    d, halves = problem.model.n_params, []
    for mine in range(2):
        own, other = (chains.theta[i].reshape(-1, d) for i in (mine, 1 - mine))
        m, L = _fitted(other)
        points, log_q = _gaussian_weights(problem, chains.slots, m, L, rngs[mine])
        held = chains.log_p[mine] - _log_density(own, m, L).reshape(-1, EACH)
        estimate = _of_all_labels(bridge(log_q, held), problem.model.n_components)
        halves.append(Half(np.concatenate([points, own]), estimate, chains.n_sweeps // 2))
    return halves


def most(problem: Problem, chains: Chains) -> float:
    """Upper bound of the evidence of a posterior with the covariance of the chains, nats: see above."""
    theta = chains.theta.reshape(-1, chains.theta.shape[-1])
    N, d = theta.shape
    log_det = np.linalg.slogdet(np.cov(theta.T))[1]
    # of independent draws it is too low by so much in the mean (Wishart)
    log_det -= np.sum(digamma(0.5 * (N - 1 - np.arange(d)))) - d * np.log(0.5 * (N - 1))
    entropy = 0.5 * (d * (1 + np.log(2 * np.pi)) + log_det)
    return float(lgamma(problem.model.n_components + 1) + chains.log_p.mean(axis=1).max() + entropy)


def _fitted(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # of a covariance that is all but singular any other that is near will do
    C = np.cov(theta.T) + 1e-9 * np.diag(theta.var(axis=0))
    return theta.mean(axis=0), np.linalg.cholesky(C)


def _log_density(theta: np.ndarray, m: np.ndarray, L: np.ndarray) -> np.ndarray:
    x = solve_triangular(L, (theta - m).T, lower=True)
    return -0.5 * np.sum(x**2, axis=0) - 0.5 * len(m) * np.log(2 * np.pi) - np.sum(np.log(np.diag(L)))


def _gaussian_weights(
    problem: Problem, slots: tuple, m: np.ndarray, L: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """DRAWS of the Gaussian, and log p 1_A / N of each."""
    theta = m + rng.standard_normal((DRAWS, len(m))) @ L.T
    in_A = problem.model.is_canonical(theta, slots)
    log_w = np.where(in_A, log_posterior(problem, theta) - _log_density(theta, m, L), -np.inf)
    return theta, log_w


def _of_all_labels(one: Estimate, K: int) -> Estimate:
    """The estimate for all K! labellings, with the effective chains of a hundred."""
    return one._replace(
        log_Z=one.log_Z + lgamma(K + 1),
        log_w=one.log_w + lgamma(K + 1),
        n_effective=one.n_effective * CHAINS / EACH,
    )
