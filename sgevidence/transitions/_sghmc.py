r"""Moves by stochastic gradients: SGHMC (thesis Alg. 4), and the same with a Nosé–Hoover thermostat.

Each has two forms.  With control variates the mini-batch sees only what the anchor leaves out
(:mod:`._anchored`); without them it is the published one (:mod:`._mini_batches`).

Symbols: ``eta`` = η, learning rate, ``alpha`` = α, momentum decay, ``beta_hat`` = β̂ = ½·Var[∇Û],
``eps`` = √η in posterior widths, ``c`` = 1 − α, ``phi`` = θ in coordinates of unit width.
"""

from numbers import Integral, Real

from sklearn.base import BaseEstimator

from .._compat import Interval, StrOptions
from ..targets import Path
from ._anchored import AnchoredGradientMoves
from ._base import Streams
from ._mini_batches import StochasticGradientMoves


class StochasticGradients(BaseEstimator):
    """The parameters that both forms share, and which of the two forms it is."""

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

    has_thermostat = False  #: it makes up for the noise of the mini-batches

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
    >>> from sgevidence.samplers import SGHMC
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


class SGNHT(StochasticGradients):
    """SGHMC with a Nosé–Hoover thermostat, which need not be told the noise of the mini-batches.

    Parameters
    ----------
    n_steps : int, default=20
        Steps of a move; more as in :class:`SGHMC`.
    learning_rate : float, default=0.1
        Squared step in posterior widths, at most 0.5: beyond, the thermostat swings and the width with it.
        Shorter as in :class:`SGHMC`.
    momentum_decay : float, default=0.2
        α; the thermostat wants it below 1.
    batch_size : int, default=500
        Rows per mini-batch, drawn i.i.d., anew at each step.
    preconditioner : {"curvature"} or None, default="curvature"
        Coordinates of unit posterior width.
    control_variate : bool, default=True
        Mini-batches see only what anchored sums over all rows leave out.

    References
    ----------
    N. Ding et al. (2014), Bayesian sampling using stochastic gradient thermostats, NeurIPS.

    Examples
    --------
    >>> from sgevidence import SGAIS
    >>> from sgevidence.samplers import SGNHT
    >>> SGAIS(move=SGNHT(n_steps=40)).move
    SGNHT(n_steps=40)
    """

    _parameter_constraints: dict = dict(StochasticGradients._parameter_constraints)
    _parameter_constraints["learning_rate"] = [Interval(Real, 0, 0.5, closed="right")]
    has_thermostat = True
