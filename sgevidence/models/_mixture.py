r"""Mixture of Gaussians with diagonal covariances, thesis §5.2.3 / journal paper App. B.3.

p(x) = Σ_k π_k Π_j N(x_j | μ_kj, σ²_kj) with π ~ Dirichlet(a, …, a), σ²_kj ~ InvGamma(b, c) and
μ_kj | σ²_kj ~ N(0, (mean_scale · σ_kj)²), the journal paper's conditional form.

θ = [z, μ, log σ²], d = K + 2Kp.  The weights are π = softmax(z) with z_k = log Gamma(a)
variates: an exact Dirichlet prior with one redundant direction, which the prior keeps proper.
The components are exchangeable, and the evidence is over all K! labellings.

Symbols: ``z`` (M, K), ``mu`` and ``s = log σ²`` (M, K, p), ``R`` = responsibilities (K, M, n).
"""

from dataclasses import dataclass
from math import lgamma

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive

from ._diagonal_gaussian import DiagonalGaussian
from ._gaussian_mixture import GaussianMixture, log_weights
from ._mixture_curvature import likelihood_derivatives, prior_derivatives
from ._mixture_sums import CANCELS, center_of, fused
from ._noise_prior import inverse_gamma_log_density
from ._one_component import OneComponent


@dataclass(frozen=True)
class MixtureModel(GaussianMixture):
    """Diagonal Gaussian mixture.

    Parameters
    ----------
    n_components, n_features : int
    weight_concentration : float
        Concentration of the symmetric Dirichlet prior.
    mean_scale : float
        Prior standard deviation of a mean in units of its component's σ.
    variance_prior : tuple of two floats
        Shape and scale of the inverse gamma prior of σ².
    """

    one_component = OneComponent
    component_family = DiagonalGaussian

    @property
    def widths(self) -> tuple[int, ...]:
        return self.n_features, self.n_features

    def sample_prior(self, rng, size):
        K, p, (b, c) = self.n_components, self.n_features, self.variance_prior
        z = self._sample_log_gammas(rng, size)
        s = np.log(c) - np.log(rng.gamma(b, size=(size, K * p)))
        mu = self.mean_scale * np.exp(s / 2) * rng.standard_normal((size, K * p))
        return np.column_stack([z, mu, s])

    def log_prior(self, theta):
        return _log_prior(
            theta, self.n_components, self.weight_concentration, self.mean_scale, self.variance_prior
        )

    def plain_log_prior(self, theta):
        """:meth:`log_prior` written out for autograd: the form that tests compare with."""
        z, mu, s = self._split(theta)
        a, tau = self.weight_concentration, self.mean_scale
        log_p_z = a * z - anp.exp(z) - lgamma(a)
        log_p_s = inverse_gamma_log_density(s, *self.variance_prior)
        log_p_mu = -0.5 * (mu**2 * anp.exp(-s) / tau**2 + s + np.log(2 * np.pi * tau**2))
        return anp.sum(log_p_z, axis=1) + anp.sum(log_p_s + log_p_mu, axis=(1, 2))

    def component_log_densities(self, theta, X):
        """log π_k N(x_r | μ_k, σ²_k), (K, M, n)."""
        z, mu, s = self._split(theta)
        deviation = X[:, None, None, :] - mu  # (n, M, K, p)
        log_N = -0.5 * anp.sum(deviation**2 * anp.exp(-s) + s + np.log(2 * np.pi), axis=3)
        return anp.transpose(log_weights(z) + log_N, (2, 1, 0))

    def _block_log_likelihood(self, theta, rows, tape, single_below=0.0):
        _, mu, log_variance = self._split(getattr(theta, "_value", theta))
        center, lost = center_of(mu, log_variance, rows)
        if lost > CANCELS:  # every row, component and column at once: a fused sum's rows would be too many
            return self._row_by_row(theta, rows, tape)
        return fused(theta, rows.X, rows.weight, self.n_components, tape, single_below, center)

    def derivatives(self, theta, rows):
        """Value, gradient and Hessian at one point from one pass over the rows."""
        z, mu, s = (part[0] for part in self._split(theta[None]))
        with np.errstate(all="ignore"):
            value, g, H = likelihood_derivatives(z, mu, s, rows, self.evaluation.block_elements)
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

    @property
    def has_allocations(self) -> bool:  # type: ignore[override]
        return self.n_components > 1


@primitive
def _log_prior(theta, K, a, tau, variance_prior):
    z, mu, s, _, precision, (b, c) = _prior_terms(theta, K, variance_prior)
    p = mu.shape[1] // K
    log_p_z = (a * z - np.exp(z)).sum(axis=1) - K * lgamma(a)
    constant = K * p * (b * np.log(c) - lgamma(b) - 0.5 * np.log(2 * np.pi * tau**2))
    return log_p_z + constant - ((b + 0.5) * s + (c + 0.5 * mu**2 / tau**2) * precision).sum(axis=1)


def _log_prior_vjp(ans, theta, K, a, tau, variance_prior):
    def vjp(g):
        z, mu, _, out, precision, (b, c) = _prior_terms(theta, K, variance_prior)
        m = mu.shape[1]
        out[:, :K] = a - np.exp(z)
        out[:, K : K + m] = -mu * precision / tau**2
        out[:, K + m :] = (c + 0.5 * mu**2 / tau**2) * precision - (b + 0.5)
        return g[:, None] * out

    return vjp


def _prior_terms(theta, K, variance_prior):
    m = (theta.shape[1] - K) // 2
    s = theta[:, K + m :]
    return theta[:, :K], theta[:, K : K + m], s, np.empty_like(theta), np.exp(-s), variance_prior


defvjp(_log_prior, _log_prior_vjp, argnums=(0,))
