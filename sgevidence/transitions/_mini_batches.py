r"""Stochastic gradients as published (thesis Alg. 8, line 10): a new mini-batch of the history at each step.

    Û(θ) = −log p(θ) − λ log p(y_n | θ) − (n/|B|) Σ_{r∈B} log p(y_r | θ)          (4.14)

Their noise is not known and heats the cloud; the whole history must be kept.

Symbols: ``lam`` = λ, ``phi`` = θ in coordinates of unit width.
"""

from typing import Any

import numpy as np

from ..exceptions import DivergenceError
from ..kernels import Coordinates, Gradient, MoveInfo, sghmc, sgnht
from ..particles import Cloud
from ..targets import Likelihood, Path, Target, curvature_coordinates
from ._base import Adaptation, Moved, Streams


class StochasticGradientMoves:
    """:class:`SGHMC` or :class:`SGNHT` on one path; the learning rate is lr in widths, or else lr/n."""

    def __init__(self, settings: Any, path: Path, rng: Streams):
        self.settings, self.path, self.rng = settings, path, rng
        self.advice = ": lower learning_rate, or check the model and the data for extreme values"
        if settings.preconditioner is None:
            self.advice = ": the step is too long for the scale of the data. Standardise the columns, "
            self.advice += "lower learning_rate, or use preconditioner='curvature'"

    def target(self, lam: float) -> Target:
        """log f_λ on a new mini-batch."""
        rows = self.path.batch(lam, self.settings.batch_size, self.rng.rows)
        return Target(self.path.model, Likelihood(rows))

    def coordinates(self, cloud: Cloud, lam: float) -> Coordinates | None:
        """Coordinates of unit width of the tempered posterior, or none."""
        if self.settings.preconditioner is None:
            return None
        return curvature_coordinates(self.target(lam), cloud.theta, cloud.W)

    def __call__(
        self, theta: np.ndarray, lam: float, coordinates: Coordinates | None, adaptation: Adaptation
    ) -> Moved:
        def grad_log_target(theta: np.ndarray) -> np.ndarray:
            return self.target(lam).value_and_grad(theta)[1]

        settings, path, noise = self.settings, self.path, self.rng.noise
        if coordinates is None:
            theta, info = kernel(settings, theta, grad_log_target, noise, settings.learning_rate / path.n)
        else:
            phi, grad = coordinates.whiten(theta), coordinates.gradient(grad_log_target)
            phi, info = kernel(settings, phi, grad, noise, settings.learning_rate)
            theta = coordinates.unwhiten(phi)
        if info.n_refused > (0 if coordinates is None else len(theta) // 2):
            raise DivergenceError(
                f"SGHMC diverged for {info.n_refused} of {len(theta)} particles "
                f"after {path.memory.n_rows} rows{self.advice}"
            )
        n_rows = len(path.chunk) + min(settings.batch_size, path.memory.n_at_hand)
        return Moved(
            theta, adaptation, float(len(theta) * info.n_gradients * n_rows), info.n_refused, info.acceptance
        )


def kernel(
    settings: Any, theta: np.ndarray, grad: Gradient, rng: np.random.Generator, eta: float
) -> tuple[np.ndarray, MoveInfo]:
    """The move with a learning rate η, whatever the noise of the gradient: Alg. 4, or the thermostat."""
    alpha, n_steps = settings.momentum_decay, settings.n_steps
    if settings.has_thermostat:  # in coordinates in which η = ε²
        return sgnht(theta, grad, rng, eps=eta**0.5, c=1 - alpha, n_steps=n_steps)
    return sghmc(theta, grad, rng, eta=eta, alpha=alpha, beta_hat=settings.gradient_noise, n_steps=n_steps)
