r"""Mixture of Gaussians with one variance in each component.

p(x) = Σ_k π_k N(x | μ_k, σ²_k I) with σ²_k ~ InvGamma(b, β) and μ_k | σ²_k ~ N(0, mean_scale² σ²_k I).
θ = [z, μ, log σ²], d = K (2 + p).  In one column it is the mixture with diagonal covariances.  With
F = [|x|², x, 1] the log density of a component is

    A · F,    A = [−1/2σ², μ/σ², log π − ½ (|μ|²/σ² + p log 2πσ²)].

Symbols: ``z`` (M, K), ``mu`` (M, K, p) and ``s = log σ²`` (M, K, 1).
"""

from dataclasses import dataclass

import autograd.numpy as anp
import numpy as np

from ...models import log_shares
from ..components import SphericalGaussian, without_gaps
from ._gaussian import GaussianMixture
from ._one_component import OneComponent
from ._precision_factors import MAX_LOSS_NATS


@dataclass(frozen=True)
class SphericalMixtureModel(GaussianMixture):
    """Gaussian mixture with one variance in each component."""

    one_component = OneComponent
    component_family = SphericalGaussian

    @property
    def widths(self) -> tuple[int, ...]:
        return self.n_features, 1

    @property
    def log_variances(self):
        K, p = self.n_components, self.n_features
        return tuple((K * (1 + p) + k, K + k * p + np.arange(p)) for k in range(K))

    def sample_prior(self, rng, size):
        K, p, (b, beta) = self.n_components, self.n_features, self.variance_prior
        z = self._sample_log_gammas(rng, size)
        s = np.log(beta) - np.log(rng.gamma(b, size=(size, K, 1)))
        return self._joined(z, [self.mean_scale * np.exp(s / 2) * rng.standard_normal((size, K, p)), s])

    def component_log_densities(self, theta, X):
        """log π_k N(x_r | μ_k, σ²_k I), (K, M, n)."""
        z, mu, s = self._split(theta)
        gaps = np.isnan(X)
        deviation = np.where(gaps, 0.0, X)[:, None, None, :] - mu  # (n, M, K, p)
        squares, s = anp.sum(deviation**2 * ~gaps[:, None, None, :], axis=3), s[:, :, 0]
        n_cells = np.sum(~gaps, axis=1)[:, None, None]
        log_N = -0.5 * (squares * anp.exp(-s) + n_cells * (s + np.log(2 * np.pi)))
        return anp.transpose(log_shares(z) + log_N, (2, 1, 0)) + self.of_gaps(gaps)

    def _block_log_likelihood(self, theta, rows, tape, single_below=0.0):
        _, mu, s = self._split(getattr(theta, "_value", theta))
        n = max(float(np.sum(rows.weight)), 1e-300)
        for center in (
            rows.weight @ without_gaps(rows.X) / n,
            np.zeros(self.n_features),
        ):  # a far row carries a mean away
            largest = float(np.max(np.sum((mu - center) ** 2, axis=2) * np.exp(-s[:, :, 0])))
            if largest * n * np.finfo(float).eps < MAX_LOSS_NATS:
                return self._from_center(theta, rows, center, tape, single_below)
        return self._row_by_row(theta, rows, tape)

    def draw_rows(self, blocks, rng):
        mu, s = blocks
        return mu + np.exp(s / 2) * rng.standard_normal(mu.shape)

    def covariances(self, blocks):
        return np.exp(blocks[1][..., 0])

    def column_variances(self, covariances):
        return np.broadcast_to(covariances[..., None], (*covariances.shape, self.n_features))

    def blocks_of(self, mean, covariance):
        return [mean, np.log(covariance)[..., None]]

    def products(self, X):
        return np.sum(X**2, axis=-1)

    def guess(self, scatter, n):
        p = self.n_features
        return np.maximum((scatter / p + self.variance_prior[1]) / (n + 1.0), 1e-3)
