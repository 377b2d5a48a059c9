r"""Gaussian components with their conjugate priors, for each structure of covariances: one value of each.

Variances, one of each column (the family of the thesis, §5.2.3) or one of all,

    σ²_j ~ InvGamma(b, β),    μ_j | σ²_j ~ N(0, mean_scale² σ²_j),    F(x) = [x², x, 1] or [|x|², x, 1],

or full covariances with the normal–inverse-Wishart prior,

    Σ ~ IW(2b + p − 1, 2β I),    μ | Σ ~ N(0, mean_scale² Σ),    F(x) = [x_i x_j (i ≤ j), x, 1],

so that each variance alone is InvGamma(b, β), as that of a diagonal component, and with one column all are
the same model.

Squares of columns that lie far from zero would cancel, so features are those of x − o with o the median of
each column.  The prior has its means at zero, which is −o there; x − o is exact to the last digit.

Cells that are missing at random, nan, are left out of a row's density: where each variance has columns of its
own, features count the cells of each column, N_j, in the place of rows, F(x) = [x², x, is there, 1].  The
density of a row is per the units of all its columns, so that a missing cell adds the logarithm u_j of its
unit.

Symbols: o ``origin`` = where features are measured from, (p,); b, β ``b, beta`` = shape and scale of the
inverse gamma prior of a variance; κ ``kappa`` = 1 / mean_scale², rows that the prior of a mean is worth;
``N`` = rows of a component, or its cells in each column; κ + N ``kappa_n``; u ``cell_units`` = log units of
columns in which rows are given, (p,); w ``n_variances`` = p or 1; ``b_n`` (..., 1 or w) and ``beta_n``
(..., w) = posterior shape and scale of each; ν_n ``nu_n`` = posterior degrees of freedom (..., 1); ``L, v`` =
posterior scale L (I + v v′) L′, with L L′ = 2β I + scatter of the rows, and v by how far their mean is
from the prior's; ``A`` = Bartlett's factor of a Wishart matrix, lower triangular; ``blocks`` = means and
numbers of a covariance that any real numbers are, (..., width) each: log σ², or the factors s and r of
:mod:`._precision_factors`.

References
----------
M. S. Bartlett (1933), On the theory of statistical regression, Proc. R. Soc. Edinburgh 53, 260;
K. P. Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution; M. Pourahmadi (1999), Joint
mean-covariance models with applications to longitudinal data, Biometrika 86, 677.
"""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from math import lgamma
from typing import ClassVar, NamedTuple, Self

import autograd.numpy as anp
import numpy as np
from scipy.special import gammaln, multigammaln

from ._component import ComponentFamily
from ._precision_factors import below, covariance_of, factors_of, n_later, pairs, times_root, unit_lower


class GaussianParameters(NamedTuple):
    """Means (..., p), and variances (..., p), (...) or covariances (..., p, p)."""

    means: np.ndarray
    covariances: np.ndarray


