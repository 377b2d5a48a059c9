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

Value, gradient and Hessian at one point are from one pass over the rows.  With l_kr = log π_k N(x_r | μ_k,
σ²_k), r_kr = softmax_k l_kr and G_kr = ∇l_kr with respect to the parameters of component k (its log-gamma z
as if the weights were not normalised),

    ∇∇ log Σ_k e^l_kr = Σ_k r_kr (∇∇l_kr + G_kr G_krᵀ) − (Σ_k r_kr G_kr) (Σ_k r_kr G_kr)ᵀ,
    G = [1, u/σ, (u² − 1)/2],    u = (x − μ)/σ,    s = log σ²,
    ∂²l/∂μ² = −1/σ²,    ∂²l/∂μ∂s = −u/σ,    ∂²l/∂s² = −u²/2,

less log Σ_k e^{z_k} for each row.  Of K components of q = 2p + 1 parameters the products of all pairs are one
(Kq, n) matrix times its transpose, beside the 2d gradients that differences take.  Everything is measured
from the component's own mean in its own standard deviations, so that nothing cancels.

Symbols: ``z`` (M, K), ``mu`` and ``s = log σ²`` (M, K, p); ``U`` = u (K, p, n), ``R`` = responsibilities
(K, n), ``G`` = √w G and ``Z`` = √w r G (K, q, n), ``T`` = Σ w r G (K, q), ``N`` = Σ w r of the cells of each
column that are there (K, p), ``D`` = Σ w r G Gᵀ, then with ∇∇l (K, q, q), ``B`` = Σ Z Zᵀ of all pairs
(Kq, Kq), ``H`` = D − B, then the Hessian.
"""

from dataclasses import dataclass

import autograd.numpy as anp
import numpy as np

from ...models import log_shares
from ..components import DiagonalGaussian, without_gaps
from ._gaussian import GaussianMixture
from ._one_component import OneComponent

#: μ²/σ² from which the origin matters, and beyond which [x², x, 1] leave less than 10⁻⁴ of a row's density.
CENTERED, CANCELS = 1e6, 1e12


def likelihood_derivatives(
    z: np.ndarray, mu: np.ndarray, s: np.ndarray, rows, block_elements: int, cell_units: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Derivatives of Σ_r w_r log Σ_k π_k N(x_r | μ_k, e^{s_k}) at one point: (), (K, q), (K, q, K, q).

    A missing cell, nan, is no factor of its row, and adds its unit (p,).
    """
    K, p = mu.shape
    q = 2 * p + 1
    log_pi = z - z.max()
    log_pi -= np.log(np.sum(np.exp(log_pi)))
    constant = -0.5 * (s + np.log(2 * np.pi))  # of each cell
    scale = np.exp(-s / 2)[:, :, None]

    def of_block(block):
        root = np.sqrt(block.weight)
        there = ~np.isnan(block.X.T)
        U = np.where(there, (block.X.T - mu[:, :, None]) * scale, 0.0)  # a missing cell moves nothing
        R = log_pi[:, None] + constant @ there - 0.5 * np.sum(U**2, axis=1)
        top = R.max(axis=0)
        R = np.exp(R - top)
        total = R.sum(axis=0)
        value = float((np.log(total) + top + cell_units @ ~there) @ block.weight)
        R /= total
        U[np.broadcast_to(R[:, None] == 0.0, U.shape)] = 0.0  # 0 · ∞ of a row that is beyond the component
        G = np.concatenate([np.ones((K, 1, len(block))), U * scale, 0.5 * (U**2 - there)], axis=1) * root
        Z = R[:, None] * G
        T, D = Z @ root, Z @ G.transpose(0, 2, 1)
        Z = Z.reshape(K * q, -1)
        return value, T, D, Z @ Z.T, (R * block.weight) @ there.T

    value, T, D, B, N = rows.fold(of_block, block_elements // (K * q))
    H, k, j = -B.reshape(K, q, K, q), np.arange(K)[:, None], np.arange(1, p + 1)
    D[k, j, j] -= scale[:, :, 0] ** 2 * N
    D[k, j, j + p] -= T[:, 1 : p + 1]
    D[k, j + p, j] -= T[:, 1 : p + 1]
    D[k, j + p, j + p] -= T[:, p + 1 :] + 0.5 * N
    H[k[:, 0], :, k[:, 0]] += D
    pi, n = np.exp(log_pi), np.sum(rows.weight)
    H[:, 0, :, 0] -= n * (np.diag(pi) - np.outer(pi, pi))
    T[:, 0] -= n * pi
    return value, T, H


def prior_derivatives(
    z: np.ndarray, mu: np.ndarray, s: np.ndarray, a: float, tau: float, variance_prior: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and Hessian of Σ_k (a z − e^z) + Σ_kj [−(b + ½) s − (c + ½ μ²/τ²) e^{−s}], like those."""
    (K, p), (b, c), precision = mu.shape, variance_prior, np.exp(-s)
    energy = (c + 0.5 * mu**2 / tau**2) * precision
    g = np.column_stack([a - np.exp(z), -mu * precision / tau**2, energy - (b + 0.5)])
    H, k, j = np.zeros((K, 2 * p + 1, K, 2 * p + 1)), np.arange(K)[:, None], np.arange(1, p + 1)
    H[k[:, 0], 0, k[:, 0], 0] = -np.exp(z)
    H[k, j, k, j] = -precision / tau**2
    H[k, j, k, j + p] = H[k, j + p, k, j] = mu * precision / tau**2
    H[k, j + p, k, j + p] = -energy
    return g, H


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
        return anp.transpose(log_shares(z) + log_N, (2, 1, 0)) + self.of_gaps(gaps)

    def _block_log_likelihood(self, theta, rows, tape, single_below=0.0):
        _, mu, log_variance = self._split(getattr(theta, "_value", theta))
        center, lost = center_of(mu, log_variance, rows)
        if lost > CANCELS:  # every row, component and column at once: a fused sum's rows would be too many
            return self._row_by_row(theta, rows, tape)
        return self._from_center(theta, rows, center, tape, single_below)

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
