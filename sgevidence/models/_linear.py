r"""Linear regression, thesis §5.2.1 / journal paper App. B.1.

y ~ N(w·x + b, σ²) with w_j ~ N(0, coef_scale²), b ~ N(0, intercept_scale²).  σ is known, as
in the papers, or unknown with σ ~ half-Student-t(3, noise_scale) or σ² ~ InvGamma(noise_prior),
independent of w; then the last entry of θ is log σ².

Symbols: ``Phi`` = [X, 1], ``W`` = (w, b), ``s`` = log σ², ``r`` = residuals (M, n).
"""

from dataclasses import dataclass

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive

from ._far_columns import RegressionModel
from ._linear_posterior import KnownNoise, Spectrum, UnknownNoise, largest_rounding
from ._noise_prior import HalfT, InverseGamma
from ._qr_sums import MAX_ROUNDING_NATS, QRSums
from ._regression import design_matrix, gaussian_log_density, prior_scales

#: Rows, by total weight, from which the posterior of σ has at most e⁻¹⁰ of its mass below half the residuals.
MIN_WAITING_ROWS = 30


@dataclass(frozen=True)
class LinearModel(RegressionModel):
    """Gaussian linear regression with known or unknown noise; scales are prior standard deviations."""

    n_features: int
    fit_intercept: bool = True
    coef_scale: float = 1.0
    intercept_scale: float = 1.0
    noise_std: float | None = None  #: known σ
    noise_prior: tuple[float, float] | None = None  #: inverse gamma of σ²; None: a half-Student-t(3) of σ
    noise_scale: float = 1.0  #: of the half-Student-t

    @property
    def n_coef(self) -> int:
        return self.n_features + self.fit_intercept

    has_one_mode = True

    @property
    def n_params(self) -> int:
        return self.n_coef + (self.noise_std is None)

    @property
    def scales(self) -> np.ndarray:
        return prior_scales(self.n_features, self.fit_intercept, self.coef_scale, self.intercept_scale)

    @property
    def prior_of_noise(self) -> HalfT | InverseGamma:
        """Prior of s, where σ is not known."""
        return HalfT(self.noise_scale) if self.noise_prior is None else InverseGamma(*self.noise_prior)

    def _split(self, theta):
        """W (M, p + 1) and s = log σ² (M,) or (1,)."""
        if self.noise_std is None:
            return theta[:, :-1], theta[:, -1]
        return theta, np.array([2 * np.log(self.noise_std)])

    def sample_prior(self, rng, size):
        W = rng.standard_normal((size, self.n_coef)) * self.scales
        if self.noise_std is not None:
            return W
        return np.column_stack([W, self.prior_of_noise.sample(rng, size)])

    def log_prior(self, theta):
        W, s = self._split(theta)
        log_p = gaussian_log_density(W, self.scales)
        return log_p if self.noise_std is not None else log_p + self.prior_of_noise.log_density(s)

    def log_likelihood(self, theta, rows):
        W, s = self._split(theta)
        r = rows.y - anp.dot(W, design_matrix(rows.X, self.fit_intercept).T)
        return -0.5 * (r**2 * anp.exp(-s)[:, None] + s[:, None] + np.log(2 * np.pi))

    def _block_log_likelihood(self, theta, rows, tape, single_below=0.0):
        Phi = design_matrix(rows.X, self.fit_intercept)
        log_noise = None if self.noise_std is None else 2 * np.log(self.noise_std)
        return _fused(theta, Phi, rows.y, rows.weight, log_noise, tape)

    def sample_rows(self, theta, X, rng):
        W, s = self._split(np.atleast_2d(theta))
        mean = np.sum(W * design_matrix(X, self.fit_intercept), axis=1)
        return mean + np.exp(s / 2) * rng.standard_normal(len(X))

    def parameters(self, theta):
        W, s = self._split(theta)
        named = {"coef": W[:, : self.n_features]}
        if self.fit_intercept:
            named["intercept"] = W[:, -1]
        return named | ({"noise_std": np.exp(s / 2)} if self.noise_std is None else {})

    def predictive_mean(self, theta, W, X) -> np.ndarray:
        """Mean of the weighted cloud's predictions, (n,)."""
        return design_matrix(X, self.fit_intercept) @ (W @ self._split(theta)[0])

    def predictive_std(self, theta, W, X) -> np.ndarray:
        """Standard deviation of the weighted cloud's predictions, noise included, (n,)."""
        w, s = self._split(theta)
        deviation = w - W @ w
        covariance = (W[:, None] * deviation).T @ deviation
        noise = W @ np.exp(s) if self.noise_std is None else self.noise_std**2
        Phi = design_matrix(X, self.fit_intercept)
        return np.sqrt(noise + np.sum((Phi @ covariance) * Phi, axis=1))

    def expected_score(self, theta, W, X):
        """Minus the entropy of a Gaussian with the predictive variance, −½ log 2πe v, (n,)."""
        return -0.5 * (1 + np.log(2 * np.pi)) - np.log(self.predictive_std(theta, W, X))

    def sums(self, rows) -> QRSums:
        """Σ of squares and products of [1, X, y], by their triangular factor."""
        return QRSums.of_rows(rows, lambda b: (np.column_stack([np.ones(len(b)), b.X, b.y]), 0))

    def posterior(self, sums) -> KnownNoise | UnknownNoise:
        """The posterior in closed form; with σ unknown one quadrature over log σ² is left."""
        tau = float(self.intercept_scale) if self.fit_intercept else 0.0
        spectrum = Spectrum.of(sums, float(self.coef_scale), tau)
        if self.noise_std is not None:
            return KnownNoise(spectrum, self.noise_std)
        return UnknownNoise(spectrum, self.prior_of_noise)

    has_exact_posterior = True

    def posterior_can_wait(self, sums) -> bool:
        """Whether a bound says that rounding moves the log evidence of these sums by next to nothing.

        Where σ is unknown its posterior has next to nothing below half the residuals of least squares: there
        the density of log σ² falls by more than n nats per nat, whatever the columns.
        """
        q, n = len(sums.centre), sums.total_weight
        if self.noise_prior is not None or not self.fit_intercept or len(sums.R) < q or n < MIN_WAITING_ROWS:
            return False
        std = self.noise_std or abs(sums.R[-1, -1]) / (2 * np.sqrt(n))
        bound = largest_rounding(sums, float(self.coef_scale), float(self.intercept_scale), std)
        return bool(bound < MAX_ROUNDING_NATS)


