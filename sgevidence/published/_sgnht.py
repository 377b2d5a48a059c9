r"""Stochastic gradient Nosé–Hoover thermostat (Ding et al. 2014), which the thesis names in §6.3.

    dθ = v dt,    dv = ∇ log p dt − ξ v dt + √(2A) dW,    dξ = (v² − 1) dt / μ.

Gradient noise of any size heats the momenta; the friction ξ grows until their temperature is one
again, so that the noise need not be known.  Here each coordinate has a friction of its own, shared
by the particles.  The published single particle averages v² over its d coordinates; a cloud has M
of them in each coordinate, so ξ hardly fluctuates, adapts within the 20 steps of a sampler's move,
and takes noise that differs from one coordinate to another.  In the splitting of Leimkuhler and
Shang (2016), with the thermostat in the middle where v² is exactly one, the positions keep the width
that the Euler step of the published algorithm makes too small by α/2.

Symbols
-------
=======  ========  ==========================================================================
ε        eps       step in posterior widths; ε² = η of Alg. 4
c        c         what a step leaves of the momentum, 1 − α, before gradient noise
A        A         what is injected: −log(c)/ε, so that ξ = A without gradient noise
ξ        xi        friction, (d,)
μ        mass      of the thermostat
B, A, D, O         kick by ε/2, drift by ε/2, thermostat by ε/2, friction and noise
=======  ========  ==========================================================================
"""

from numbers import Real

import numpy as np
from scipy.special import exprel

from .._compat import Interval
from ..kernels import Gradient, MoveInfo, keep_sound
from ..transitions import StochasticGradients


def sgnht(
    theta: np.ndarray,
    grad_log_target: Gradient,
    rng: np.random.Generator,
    *,
    eps: float,
    c: float,
    n_steps: int,
    mass: float = 0.25,
) -> tuple[np.ndarray, MoveInfo]:
    """Move a cloud by Langevin dynamics with a gradient whose noise is not known.

    On N(0, 1) the positions keep variance one to a few percent for ε up to 0.7, also with gradient noise up
    to the size of the injected noise; from 0.8 the thermostat swings, and the variance with it (0.2 to 1).

    Parameters
    ----------
    theta : ndarray of shape (M, d)
        Tens of particles at least: the frictions fluctuate by 1/√(μM), which for a single particle takes
        about 7 % off the variance (with ``mass=1``: 1 %).
    grad_log_target : callable (M, d) -> (M, d)
        An unbiased estimate of ∇ log p, fresh at each call.
    rng : numpy.random.Generator
    eps : float
        Step size.
    c : float
        Momentum that a step keeps without gradient noise, in (0, 1).
    n_steps : int
        Steps; n_steps + 1 gradients.
    mass : float, default=0.25
        Mass μ of the thermostat, 1 as published.  The thermostat answers within 2π√(μ/2): a quarter of the
        mass, half the time.  With unknown noise of half the injected one, calls of 20 steps of 0.3 leave the
        variance at 1.00 with 0.25, 0.95 with 1 (its swing is not over) and 1.07 with 4.

    Returns
    -------
    theta : ndarray of shape (M, d)
    info : MoveInfo
        ``temperature`` is the mean of v² over its equilibrium value 1 − ε²/4.

    Raises
    ------
    ValueError
        If c is not inside (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.kernels import sgnht
    >>> rng = np.random.default_rng(0)
    >>> noisy = lambda theta: -theta + rng.standard_normal(theta.shape)
    >>> theta, info = sgnht(np.zeros((1000, 2)), noisy, rng, eps=0.5, c=0.6, n_steps=100)
    >>> bool(abs(theta.var() - 1) < 0.1)
    True
    """
    if not 0 < c < 1:
        raise ValueError(f"a thermostat needs some friction and some momentum: 0 < c < 1, got {c!r}")
    start, A = theta, -np.log(c) / eps
    xi = np.full(theta.shape[1], A)
    with np.errstate(all="ignore"):
        v = np.sqrt(1 - eps**2 / 4) * rng.standard_normal(theta.shape)
        grad = grad_log_target(theta)
        for _ in range(n_steps):
            v = v + 0.5 * eps * grad  # B
            theta = theta + 0.5 * eps * v  # A
            xi = xi + 0.5 * eps * heat(v) / mass  # D
            injected = 2 * A * eps * exprel(-2 * xi * eps)  # ∫ 2A e^(−2ξt) dt over the step
            v = np.exp(-xi * eps) * v + np.sqrt(injected) * rng.standard_normal(theta.shape)  # O
            xi = xi + 0.5 * eps * heat(v) / mass  # D
            theta = theta + 0.5 * eps * v  # A
            grad = grad_log_target(theta)
            v = v + 0.5 * eps * grad  # B, with the gradient that the next step starts with
        temperature = np.mean(v**2, axis=1) / (1 - eps**2 / 4)
    theta, sound = keep_sound(theta, start, temperature)
    mean_temperature = float(np.mean(temperature[sound])) if sound.any() else np.inf
    return theta, MoveInfo(n_steps + 1, 1.0, int(np.sum(~sound)), mean_temperature)


def heat(v: np.ndarray) -> np.ndarray:
    """Kinetic energy of each coordinate over the cloud, above its equilibrium value of one, (d,)."""
    # v² above which a particle does not heat the thermostat further (five widths, never in equilibrium): one
    # that runs away must not stop the others
    return np.mean(np.fmin(v**2, 25.0), axis=0) - 1.0


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

    def _move(
        self, theta: np.ndarray, grad: Gradient, rng: np.random.Generator, eta: float
    ) -> tuple[np.ndarray, MoveInfo]:
        """The thermostat, in coordinates in which η = ε²."""
        return self._anchored_move(theta, grad, rng, eta**0.5)

    def _anchored_move(
        self,
        phi: np.ndarray,
        grad: Gradient,
        rng: np.random.Generator,
        eps: float,
        V: np.ndarray | float | None = None,
    ) -> tuple[np.ndarray, MoveInfo]:
        """The thermostat: whatever variance V the gradients have, the thermostat makes up for it."""
        return sgnht(phi, grad, rng, eps=eps, c=1 - self.momentum_decay, n_steps=self.n_steps)
