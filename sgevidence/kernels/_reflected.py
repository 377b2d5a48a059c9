r"""Momentum dynamics inside a likelihood contour, by reflection, thesis §3.2 and journal paper App. A.1.

The target is a density restricted to {θ : log L(θ) > log L*}.  A step that would end outside is
reflected (Eq. 3.28), v ← v − 2n̂(v·n̂), with n̂ ∥ ∇L where it went out, as in Galilean Monte Carlo
(Skilling 2012).

Symbols
-------
=======  =======================  =========================================================
log L    ``log_likelihood``       (M, d) -> (M,); −inf and nan are outside
∇ log L  ``grad_log_likelihood``  (M, d) -> (M, d), called for those that went outside only
log L*   ``floor``                the contour
η, α     ``eta, alpha``           learning rate and momentum decay, as in Alg. 4
ε        ``eps``                  step size in units of the target's width
v        ``v``                    momentum: v ~ N(0, η) in Alg. 4, v ~ N(0, 1) with the test
=======  =======================  =========================================================
"""

import numpy as np

from ._base import Gradient, LogDensity, MoveInfo, ValueAndGradient


def reflect(v: np.ndarray, n: np.ndarray) -> np.ndarray:
    """v − 2n̂(v·n̂) (Eq. 3.28); where there is no direction n̂ the particle turns back."""
    with np.errstate(all="ignore"):
        n = n / np.sqrt(np.sum(n**2, axis=1, keepdims=True))
        reflected = v - 2 * n * np.sum(v * n, axis=1, keepdims=True)
    return np.where(np.isfinite(reflected), reflected, -v)


def reflected_sghmc(
    theta: np.ndarray,
    grad_log_target: Gradient,
    log_likelihood: LogDensity,
    grad_log_likelihood: Gradient,
    rng: np.random.Generator,
    *,
    floor: float,
    eta: float,
    alpha: float,
    n_steps: int,
) -> tuple[np.ndarray, MoveInfo]:
    """SGHMC (thesis Alg. 4) inside a likelihood contour, as published.

    A step that would end outside is not made, and its momentum is reflected.  There is no Metropolis
    test: a layer about √η wide along the contour is visited too rarely, and a contour narrower than √η
    holds the particles fast.

    Parameters
    ----------
    theta : ndarray of shape (M, d)
        Inside the contour.
    grad_log_target : callable (M, d) -> (M, d)
        ∇ log of the density, or an unbiased estimate.
    log_likelihood : callable (M, d) -> (M,)
    grad_log_likelihood : callable (M, d) -> (M, d)
    rng : numpy.random.Generator
    floor : float
        log L*.
    eta : float
        Learning rate η.
    alpha : float
        Momentum decay in (0, 1].
    n_steps : int

    Returns
    -------
    theta : ndarray of shape (M, d)
    info : MoveInfo
        ``acceptance`` is the fraction of steps made; ``n_refused`` counts particles that made none.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.kernels import reflected_sghmc
    >>> rng = np.random.default_rng(0)
    >>> distance = lambda t: -np.sum(t**2, axis=1)
    >>> theta, info = reflected_sghmc(
    ...     np.zeros((500, 2)), lambda t: -t, distance, lambda t: -2 * t, rng,
    ...     floor=-1.0, eta=0.01, alpha=0.1, n_steps=50)
    >>> bool(np.all(np.sum(theta**2, axis=1) < 1))
    True
    """
    v = np.sqrt(eta) * rng.standard_normal(theta.shape)  # Alg. 4, line 1
    n_made = np.zeros(len(theta))
    for _ in range(n_steps):
        xi = np.sqrt(2 * alpha * eta) * rng.standard_normal(theta.shape)
        with np.errstate(all="ignore"):
            v = v - alpha * v + eta * grad_log_target(theta) + xi
            proposal = theta + v
            inside = log_likelihood(proposal) > floor
        outside = np.flatnonzero(~inside)
        if len(outside):
            v[outside] = reflect(v[outside], grad_log_likelihood(proposal[outside]))
        theta = np.where(inside[:, None], proposal, theta)
        n_made += inside
    return theta, MoveInfo(n_steps, float(np.mean(n_made) / n_steps), int(np.sum(n_made == 0)), 1.0)


