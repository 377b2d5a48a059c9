r"""Regressions on columns that are far from zero: coefficients in coordinates in which nothing cancels.

A column of time stamps is 1.7·10¹⁸ and varies by 10¹³; w x + b, the difference of two terms of that size, has
lost everything, and the prior is 10¹⁸ times as wide as the posterior along one line in the space of (w, b)
and no wider across it.  So columns are measured from a centre c, which is exact, and

    η = w·x + b = w·(x − c) + β,     β = c·w + b = a·ζ,    a = (s c, t),    (w, b) = (s, t) ζ,   ζ ~ N(0, I).

A reflection ζ = Q ω takes the direction a to one coordinate: β = ± |a| ω_j, ω ~ N(0, I) as well.  The
posterior of ω_j is narrow, that of the others is as wide as x − c lets it be, and neither is a difference.
The largest element of a is the pivot j, so that columns of different sizes do not mix but by what they share.

A softmax has one such vector for each class, and does not see what all classes have in common, which is as
wide as the prior: with C the orthonormal contrasts of the classes, ζ_k = Σ_l C_kl Q ω_l, the mean ω_0 is left
out of the likelihood, exactly.

Symbols: ω ``theta`` = (M, K q), q = p + 1 or p coefficients of each of K classes (1 for counts); c ``centre``
= (p,); s, t ``scales`` = prior standard deviations of w and b, (q,); ``Q`` = (q, q); ``T`` = from ω to (w,
β), (p + 1, q); ``A`` that of all classes.

**Conditioning.**  Plain sums over the rows can be trusted where columns are in proportion to their prior
scales.  A likelihood that is summed in double precision, and coordinates that come from second moments,
resolve directions of the posterior whose precisions differ by a factor below 10¹⁶.  Columns that lie far from
zero, as timestamps do, or prior scales that are huge, ask for more: then moves, weights and evidence are
wrong by nats, and nothing in them shows it.

    κ = (1 + σ₁²) / (1 + σ_d²),    σ = singular values of √ω Φ S

is the factor between the largest and the smallest precision in units of the prior.

Symbols: ``Phi`` = Φ, ``S`` = prior scales, ``weight`` = ω.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import autograd.numpy as anp
import numpy as np
from scipy.linalg import block_diag, helmert

from ._base import Model
from ._regression import design_matrix, gaussian_log_density, prior_scales


def near(model: Any, X: np.ndarray) -> Any:
    """The model, or the same in coordinates that suit columns which are far from zero.

    ``X`` are the first rows; an offset is the last column.
    """
    X = X[:, : model.n_features]
    # products of a column and a coefficient of the prior's size below which rounding is 10⁻¹³ of a unit of η;
    # without a copy of all rows
    if not X.size or not model.coef_scale * max(X.max(), -X.min()) > 1e3:
        return model
    centre = _centre(X, model.coef_scale)
    if not centre.any():
        return model
    return FarColumns(model, tuple(centre.tolist()))


def _centre(X: np.ndarray, scale: float) -> np.ndarray:
    """Means of the columns, or values next to zero where x − mean would lose the digits of smaller x.

    One value of 10²⁰ takes the mean to where x − mean is the same number for all other rows; beside the value
    next to zero no row loses more than it is rounded to already.
    """
    with np.errstate(over="ignore"):
        mean = np.mean(X, axis=0)
    least = X[np.argmin(np.abs(X), axis=0), np.arange(X.shape[1])]
    # units of η by which the rounding of x − c may move a row that is nearer to zero than c
    is_rounded = ~(np.finfo(float).eps * scale * np.abs(mean) <= 1e-6)
    return np.where(is_rounded & ~(np.abs(least) > np.abs(mean) / 2), least, mean)


@dataclass(frozen=True)
class FarColumns(Model):
    """A regression in coordinates ω ~ N(0, I) of its coefficients, its columns measured from a centre.

    Parameters
    ----------
    plain : GLMModel or SoftmaxModel
        The belief in its own coordinates, (w, b) of each class.
    centre : tuple of float
        One for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import GLMModel, near
    >>> X, y = np.array([[1e9], [1e9 + 1]]), np.array([1.0, 3.0])
    >>> model = near(GLMModel(n_features=1), X)
    >>> theta = np.zeros((1, 2))
    >>> model.log_likelihood(theta, Rows.of(X, y)).round(2)  # means of one
    array([[-1.  , -2.79]])
    """

    plain: Any
    centre: tuple[float, ...]

    @property
    def is_log_concave(self) -> bool:  # type: ignore[override]
        return self.plain.is_log_concave

    @property
    def has_one_mode(self) -> bool:  # type: ignore[override]
        return self.plain.has_one_mode

    @property
    def n_mode_checks(self) -> int:  # type: ignore[override]
        return self.plain.n_mode_checks

    def __post_init__(self) -> None:
        object.__setattr__(self, "evaluation", self.plain.evaluation)

    @cached_property
    def centred(self) -> Any:
        """The model of columns measured from the centre, given (w, β)."""
        return replace(self.plain, fit_intercept=True)

    @property
    def n_params(self) -> int:
        return self.plain.n_params

    @property
    def n_classes(self) -> int:
        """K; 1 where there are none."""
        return getattr(self.plain, "n_classes", 1)

    @property
    def n_own(self) -> int:
        """Parameters beside the coefficients, which stay as they are: standard normals, too."""
        return getattr(self.plain, "n_own", 0)

    @cached_property
    def scales(self) -> np.ndarray:
        """(s, …, s, t), (q,)."""
        return self.plain.scales[: (self.n_params - self.n_own) // self.n_classes]

    @cached_property
    def contrasts(self) -> np.ndarray:
        """C, (K, K), the mean first."""
        K = self.n_classes
        return helmert(K, full=True).T if K > 1 else np.ones((1, 1))

    @cached_property
    def reflection(self) -> tuple[np.ndarray, np.ndarray]:
        """Q, and the row of T that gives β."""
        p, q = len(self.centre), len(self.scales)
        a = self.scales * np.r_[self.centre, np.ones(q - p)]
        size = np.max(np.abs(a))
        r = a / size
        length = float(np.sqrt(r @ r))
        r, j = r / length, int(np.argmax(np.abs(r)))
        sign = np.sign(r[j])
        v = r.copy()
        v[j] += sign
        beta = np.zeros(q)
        beta[j] = -sign * size * length
        return np.eye(q) - (2 / (v @ v)) * np.outer(v, v), beta

    @cached_property
    def T(self) -> np.ndarray:
        """From ω to (w, β), (p + 1, q)."""
        Q, beta = self.reflection
        return np.vstack([(self.scales[:, None] * Q)[: len(self.centre)], beta])

    def design(self, X: np.ndarray) -> np.ndarray:
        """Columns that the coordinates of one class multiply, (n, q)."""
        return design_matrix(self._X(X)[:, : len(self.centre)], True) @ self.T

    @cached_property
    def A(self) -> np.ndarray:
        """From ω to (w, β) of each class, as far as the likelihood sees them, (K (p + 1), K q)."""
        C = self.contrasts.copy()
        if self.n_classes > 1:
            C[:, 0] = 0.0
        return block_diag(np.kron(C, self.T), np.eye(self.n_own))

    @cached_property
    def to_plain(self) -> np.ndarray:
        """From ω to (w, b) of each class, (K q, K q)."""
        of_coefficients = np.kron(self.contrasts, self.scales[:, None] * self.reflection[0])
        return block_diag(of_coefficients, np.eye(self.n_own))

    def in_plain(self, theta: np.ndarray) -> tuple[Model, np.ndarray]:
        return self.plain, theta @ self.to_plain.T

    def seen(self, theta: np.ndarray) -> np.ndarray:
        """(w, β) of each class as far as the likelihood sees them, (M, K, p + 1)."""
        n = self.n_classes * (len(self.centre) + 1)
        return self._coefficients(theta)[:, :n].reshape(len(theta), self.n_classes, -1)

    def from_plain(self, plain: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """ω from (w, b) and what else each class has, (M, K, q), and from (w, β), which has more digits.

        The level that all classes share may be 10¹⁸ times their differences, and so may c·w be beside β.
        """
        p, q, j = len(self.centre), len(self.scales), int(np.flatnonzero(self.T[-1])[0])
        of_lines = np.einsum("mkq,kl->mlq", seen, self.contrasts)
        zeta = np.einsum("mkq,kl->mlq", plain[:, :, :q] / self.scales, self.contrasts)
        known = slice(int(self.n_classes > 1), None)
        zeta[:, known, :p] = of_lines[:, known, :p] / self.scales[:p]
        omega = zeta @ self.reflection[0]
        omega[:, known, j] = of_lines[:, known, p] / self.T[-1, j]
        return np.concatenate([omega.reshape(len(plain), -1), plain[:, 0, q:]], axis=1)

    def resolves(self, rows: Any) -> bool:
        """Columns are taken at one length: parameters may have widths of their own, which these keep."""
        if not len(rows):
            return True
        part = rows.take(np.arange(0, len(rows), -(-len(rows) // MAX_ROWS)))
        with np.errstate(all="ignore"):
            A = np.sqrt(part.weight * (len(rows) / len(part)))[:, None] * self.design(part.X)
            lengths = np.hypot(np.sqrt(np.sum(A**2, axis=0)), 1.0)
            A = np.vstack([A, np.eye(A.shape[1])]) / lengths
            if not np.all(np.isfinite(A)):
                return False
        s = np.linalg.svd(A, compute_uv=False)
        return not len(s) or bool(s[-1] > 0 and (s[0] / s[-1]) ** 2 <= MAX_CONDITION)

    def unresolved(self, rows: Any) -> str | None:
        return self.plain.unresolved(rows)

    def _X(self, X: np.ndarray) -> np.ndarray:
        centre = np.zeros(X.shape[1])  # an offset stays as it is
        centre[: len(self.centre)] = self.centre
        return X - centre

    def _rows(self, rows: Any) -> Any:
        return replace(rows, X=self._X(rows.X))

    def _coefficients(self, theta: Any) -> Any:
        """(w, β) of each class, (M, K (p + 1))."""
        return anp.dot(theta, self.A.T)

    def sample_prior(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.standard_normal((size, self.n_params))

    def starts(self, rows: Any, n_starts: int, rng: np.random.Generator) -> np.ndarray:
        return self.centred.starts(self._rows(rows), n_starts, rng) @ np.linalg.pinv(self.A).T

    def log_prior(self, theta: Any) -> Any:
        return gaussian_log_density(theta, np.ones(self.n_params))

    def log_likelihood(self, theta: Any, rows: Any) -> Any:
        return self.centred.log_likelihood(self._coefficients(theta), self._rows(rows))

    def _block_log_likelihood(
        self, theta: Any, rows: Any, tape: list | None, single_below: float = 0.0
    ) -> Any:
        return self.centred._block_log_likelihood(
            self._coefficients(theta), self._rows(rows), tape, single_below
        )

    def derivatives(self, theta: np.ndarray, rows: Any) -> tuple[float, np.ndarray, np.ndarray]:
        coefficients = self._coefficients(theta)

        def of_block(block: Any) -> tuple[float, np.ndarray, np.ndarray]:  # all rows at once would be a copy
            return self.centred.derivatives(coefficients, self._rows(block))

        value, grad, hessian = rows.fold(of_block, self.evaluation.block_rows)
        return value, grad @ self.A, self.A.T @ hessian @ self.A

    def prior_derivatives(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        return float(self.log_prior(theta[None])[0]), -theta, -np.eye(len(theta))

    def parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        return self.plain.parameters(theta @ self.to_plain.T)

    def sample_rows(self, theta: np.ndarray, X: Any, rng: np.random.Generator) -> np.ndarray:
        return self.centred.sample_rows(self._coefficients(theta), self._X(X), rng)

    def expected_score(self, theta: np.ndarray, W: np.ndarray, X: np.ndarray) -> np.ndarray:
        return self.centred.expected_score(self._coefficients(theta), W, self._X(X))

    def predictive_mean(self, theta: np.ndarray, W: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Predictive mean of counts, (n,)."""
        return self.centred.predictive_mean(self._coefficients(theta), W, self._X(X))

    def predictive_std(self, theta: np.ndarray, W: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Predictive standard deviation of counts, (n,)."""
        return self.centred.predictive_std(self._coefficients(theta), W, self._X(X))

    def predictive_survival(self, theta: np.ndarray, W: np.ndarray, X: np.ndarray, t: Any) -> np.ndarray:
        """P(time > t), (n,)."""
        return self.centred.predictive_survival(self._coefficients(theta), W, self._X(X), t)

    def predictive_median(self, theta: np.ndarray, W: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Predictive median of times, (n,)."""
        return self.centred.predictive_median(self._coefficients(theta), W, self._X(X))

    def log_probabilities(self, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Log probabilities of classes, (K, M, n)."""
        return self.centred.log_probabilities(self._coefficients(theta), self._X(X))


class RegressionModel(Model):
    """A regression says whether its columns can be resolved, and in which coordinates."""

    def suited(self, X: np.ndarray) -> Any:
        return near(self, X)

    def resolves(self, rows: Any) -> bool:
        return condition(self, rows) <= MAX_CONDITION

    def unresolved(self, rows: Any) -> str | None:
        return far_columns(self, rows)


class GaussianPriorRegression(RegressionModel):
    """A regression whose parameters all have N(0, s²) priors; their ``scales`` s, (d,)."""

    scales: Any

    def sample_prior(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.standard_normal((size, self.n_params)) * self.scales

    def log_prior(self, theta: Any) -> Any:
        return gaussian_log_density(theta, self.scales)

    def prior_derivatives(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        precision = self.scales**-2.0
        return float(self.log_prior(theta[None])[0]), -precision * theta, -np.diag(precision)


#: κ from which sums are doubted: second moments in double precision then err by 10⁻³ of the smallest
#: precision.
MAX_CONDITION = 1e13
#: Rows that are looked at, spread evenly; κ hardly depends on their number.
MAX_ROWS = 4096


def condition(model: Any, rows: Any) -> float:
    """κ of a regression's rows, infinite where it cannot be said; 1 for models without coefficients."""
    model = getattr(model, "plain", model)  # coordinates that suit far columns are as narrow along one line
    if not hasattr(model, "coef_scale") or not len(rows):
        return 1.0
    part = rows.take(np.arange(0, len(rows), -(-len(rows) // MAX_ROWS)))
    S = prior_scales(model.n_features, model.fit_intercept, model.coef_scale, model.intercept_scale)
    Phi = design_matrix(part.X[:, : model.n_features], model.fit_intercept)
    with np.errstate(all="ignore"):
        A = np.sqrt(part.weight * (len(rows) / len(part)))[:, None] * Phi * S
        if not np.all(np.isfinite(A)) or np.abs(A).max(initial=0.0) > 1e150:
            return np.inf
    squares = np.linalg.svd(A, compute_uv=False) ** 2
    if not len(squares):
        return 1.0
    return float((1.0 + squares[0]) / (1.0 + (squares[-1] if len(squares) == len(S) else 0.0)))


def far_columns(model: Any, rows: Any) -> str | None:
    """Why an answer that rests on plain sums over these rows should not be trusted; None if it may."""
    found = condition(model, rows)
    if found < MAX_CONDITION:
        return None
    return (
        f"columns of X, times their prior scales, differ by a factor of {found:.0e} in what they determine, "
        "more than sums in double precision resolve: the log evidence may be wrong by nats; centre and scale "
        "X (StandardScaler), or lower coef_scale"
    )
