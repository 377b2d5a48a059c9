"""Hamiltonian Monte Carlo with a Metropolis test, thesis Alg. 2.

Symbols
-------
========  ========================================================
ϵ  eps    step size, one for all or one a particle
L  L      leapfrog steps
v  v      momentum, v ~ N(0, 1)
H  H      −log p(x) + v²/2
========  ========================================================
"""

import numpy as np

from ._base import LogDensity, MoveInfo, ValueAndGradient


def hmc(
    theta: np.ndarray,
    value_and_grad: ValueAndGradient,
    rng: np.random.Generator,
    *,
    eps: np.ndarray | float,
    L: int,
    here: tuple[np.ndarray, np.ndarray] | None = None,
    log_target: LogDensity | None = None,
) -> tuple[np.ndarray, MoveInfo]:
    """One trajectory of L leapfrog steps and a Metropolis test (thesis Alg. 2).

    Parameters
    ----------
    theta : ndarray of shape (M, d)
    value_and_grad : callable (M, d) -> (M,), (M, d)
        Log density up to a constant and its gradient.
    rng : numpy.random.Generator
    eps : float or ndarray of shape (M,)
        Step size; it may differ between particles, but must not depend on where they are.
    L : int
        Leapfrog steps.
    here : tuple of ndarrays, optional
        Value and gradient at ``theta``, as ``info.here`` of the trajectory before: saves one evaluation.
    log_target : callable (M, d) -> (M,), optional
        The density to leave invariant, where ``value_and_grad`` is only near it: a cheap guide for the
        trajectory, whose end is tested on the real one.

    Returns
    -------
    theta : ndarray of shape (M, d)
    info : MoveInfo
        ``acceptance`` is the mean acceptance probability; ``n_refused`` counts trajectories
        that left the finite numbers.  One that left the support, where the density is zero, is only rejected.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.kernels import hmc
    >>> rng = np.random.default_rng(0)
    >>> target = lambda t: (-0.5 * np.sum(t**2, axis=1), -t)
    >>> theta, info = hmc(np.zeros((100, 2)), target, rng, eps=0.3, L=5)
    >>> info.acceptance > 0.9
    True
    """
    eps = np.broadcast_to(eps, len(theta))[:, None]
    v0 = rng.standard_normal(theta.shape)  # Alg. 2, line 2
    log_p0, grad0 = value_and_grad(theta) if here is None else here
    if log_target is not None and here is None:
        log_p0 = log_target(theta)
    with np.errstate(all="ignore"):  # a trajectory that leaves the finite numbers is refused below
        x, v = theta, v0 + 0.5 * eps * grad0  # lines 3, 4
        outside = np.zeros(len(theta), dtype=bool)
        for t in range(L):
            x = x + eps * v  # line 6
            log_p, grad = value_and_grad(x)
            outside |= np.isneginf(log_p)
            if t < L - 1:
                v = v + eps * grad  # line 8
        v = v + 0.5 * eps * grad  # line 11
        if log_target is not None:
            log_p = log_target(x)
            outside |= np.isneginf(log_p)
        log_ratio = (log_p - log_p0) - 0.5 * np.sum(v**2 - v0**2, axis=1)  # H(x, v) − H(x', v')
        refused = ~(np.isfinite(log_ratio) & np.isfinite(x).all(axis=1)) & np.isfinite(log_p0)
        log_ratio = np.where(refused | np.isnan(log_ratio), -np.inf, log_ratio)
        refused &= ~outside
        accept = np.log1p(-rng.random(len(theta))) < log_ratio  # lines 12, 13
    acceptance = float(np.mean(np.exp(np.minimum(log_ratio, 0.0))))
    moved = accept[:, None]
    there = np.where(accept, log_p, log_p0), np.where(moved, grad, grad0)
    info = MoveInfo(L + (here is None), acceptance, int(refused.sum()), 1.0, there)
    return np.where(moved, x, theta), info
