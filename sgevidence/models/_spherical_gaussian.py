r"""Gaussian components that are as wide in every direction.

    σ² ~ InvGamma(b, β),    μ | σ² ~ N(0, mean_scale² σ² I),    F(x) = [|x|², x, 1],

and [|x|², x, is there, 1] where cells are missing.

Symbols: see ``_gaussian_component.py``; ``b_n``, ``beta_n`` = posterior shape and scale of σ², (..., 1).
"""

from dataclasses import dataclass
from math import lgamma

import numpy as np
from scipy.special import gammaln

from ._gaussian_component import GaussianComponent, GaussianParameters


@dataclass(frozen=True)
class SphericalGaussian(GaussianComponent):
    """Gaussian components with one variance for all columns.

    Examples
    --------
    >>> import numpy as np
    >>> family, X = SphericalGaussian(1), np.array([[0.5], [-1.0]])
    >>> float(family.log_evidence(family.features(X).sum(axis=0)).round(4))  # of one column, as diagonal ones
    -3.8379
    """

    def features(self, X):
        if self.has_gaps:
            x, there = self.cells(X)
            return np.column_stack([np.sum(x * x, axis=1), x, there, np.ones(len(x))])
        x = X - self.origin
        return np.column_stack([np.sum(x * x, axis=1), x, np.ones(len(x))])

    def log_evidence(self, T):
        (b, beta), p = self.variance_prior, self.n_features
        N, kappa_n, _, b_n, beta_n = self._posterior(T)
        one = gammaln(b_n) - lgamma(b) + b * np.log(beta) - b_n * np.log(beta_n)
        of_means = 0.5 * (np.log(self.kappa / kappa_n) - np.log(2 * np.pi) * N)
        if self.has_gaps:
            return one[..., 0] + np.sum(of_means + (T[..., -1:] - N) * self.cell_units, axis=-1)
        return (one + p * of_means)[..., 0]

    def sample(self, T, rng):
        _, kappa_n, mean, b_n, beta_n = self._posterior(T)
        variance = beta_n / np.maximum(rng.gamma(b_n), 1e-300)
        means = self.origin + mean + np.sqrt(variance / kappa_n) * rng.standard_normal(mean.shape)
        return GaussianParameters(means, variance[..., 0])

    def coefficients(self, parameters):
        variance, mu = parameters.covariances[..., None], parameters.means - self.origin
        if self.has_gaps:
            of_cells = -0.5 * (mu**2 / variance + np.log(2 * np.pi * variance)) - self.cell_units
            constant = np.full((*mu.shape[:-1], 1), self.cell_units.sum())
            return np.concatenate([-0.5 / variance, mu / variance, of_cells, constant], axis=-1)
        constant = -0.5 * np.sum(mu**2 / variance + np.log(2 * np.pi * variance), axis=-1, keepdims=True)
        return np.concatenate([-0.5 / variance, mu / variance, constant], axis=-1)

    def parameters(self, c):
        variance = -0.5 / c[..., 0]
        return GaussianParameters(
            self.origin + variance[..., None] * c[..., 1 : self.n_features + 1], variance
        )

    def sample_rows(self, parameters, rng):
        means, variances = parameters
        return means + np.sqrt(variances)[:, None] * rng.standard_normal(means.shape)

    def log_prior(self, parameters):
        (b, beta), (mu, variance), kappa = self.variance_prior, parameters, self.kappa
        log_p = b * np.log(beta) - lgamma(b) - (b + 1) * np.log(variance) - beta / variance
        square, width = np.sum(mu**2, axis=-1), np.log(2 * np.pi * variance / kappa)
        return log_p - 0.5 * (kappa * square / variance + self.n_features * width)

    def _posterior(self, T):
        """N, κ + N (..., 1 or p), posterior mean from the origin (..., p), shape and scale of σ²."""
        p, (b, beta) = self.n_features, self.variance_prior
        second, first = T[..., :1], T[..., 1 : p + 1]
        N = T[..., p + 1 : -1] if self.has_gaps else T[..., p + 1 :]
        kappa_n, posterior_mean, mean, from_prior = self._means(first, N)
        scatter = np.maximum(second - np.sum(first * mean, axis=-1, keepdims=True), 0.0)
        shift = self.kappa * np.sum(N / kappa_n * from_prior**2, axis=-1, keepdims=True)
        cells = N.sum(axis=-1, keepdims=True) if self.has_gaps else p * N
        return N, kappa_n, posterior_mean, b + 0.5 * cells, beta + 0.5 * (scatter + shift)
