"""Stochastic gradient Hamiltonian Monte Carlo, thesis Alg. 4 (Chen et al. 2014).

Symbols
-------
=====  ==========  =================================================================
η      eta         learning rate, ϵ²
α      alpha       momentum decay, γϵ
β̂      beta_hat    ½·Var[∇Û]: half the variance of the gradient estimate.  The thesis
                   calls it Var[∇U], which would remove twice the gradient noise: the
                   gradient adds η²V to a step, and 2ηβ̂η must equal it.
v      v           momentum times ϵ, v ~ N(0, η)
=====  ==========  =================================================================

The order of lines 5 and 6 matters: the momentum moves first, with the gradient at the old
position, and the position then moves with the new momentum.  Moving the position first with
the gradient of the old position inflates the stationary variance by up to ten times.
"""

import numpy as np

from ._base import Gradient, MoveInfo, keep_sound


def sghmc(
    theta: np.ndarray,
    grad_log_target: Gradient,
    rng: np.random.Generator,
    *,
    eta: float,
    alpha: float,
    n_steps: int,
    beta_hat: float = 0.0,
    resample_momentum: bool = False,
) -> tuple[np.ndarray, MoveInfo]:
    """Move a cloud by Langevin dynamics with momentum and a noisy gradient (thesis Alg. 4).

    On a Gaussian of curvature k the stationary variance is 1/(k(1 − ηk/(2(2 − α)))).

    Parameters
    ----------
    theta : ndarray of shape (M, d)
    grad_log_target : callable (M, d) -> (M, d)
        An unbiased estimate of ∇ log p = −∇U, fresh at each call.
    rng : numpy.random.Generator
    eta : float
        Learning rate η; stable for ηk < 2(2 − α).
    alpha : float
        Momentum decay in (0, 1]; 1 is Langevin dynamics without momentum.
    n_steps : int
    beta_hat : float or ndarray of shape (d,), default=0.0
        ½·Var[∇Û], taken off the injected noise.
    resample_momentum : bool, default=False
        Draw v ~ N(0, η) at each step (Alg. 4, line 3), as published.  The gradient acts in full but only
        one step's worth of momentum: the stationary variance is (1 + α²)/(k(2 − ηk)), about half of the
        right one unless α = 1.  Momentum is new at each *call* anyway.

    Returns
    -------
    theta : ndarray of shape (M, d)
    info : MoveInfo
        ``temperature`` is mean(v²)/η at the end: 1 in equilibrium, larger when gradient noise heats
        the cloud.  Particles beyond 10⁸ or not finite stay where they were: ``n_refused``.

    Raises
    ------
    ValueError
        If β̂η > α: the gradient noise alone exceeds the noise to inject.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.kernels import sghmc
    >>> rng = np.random.default_rng(0)
    >>> theta, info = sghmc(np.zeros((1000, 2)), lambda t: -t, rng, eta=0.1, alpha=0.2, n_steps=100)
    >>> bool(abs(theta.var() - 1 / (1 - 0.1 / 3.6)) < 0.1)
    True
    """
    noise = 2 * (alpha - np.asarray(beta_hat) * eta) * eta
    if np.any(noise < 0):
        raise ValueError(
            "gradient noise exceeds the noise to inject (beta_hat·eta > alpha): lower eta or raise the batch"
        )
    start, sd = theta, np.sqrt(noise)
    v = np.sqrt(eta) * rng.standard_normal(theta.shape)  # Alg. 4, line 1
    with np.errstate(all="ignore"):  # divergence is reported, not printed
        for _ in range(n_steps):
            if resample_momentum:
                v = np.sqrt(eta) * rng.standard_normal(theta.shape)  # line 3
            xi = sd * rng.standard_normal(theta.shape)  # line 4
            v = v - alpha * v + eta * grad_log_target(theta) + xi  # line 5
            theta = theta + v  # line 6
        temperature = np.mean(v**2, axis=1) / eta
    theta, sound = keep_sound(theta, start, temperature)
    mean_temperature = float(np.mean(temperature[sound])) if sound.any() else np.inf
    return theta, MoveInfo(n_steps, 1.0, int(np.sum(~sound)), mean_temperature)
