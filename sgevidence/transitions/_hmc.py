r"""Hamiltonian Monte Carlo with a Metropolis test (thesis Alg. 2), as a move of the cloud along a path.

The test is on all rows at hand, or where they are many and have an anchor on a fixed sample of them, as large
as its noise asks for: the same rows in force and test.  Far into a stream some hundreds will do, as for the
weights.  Where few will not, the trajectories follow a sample, and the test is on all that the reservoir has.

Symbols: ε ``eps`` = step size in posterior widths, ``log_eps`` adapted; ``L`` = leapfrog steps; φ ``phi`` = θ
in coordinates of unit width; ρ ``rho`` = correlation of the cloud with its start, (d,).
"""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from .._compat import Interval
from ..answers import exact_answer
from ..kernels import Coordinates, MoveInfo, correlations, hmc
from ..particles import Cloud
from ..targets import Path, Target, Tempered, curvature_coordinates, rows_enough, surrogate_spread
from ._base import Adaptation, Moved, Streams

#: Nats, over the particles, that the log target of a move may err by for its rows being a sample.
MAX_NOISE = 0.05


class HMC(BaseEstimator):
    """Hamiltonian Monte Carlo with a Metropolis test (thesis Alg. 2): exact on the rows at hand.

    Parameters
    ----------
    n_steps : int, default=16
        Most leapfrog steps of a trajectory, L.
    trajectory_length : float, default=1.5
        Length of the first trajectory, in posterior widths: a quarter turn on a Gaussian.  While the cloud
        remembers its start each next one is twice as long, for directions wider than the coordinates know.
    target_acceptance : float, default=0.8
        Acceptance of the Metropolis test that is aimed at; the step is adapted to it between trajectories.
    min_trajectories, max_trajectories : int, default=2, 5
        Trajectories of a move.
    max_correlation : float, default=0.3
        Between the cloud and its start, particle by particle, mean over coordinates: below it the start
        counts as forgotten.
    conditional : bool, default=True
        Draw from the tempered posterior itself in place of trajectories, where it has a closed form and all
        rows are at hand: linear regression and one component.
    guide_rows : int, default=5000
        With more than four times as many rows, trajectories follow a sample and their anchored sums.  Where
        it may be smaller than this, for its log target to err by less than 0.05 nats over the particles, the
        test is on the same rows; else it has so many, and only the ends are tested on all: as exact, and
        several times cheaper.
    min_guided : float, default=0.5
        Acceptance below which the guide, not the step, is to blame, and is not followed.

    Notes
    -----
    The step is jittered per particle by U(0.5, 1.2), so that no period of the target is met for ever.

    References
    ----------
    R. M. Neal (2011), MCMC using Hamiltonian dynamics, Handbook of Markov Chain Monte Carlo.

    Examples
    --------
    >>> from sgevidence import SGAIS
    >>> from sgevidence.transitions import HMC
    >>> SGAIS(move=HMC(n_steps=32)).get_params()["move__n_steps"]
    32
    """

    _parameter_constraints: dict = {
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "trajectory_length": [Interval(Real, 0, None, closed="neither")],
        "target_acceptance": [Interval(Real, 0, 1, closed="neither")],
        "min_trajectories": [Interval(Integral, 1, None, closed="left")],
        "max_trajectories": [Interval(Integral, 1, None, closed="left")],
        "max_correlation": [Interval(Real, 0, 1, closed="right")],
        "conditional": ["boolean"],
        "guide_rows": [Interval(Integral, 1, None, closed="left")],
        "min_guided": [Interval(Real, 0, 1, closed="both")],
    }

    needs_anchor = True  #: beyond the reservoir

    def __init__(
        self,
        n_steps: int = 16,
        trajectory_length: float = 1.5,
        target_acceptance: float = 0.8,
        min_trajectories: int = 2,
        max_trajectories: int = 5,
        max_correlation: float = 0.3,
        conditional: bool = True,
        guide_rows: int = 5000,
        min_guided: float = 0.5,
    ) -> None:
        self.n_steps = n_steps
        self.trajectory_length = trajectory_length
        self.target_acceptance = target_acceptance
        self.min_trajectories = min_trajectories
        self.max_trajectories = max_trajectories
        self.max_correlation = max_correlation
        self.conditional = conditional
        self.guide_rows = guide_rows
        self.min_guided = min_guided

    def along(self, path: Path, rng: Streams) -> "ExactMoves":
        """The move for one path.

        Parameters
        ----------
        path : Path
        rng : Streams

        Returns
        -------
        ExactMoves
        """
        return ExactMoves(self, path, rng)

    def leapfrog_steps(self, eps: float, repeat: int = 1) -> int:
        """L of trajectory number ``repeat``.

        Parameters
        ----------
        eps : float
            Step in posterior widths.
        repeat : int, default=1
            Each trajectory is twice as long as the one before.

        Returns
        -------
        int
        """
        return int(np.clip(round(self.trajectory_length * 2.0 ** (repeat - 1) / eps), 1, self.n_steps))

    def trajectories(
        self,
        theta: np.ndarray,
        target: Target,
        coordinates: Coordinates,
        log_eps: float,
        rng: np.random.Generator,
        guide: Target | None = None,
    ) -> tuple[np.ndarray, float, MoveInfo]:
        """The cloud moved on a target, along the gradients of a ``guide`` if there is one.

        Parameters
        ----------
        theta : ndarray of shape (M, d)
        target : Target
            Density that the Metropolis test leaves invariant.
        coordinates : Coordinates
            In which the target has about unit width.
        log_eps : float
            Log step, posterior widths.
        rng : numpy.random.Generator
        guide : Target, optional
            Cheaper than ``target``; dropped where too few ends pass the test.

        Returns
        -------
        theta : ndarray of shape (M, d)
        log_eps : float
            The step for the next move.
        info : MoveInfo
        """
        canonical = target.model.canonicalize
        phi, start = coordinates.whiten(theta), canonical(theta)
        n_gradients = 0
        here = None

        def value_and_grad(phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value, grad = (guide or target).value_and_grad(coordinates.unwhiten(phi))
            return value, grad @ coordinates.L

        def log_target(phi: np.ndarray) -> np.ndarray:
            return target.value(coordinates.unwhiten(phi))

        for repeat in range(1, self.max_trajectories + 1):
            eps = np.exp(log_eps)
            L = self.leapfrog_steps(eps, repeat)
            test = None if guide is None else log_target
            jitter = rng.uniform(0.5, 1.2, len(phi))
            phi, info = hmc(phi, value_and_grad, rng, eps=eps * jitter, L=L, here=here, log_target=test)
            here = info.here
            if guide is not None and info.acceptance < self.min_guided:
                guide = here = None
            n_gradients += info.n_gradients
            log_eps = log_eps + (info.acceptance - self.target_acceptance)
            log_eps = float(np.clip(log_eps, np.log(1e-3), np.log(1.8)))
            rho = correlations(start, canonical(coordinates.unwhiten(phi)))
            if repeat >= self.min_trajectories and np.mean(rho) < self.max_correlation:
                break
        return coordinates.unwhiten(phi), log_eps, MoveInfo(n_gradients, info.acceptance, info.n_refused, 1.0)


def is_quiet(few: Tempered, many: Tempered, theta: np.ndarray) -> bool:
    """Whether two targets differ by little over the particles.

    A sample knows nothing of a few rows in which it has no part, and which may be all that is known of a
    parameter: these show at a few particles.
    """
    # particles at which this is seen to
    spread_out = theta[np.unique(np.linspace(0, len(theta) - 1, 16).astype(int))]
    return bool(np.std(few.at(1.0).value(spread_out) - many.at(1.0).value(spread_out)) < 2 * MAX_NOISE)


class ExactMoves:
    """:class:`HMC` on one path: all rows at hand, or a fixed sample of them with their anchor."""

    advice = ": check the model and the data for extreme values"

    def __init__(self, settings: HMC, path: Path, rng: Streams) -> None:
        self.settings, self.path, self.rng = settings, path, rng
        self.rows = path.on_rows(path.memory.reservoir.capacity, rng.rows)
        self.conditional = settings.conditional and path.model.has_exact_posterior and self.rows.is_exact
        many = path.memory.anchor is not None and path.n_at_hand > 4 * settings.guide_rows
        self.undecided = many and not self.conditional
        self.guide: Tempered | None = None

    def target(self, lam: float) -> Target:
        return self.rows.at(lam)

    def decide(self, theta: np.ndarray) -> None:
        """Which rows to look at, once for the path, by its first cloud."""
        if self.undecided:
            few, rng = self.settings.guide_rows, self.rng.rows
            enough = rows_enough(self.path, theta, MAX_NOISE, rng)
            self.guide = self.path.on_rows(int(min(few, enough)), rng)
            if enough <= few and is_quiet(self.guide, self.rows, theta):
                self.rows, self.guide = self.guide, None
        self.undecided = False

    def coordinates(self, cloud: Cloud, lam: float) -> Coordinates | None:
        """Coordinates of unit width of the tempered posterior; none where the model draws from it."""
        if self.conditional:
            return None
        self.decide(cloud.theta)
        return curvature_coordinates(self.target(lam), cloud.theta, cloud.W)

    def __call__(
        self, theta: np.ndarray, lam: float, coordinates: Coordinates | None, adaptation: Adaptation
    ) -> Moved:
        self.decide(theta)
        target, guide = self.target(lam), None if self.guide is None else self.guide.at(lam)
        if self.conditional:
            model, rows = target.model, target.likelihood.rows
            drawn = exact_answer(model, model.sums(rows), self.rng.noise, len(theta))
            if drawn is not None:
                return Moved(drawn.theta, adaptation, float(len(rows)))
        if coordinates is None:
            coordinates = curvature_coordinates(target, theta, np.full(len(theta), 1 / len(theta)))
        theta, log_eps, info = self.settings.trajectories(
            theta, target, coordinates, adaptation.log_eps, self.rng.noise, guide
        )
        n_gradients = float(len(theta) * info.n_gradients * len(target.likelihood.rows))
        adaptation = adaptation._replace(log_eps=log_eps)
        if not self.path.memory.complete and np.isnan(adaptation.sample_noise):
            adaptation = adaptation._replace(sample_noise=surrogate_spread(self.path, theta, self.rng.rows))
        return Moved(theta, adaptation, n_gradients, info.n_refused, info.acceptance)
