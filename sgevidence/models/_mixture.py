r"""Mixture of Gaussians with diagonal covariances, thesis §5.2.3 / journal paper App. B.3.

p(x) = Σ_k π_k Π_j N(x_j | μ_kj, σ²_kj) with π ~ Dirichlet(a, …, a), σ²_kj ~ InvGamma(b, c) and
μ_kj | σ²_kj ~ N(0, (mean_scale · σ_kj)²), the journal paper's conditional form.

θ = [z, μ, log σ²], d = K + 2Kp.  The weights are π = softmax(z) with z_k = log Gamma(a)
variates: an exact Dirichlet prior with one redundant direction, which the prior keeps proper.
The components are exchangeable, and the evidence is over all K! labellings.

Symbols: ``z`` (M, K), ``mu`` and ``s = log σ²`` (M, K, p), ``R`` = responsibilities (K, M, n).
"""

from dataclasses import dataclass, replace
from math import lgamma

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive
from scipy.cluster.vq import kmeans2

from ._base import Model
from ._evaluation import SINGLE_PRECISION_TOTAL, Evaluation
from ._exact_sums import ExactSums
from ._exchangeable import Exchangeable
from ._mixture_curvature import likelihood_derivatives, prior_derivatives
from ._mixture_sums import CANCELS, center_of, fused
from ._moments import with_moments
from ._noise_prior import inverse_gamma_log_density
from ._one_component import OneComponent