def reflected_langevin(
    theta: np.ndarray,
    value_and_grad: ValueAndGradient,
    log_likelihood: LogDensity,
    grad_log_likelihood: Gradient,
    rng: np.random.Generator,
    *,
    floor: float,
    eps: np.ndarray | float,
    alpha: float,
    n_steps: int,
) -> tuple[np.ndarray, MoveInfo]:
    """Reflected Langevin dynamics with a Metropolis test at each step, which makes it exact.

    A leapfrog step that leaves the contour is reflected at the point outside and made once more from
    there; if that is outside too, or the test fails, the particle stays and turns back.  Each of these
    maps keeps volume and is undone by turning the momentum, so the restricted density is invariant for
    any step size, whatever direction ``grad_log_likelihood`` gives.

    Parameters
    ----------
    theta : ndarray of shape (M, d)
        Inside the contour.
    value_and_grad : callable (M, d) -> (M,), (M, d)
        Log density up to a constant and its gradient.
    log_likelihood : callable (M, d) -> (M,)
    grad_log_likelihood : callable (M, d) -> (M, d)
    rng : numpy.random.Generator
    floor : float
        log L*.
    eps : float or ndarray of shape (M,)
        Step size, in units of the target's width.
    alpha : float
        Momentum decay in (0, 1].
    n_steps : int

    Returns
    -------
    theta : ndarray of shape (M, d)
    info : MoveInfo
        ``acceptance`` is the fraction of steps made; ``n_refused`` counts particles that made none.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.kernels import reflected_langevin
    >>> rng = np.random.default_rng(0)
    >>> flat = lambda t: (np.zeros(len(t)), np.zeros_like(t))
    >>> distance = lambda t: -np.sum(t**2, axis=1)
    >>> theta, info = reflected_langevin(
    ...     np.zeros((500, 2)), flat, distance, lambda t: -2 * t, rng,
    ...     floor=-1.0, eps=0.3, alpha=0.1, n_steps=50)
    >>> bool(abs(np.mean(np.sum(theta**2, axis=1)) - 0.5) < 0.05)
    True
    """
    eps, c = np.broadcast_to(eps, len(theta))[:, None], 1 - alpha
    v, n_made = rng.standard_normal(theta.shape), np.zeros(len(theta))
    log_p, grad = value_and_grad(theta)
    for _ in range(n_steps):
        v = c * v + np.sqrt(1 - c**2) * rng.standard_normal(theta.shape)
        with np.errstate(all="ignore"):  # what leaves the finite numbers is refused below
            v_new = v + 0.5 * eps * grad
            x = theta + eps * v_new
            inside = log_likelihood(x) > floor
            out = np.flatnonzero(~inside)
            if len(out):
                v_new[out] = reflect(v_new[out], grad_log_likelihood(x[out]))
                x[out] = x[out] + eps[out] * v_new[out]
                inside[out] = log_likelihood(x[out]) > floor
            log_p_new, grad_new = value_and_grad(x)
            v_new = v_new + 0.5 * eps * grad_new
            log_ratio = (log_p_new - log_p) - 0.5 * np.sum(v_new**2 - v**2, axis=1)
            accept = inside & (np.log1p(-rng.random(len(theta))) < log_ratio)  # False for nan
        made = accept[:, None]
        theta, v = np.where(made, x, theta), np.where(made, v_new, -v)
        log_p, grad = np.where(accept, log_p_new, log_p), np.where(made, grad_new, grad)
        n_made += accept
    return theta, MoveInfo(n_steps, float(np.mean(n_made) / n_steps), int(np.sum(n_made == 0)), 1.0)
