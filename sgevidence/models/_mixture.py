r"""Mixture of Gaussians with diagonal covariances, thesis §5.2.3 / journal paper App. B.3.

p(x) = Σ_k π_k Π_j N(x_j | μ_kj, σ²_kj) with π ~ Dirichlet(a, …, a), σ²_kj ~ InvGamma(b, c) and
μ_kj | σ²_kj ~ N(0, (mean_scale · σ_kj)²), the journal paper's conditional form.

θ = [z, μ, log σ²], d = K + 2Kp.  The weights are π = softmax(z) with z_k = log Gamma(a)
variates: an exact Dirichlet prior with one redundant direction, which the prior keeps proper.
The components are exchangeable, and the evidence is over all K! labellings.

A sum over rows is formed from x measured from a centre, and its terms cancel: of a row near μ_k they leave
what exceeds the rounding of μ²_k/σ²_k.  So the centre is the mean of the rows; but one row at 10⁹ among fifty
carries the mean away from all others, and then it is zero: the far row lies in a component of its own, which
is wide by the prior, and the others are near zero.  Where neither will do the sum is formed row by row.

Symbols: ``z`` (M, K), ``mu`` and ``s = log σ²`` (M, K, p), ``R`` = responsibilities (K, M, n).
"""

from dataclasses import dataclass

import autograd.numpy as anp
import numpy as np

from ._diagonal_gaussian import DiagonalGaussian
from ._gaussian_component import without_gaps
from ._gaussian_mixture import GaussianMixture, log_weights
from ._mixture_curvature import likelihood_derivatives, prior_derivatives
from ._natural_sums import natural_sum
from ._natural_variances import natural_of_variances
from ._one_component import OneComponent

#: μ²/σ² from which the origin matters, and beyond which [x², x, 1] leave less than 10⁻⁴ of a row's density.
CENTERED, CANCELS = 1e6, 1e12


@dataclass(frozen=True)
class MixtureModel(GaussianMixture):
    """Diagonal Gaussian mixture."""

    one_component = OneComponent
    component_family = DiagonalGaussian

    @property
    def widths(self) -> tuple[int, ...]:
        return self.n_features, self.n_features

    @property
    def log_variances(self):
        K, size = self.n_components, self.n_components * self.n_features
        return tuple((K + size + j, np.array([K + j])) for j in range(size))

    def sample_prior(self, rng, size):
        K, p, (b, c) = self.n_components, self.n_features, self.variance_prior
        z = self._sample_log_gammas(rng, size)
        s = np.log(c) - np.log(rng.gamma(b, size=(size, K * p)))
        mu = self.mean_scale * np.exp(s / 2) * rng.standard_normal((size, K * p))
        return np.column_stack([z, mu, s])

    def component_log_densities(self, theta, X):
        """log π_k N(x_r | μ_k, σ²_k), (K, M, n)."""
        z, mu, s = self._split(theta)
        gaps = np.isnan(X)
        deviation = np.where(gaps, 0.0, X)[:, None, None, :] - mu  # (n, M, K, p)
        of_cells = deviation**2 * anp.exp(-s) + s + np.log(2 * np.pi)
        log_N = -0.5 * anp.sum(of_cells * ~gaps[:, None, None, :], axis=3)
        return anp.transpose(log_weights(z) + log_N, (2, 1, 0)) + self.of_gaps(gaps)

    def _block_log_likelihood(self, theta, rows, tape, single_below=0.0):
        _, mu, log_variance = self._split(getattr(theta, "_value", theta))
        center, lost = center_of(mu, log_variance, rows)
        if lost > CANCELS:  # every row, component and column at once: a fused sum's rows would be too many
            return self._row_by_row(theta, rows, tape)
        x, gaps = rows.X - center, np.isnan(rows.X)
        if gaps.any():
            x = np.where(gaps, 0.0, x)
            F = np.column_stack([x * x, x, ~gaps, np.ones(len(x))])
            A = natural_of_variances(theta, self.n_components, center, True)
            return natural_sum(A, F, rows.weight, tape, single_below) + rows.weight @ self.of_gaps(gaps)
        F = np.column_stack([x * x, x, np.ones(len(x))])
        A = natural_of_variances(theta, self.n_components, center)
        return natural_sum(A, F, rows.weight, tape, single_below)

    def derivatives(self, theta, rows):
        """Value, gradient and Hessian at one point from one pass over the rows."""
        z, mu, s = (part[0] for part in self._split(theta[None]))
        with np.errstate(all="ignore"):
            units, size = self.family.cell_units, self.evaluation.block_elements
            value, g, H = likelihood_derivatives(z, mu, s, rows, size, units)
        return value, *self._by_parameter(g, H)

    def prior_derivatives(self, theta):
        z, mu, s = (part[0] for part in self._split(theta[None]))
        with np.errstate(all="ignore"):
            value = float(self.log_prior(theta[None])[0])
            g, H = prior_derivatives(
                z, mu, s, self.weight_concentration, self.mean_scale, self.variance_prior
            )
        return value, *self._by_parameter(g, H)

    def _by_parameter(self, g, H):
        """A gradient (K, q) and a Hessian (K, q, K, q) in the order of θ."""
        order = np.argsort(self.slots, axis=None)
        return g.ravel()[order], H.reshape(g.size, g.size)[np.ix_(order, order)]

    def draw_rows(self, blocks, rng):
        mu, s = blocks
        return mu + np.exp(s / 2) * rng.standard_normal(mu.shape)

    def covariances(self, blocks):
        return np.exp(blocks[1])

    def column_variances(self, covariances):
        return covariances

    def blocks_of(self, mean, covariance):
        return [mean, np.log(covariance)]

    def products(self, X):
        return X**2

    def guess(self, scatter, n):
        return np.maximum((scatter + self.variance_prior[1]) / (n + 1.0), 1e-3)


def center_of(mu: np.ndarray, log_variance: np.ndarray, rows) -> tuple[np.ndarray, float]:
    """Where x is measured from, (p,), and the largest μ²/σ² from there, for means (M, K, p)."""
    mean = rows.weight @ without_gaps(rows.X) / max(np.sum(rows.weight), 1e-300)
    precision = np.exp(-log_variance)
    lost = float(np.max((mu - mean) ** 2 * precision))
    if lost > CENTERED:
        about_zero = float(np.max(mu**2 * precision))
        if about_zero < lost:
            return np.zeros_like(mean), about_zero
    return mean, lost