@dataclass(frozen=True)
class MixtureModel(Exchangeable, Model):
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

    n_components: int
    n_features: int
    weight_concentration: float = 1.0
    mean_scale: float = 2.0
    variance_prior: tuple[float, float] = (1.0, 1.0)

    # rounding a log-weight shifts all rows of its component alike: 20 000 · 10⁻⁷ is still nothing
    evaluation = Evaluation(fused_elements=1_000_000, single_precision_total=SINGLE_PRECISION_TOTAL)

    has_one_mode = True  # in each labelling, or its own search finds them

    @property
    def n_params(self) -> int:
        return self.n_components * (1 + 2 * self.n_features)

    @property
    def slots(self) -> np.ndarray:
        K, p = self.n_components, self.n_features
        blocks = np.arange(K, K + 2 * K * p).reshape(2, K, p)
        return np.column_stack([np.arange(K), blocks[0], blocks[1]])

    def _split(self, theta):
        K, p = self.n_components, self.n_features
        mu = anp.reshape(theta[:, K : K + K * p], (-1, K, p))
        s = anp.reshape(theta[:, K + K * p :], (-1, K, p))
        return theta[:, :K], mu, s

    def sample_prior(self, rng, size):
        K, p, a = self.n_components, self.n_features, self.weight_concentration
        b, c = self.variance_prior
        # Gamma(a) = Gamma(a + 1) U^(1/a): exact in log space for small a, where Gamma(a) underflows
        z = np.log(rng.gamma(a + 1, size=(size, K))) + np.log1p(-rng.random((size, K))) / a
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
        top = np.max(getattr(z, "_value", z), axis=1, keepdims=True)
        log_pi = z - top - anp.log(anp.sum(anp.exp(z - top), axis=1, keepdims=True))
        deviation = X[:, None, None, :] - mu  # (n, M, K, p)
        log_N = -0.5 * anp.sum(deviation**2 * anp.exp(-s) + s + np.log(2 * np.pi), axis=3)
        return anp.transpose(log_pi + log_N, (2, 1, 0))

    def log_likelihood(self, theta, rows):
        log_p = self.component_log_densities(theta, rows.X)
        top = np.max(getattr(log_p, "_value", log_p), axis=0)
        return top + anp.log(anp.sum(anp.exp(log_p - top), axis=0))

    def _block_log_likelihood(self, theta, rows, tape, single_below=0.0):
        _, mu, log_variance = self._split(getattr(theta, "_value", theta))
        center, lost = center_of(mu, log_variance, rows)
        if lost > CANCELS:  # every row, component and column at once: a fused sum's rows would be too many
            blocks = rows.blocks(self.evaluation.rows_of_block(len(mu)))
            return sum(Model._block_log_likelihood(self, theta, b, tape, single_below) for b in blocks)
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

    def sample_rows(self, theta, n_rows, rng):
        """n_rows draws: (X, labels).  One θ for all rows, or one θ a row."""
        z, mu, s = self._split(np.broadcast_to(np.atleast_2d(theta), (n_rows, self.n_params)))
        labels = np.argmax(z + rng.gumbel(size=z.shape), axis=1)
        pick = np.arange(n_rows), labels
        return mu[pick] + np.exp(s[pick] / 2) * rng.standard_normal((n_rows, self.n_features)), labels

    def parameters(self, theta):
        z, mu, s = self._split(theta)
        pi = np.exp(z - z.max(axis=1, keepdims=True))
        return {"weights": pi / pi.sum(axis=1, keepdims=True), "means": mu, "covariances": np.exp(s)}

    def starts(self, rows, n_starts: int, rng) -> np.ndarray:
        """Points to look for modes from, (n_starts, d): K + 3 clusters merged at random into K groups.

        The clusters are those of k-means, from another start every twenty mergers.
        """
        K, moments = self.n_components, np.column_stack([np.ones(len(rows)), rows.X, rows.X**2])
        merged = []
        for _ in range(-(-n_starts // 20)):
            clusters = kmeans2(rows.X, K + 3, minit="++", seed=rng, iter=10)[1]
            sums = (clusters == np.arange(K + 3)[:, None]) * rows.weight @ moments
            group = rng.permuted(
                np.hstack([np.tile(np.arange(K), (20, 1)), rng.integers(K, size=(20, 3))]), axis=1
            )
            merged.append((group[:, None] == np.arange(K)[:, None]) @ sums)  # (20, K, 1 + 2p)
        n, total, squares = np.split(np.concatenate(merged)[:n_starts], [1, 1 + self.n_features], axis=2)
        mean = total / (n + 1.0)
        var = (squares - n * mean**2 + self.variance_prior[1]) / (n + 1.0)
        z = np.log((n[:, :, 0] + 1.0) / np.mean(n + 1.0, axis=1))
        s = np.log(np.maximum(var, 1e-3))
        return np.hstack([z, mean.reshape(n_starts, -1), s.reshape(n_starts, -1)])

    def sums(self, rows) -> ExactSums:
        """Σ of squares of [1, X] for one component, without rounding.

        Raises
        ------
        ValueError
            If there is more than one component.
        """
        if self.n_components != 1:
            raise ValueError("a closed form of a mixture needs n_components=1")
        return ExactSums.of_rows(rows, lambda b: np.column_stack([np.ones(len(b)), b.X]))

    def posterior(self, sums) -> OneComponent:
        """Normal–inverse-gamma."""
        return OneComponent.of(self, sums)

    def far_out(self, rows) -> float:
        """Largest mean of a column in its standard deviations, and no smaller ones than the prior knows."""
        w = rows.weight / np.sum(rows.weight)
        mean = w @ rows.X
        with np.errstate(over="ignore"):  # of rows that are impossible anyway
            variance = w @ (rows.X - mean) ** 2 + self.variance_prior[1] / np.sum(rows.weight)
        return float(np.max(np.abs(mean) / np.sqrt(variance)))

    @property
    def has_allocations(self) -> bool:  # type: ignore[override]
        return self.n_components > 1

    @property
    def has_conditional_move(self) -> bool:  # type: ignore[override]
        return self.n_components == 1

    @property
    def has_exact_posterior(self) -> bool:  # type: ignore[override]
        return self.n_components == 1

    def conditional_move(self, theta, rows, rng):
        """Independent draws from the posterior of one component; None for more."""
        if self.n_components > 1:
            return None
        with np.errstate(all="ignore"):
            moved = OneComponent.rounded(self, rows).sample(rng, len(theta))
        return moved if np.all(np.isfinite(moved)) else None

    def condensed(self, rows):
        """Rows with the moments of x, for one component; None for more."""
        found = None if self.n_components > 1 else with_moments(rows.X, rows.weight)
        return found and replace(rows, X=found[0], weight=found[1])


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
