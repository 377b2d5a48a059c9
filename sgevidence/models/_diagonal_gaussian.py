r"""Gaussian components with diagonal covariances: the family of the thesis (§5.2.3).

    σ²_j ~ InvGamma(b, β),    μ_j | σ²_j ~ N(0, mean_scale² σ²_j),    F(x) = [x², x, 1],

and [x², x, is there, 1] where cells are missing.

Symbols: see ``_gaussian_component.py``; ``b_n``, ``beta_n`` = posterior shape (..., 1 or p) and scale (...,
p).
"""

from dataclasses import dataclass
from math import lgamma

import numpy as np
from scipy.special import gammaln

from ._gaussian_component import GaussianComponent, GaussianParameters


@dataclass(frozen=True)
class DiagonalGaussian(GaussianComponent):
    """Gaussian components whose columns are independent, each with a variance of its own.

    Examples
    --------
    >>> import numpy as np
    >>> family, X = DiagonalGaussian(1), np.array([[0.5], [-1.0]])
    >>> float(family.log_evidence(family.features(X).sum(axis=0)).round(4))
    -3.8379
    """

    def features(self, X):
        if self.has_gaps:
            x, there = self.cells(X)
            return np.column_stack([x * x, x, there, np.ones(len(x))])
        x = X - self.origin
        return np.column_stack([x * x, x, np.ones(len(x))])

    def log_evidence(self, T):
        (b, beta), p = self.variance_prior, self.n_features
        N, kappa_n, _, b_n, beta_n = self._posterior(T)
        one = gammaln(b_n) - lgamma(b) + b * np.log(beta) + 0.5 * np.log(self.kappa / kappa_n)
        one = one - 0.5 * np.log(2 * np.pi) * N
        if self.has_gaps:
            return np.sum(one - b_n * np.log(beta_n) + (T[..., -1:] - N) * self.cell_units, axis=-1)
        return (p * one - b_n * np.log(beta_n).sum(axis=-1, keepdims=True))[..., 0]

    def sample(self, T, rng):
        _, kappa_n, mean, b_n, beta_n = self._posterior(T)
        variance = beta_n / np.maximum(rng.gamma(b_n * np.ones_like(beta_n)), 1e-300)
        means = self.origin + mean + np.sqrt(variance / kappa_n) * rng.standard_normal(variance.shape)
        return GaussianParameters(means, variance)

    def coefficients(self, parameters):
        variance, mu = parameters.covariances, parameters.means - self.origin
        if self.has_gaps:
            of_cells = -0.5 * (mu**2 / variance + np.log(2 * np.pi * variance)) - self.cell_units
            constant = np.full((*mu.shape[:-1], 1), self.cell_units.sum())
            return np.concatenate([-0.5 / variance, mu / variance, of_cells, constant], axis=-1)
        constant = -0.5 * np.sum(mu**2 / variance + np.log(2 * np.pi * variance), axis=-1, keepdims=True)
        return np.concatenate([-0.5 / variance, mu / variance, constant], axis=-1)

    def parameters(self, c):
        p = self.n_features
        variance = -0.5 / c[..., :p]
        return GaussianParameters(self.origin + variance * c[..., p : 2 * p], variance)

    def sample_rows(self, parameters, rng):
        means, variances = parameters
        return means + np.sqrt(variances) * rng.standard_normal(means.shape)

    def log_prior(self, parameters):
        (b, beta), (mu, variance), kappa = self.variance_prior, parameters, self.kappa
        log_p = b * np.log(beta) - lgamma(b) - (b + 1) * np.log(variance) - beta / variance
        log_p = log_p - 0.5 * (kappa * mu**2 / variance + np.log(2 * np.pi * variance / kappa))
        return np.sum(log_p, axis=-1)

    def _posterior(self, T):
        """N, κ + N (..., 1 or p), posterior mean from the origin (..., p), shape and scale of variances."""
        p, (b, beta) = self.n_features, self.variance_prior
        second, first, N = (
            T[..., :p],
            T[..., p : 2 * p],
            T[..., 2 * p : -1] if self.has_gaps else T[..., 2 * p :],
        )
        kappa_n, posterior_mean, mean, from_prior = self._means(first, N)
        scatter = np.maximum(second - first * mean, 0.0)
        beta_n = beta + 0.5 * (scatter + self.kappa * N / kappa_n * from_prior**2)
        return N, kappa_n, posterior_mean, b + 0.5 * N, beta_n
