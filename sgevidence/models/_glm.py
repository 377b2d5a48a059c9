"""Generalised linear models: y ~ family(η), η = w·x + b + offset.

w_j ~ N(0, coef_scale²) and b − b₀ ~ N(0, intercept_scale²), independent.  The family says what y is given the
linear predictor η; the link is part of it (log for counts).  A known addend of η, such as the logarithm of
an exposure, is a column of X of a model with ``has_offset``; the number of trials, or bounds of y, are the
last columns.
Parameters of the family's own, such as a dispersion, are functions of standard normals
(:mod:`._own_priors`).

Symbols: ``Phi`` = [X, 1] without the offset, ``eta`` = linear predictors (M, n), ``more`` = the known
column (n,), if there is one, and own parameters (M, 1) each.

Regressions through as many rows as there are coefficients, where modes of heavy-tailed noise may be.

A group of rows that lie close to one plane is a mode of its own: the others are outliers to it.  Of few rows
drawn at random all may be of one group (Rousseeuw 1984), and the nearest quarter of all rows tells its noise.
Climbs from there end at such a mode two to five times as often as those from draws of the prior.

Symbols: ``Phi`` = design (n, q), ``y`` = targets less their offset (n,), ``w`` = coefficients (q,).

References
----------
P. J. Rousseeuw (1984), Least median of squares regression, JASA 79, 871.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive
from scipy.special import ndtri

from ._count_families import Poisson
from ._evaluation import Evaluation, pieces_in_cache
from ._families import Family, StudentT
from ._far_columns import GaussianPriorRegression
from ._regression import design_matrix, prior_scales

#: Share of the rows whose residuals tell the noise of a group, and the normal quantile of theirs.
NEAREST_SHARE = 0.25
#: Prior quantiles of the noise that are looked up, as standard normals.
Z_GRID = np.linspace(-8.0, 4.0, 481)


def fits_of_few(
    Phi: np.ndarray, y: np.ndarray, scales: np.ndarray, family: Any, n: int, rng: np.random.Generator
) -> np.ndarray:
    """Starts (n, q + 2): coefficients, noise and degrees of freedom as standard normals."""
    q = Phi.shape[1]
    ridge = np.diag(1e-6 / scales[:q] ** 2)
    noises = family.own_of(np.column_stack([Z_GRID, Z_GRID]))[0][:, 0]
    spread = np.std(y) + 1e-300
    starts = np.empty((n, q + 2))
    for start in starts:
        few = rng.choice(len(y), size=min(q, len(y)), replace=False)
        w = np.linalg.solve(Phi[few].T @ Phi[few] + ridge, Phi[few].T @ y[few])
        noise = np.quantile(np.abs(y - Phi @ w), NEAREST_SHARE) / ndtri(0.5 + NEAREST_SHARE / 2)
        start[:q] = w
        # degrees of freedom of a group among others, as a standard normal: towards the smallest
        # least noise, in units of y's spread: rows that are equal have none
        start[q:] = np.interp(max(noise, 1e-4 * spread), noises, Z_GRID), -2.0
    return starts


#: Steps of first and of second central differences by own parameters, z ~ N(0, 1): both are right to a
#: millionth, also far from the mode.
STEP_OF_OWN, SECOND_STEP = float(np.finfo(float).eps ** (1 / 3)), 2e-4
#: Particles × rows of a piece: its arrays are smaller than 128 kB, from which each new one is asked of the
#: system page by page, at ten times the price of an exponential.
NUMBERS_OF_A_PIECE = 15_000
POISSON = Poisson()


@cache
def own_steps(K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of K own parameters (i, j), and the steps of both differences: none, then ± each, ± each pair."""
    i, j = np.tril_indices(K)
    eye = np.eye(K)
    once, further = STEP_OF_OWN * eye, SECOND_STEP * np.maximum(eye[i], eye[j])
    return i, j, np.vstack([np.zeros(K), once, -once, further, -further])


