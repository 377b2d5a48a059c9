r"""Generalised linear models: y ~ family(η), η = w·x + b + offset.

w_j ~ N(0, coef_scale²) and b ~ N(0, intercept_scale²), independent.  The family says what y is given the
linear predictor η; the link is part of it (log for counts).  A known addend of η, such as the logarithm of
an exposure, is the last column of X of a model with ``has_offset``.

Symbols: ``Phi`` = [X, 1] without the offset, ``eta`` = linear predictors (M, n).
"""

from dataclasses import dataclass
from typing import Any, Protocol

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive
from scipy.special import gammaln

from ._base import Model
from ._evaluation import Evaluation
from ._regression import design_matrix, gaussian_log_density, prior_scales

#: Logarithm of the largest rate whose counts fit into 64 bits, as numpy draws them.
LARGEST_LOG_RATE = np.log(2.0**63) - 1e-6


class Family(Protocol):
    """What y is, given η: all of it elementwise."""

    def log_density(self, eta: Any, y: np.ndarray) -> Any:
        """Normalised log p(y | η), in ``autograd.numpy``."""

    def score(self, eta: np.ndarray, y: np.ndarray) -> np.ndarray:
        """∂ log p(y | η) / ∂η."""

    def curvature(self, eta: np.ndarray, y: np.ndarray) -> np.ndarray:
        """−∂² log p(y | η) / ∂η², never negative."""

    def mean(self, eta: np.ndarray) -> np.ndarray:
        """E[y | η]."""

    def variance(self, eta: np.ndarray) -> np.ndarray:
        """Var[y | η]."""

    def entropy(self, eta: np.ndarray) -> np.ndarray:
        """−E[log p(y | η)]."""

    def simulate(self, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A draw of y for each η."""


@dataclass(frozen=True)
class Poisson:
    """Counts with the log link: y ~ Poisson(e^η)."""

    def log_density(self, eta: Any, y: np.ndarray) -> Any:
        return y * eta - anp.exp(eta) - gammaln(y + 1)

    def score(self, eta: np.ndarray, y: np.ndarray) -> np.ndarray:
        return y - np.exp(eta)

    def curvature(self, eta: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.exp(eta)

    def mean(self, eta: np.ndarray) -> np.ndarray:
        return np.exp(eta)

    def variance(self, eta):
        return np.exp(eta)

    def entropy(self, eta):
        """By summation for means up to 12, where the series of Stirling's type is right to 10⁻⁵."""
        mean, y = np.exp(eta), np.arange(60.0)
        small = np.clip(mean, np.finfo(float).tiny, 12.0)[..., None]
        log_p = y * np.log(small) - small - gammaln(y + 1)
        large = np.maximum(mean, 12.0)
        series = 0.5 * np.log(2 * np.pi * np.e * large) - 1 / (12 * large) - 1 / (24 * large**2)
        return np.where(mean <= 12.0, -np.sum(np.exp(log_p) * log_p, axis=-1), series - 19 / (360 * large**3))

    def simulate(self, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if (largest := np.max(eta, initial=-np.inf)) > LARGEST_LOG_RATE:
            raise ValueError(
                f"no counts have a rate of e^{largest:.0f}: the rows are too far from those learnt from"
            )
        return rng.poisson(np.exp(eta))


@dataclass(frozen=True)
class GLMModel(Model):
    """Regression with a family of distributions.

    Parameters
    ----------
    n_features : int
        Columns of X, the offset not among them.
    family : Family
        :class:`Poisson` by default.
    fit_intercept : bool
    coef_scale, intercept_scale : float
        Prior standard deviations.
    has_offset : bool
        The last column of X, after the features, is added to η.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import GLMModel
    >>> model = GLMModel(n_features=1, has_offset=True)
    >>> rows = Rows.of([[0.0, np.log(10.0)], [1.0, np.log(20.0)]], np.array([3.0, 9.0]))
    >>> model.log_likelihood(np.array([[0.4, -1.2]]), rows).round(2)
    array([[-1.5 , -2.03]])
    """

    n_features: int
    family: Family = Poisson()
    fit_intercept: bool = True
    coef_scale: float = 1.0
    intercept_scale: float = 1.0
    has_offset: bool = False

    # several passes over arrays of (M, n) doubles: three times as fast while all of them are in the cache
    evaluation = Evaluation(block_elements=50_000)

    has_one_mode = is_log_concave = True  # as families are

    @property
    def n_params(self) -> int:
        return self.n_features + self.fit_intercept

    @property
    def scales(self) -> np.ndarray:
        return prior_scales(self.n_features, self.fit_intercept, self.coef_scale, self.intercept_scale)

    def sample_prior(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.standard_normal((size, self.n_params)) * self.scales

    def log_prior(self, theta: Any) -> Any:
        return gaussian_log_density(theta, self.scales)

    def _design(self, X: np.ndarray) -> tuple[np.ndarray, Any]:
        """Φ (n, d) and the offset (n,) or 0."""
        offset = X[:, self.n_features] if self.has_offset else 0.0
        return design_matrix(X[:, : self.n_features], self.fit_intercept), offset

    def linear_predictor(self, theta: Any, X: np.ndarray) -> Any:
        """η, (M, n)."""
        Phi, offset = self._design(X)
        return anp.dot(theta, Phi.T) + offset

    def log_likelihood(self, theta: Any, rows: Any) -> Any:
        return self.family.log_density(self.linear_predictor(theta, rows.X), rows.y)

    def _block_log_likelihood(
        self, theta: Any, rows: Any, tape: list | None, single_below: float = 0.0
    ) -> Any:
        return _fused(theta, *self._design(rows.X), rows.y, rows.weight, self.family, tape)

    def derivatives(self, theta: np.ndarray, rows: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian at one point from one pass: Σ w log p, Φᵀ(w s) and −Φᵀ diag(w h) Φ."""

        def of_block(block: Any) -> tuple[float, np.ndarray, np.ndarray]:
            Phi, offset = self._design(block.X)
            eta, w = Phi @ theta + offset, block.weight
            h = w * self.family.curvature(eta, block.y)
            value = self.family.log_density(eta, block.y) @ w
            return value, (w * self.family.score(eta, block.y)) @ Phi, -(Phi.T * h) @ Phi

        with np.errstate(all="ignore"):  # a step too far overflows, and is shortened
            return rows.fold(of_block, self.evaluation.block_rows)

    def prior_derivatives(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        precision = self.scales**-2.0
        return float(self.log_prior(theta[None])[0]), -precision * theta, -np.diag(precision)

    def predictive_mean(self, theta: np.ndarray, W: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Mean of the weighted cloud's predictions, (n,)."""
        return self._moments(theta, W, X)[0]

    def predictive_std(self, theta, W, X) -> np.ndarray:
        """Standard deviation of the mixture of the weighted cloud's predictions, (n,)."""
        return self._moments(theta, W, X)[1]

    def _moments(self, theta: np.ndarray, W: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation, (n,) each; infinite where rates overflow."""
        eta, W = self.linear_predictor(theta[W > 0], X), W[W > 0]
        with np.errstate(over="ignore", invalid="ignore"):
            means = self.family.mean(eta)
            mean = W @ means
            std = np.sqrt(W @ (self.family.variance(eta) + (means - mean) ** 2))
        return mean, np.where(np.isfinite(mean), std, np.inf)

    def expected_score(self, theta, W, X) -> np.ndarray:
        """−Σ_i W_i H_i − I, (n,): H_i is the entropy of one particle's prediction, I what y tells of θ.

        I is taken from the moments, ½ [log Var y − Σ_i W_i log Var(y | θ_i)].
        """
        std, tiny = self.predictive_std(theta, W, X), np.finfo(float).tiny
        eta, W = self.linear_predictor(theta[W > 0], X), W[W > 0]
        with np.errstate(over="ignore", invalid="ignore"):
            variance = np.maximum(self.family.variance(eta), tiny)
            told = np.log(np.maximum(std, np.sqrt(tiny))) - 0.5 * (W @ np.log(variance))
            score = -(W @ self.family.entropy(eta)) - told
        return np.where(np.isfinite(std), score, -np.inf)

    def sample_rows(self, theta: np.ndarray, X: Any, rng: np.random.Generator) -> np.ndarray:
        Phi, offset = self._design(X)
        return self.family.simulate(np.sum(np.atleast_2d(theta) * Phi, axis=1) + offset, rng)

    def parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        named = {"coef": theta[:, : self.n_features]}
        return named | ({"intercept": theta[:, -1]} if self.fit_intercept else {})


@primitive
def _fused(theta: Any, Phi: Any, offset: Any, y: Any, weight: Any, family: Family, tape: Any) -> Any:
    """Σ_r w_r log p(y_r | η_r), (M,): its gradient is one more matrix product."""
    eta = theta @ Phi.T + offset
    if tape is not None:
        tape.append(eta)
    return family.log_density(eta, y) @ weight


def _fused_vjp(
    ans: Any, theta: Any, Phi: Any, offset: Any, y: Any, weight: Any, family: Family, tape: Any
) -> Any:
    score = family.score(tape.pop(), y)

    def vjp(g: np.ndarray) -> np.ndarray:
        return g[:, None] * (score @ (weight[:, None] * Phi))

    return vjp


defvjp(_fused, _fused_vjp, argnums=(0,))
