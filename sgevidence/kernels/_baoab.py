r"""Underdamped Langevin dynamics in the BAOAB splitting, for gradients with known noise.

The same dynamics as SGHMC (thesis §2.5, Alg. 4).  Where Alg. 4 inflates a Gaussian's variance by
1/(1 − η/(2(2 − α))), this order of half steps leaves its positions exactly invariant (Leimkuhler
and Matthews 2013), and with noisy gradients the noise is taken off the injected one exactly.

Symbols
-------
=======  ========  ==========================================================================
ε        eps       step in posterior widths; ε² = η of Alg. 4
c        c         what a step leaves of the momentum, 1 − α
V        V         variance of the gradient estimate, (d,): 2β̂ of Alg. 4
A, B, O            drift by ε/2, kick by ε/2 times the gradient, friction and noise
=======  ========  ==========================================================================
"""

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from ._base import Gradient, MoveInfo, keep_sound


def baoab(
    theta: np.ndarray,
    grad_log_target: Gradient,
    rng: np.random.Generator,
    *,
    eps: float,
    c: float,
    n_steps: int,
    V: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, MoveInfo]:
    """Move a cloud of unit width by Langevin dynamics with a noisy gradient.

    On N(0, 1) the positions keep variance one exactly for any ε < 2, with or without noise.

    Parameters
    ----------
    theta : ndarray of shape (M, d)
    grad_log_target : callable (M, d) -> (M, d)
        An unbiased estimate of ∇ log p, fresh at each call.
    rng : numpy.random.Generator
    eps : float
        Step size.
    c : float
        Momentum that a step keeps, in [0, 1).
    n_steps : int
        Steps; n_steps + 1 gradients.
    V : float or ndarray of shape (d,), default=0.0
        Variance of the gradient estimate in each coordinate.

    Returns
    -------
    theta : ndarray of shape (M, d)
    info : MoveInfo
        ``temperature`` is the mean of v² over its equilibrium value 1 − ε²/4.

    Raises
    ------
    ValueError
        If the gradient noise alone exceeds the noise to inject.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.kernels import baoab
    >>> rng = np.random.default_rng(0)
    >>> theta, info = baoab(np.zeros((1000, 2)), lambda t: -t, rng, eps=0.5, c=0.6, n_steps=50)
    >>> bool(abs(theta.var() - 1) < 0.1)
    True
    """
    injected = injected_variance(eps, c, V)
    if np.any(injected < 0):
        raise ValueError("gradient noise exceeds the noise to inject: lower the step or raise the batch")
    start, sd = theta, np.sqrt(injected)
    with np.errstate(all="ignore"):
        v = np.sqrt(1 - eps**2 / 4) * rng.standard_normal(theta.shape)
        grad = grad_log_target(theta)
        for _ in range(n_steps):
            v = v + 0.5 * eps * grad  # B
            theta = theta + 0.5 * eps * v  # A
            v = c * v + sd * rng.standard_normal(theta.shape)  # O
            theta = theta + 0.5 * eps * v  # A
            grad = grad_log_target(theta)
            v = v + 0.5 * eps * grad  # B, with the gradient that the next step starts with
        temperature = np.mean(v**2, axis=1) / (1 - eps**2 / 4)
    theta, sound = keep_sound(theta, start, temperature)
    mean_temperature = float(np.mean(temperature[sound])) if sound.any() else np.inf
    return theta, MoveInfo(n_steps + 1, 1.0, int(np.sum(~sound)), mean_temperature)


def injected_variance(eps: float, c: float, V: np.ndarray | float) -> np.ndarray:
    """Variance of the O step that keeps the positions of N(0, 1) at variance one despite noise V.

    The recursion is linear, so its stationary position variance is a sum of what each noise gives.
    The state is (x, v) after the drift; a gradient's noise enters the kick before and the one after.
    """
    drift = np.array([[1.0, eps / 2], [0.0, 1.0]])
    kick = np.array([[1.0, 0.0], [-eps, 1.0]])  # the two half kicks at one position, as one
    step = drift @ np.diag([1.0, c]) @ drift @ kick
    from_noise = drift @ np.diag([1.0, c]) @ drift @ np.array([0.0, eps])
    from_injection = drift @ np.array([0.0, 1.0])
    per_V, per_O = (solve_discrete_lyapunov(step, np.outer(b, b))[0, 0] for b in (from_noise, from_injection))
    return (1.0 - np.asarray(V) * per_V) / per_O
