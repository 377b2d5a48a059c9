"""The λ-step: how far the chunk may be let in before the weights degenerate (Alg. 8, line 6).

Symbols: ``ell`` = log-likelihood of the chunk ℓ_i (M,), ``log_w`` = log ω_i, ``delta`` = Δ.
"""

import numpy as np
from scipy.optimize import brentq

from ._weights import ess


def next_step(ell: np.ndarray, log_w: np.ndarray, remaining: float, target_ess: float) -> float:
    """A Δ ∈ (0, remaining], for equal ω the largest, with ESS(ω e^{Δℓ}) ≥ target_ess · M (Eq. 4.15).

    Without resampling the published rule looks at the increments alone: pass ``log_w = 0``.
    With resampling it is the weights themselves that must stay above target.

    Parameters
    ----------
    ell : ndarray of shape (M,)
        Log-likelihoods, −inf allowed.
    log_w : ndarray of shape (M,)
    remaining : float
        1 − λ.
    target_ess : float
        Fraction of M in (0, 1).

    Returns
    -------
    float
        Δ; ``remaining`` if the target is met there.  0.0 if ω is below target already, or if no Δ > 0
        meets it because too many particles have ω = 0 or ℓ = −inf: then let those go, resample and move.
    """
    target = target_ess * len(ell)
    alive = np.isfinite(ell) & np.isfinite(log_w)
    ell, log_w = ell[alive], log_w[alive]

    def excess(delta: float) -> float:
        return ess(log_w + delta * ell) - target

    if excess(remaining) >= 0:
        return remaining
    if excess(0.0) <= 0:
        return 0.0
    # ESS is continuous but for unequal ω not monotone: brentq finds a crossing, which is all
    # that is needed.  ℓ may spread over 10¹² nats, so only the relative tolerance counts.
    return brentq(excess, 0.0, remaining, xtol=1e-300, rtol=1e-10, maxiter=1000)