@primitive
def _fused(theta, Phi, y, weight, log_noise, tape):
    """Σ_r w_r log N(y_r | W·φ_r, e^s), (M,)."""
    W, s = (theta[:, :-1], theta[:, -1]) if log_noise is None else (theta, log_noise)
    squares = _squares_by_rows if len(W) <= 2 * Phi.shape[1] else _squares_by_moments
    q, r_Phi = squares(W, Phi, y, weight)
    precision, n = np.exp(-s), np.sum(weight)
    if tape is not None:
        tape.append((r_Phi, q, precision, n))
    return -0.5 * (q * precision + n * (s + np.log(2 * np.pi)))


def _squares_by_rows(W, Phi, y, weight):
    """q = Σ_r w_r r² (M,) and Σ_r w_r r φ_r (M, p + 1): cost n M d."""
    r = y - W @ Phi.T
    return (r * r) @ weight, r @ (Phi * weight[:, None])


def _squares_by_moments(W, Phi, y, weight):
    """Draws from ΦᵀwΦ and Φᵀwy: cost n d² + M d², whatever the number of particles.

    With the block's least-squares solution W₀, δ = W − W₀ and A = ΦᵀwΦ the sum of squares is
    q = Σ w r₀² + (Aδ − 2c)·δ, where c = Φᵀw r₀ all but vanishes: nothing cancels.
    """
    wPhi = Phi * weight[:, None]
    A = wPhi.T @ Phi
    ridge = np.diag(1e-10 * np.diag(A) + 1e-300)  # any W₀ near the solution serves
    W0 = np.linalg.solve(A + ridge, y @ wPhi)
    r0 = y - Phi @ W0
    c, delta = r0 @ wPhi, W - W0
    A_delta = delta @ A
    return weight @ (r0 * r0) + np.sum((A_delta - 2 * c) * delta, axis=1), c - A_delta


def _fused_vjp(ans, theta, Phi, y, weight, log_noise, tape):
    r_Phi, q, precision, n = tape.pop()

    def vjp(g):
        scale = g * precision
        grad_W = r_Phi * scale[:, None]
        return grad_W if log_noise is not None else np.column_stack([grad_W, 0.5 * (scale * q - g * n)])

    return vjp


defvjp(_fused, _fused_vjp, argnums=(0,))