@dataclass(frozen=True)
class GaussianComponent(ComponentFamily):
    """Gaussian components with a conjugate prior.

    Each structure of covariances also states the way back from blocks, ``of_blocks``; the ``blocks_at``
    statistics (..., q) alone, to begin a search from; and the variance of each column, (..., p),
    ``column_variances``.
    """

    n_features: int
    mean_scale: float = 2.0  #: prior standard deviation of a mean, around zero, in units of its σ
    variance_prior: tuple[float, float] = (1.0, 1.0)  #: shape and scale of an inverse gamma
    cell_log_units: tuple[float, ...] = ()  #: u of each column, 0 by default
    reference: np.ndarray | None = field(default=None, compare=False)
    has_gaps: bool = field(default=False, compare=False)  #: features count the cells of each column

    @property
    @abstractmethod
    def widths(self) -> tuple[int, ...]:
        """Numbers of each block, the means first."""

    @abstractmethod
    def blocks(self, parameters: GaussianParameters, rng: np.random.Generator) -> list[np.ndarray]:
        """Blocks (..., width) of parameters."""

    @property
    def origin(self) -> np.ndarray:
        """Where features are measured from, (p,)."""
        return np.zeros(self.n_features) if self.reference is None else self.reference

    @property
    def kappa(self) -> float:
        """Rows that the prior of a mean is worth."""
        return self.mean_scale**-2.0

    def at(self, X: np.ndarray) -> Self:
        """Measured from the median of each column: one far row would carry a mean away from all others."""
        if not (gaps := np.isnan(X)).any():
            return replace(self, reference=np.median(X, axis=0))
        medians = [np.median(x[~gap]) if not gap.all() else 0.0 for x, gap in zip(X.T, gaps.T)]
        return replace(self, reference=np.array(medians), has_gaps=True)

    @property
    def cell_units(self) -> np.ndarray:
        """u, (p,)."""
        return np.array(self.cell_log_units) if self.cell_log_units else np.zeros(self.n_features)

    def sample_blocks(self, rng, shape):
        """Blocks of this many components before any row."""
        (p, w, *n_pairs), (b, beta) = self.widths, self.variance_prior
        s = np.log(beta) - np.log(rng.gamma(b + n_later(self.widths) / 2, size=(*shape, w)))
        r = [rng.standard_normal((*shape, width)) / np.sqrt(2 * beta) for width in n_pairs]
        r = [each * np.exp(s[..., below(p)[1]] / 2) for each in r]
        u = self.mean_scale * rng.standard_normal((*shape, p))
        return [times_root(u, s, *r), s, *r]

    def log_densities(self, blocks, X):
        """Log density of rows by blocks (M, K, width), (M, K, n), from deviations: nothing cancels."""
        mu, s, *r = blocks
        there = ~np.isnan(X)
        u = np.where(there, X, 0.0) - mu[:, :, None, :]  # (M, K, n, p)
        for each in r:
            u = anp.matmul(u, unit_lower(each))
        if not there.all():
            u = u * there
        constant = anp.matmul(s + np.full(self.n_features, np.log(2 * np.pi)), there.T.astype(float))
        log_N = -0.5 * (anp.sum(u**2 * anp.exp(-s)[:, :, None], axis=3) + constant)
        return log_N + ~there @ self.cell_units

    def sample_rows(self, parameters, rng):
        return self.draw_rows(self.blocks(parameters, rng), rng)

    def draw_rows(self, blocks, rng):
        """One row of each of n components, (n, p)."""
        mu, *factors = blocks
        return mu + times_root(rng.standard_normal(mu.shape), *factors)

    def rounding(self, X: np.ndarray) -> float:
        """Rounding of squares, in units of the smallest variance that the prior lets so many rows have.

        A component is at least as wide as its mean is far from the prior's, so that a row which is as far
        from there as from the origin loses nothing.
        """
        b, beta = self.variance_prior
        least = beta + 0.5 * self.kappa / (self.kappa + 1) * X**2
        lost = np.nanmax((X - self.origin) ** 2 / least, initial=0.0)
        return float(np.finfo(float).eps * lost * (b + 0.5 * len(X)) * self.n_features)

    def _means(
        self, first: np.ndarray, N: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """κ + N (..., 1); posterior mean and x̄, from the origin, and x̄ from the prior's mean (..., p)."""
        kappa_n, mean = self.kappa + N, first / np.maximum(N, 1e-300)
        return kappa_n, (first - self.kappa * self.origin) / kappa_n, mean, mean + self.origin


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

    is_shared: ClassVar[bool] = False  #: whether all columns have one variance

    def _shared(self, by_column):
        """Sums over the columns that share a variance, (..., w)."""
        return np.sum(by_column, axis=-1, keepdims=True) if self.is_shared else by_column

    def _variances(self, covariances):
        """(..., w) of covariances as parameters have them; :meth:`_covariances` is the way back."""
        return covariances[..., None] if self.is_shared else covariances

    def _covariances(self, variances):
        return variances[..., 0] if self.is_shared else variances

    @property
    def n_variances(self) -> int:
        """One of each column, or of all."""
        return 1 if self.is_shared else self.n_features

    @property
    def widths(self):
        return self.n_features, self.n_variances

    def blocks(self, parameters, rng):
        return [parameters.means, np.log(self._variances(parameters.covariances))]

    def of_blocks(self, mean, *factors):
        return GaussianParameters(mean, self._covariances(np.exp(factors[0])))

    def column_variances(self, covariances):
        variances = self._variances(covariances)
        return np.broadcast_to(variances, (*variances.shape[:-1], self.n_features))

    def blocks_at(self, T):
        w, p, n = self.n_variances, self.n_features, T[..., -1:]
        mean = T[..., w : w + p] / (n + 1.0)
        scatter = (T[..., :w] - n * self._shared(mean**2)) * w / p
        variances = np.maximum((scatter + self.variance_prior[1]) / (n + 1.0), 1e-3)
        return [mean, np.log(variances)]

    def features(self, X):
        x, cells = X - self.origin, []
        if self.has_gaps:
            there = ~np.isnan(X)
            x, cells = np.where(there, x, 0.0), [there]
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

    is_shared = True


@dataclass(frozen=True)
class FullGaussian(GaussianComponent):
    """Gaussian components whose columns are correlated.

    Examples
    --------
    >>> import numpy as np
    >>> family, X = FullGaussian(1), np.array([[0.5], [-1.0]])
    >>> float(family.log_evidence(family.features(X).sum(axis=0)).round(4))  # of one column, as diagonal ones
    -3.8379
    """

    @property
    def widths(self):
        p = self.n_features
        return p, p, p * (p - 1) // 2

    def blocks(self, parameters, rng):
        return [parameters.means, *factors_of(parameters.covariances)]

    def of_blocks(self, mean, *factors):
        return GaussianParameters(mean, covariance_of(*factors))

    def column_variances(self, covariances):
        return np.diagonal(covariances, axis1=-2, axis2=-1)

    def blocks_at(self, T):
        n, p = T[..., -1:], self.n_features
        mean, (i, j) = T[..., -1 - p : -1] / (n + 1.0), pairs(p)
        floor = max(self.variance_prior[1], 1e-3) * (i == j)
        scatter = T[..., : len(i)] - n * mean[..., i] * mean[..., j]
        return [mean, *factors_of(_symmetric((scatter + floor) / (n + 1.0), p))]

    def features(self, X):
        x = X - self.origin
        i, j = pairs(self.n_features)
        return np.column_stack([x[:, i] * x[:, j], x, np.ones(len(x))])

    def log_evidence(self, T):
        N, _, _, _, L, v = self._posterior(T)
        log_det = 2 * np.sum(np.log(np.diagonal(L, axis1=-2, axis2=-1)), axis=-1)
        return self.log_evidence_of(N[..., 0], log_det + np.log1p(np.sum(v**2, axis=-1)))

    def log_evidence_of(self, N, log_det):
        """Log evidence of N rows by log |Ψ_n|, nats, (...)."""
        p, nu, nu_n, kappa_n = self.n_features, self._nu, self._nu + N, self.kappa + N
        out = multigammaln(0.5 * nu_n, p) - multigammaln(0.5 * nu, p)
        out += 0.5 * nu * p * np.log(2 * self.variance_prior[1]) - 0.5 * nu_n * log_det
        return out + 0.5 * p * (np.log(self.kappa / kappa_n) - N * np.log(np.pi))

    def sample(self, T, rng):
        p = self.n_features
        _, kappa_n, mean, nu_n, L, v = self._posterior(T)
        A = np.tril(rng.standard_normal(L.shape), -1)
        A[..., range(p), range(p)] = np.sqrt(np.maximum(rng.chisquare(nu_n - np.arange(p)), 1e-300))
        u = v / np.sqrt(1 + np.sqrt(1 + np.sum(v**2, axis=-1, keepdims=True)))
        G = L + (L @ u[..., None]) * u[..., None, :]  # its square is Ψ_n, since (I + u u′)² = I + v v′
        root = np.swapaxes(np.linalg.solve(A, np.swapaxes(G, -1, -2)), -1, -2)  # G A⁻ᵀ, whose square is Σ
        z = rng.standard_normal((*mean.shape, 1))
        means = self.origin + mean + (root @ z)[..., 0] / np.sqrt(kappa_n)
        return GaussianParameters(means, root @ np.swapaxes(root, -1, -2))

    def coefficients(self, parameters):
        mu, P = parameters.means - self.origin, np.linalg.inv(parameters.covariances)
        i, j = pairs(self.n_features)
        linear = (P @ mu[..., None])[..., 0]
        log_det = np.linalg.slogdet(2 * np.pi * parameters.covariances)[1]
        constant = -0.5 * (np.sum(mu * linear, axis=-1) + log_det)
        return np.concatenate(
            [P[..., i, j] * np.where(i == j, -0.5, -1.0), linear, constant[..., None]], axis=-1
        )

    def parameters(self, c):
        p, (i, j) = self.n_features, pairs(self.n_features)
        covariance = np.linalg.inv(_symmetric(c[..., : len(i)] * np.where(i == j, -2.0, -1.0), p))
        return GaussianParameters(self.origin + (covariance @ c[..., len(i) : -1, None])[..., 0], covariance)

    def log_prior(self, parameters):
        mu, covariance = parameters
        p, beta, nu, kappa = self.n_features, self.variance_prior[1], self._nu, self.kappa
        P, log_det = np.linalg.inv(covariance), np.linalg.slogdet(covariance)[1]
        trace = np.trace(P, axis1=-2, axis2=-1)
        log_p = 0.5 * nu * p * np.log(beta) - multigammaln(0.5 * nu, p) - beta * trace  # Ψ/2 = β I
        square = np.einsum("...i,...ij,...j->...", mu, P, mu)
        return log_p - 0.5 * ((nu + p + 2) * log_det + kappa * square + p * np.log(2 * np.pi / kappa))

    def rounding(self, X):
        """Rounding of squares, and of a covariance that is as wide as means are far from the prior's."""
        (b, beta), n = self.variance_prior, len(X)
        far = self.kappa * n / (self.kappa + n) * np.sum(np.mean(X, axis=0) ** 2)
        far += self.n_features * np.max(np.abs(X - self.origin), initial=0.0) ** 2
        return float(np.finfo(float).eps * far * (b + 0.5 * n) / beta)

    @property
    def least_rows(self) -> float:
        """With fewer rows a covariance is its prior's, and components hold their rows fast.

        With 178 rows of 13 columns and four components, eight of eight searches miss the best mode by 5 to
        21 nats.
        """
        return 4.0 * (self.n_features - 1)

    @property
    def _nu(self) -> float:
        return 2 * self.variance_prior[0] + self.n_features - 1

    def _posterior(self, T):
        """N, κ + N (..., 1), posterior mean from the origin (..., p), ν_n (..., 1), L and v of Ψ_n.

        Where means are far from the prior's, the last term of Ψ_n would swallow the others.
        """
        p, beta = self.n_features, self.variance_prior[1]
        q = p * (p + 1) // 2
        second, first, N = T[..., :q], T[..., q : q + p], T[..., q + p :]
        kappa_n, posterior_mean, mean, from_prior = self._means(first, N)
        i, j = pairs(p)
        packed = second - first[..., i] * mean[..., j] + 2 * beta * (i == j)
        L = np.linalg.cholesky(_symmetric(packed, p))
        v = np.linalg.solve(L, (np.sqrt(self.kappa * N / kappa_n) * from_prior)[..., None])[..., 0]
        return N, kappa_n, posterior_mean, self._nu + N, L, v


def _symmetric(packed: np.ndarray, p: int) -> np.ndarray:
    """Matrices (..., p, p) of their numbers on and above the diagonal."""
    i, j = pairs(p)
    S = np.empty((*packed.shape[:-1], p, p))
    S[..., i, j] = S[..., j, i] = packed
    return S
