r"""Gaussian components with variances: one of each column, the family of the thesis (§5.2.3), or one of all.

    σ²_j ~ InvGamma(b, β),    μ_j | σ²_j ~ N(0, mean_scale² σ²_j),    F(x) = [x², x, 1] or [|x|², x, 1],

and [x², x, is there, 1] where cells are missing.

Symbols: see ``_gaussian_component.py``; ``q`` = variances, p or 1; ``b_n`` (..., 1 or q) and ``beta_n``
(..., q) = posterior shape and scale of each.
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

    def _shared(self, by_column):
        """Sums over the columns that share a variance, (..., q)."""
        return by_column

    def _variances(self, covariances):
        """(..., q) of covariances as parameters have them; :meth:`_covariances` is the way back."""
        return covariances

    def _covariances(self, variances):
        return variances

    @property
    def n_variances(self) -> int:
        return self.n_features

    def features(self, X):
        x, there = self.cells(X) if self.has_gaps else (X - self.origin, None)
        cells = [] if there is None else [there]
        return np.column_stack([self._shared(x * x), x, *cells, np.ones(len(x))])

    def log_evidence(self, T):
        (b, beta), p = self.variance_prior, self.n_features
        N, kappa_n, _, b_n, beta_n = self._posterior(T)
        of_variances = gammaln(b_n) - lgamma(b) + b * np.log(beta)
        of_means = 0.5 * (np.log(self.kappa / kappa_n) - np.log(2 * np.pi) * N)
        if self.has_gaps:
            of_means = of_means + (T[..., -1:] - N) * self.cell_units
        else:  # all columns have the same rows
            of_variances, of_means = self.n_variances * of_variances, p * of_means
        return (
            np.sum(of_variances, axis=-1) + np.sum(of_means, axis=-1) - np.sum(b_n * np.log(beta_n), axis=-1)
        )

    def sample(self, T, rng):
        _, kappa_n, mean, b_n, beta_n = self._posterior(T)
        variance = beta_n / np.maximum(rng.gamma(b_n * np.ones_like(beta_n)), 1e-300)
        means = self.origin + mean + np.sqrt(variance / kappa_n) * rng.standard_normal(mean.shape)
        return GaussianParameters(means, self._covariances(variance))

    def coefficients(self, parameters):
        variance, mu = self._variances(parameters.covariances), parameters.means - self.origin
        of_cells = -0.5 * (mu**2 / variance + np.log(2 * np.pi * variance))
        parts = [np.sum(of_cells, axis=-1, keepdims=True)]
        if self.has_gaps:
            parts = [of_cells - self.cell_units, np.full((*mu.shape[:-1], 1), self.cell_units.sum())]
        return np.concatenate([-0.5 / variance, mu / variance, *parts], axis=-1)

    def parameters(self, c):
        q = self.n_variances
        variance = -0.5 / c[..., :q]
        means = self.origin + variance * c[..., q : q + self.n_features]
        return GaussianParameters(means, self._covariances(variance))

    def sample_rows(self, parameters, rng):
        means, covariances = parameters
        return means + np.sqrt(self._variances(covariances)) * rng.standard_normal(means.shape)

    def log_prior(self, parameters):
        (b, beta), mu, kappa = self.variance_prior, parameters.means, self.kappa
        variance = self._variances(parameters.covariances)
        log_p = b * np.log(beta) - lgamma(b) - (b + 1) * np.log(variance) - beta / variance
        of_means = kappa * mu**2 / variance + np.log(2 * np.pi * variance / kappa)
        return np.sum(log_p, axis=-1) - 0.5 * np.sum(of_means, axis=-1)

    def _posterior(self, T):
        """N, κ + N (..., 1 or p), posterior mean from the origin (..., p), shape and scale of variances."""
        p, q, (b, beta) = self.n_features, self.n_variances, self.variance_prior
        second, first = T[..., :q], T[..., q : q + p]
        N = T[..., q + p : -1] if self.has_gaps else T[..., q + p :]
        kappa_n, posterior_mean, mean, from_prior = self._means(first, N)
        scatter = np.maximum(second - self._shared(first * mean), 0.0)
        beta_n = beta + 0.5 * (scatter + self._shared(self.kappa * N / kappa_n * from_prior**2))
        cells = self._shared(N) if self.has_gaps else N * (p // q)
        return N, kappa_n, posterior_mean, b + 0.5 * cells, beta_n


@dataclass(frozen=True)
class SphericalGaussian(DiagonalGaussian):
    """Gaussian components with one variance for all columns.

    Examples
    --------
    >>> import numpy as np
    >>> family, X = SphericalGaussian(1), np.array([[0.5], [-1.0]])
    >>> float(family.log_evidence(family.features(X).sum(axis=0)).round(4))  # of one column, as diagonal ones
    -3.8379
    """

    def _shared(self, by_column):
        return np.sum(by_column, axis=-1, keepdims=True)

    def _variances(self, covariances):
        return covariances[..., None]

    def _covariances(self, variances):
        return variances[..., 0]

    @property
    def n_variances(self) -> int:
        return 1
