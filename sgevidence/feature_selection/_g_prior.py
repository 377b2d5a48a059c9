r"""Subsets of columns under mixtures of g-priors: Bayes factors against the null model, and the posterior.

With ν = n − 1, k columns of rank k, centred rows and t = g/(1 + g),

    p(b, σ²) ∝ 1/σ²,      w | g, σ² ~ N(0, g σ² (X̃ᵀX̃)⁻¹),      g ~ :class:`GPrior`,

    E[w | g] = t ŵ,       cov[w | g] = t E[σ² | g] (X̃ᵀX̃)⁻¹,       E[σ² | g] = q (1 − t R²)/(ν − 2).

The prior of b and σ² is improper and is that of all subsets, the null model among them, so that only ratios
have a meaning.  Without an intercept ν = n, and nothing is centred.

Elimination (:mod:`._moments`) counts the columns: D is Σ (log pivot − log ridge), taken at two nodes whose
ridges differ by a factor e, so that D differs by the number of columns that have left something.  One whose
pivot is below the ridge is a linear combination of others and adds nothing.
"""

from typing import Any, Self

import numpy as np
from scipy.linalg import qr
from scipy.special import gammaln, logsumexp
from scipy.stats import t as student

from ..models import GPrior, rscale_of
from ..particles import log_mixture
from ._moments import EPS, Moments
from ._noise_grid import Lacks

#: Share of a column's squares below which what others leave of it is rounding.
COLLINEAR_SHARE = 1e-11
#: Share of a column's length, or of that of y, below which what others leave of it is rounding.
COLLINEAR_DIGITS = 1e-13


def g_prior_of(coef_prior: str, rscale: Any, sums: Any) -> GPrior:
    """The prior of g by its name, for the factor of [1, X, y]."""
    n, p = sums.total_weight, sums.n_values - 1
    return {
        "g": GPrior("inverse-gamma", n * rscale_of("regression", rscale) ** 2),
        "hyper-g": GPrior("hyper-g", 3.0),  # parameter a of the hyper-g prior, Liang et al. (2008)
        "unit-information": GPrior("fixed", n),
        "bric": GPrior("fixed", max(n, float(p**2))),
    }[coef_prior]


class UnitMoments(Moments):
    """Moments of centred rows, or without an intercept of rows as they are; C has no ridge but a floor."""

    @classmethod
    def of(cls, sums: Any, model: Any) -> Self:
        """From the factor of [1, X, y] and the linear model of all columns."""
        found = super().of(sums, model)
        if not found.tau:
            found = found._replace(
                C=found.C + found.n * np.outer(found.m, found.m),
                c=found.c + found.n * found.m * found.mean,
                q=found.q + found.n * found.mean**2,
            )
        squares = np.diag(found.C)
        return found._replace(precision=COLLINEAR_SHARE * np.where(squares > 0, squares, found.n))

    @property
    def nu(self) -> float:
        """Degrees of freedom of the null model."""
        return self.n - (1.0 if self.tau else 0.0)

    def bordered(self, s: np.ndarray) -> np.ndarray:
        """The bordered matrix, whose last row and column only keep a place, (p + 2, p + 2, len(s))."""
        p = len(self.m)
        T = np.zeros((p + 2, p + 2, len(s)))
        T[:p, :p], T[:p, p], T[p, :p] = self.C[..., None], self.c[:, None], self.c[:, None]
        T[p, p], T[p + 1, p + 1] = self.q, -1 / self.n
        return T


