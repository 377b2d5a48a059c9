r"""Mixture of Gaussians with full covariances.

p(x) = Σ_k π_k N(x | μ_k, Σ_k) with the normal–inverse-Wishart prior

    Σ_k ~ IW(2b + p − 1, 2β I),    μ_k | Σ_k ~ N(0, mean_scale² Σ_k),

so that the variance of each column, and of each direction, is InvGamma(b, β) as in a mixture with diagonal
covariances, which this is in one column.

θ = [z, μ, s, r], d = K (1 + p + p (p + 1)/2): the precision has the Cholesky factor L = C diag(e^(−s/2)),

    Σ⁻¹ = L Lᵀ = C diag(e^(−s)) Cᵀ,    C unit lower triangular with r below its diagonal,

so that e^(s_j) is the variance of x_j given the columns after it and −r_ij their regression coefficients.
By Bartlett's decomposition of the Wishart distribution s and r are simple where Ψ = 2β I, exactly and with
the Jacobian in it,

    e^(s_j) ~ InvGamma(b + (p − j)/2, β),  j = 1 … p,        r_ij | s_j ~ N(0, e^(s_j) / 2β).

With F = [x_i x_j (i ≥ j), x, 1] the log density of a component is A · F,

    A = [−Λ_ii/2, −Λ_ij, Λ μ, log π − ½ (μᵀΛμ + Σ_j s_j + p log 2π)],    Λ = Σ⁻¹.

Symbols: ``z`` (M, K), ``mu, s`` (M, K, p), ``r`` (M, K, p (p − 1)/2), ``C`` (M, K, p, p).

References
----------
M. S. Bartlett (1933), On the theory of statistical regression, Proc. R. Soc. Edinburgh 53, 260;
M. Pourahmadi (1999), Joint mean-covariance models with applications to longitudinal data, Biometrika 86, 677.
"""

from dataclasses import dataclass

import autograd.numpy as anp
import numpy as np

from ...models import log_shares
from ..components import FullGaussian
from ._gaussian import GaussianMixture
from ._natural_sums import natural_sum
from ._one_component import OneFullComponent
from ._precision_factors import (
    MAX_LOSS_NATS,
    below,
    covariance_of,
    factors_of,
    largest_term,
    log_prior_of_factors,
    natural_of_factors,
    times_root,
    unit_lower,
)


@dataclass(frozen=True)
class FullMixtureModel(GaussianMixture):
    """Gaussian mixture with full covariances; every direction has the priors of mean and variance."""

    one_component = OneFullComponent
    component_family = FullGaussian

    @property
    def widths(self) -> tuple[int, ...]:
        p = self.n_features
        return p, p, p * (p - 1) // 2

    @property
    def shapes(self) -> np.ndarray:
        """Shape of the inverse gamma prior of each e^(s_j), (p,)."""
        return self.variance_prior[0] + np.arange(self.n_features - 1, -1, -1) / 2

    def sample_prior(self, rng, size):
        K, p, beta = self.n_components, self.n_features, self.variance_prior[1]
        z = self._sample_log_gammas(rng, size)
        s = np.log(beta) - np.log(rng.gamma(self.shapes, size=(size, K, p)))
        column = np.tril_indices(p, -1)[1]
        r = np.exp(s[..., column] / 2) / np.sqrt(2 * beta) * rng.standard_normal((size, K, len(column)))
        u = self.mean_scale * rng.standard_normal((size, K, p))
        return self._joined(z, [times_root(s, r, u), s, r])

    def log_prior(self, theta):
        return log_prior_of_factors(
            theta,
            self.n_components,
            self.n_features,
            self.weight_concentration,
            self.mean_scale,
            self.shapes,
            self.variance_prior[1],
        )

    def component_log_densities(self, theta, X):
        """log π_k N(x_r | μ_k, Σ_k), (K, M, n)."""
        z, mu, s, r = self._split(theta)
        u = anp.matmul(X - mu[:, :, None, :], unit_lower(r))  # (M, K, n, p)
        squares = anp.sum(u**2 * anp.exp(-s)[:, :, None, :], axis=3)
        constant = log_shares(z) - 0.5 * anp.sum(s + np.log(2 * np.pi), axis=2)
        return anp.transpose(constant[:, :, None] - 0.5 * squares, (1, 0, 2))

    def _block_log_likelihood(self, theta, rows, tape, single_below=0.0):
        _, mu, s, r = self._split(getattr(theta, "_value", theta))
        n = max(float(np.sum(rows.weight)), 1e-300)
        i, j = below(self.n_features, 0)
        for center in (
            rows.weight @ rows.X / n,
            np.zeros(self.n_features),
        ):  # a far row may carry the mean away
            if largest_term(mu - center, s, r, rows.X - center) * n * np.finfo(float).eps < MAX_LOSS_NATS:
                x = np.ascontiguousarray((rows.X - center).T)
                F = np.concatenate([x[i] * x[j], x, np.ones((1, len(rows)))]).T
                A = natural_of_factors(theta, self.n_components, center)
                return natural_sum(A, F, rows.weight, tape, single_below)
        return self._row_by_row(theta, rows, tape)

    def draw_rows(self, blocks, rng):
        mu, s, r = blocks
        return mu + times_root(s, r, rng.standard_normal(mu.shape))

    def covariances(self, blocks):
        return covariance_of(*blocks[1:])

    def column_variances(self, covariances):
        return np.diagonal(covariances, axis1=-2, axis2=-1)

    def blocks_of(self, mean, covariance):
        return [mean, *factors_of(covariance)]

    def products(self, X):
        return X[..., :, None] * X[..., None, :]

    def guess(self, scatter, n):
        floor = max(self.variance_prior[1], 1e-3)
        return (scatter + floor * np.eye(self.n_features)) / (n + 1.0)
