"""Stochastic gradient Langevin dynamics, thesis Alg. 3 (Welling and Teh 2011).

Symbols
-------
=====  ==========  =================================================================
η      eta         learning rate
β̂      beta_hat    ½·Var[∇Û]: half the variance of the gradient estimate.  The thesis
                   calls it Var[∇U], which would remove twice the gradient noise: the
                   gradient adds η²V to a step, and 2ηβ̂η must equal it.
=====  ==========  =================================================================
"""

import numpy as np

from ..kernels import Gradient, MoveInfo, keep_sound


def sgld(
    theta: np.ndarray,
    grad_log_target: Gradient,
    rng: np.random.Generator,
    *,
    eta: float,
    n_steps: int,
    beta_hat: float = 0.0,
) -> tuple[np.ndarray, MoveInfo]:
    """Move a cloud by Langevin dynamics with a noisy gradient (thesis Alg. 3).

    On a Gaussian of curvature k the stationary variance is 1/(k(1 − ηk/2)).

    Parameters
    ----------
    theta : ndarray of shape (M, d)
    grad_log_target : callable (M, d) -> (M, d)
        An unbiased estimate of ∇ log p, fresh at each call.
    rng : numpy.random.Generator
    eta : float
        Learning rate η; stable for ηk < 2.
    n_steps : int
    beta_hat : float or ndarray of shape (d,), default=0.0
        ½·Var[∇Û], taken off the injected noise.

    Returns
    -------
    theta : ndarray of shape (M, d)
    info : MoveInfo
        Particles that are not finite, or whose last step was beyond any temperature (10⁸ times
        its equilibrium square), stay where they were: ``n_refused``.

    Raises
    ------
    ValueError
        If β̂η > 1: the gradient noise alone exceeds the noise to inject.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.kernels import sgld
    >>> rng = np.random.default_rng(0)
    >>> theta, info = sgld(np.zeros((1000, 2)), lambda t: -t, rng, eta=0.1, n_steps=100)
    >>> bool(abs(theta.var() - 1 / 0.95) < 0.1)
    True
    """
    noise = 2 * (1 - np.asarray(beta_hat) * eta) * eta
    if np.any(noise < 0):
        raise ValueError(
            "gradient noise exceeds the noise to inject (beta_hat·eta > 1): lower eta or raise the batch"
        )
    start, step = theta, np.zeros_like(theta)
    with np.errstate(all="ignore"):
        for _ in range(n_steps):
            xi = np.sqrt(noise) * rng.standard_normal(theta.shape)  # Alg. 3, line 2
            step = eta * grad_log_target(theta) + xi
            theta = theta + step  # line 3
        temperature = np.mean(step**2, axis=1) / (
            2 * eta
        )  # without momentum: the last step against its noise
    theta, sound = keep_sound(theta, start, temperature)
    return theta, MoveInfo(n_steps, 1.0, int(np.sum(~sound)), 1.0)