class Inputs(NamedTuple):
    """Rows as the likelihood asks for them."""

    Phi: np.ndarray  #: (n, q)
    offset: Any  #: (n,) or 0
    known: tuple[np.ndarray, ...]  #: trials or bounds, (n,) each, if the family has them


@dataclass(frozen=True)
class GLMModel(GaussianPriorRegression):
    """Regression with a family of distributions.

    Parameters
    ----------
    n_features : int
        Columns of X, without offset, trials and bounds.
    family : Family
        :class:`Poisson` by default.
    fit_intercept : bool
    coef_scale, intercept_scale : float
        Prior standard deviations.
    has_offset : bool
        The column of X after the features is added to η, where X has one.
    intercept_center : float
        b₀, from which the intercept is measured: the last coefficient of θ is b − b₀.

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
    family: Family = POISSON
    fit_intercept: bool = True
    coef_scale: float = 1.0
    intercept_scale: float = 1.0
    has_offset: bool = False
    intercept_center: float = 0.0

    evaluation = Evaluation(block_elements=50_000, fused_elements=10**9)

    @property
    def is_log_concave(self) -> bool:  # type: ignore[override]
        return self.family.is_log_concave

    @property
    def has_one_mode(self) -> bool:  # type: ignore[override]
        return self.family.is_log_concave

    @property
    def n_mode_checks(self) -> int:  # type: ignore[override]
        return self.family.n_mode_checks

    @property
    def n_coefficients(self) -> int:
        """q, the intercept among them."""
        return self.n_features + self.fit_intercept

    @property
    def n_own(self) -> int:
        """Parameters of the family, K."""
        return self.family.n_own

    @property
    def n_params(self) -> int:
        return self.n_coefficients + self.n_own

    @cached_property
    def scales(self) -> np.ndarray:
        """Prior standard deviations, (d,)."""
        of_eta = prior_scales(self.n_features, self.fit_intercept, self.coef_scale, self.intercept_scale)
        return np.r_[of_eta, np.ones(self.n_own)]

    def starts(self, rows: Any, n_starts: int, rng: np.random.Generator) -> np.ndarray:
        """Draws from the prior; of Student-t noise three in four are fits of a few of the rows."""
        starts = self.sample_prior(rng, n_starts)
        if isinstance(self.family.plain, StudentT):
            Phi, offset, _ = self.inputs(rows.X)
            few = np.arange(n_starts) % 4 > 0
            of_few = fits_of_few(Phi, rows.y - offset, self.scales, self.family.plain, int(few.sum()), rng)
            starts[few, : of_few.shape[1]] = of_few
        return starts

    def inputs(self, X: np.ndarray) -> Inputs:
        """Design matrix, offset and known columns of X."""
        n_known = X.shape[1] - self.n_features
        offset = X[:, self.n_features] if self.has_offset and n_known > self.family.n_known else 0.0
        offset = offset + self.intercept_center
        known = tuple(X.T[X.shape[1] - self.family.n_known :])
        return Inputs(design_matrix(X[:, : self.n_features], self.fit_intercept), offset, known)

    def own_parameters(self, theta: Any) -> list[Any]:
        """Values of the family's own parameters, (M, 1) each."""
        return self.family.own_of(theta[:, self.n_coefficients :])

    def linear_predictor(self, theta: Any, X: np.ndarray) -> Any:
        """η, (M, n)."""
        Phi, offset, _ = self.inputs(X)
        return anp.dot(theta[:, : self.n_coefficients], Phi.T) + offset

    def _distribution(self, theta: Any, X: np.ndarray) -> tuple[Any, ...]:
        """η and what the family asks for beside y."""
        return self.linear_predictor(theta, X), *self.inputs(X).known, *self.own_parameters(theta)

    def log_likelihood(self, theta: Any, rows: Any) -> Any:
        eta, *more = self._distribution(theta, rows.X)
        return self.family.log_density(eta, rows.y, *more)

    def _block_log_likelihood(
        self, theta: Any, rows: Any, tape: list | None, single_below: float = 0.0
    ) -> Any:
        return _fused(theta, self, self.inputs(rows.X), rows.y, rows.weight, tape)

    def derivatives(self, theta: np.ndarray, rows: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian at one point from one pass: Σ w log p, Φᵀ(w s) and −Φᵀ diag(w h) Φ.

        Those by own parameters are central differences of sums: of the value, and of the closed-form score.
        """
        q, K, n = self.n_coefficients, self.n_own, 2 * self.n_own + 1
        i, j, steps = own_steps(K)
        own = self.family.own_of(theta[q:] + steps)

        def of_block(block: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            inputs, w, y = self.inputs(block.X), block.weight, block.y
            eta = (inputs.Phi @ theta[:q] + inputs.offset)[None]
            values = self.family.summed(y, w, *inputs.known)(np.tile(eta, (len(steps), 1)), *own)
            score = self.family.score(eta, y, *inputs.known, *(value[:n] for value in own))
            of_eta = self.family.curvature(eta, y, *inputs.known, *(value[:1] for value in own))
            scores = np.broadcast_to(score * w, (n, len(y))) @ inputs.Phi
            return values, scores, (inputs.Phi.T * (w * of_eta[0])) @ inputs.Phi

        with np.errstate(all="ignore"):  # a step too far overflows, and is shortened
            f, scores, curvature = rows.fold(of_block, self.evaluation.block_rows)
            grad = np.r_[scores[0], (f[1 : K + 1] - f[K + 1 : n]) / (2 * STEP_OF_OWN)]
            by_own = (scores[1 : K + 1] - scores[K + 1 :]) / (2 * STEP_OF_OWN)
            second = np.zeros((K, K))
            second[i, j] = (np.sum(np.split(f[n:], 2), axis=0) - 2 * f[0]) / SECOND_STEP**2
            single = np.diag(second)  # and beside it those along two at once
            second = np.where(np.eye(K) > 0, second, (second + second.T - single - single[:, None]) / 2)
            return float(f[0]), grad, np.block([[-curvature, by_own.T], [by_own, second]])

    def predictive_mean(self, theta: np.ndarray, W: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Mean of the weighted cloud's predictions, (n,)."""
        return self._moments(theta, W, X)[0]

    def predictive_std(self, theta, W, X) -> np.ndarray:
        """Standard deviation of the mixture of the weighted cloud's predictions, (n,)."""
        return self._moments(theta, W, X)[1]

    def predictive_survival(self, theta: np.ndarray, W: np.ndarray, X: np.ndarray, t: Any) -> np.ndarray:
        """P(time > t) of the weighted cloud's predictions, (n,); t is a number, or (n,)."""
        eta, own = self._distribution(theta, X)[0], self.own_parameters(theta)
        return W @ np.exp(self.family.plain.log_sf(eta, t, *own))

    def predictive_median(self, theta: np.ndarray, W: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Time that the weighted cloud's predictions exceed with probability one half, (n,), by bisection."""
        eta, own = self._distribution(theta[W > 0], X)[0], self.own_parameters(theta[W > 0])
        times: Any = self.family.plain
        medians = np.log(times.median(eta, *own))
        low, high = medians.min(axis=0), medians.max(axis=0)
        while np.max(high - low, initial=0.0) > 1e-7:  # relative error of a predictive median
            middle = 0.5 * (low + high)
            is_below = W[W > 0] @ np.exp(times.log_sf(eta, np.exp(middle), *own)) > 0.5
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        return np.exp(0.5 * (low + high))

    def _moments(self, theta: np.ndarray, W: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation, (n,) each; infinite where rates overflow, and where a variance is."""
        W, distribution = W[W > 0], self._distribution(theta[W > 0], X)
        with np.errstate(over="ignore", invalid="ignore"):
            means = self.family.mean(*distribution)
            mean = W @ means
            std = np.sqrt(W @ (self.family.variance(*distribution) + (means - mean) ** 2))
        return mean, np.where(np.isfinite(mean), std, np.inf)

    def expected_score(self, theta, W, X) -> np.ndarray:
        """−Σ_i W_i H_i − I, (n,): H_i is the entropy of one particle's prediction, I what y tells of θ.

        I is taken from the moments, ½ [log Var y − Σ_i W_i log Var(y | θ_i)]; where a variance is infinite,
        as that of a Student-t may be, it is left out.
        """
        std, tiny = self.predictive_std(theta, W, X), np.finfo(float).tiny
        W, distribution = W[W > 0], self._distribution(theta[W > 0], X)
        with np.errstate(over="ignore", invalid="ignore"):
            variance = np.maximum(self.family.variance(*distribution), tiny)
            told = np.log(np.maximum(std, np.sqrt(tiny))) - 0.5 * (W @ np.log(variance))
            score = -(W @ self.family.entropy(*distribution)) - np.where(np.isfinite(std), told, 0.0)
        return np.where(np.isfinite(score), score, -np.inf)

    def sample_rows(self, theta: np.ndarray, X: Any, rng: np.random.Generator) -> np.ndarray:
        theta, (Phi, offset, known) = np.atleast_2d(theta), self.inputs(X)
        eta = np.sum(theta[:, : self.n_coefficients] * Phi, axis=1) + offset
        return self.family.simulate(eta, rng, *known, *(own[:, 0] for own in self.own_parameters(theta)))

    def parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        named = {"coef": theta[:, : self.n_features]}
        if self.fit_intercept:
            named["intercept"] = theta[:, self.n_features] + self.intercept_center
        return named | self.family.named(self.own_parameters(theta))


def _gradient(
    theta: np.ndarray, model: GLMModel, inputs: Inputs, y: np.ndarray, weight: np.ndarray, eta: np.ndarray
) -> np.ndarray:
    """Gradient of Σ_r w_r log p(y_r | η_r), (M, d): its score times Φ, and by own parameters."""
    q, grad, total = (
        model.n_coefficients,
        np.empty(theta.shape),
        model.family.summed(y, weight, *inputs.known),
    )
    for k in range(q, model.n_params):
        step = np.where(np.arange(model.n_params) == k, STEP_OF_OWN, 0.0)
        above, below = (total(eta, *model.own_parameters(theta + sign * step)) for sign in (1, -1))
        grad[:, k] = (above - below) / (2 * STEP_OF_OWN)
    score = model.family.score(eta, y, *inputs.known, *model.own_parameters(theta))
    few = len(theta) < q
    grad[:, :q] = (score * weight) @ inputs.Phi if few else score @ (weight[:, None] * inputs.Phi)
    return grad


@primitive
def _fused(theta: Any, model: GLMModel, inputs: Inputs, y: Any, weight: Any, tape: Any) -> Any:
    """Σ_r w_r log p(y_r | η_r), (M,): its gradient by coefficients is one more matrix product."""
    value, gradient = np.empty(len(theta)), np.empty(theta.shape)
    total = model.family.summed(y, weight, *inputs.known)
    for some in pieces_in_cache(len(theta), len(y), NUMBERS_OF_A_PIECE):
        eta = theta[some, : model.n_coefficients] @ inputs.Phi.T + inputs.offset
        value[some] = total(eta, *model.own_parameters(theta[some]))
        if tape is not None:
            gradient[some] = _gradient(theta[some], model, inputs, y, weight, eta)
    if tape is not None:
        tape.append(gradient)
    return value


def _fused_vjp(ans: Any, theta: Any, model: GLMModel, inputs: Inputs, y: Any, weight: Any, tape: Any) -> Any:
    gradient = tape.pop()
    return lambda g: g[:, None] * gradient


defvjp(_fused, _fused_vjp, argnums=(0,))
