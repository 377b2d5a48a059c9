r"""Moves by stochastic gradients: SGHMC (thesis Alg. 4).

It has two forms.  With control variates the mini-batch sees only what the anchor leaves out;
without them it is the published one.

The published form (thesis Alg. 8, line 10) has a new mini-batch of the history at each step,

    Û(θ) = −log p(θ) − λ log p(y_n | θ) − (n/|B|) Σ_{r∈B} log p(y_r | θ)          (4.14)

whose noise is not known and heats the cloud; the whole history must be kept.

Symbols: ``eta`` = η, learning rate, ``alpha`` = α, momentum decay, ``beta_hat`` = β̂ = ½·Var[∇Û],
``eps`` = √η in posterior widths, ``c`` = 1 − α, ``phi`` = θ in coordinates of unit width.

**With control variates** the sums about the anchor are those of all rows, λ times the chunk's included, so
that mini-batches are drawn from history and chunk alike,

    ∇Û(θ) = −∇ log p(θ) − ∇ anchor(θ) − (n/B) Σ_{r∈B} [∇ log p(y_r | θ) − its linear form about a].

The noise V that is left is measured, and mini-batches grow until it is small.  SGHMC takes it off the
injected noise, in a splitting (BAOAB) that does not inflate the width; a thermostat makes up for it.
A call that has heated the cloud is made again by shorter steps, since there is no Metropolis test.

Symbols: ``eps`` = ε = √η in posterior widths, ``V`` = variance of the gradient's noise (d,), ``phi`` = φ =
θ in coordinates of unit width, ``lam`` = λ, ``hot`` = temperature that chance does not explain.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._compat import Interval, StrOptions
from ..exceptions import DivergenceError
from ..history import Anchor
from ..kernels import (
    MAX_CORRELATION,
    MAX_REPEATS,
    Coordinates,
    Gradient,
    MoveInfo,
    baoab,
    largest_correlation,
    sghmc,
)
from ..particles import Cloud
from ..targets import Likelihood, Path, Target, curvature_coordinates, surrogate_spread
from ._base import Adaptation, Moved, Streams


class StochasticGradientMoves:
    """A move by stochastic gradients on one path; the learning rate is lr in widths, or else lr/n."""

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
            theta, info = settings._move(theta, grad_log_target, noise, settings.learning_rate / path.n)
        else:
            phi, grad = coordinates.whiten(theta), coordinates.gradient(grad_log_target)
            phi, info = settings._move(phi, grad, noise, settings.learning_rate)
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


class StochasticGradients(BaseEstimator):
    """Parameters of moves by stochastic gradients, and which of the two forms it is.

    A subclass has ``_move(theta, grad, rng, eta)``, the move with a learning rate η, and
    ``_anchored_move(phi, grad, rng, eps, V)``, the move whose gradients have the variance V.
    """

    _parameter_constraints: dict = {
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "momentum_decay": [Interval(Real, 0, 1, closed="right")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "preconditioner": [StrOptions({"curvature"}), None],
        "control_variate": ["boolean"],
    }

    def __init__(
        self,
        n_steps: int = 20,
        learning_rate: float = 0.1,
        momentum_decay: float = 0.2,
        batch_size: int = 500,
        preconditioner: str | None = "curvature",
        control_variate: bool = True,
    ):
        self.n_steps = n_steps
        self.learning_rate = learning_rate
        self.momentum_decay = momentum_decay
        self.batch_size = batch_size
        self.preconditioner = preconditioner
        self.control_variate = control_variate

    @property
    def needs_anchor(self) -> bool:
        """Whether sums over all rows must be kept, so that a bounded history will do."""
        return self.control_variate

    def along(self, path: Path, rng: Streams) -> "StochasticGradientMoves | AnchoredGradientMoves":
        """The move for one path.

        Parameters
        ----------
        path : Path
        rng : Streams

        Returns
        -------
        StochasticGradientMoves or AnchoredGradientMoves
        """
        moves = AnchoredGradientMoves if self.control_variate else StochasticGradientMoves
        return moves(self, path, rng)


class SGHMC(StochasticGradients):
    """Stochastic gradient Hamiltonian Monte Carlo (thesis Alg. 4), the kernel that gives SGAIS its name.

    Parameters
    ----------
    n_steps : int, default=20
        Steps of a move; 20 steps of √lr = 0.3 widths decorrelate.  With control variates as many again, up to
        five times, while a coordinate remembers its start.
    learning_rate : float, default=0.1
        Squared step in posterior widths; without a preconditioner per observation, η = lr/n.  With control
        variates the step is halved where it heats the cloud.
    momentum_decay : float, default=0.2
        α.
    batch_size : int, default=500
        Rows per mini-batch, drawn i.i.d., anew at each step; with control variates more where their noise,
        which all particles share, would move the cloud.
    preconditioner : {"curvature"} or None, default="curvature"
        Coordinates of unit posterior width.  Without them the step is the same in all directions and
        SGHMC diverges on columns that are not centred or scaled.
    control_variate : bool, default=True
        Mini-batches see only what anchored sums over all rows leave out.  The noise that is left is measured
        and taken off the injected noise, in a splitting that does not inflate the width (BAOAB).  Without, it
        is Alg. 4 as published, whose noise heats the cloud, and it needs the whole history.
    gradient_noise : float, default=0.0
        β̂ = ½·Var[∇Û] of the published form; with control variates it is measured, and must be 0 here.

    References
    ----------
    T. Chen, E. Fox, C. Guestrin (2014), Stochastic gradient Hamiltonian Monte Carlo, ICML.

    Examples
    --------
    >>> from sgevidence import SGAIS
    >>> from sgevidence.transitions import SGHMC
    >>> SGAIS(move=SGHMC(learning_rate=0.05)).move
    SGHMC(learning_rate=0.05)
    """

    _parameter_constraints: dict = StochasticGradients._parameter_constraints | {
        "gradient_noise": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_steps: int = 20,
        learning_rate: float = 0.1,
        momentum_decay: float = 0.2,
        batch_size: int = 500,
        preconditioner: str | None = "curvature",
        control_variate: bool = True,
        gradient_noise: float = 0.0,
    ):
        super().__init__(n_steps, learning_rate, momentum_decay, batch_size, preconditioner, control_variate)
        self.gradient_noise = gradient_noise

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.control_variate and self.gradient_noise:
            raise ValueError(
                f"gradient_noise={self.gradient_noise} is for control_variate=False: with control variates "
                "the noise of the gradient is measured"
            )

    def _move(
        self, theta: np.ndarray, grad: Gradient, rng: np.random.Generator, eta: float
    ) -> tuple[np.ndarray, MoveInfo]:
        """Alg. 4."""
        alpha, beta_hat = self.momentum_decay, self.gradient_noise
        return sghmc(theta, grad, rng, eta=eta, alpha=alpha, beta_hat=beta_hat, n_steps=self.n_steps)

    def _anchored_move(
        self, phi: np.ndarray, grad: Gradient, rng: np.random.Generator, eps: float, V: np.ndarray | float
    ) -> tuple[np.ndarray, MoveInfo]:
        """BAOAB, which takes V off the injected noise."""
        c = 1 - self.momentum_decay
        return baoab(phi, grad, rng, eps=eps, c=c, n_steps=self.n_steps, V=V)


#: Mini-batches from which V is estimated: its relative error is then √(2/5), averaged over M particles.
N_MINIBATCHES = 6
#: Most gradient noise as a part of the injected one; mini-batches grow until it is less.  It is the same for
#: all particles, so it moves the whole cloud, which their error bar does not see.
MAX_NOISE_SHARE = 0.02
#: Temperature by which a cloud may exceed its equilibrium, where steps that are too long for a posterior with
#: an edge heat it; and how often the step is halved then.
MAX_HEATING, MAX_STEP_HALVINGS = 0.05, 5


class AnchoredGradientMoves:
    """A move by stochastic gradients with control variates on one path."""

    advice = ": lower learning_rate, or check the model and the data for extreme values"

    def __init__(self, settings: Any, path: Path, rng: Streams):
        self.settings, self.path, self.rng = settings, path, rng
        self.batch_size, memory = settings.batch_size, path.memory
        self.eps = settings.learning_rate**0.5
        small = path.n_at_hand <= settings.batch_size and memory.complete
        self.exact = small or memory.anchor is None
        if not self.exact:
            self.new = path.chunk_memory
            self.chunk_anchor = Anchor.of(path.model, memory.sums.a, path.chunk)

    def target(self, lam: float) -> Target:
        """log f_λ on new mini-batches, or on all rows while they are few."""
        model, memory, chunk, _ = self.path
        if self.exact:
            past = Likelihood(memory.at_hand) if memory.n_rows else None
            return Target(model, Likelihood(chunk.scaled(lam)).plus(past))
        batch_size, rng = self.batch_size, self.rng.rows
        rows = memory.draw(batch_size, rng)
        if len(chunk):
            rows = self.new.draw(batch_size, rng).scaled(lam).join(rows)
        sums = memory.sums.plus(self.chunk_anchor, lam)
        return Target(model, Likelihood(rows, sums.plus(Anchor.of(model, sums.a, rows), -1.0)))

    def coordinates(self, cloud: Cloud, lam: float) -> Coordinates:
        """Coordinates of unit width of the tempered posterior; without a preconditioner η = lr/n."""
        if self.settings.preconditioner is None:
            return Coordinates(np.eye(cloud.theta.shape[1]) / np.sqrt(self.path.n))
        return curvature_coordinates(self.target(lam), cloud.theta, cloud.W)

    def __call__(
        self, theta: np.ndarray, lam: float, coordinates: Coordinates, adaptation: Adaptation
    ) -> Moved:
        grad = coordinates.gradient(lambda theta: self.target(lam).value_and_grad(theta)[1])
        phi = coordinates.whiten(theta)
        V = self._gradient_noise(phi, grad)
        ratio = np.nan if self.exact else float(np.mean(self._ratio(V)))
        phi, n_gradients, n_refused = self._forgotten(phi, coordinates, grad, V)
        theta = coordinates.unwhiten(phi)
        if not self.exact and not self.path.memory.complete and np.isnan(adaptation.sample_noise):
            adaptation = adaptation._replace(sample_noise=surrogate_spread(self.path, theta, self.rng.rows))
        n_rows = min(2 * self.batch_size, self.path.memory.n_rows + len(self.path.chunk))
        return Moved(
            theta,
            adaptation,
            float(len(phi) * n_gradients * n_rows),
            n_refused,
            acceptance=1.0,
            noise_to_injection=ratio,
        )

    def _forgotten(
        self, phi: np.ndarray, coordinates: Coordinates, grad: Gradient, V: np.ndarray | float
    ) -> tuple[np.ndarray, int, int]:
        """(φ, gradients of a particle, particles refused): moved until the slowest coordinate is new.

        Where a posterior is flat, as where classes are separated, it is wider than its mean curvature says.
        """
        canonical = self.path.model.canonicalize
        start, n_gradients, n_refused = canonical(coordinates.unwhiten(phi)), 0, 0
        for _ in range(MAX_REPEATS):
            phi, info = self._in_short_steps(phi, grad, V)
            n_gradients, n_refused = n_gradients + info.n_gradients, n_refused + info.n_refused
            if largest_correlation(start, canonical(coordinates.unwhiten(phi))) < MAX_CORRELATION:
                break
        return phi, n_gradients, n_refused

    def _in_short_steps(
        self, phi: np.ndarray, grad: Gradient, V: np.ndarray | float
    ) -> tuple[np.ndarray, MoveInfo]:
        """One call of the kernel, again by half the step where it has heated the cloud."""
        hot, n_gradients = 1 + MAX_HEATING + 4 * np.sqrt(2 / phi.size), 0
        for _ in range(MAX_STEP_HALVINGS + 1):
            try:
                moved, info = self.settings._anchored_move(phi, grad, self.rng.noise, self.eps, V)
            except ValueError as error:
                raise DivergenceError(f"after {self.path.memory.n_rows} rows {error}") from error
            if info.n_refused > len(phi) // 2:
                break
            n_gradients += info.n_gradients
            if info.temperature < hot:
                return moved, info._replace(n_gradients=n_gradients)
            self.eps /= 2
        raise DivergenceError(
            f"SGHMC diverged for {info.n_refused} of {len(phi)} particles, and left the others "
            f"{info.temperature:.1f} times too hot, after {self.path.memory.n_rows} rows{self.advice}"
        )

    def _ratio(self, V: np.ndarray | float) -> np.ndarray:
        """The variance of the gradient's kicks over that of the injected noise, (d,)."""
        return self.eps**2 * V / (1 - (1 - self.settings.momentum_decay) ** 2)

    def _gradient_noise(self, phi: np.ndarray, grad: Gradient) -> np.ndarray | float:
        """V of mini-batches that grow until it is tolerable; 0 when they have become all rows."""
        V, at_hand = 0.0, self.path.n_at_hand
        while not self.exact:
            V = np.mean(np.var([grad(phi) for _ in range(N_MINIBATCHES)], axis=0, ddof=1), axis=0)
            excess = np.max(self._ratio(V)) / MAX_NOISE_SHARE
            if not excess > 1 or self.batch_size >= at_hand:
                break
            self.batch_size = int(min(1.5 * excess * self.batch_size, at_hand)) + 1
            self.exact = self.batch_size >= at_hand and self.path.memory.complete
        return 0.0 if self.exact else V
