"""Random-walk Metropolis, thesis Alg. 1.

Symbols: ``eps`` = ϵ, the proposal's standard deviation (the thesis writes N(x, ϵ)).
"""

import numpy as np

from ._base import LogDensity, MoveInfo


def random_walk(
    theta: np.ndarray,
    log_target: LogDensity,
    rng: np.random.Generator,
    *,
    eps: np.ndarray | float,
    n_steps: int,
) -> tuple[np.ndarray, MoveInfo]:
    """Move a cloud by random-walk Metropolis (thesis Alg. 1).

    Parameters
    ----------
    theta : ndarray of shape (M, d)
    log_target : callable (M, d) -> (M,)
        Log density up to a constant; −inf and nan are refused.
    rng : numpy.random.Generator
    eps : float or ndarray
        Standard deviation of a proposal in each coordinate; 2.4/√d posterior widths suits.  An array is
        broadcast to (n_steps, M, d).
    n_steps : int

    Returns
    -------
    theta : ndarray of shape (M, d)
    info : MoveInfo

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.kernels import random_walk
    >>> rng = np.random.default_rng(0)
    >>> log_target = lambda t: -0.5 * np.sum(t**2, axis=1)
    >>> theta, info = random_walk(np.zeros((100, 2)), log_target, rng, eps=1.5, n_steps=20)
    >>> theta.shape, bool(0.2 < info.acceptance < 0.8)
    ((100, 2), True)
    """
    log_p = log_target(theta)
    accepted = 0.0
    for width in np.broadcast_to(eps, (n_steps, *theta.shape)):
        proposal = theta + width * rng.standard_normal(theta.shape)  # Alg. 1, line 2
        log_p_new = log_target(proposal)
        with np.errstate(invalid="ignore"):  # −inf to −inf is no move
            accept = np.log1p(-rng.random(len(theta))) < log_p_new - log_p  # lines 3, 4; False for nan
        theta = np.where(accept[:, None], proposal, theta)
        log_p = np.where(accept, log_p_new, log_p)
        accepted += float(np.mean(accept))
    return theta, MoveInfo(n_steps + 1, accepted / max(n_steps, 1), 0, 1.0)