class IntegralOverG:
    """The integral over g, in the place of the grid of an unknown noise."""

    s = np.array([0.0, -1.0])  #: the two nodes, whose ridges differ by a factor e

    def __init__(self, moments: UnitMoments, prior: GPrior) -> None:
        self.moments, self.prior = moments, prior

    def reaching(self, error: float) -> "IntegralOverG":
        """Itself: given g the noise is integrated in closed form."""
        return self

    def improved(self, lacks: Lacks) -> None:
        """Nothing can be better: each integral has ends of its own."""

    def integrated(self, D: np.ndarray, log_Q: np.ndarray, loss: np.ndarray):
        """Log Bayes factors against the null model, what rounding may have changed, nats (B,); no lacks."""
        k = np.rint(D[:, 1] - D[:, 0]).astype(int)
        q = self.moments.q
        rest = np.exp(log_Q[:, 0]) / q if q > 0 else np.ones(len(k))
        out = np.zeros(len(k))
        open_ones = (k > 0) & (k < self.moments.nu)  # of others R² is 0 or 1 whatever y is
        for size in np.unique(k[open_ones]):
            of_size = np.flatnonzero(k == size)
            out[of_size] = self.prior.log_bayes_factors(rest[of_size], int(size), self.moments.nu)
        error = np.where(open_ones, EPS * loss[:, 0] * (1 + self.moments.nu / np.maximum(rest, 1e-300)), 0.0)
        return out, error, Lacks()

    def given(self, columns: list[int]):
        """Mean and covariance of (w, α), mean of b, and of (σ², σ), of one subset, in units of the moments.

        α is the value of the line at the means of the columns.
        """
        moments, k = self.moments, len(columns)
        with_intercept, nu, m = bool(moments.tau), moments.nu, moments.m[columns]
        inverse, fitted, t, omega, b = self._conditionals(columns)
        variance = b / (nu / 2 - 1) if nu > 2 else np.full(len(t), np.inf)
        std = np.sqrt(b) * (np.exp(gammaln(nu / 2 - 0.5) - gammaln(nu / 2)) if nu > 1 else np.inf)
        shrunk = float(omega @ t)
        w = shrunk * fitted
        spread = float(omega @ (t - shrunk) ** 2)
        covariance = np.zeros((k + 1, k + 1))
        covariance[:k, :k] = float(omega @ (t * variance)) * inverse + spread * np.outer(fitted, fitted)
        if with_intercept:
            covariance[k, k] = float(omega @ variance) / moments.n
            mean = np.append(w, moments.mean)
        else:
            beside = covariance[:k, :k] @ m
            covariance[:k, k] = covariance[k, :k] = beside
            covariance[k, k] = m @ beside
            mean = np.append(w, m @ w)
        intercept = moments.mean - float(m @ w) if with_intercept else 0.0
        return mean, covariance, intercept, np.array([omega @ variance, omega @ std])

    def log_density(self, columns: list[int], X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """log p(y | x) of one subset, (n,), in the units of the moments: given g a t of ν degrees."""
        moments = self.moments
        inverse, fitted, t, omega, b = self._conditionals(columns)
        X = X[:, columns] - (moments.m[columns] if moments.tau else 0.0)
        loc = (moments.mean if moments.tau else 0.0) + np.multiply.outer(t, X @ fitted)
        line = np.multiply.outer(t, np.sum((X @ inverse) * X, axis=1)) + (1 / moments.n if moments.tau else 0)
        scale = np.sqrt(2 * b[:, None] / moments.nu * (1 + line))
        return log_mixture(omega, student.logpdf(y, moments.nu, loc, np.maximum(scale, 1e-300)))

    def _conditionals(self, columns: list[int]):
        """(X̃ᵀX̃)⁻¹ and ŵ; t of the nodes of g, their probabilities, and b of σ² | g ~ InvGamma(ν/2, b)."""
        moments = self.moments
        C = moments.C[np.ix_(columns, columns)]
        inverse = np.linalg.pinv(C, rcond=COLLINEAR_SHARE, hermitian=True)
        rank = int(np.linalg.matrix_rank(C, rtol=COLLINEAR_SHARE, hermitian=True)) if columns else 0
        fitted = inverse @ moments.c[columns]
        explained = min(float(moments.c[columns] @ fitted) / moments.q, 1.0) if moments.q > 0 else 0.0
        t, omega = np.zeros(1), np.ones(1)
        if rank:
            u, f = self.prior.log_terms(np.array([1 - explained]), rank, moments.nu)
            t, omega = 1 / (1 + np.exp(-u)), np.exp(f[0] - logsumexp(f[0]))
        return inverse, fitted, t, omega, 0.5 * moments.q * (1 - t * explained)


def exact_log_bayes_factor(sums: Any, fit_intercept: bool, prior: GPrior, columns: list[int]) -> float:
    """Log evidence of one subset by the factor of its columns; infinite if they explain y exactly."""
    A = sums.of_columns([*(j + 1 for j in columns), sums.n_values])
    A = A.rest if fit_intercept else np.vstack([A.rest, np.sqrt(sums.total_weight) * A.means])
    y, lengths = A[:, -1], np.linalg.norm(A[:, :-1], axis=0)
    q = float(y @ y)
    Q, R, _ = qr(A[:, :-1][:, lengths > 0] / lengths[lengths > 0], mode="economic", pivoting=True)
    rank = int(np.sum(np.abs(np.diag(R)) > COLLINEAR_DIGITS))
    if not (rank and q):
        return 0.0
    nu = sums.total_weight - (1.0 if fit_intercept else 0.0)
    left = y - Q[:, :rank] @ (Q[:, :rank].T @ y)
    rest = float(left @ left) / q if rank < len(A) else 0.0
    is_explained = rest < COLLINEAR_DIGITS**2
    return np.inf if is_explained and prior.diverges(rank, nu) else prior.log_bayes_factor(rest, rank, nu)[0]
