"""Log evidence of softmax regression by importance sampling from a t around the Laplace fit.

Adding one vector to all classes' weights changes no probability, but the prior keeps it proper: in all
d parameters the posterior is close to a Gaussian, and a t with moderate degrees of freedom covers its tails.
"""

import numpy as np
from scipy.special import gammaln

from sgevidence.particles import Weights
from sgevidence.targets import Likelihood, Target, find_mode


def log_evidence(model, rows, rng, n=20_000, dof=60.0, rounds=3):
    """log Z and its standard error; the t's shape is the draws' covariance from the round before."""
    target = Target(model, Likelihood(rows))
    mean, P = find_mode(target, np.zeros(model.n_params))
    L = np.linalg.inv(np.linalg.cholesky(P)).T
    for _ in range(rounds):
        theta, log_q = t_draws(mean, L, dof, n, rng)
        weights = Weights(np.concatenate([target.value(t) for t in np.array_split(theta, 20)]) - log_q)
        mean = weights.W @ theta
        L = np.linalg.cholesky((weights.W[:, None] * (theta - mean)).T @ (theta - mean))
    return weights.log_mean, np.sqrt(weights.relative_variance)


def t_draws(mean, L, dof, n, rng):
    """n draws of t(mean, L Lᵀ) in d dimensions, and their log density."""
    d = len(mean)
    z = rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(dof, n) / dof)[:, None]
    constant = gammaln((dof + d) / 2) - gammaln(dof / 2) - d / 2 * np.log(dof * np.pi)
    log_q = constant - (dof + d) / 2 * np.log1p(np.sum(z**2, axis=1) / dof) - np.sum(np.log(np.diag(L)))
    return mean + z @ L.T, log_q
