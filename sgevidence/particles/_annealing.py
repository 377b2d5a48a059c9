r"""The λ-step: how far the chunk may be let in before the weights degenerate (Alg. 8, line 6).

The particles that say how far also estimate what is gained by it, and err together: where they lack the few
of large ω, the step is too long and the gain too small.  With u_i ∝ ω_i e^{Δℓ_i} and g_i ∝ u_i², of mean one,

    δ_i = (2u_i − g_i − 1) / 2 (ḡℓ − ūℓ),     bias of log Ẑ = (1/M) mean[δ_i u_i (ℓ_i − ūℓ)] + O(M⁻²),

δ_i being what the i-th particle does to Δ, by the derivative of log ESS, and the rest what it does to the
slope of log mean ω e^{Δℓ} there, where ūℓ = mean(u ℓ), ḡℓ = mean(g ℓ).  It is one to two M-ths a step: little
beside the error bar in twenty steps of two thousand particles, a quarter of it in forty of a thousand.

Symbols: ``ell`` = log-likelihood of the chunk ℓ_i (M,), ``log_w`` = log ω_i, ``delta`` = Δ, ``length`` = δ_i.
"""

import numpy as np
from scipy.optimize import brentq

from ._weights import ess

#: Factor by which the bracket of a step that is too long shrinks.
SHRINK_FACTOR = 1000.0


def next_step(ell: np.ndarray, log_w: np.ndarray, remaining: float, target_ess: float) -> float:
    """A Δ ∈ (0, remaining], for equal ω the largest, with ESS(ω e^{Δℓ}) ≥ target_ess · M (Eq. 4.15).

    Without resampling the published rule looks at the increments alone: pass ``log_w = 0``. With resampling
    it is the weights themselves that must stay above target.  ``remaining`` is 1 − λ, and the answer if the
    target is met there; ℓ may be −inf.

    The answer is 0.0 if ω is below target already, or if no Δ > 0 meets it because too many particles have ω
    = 0 or ℓ = −inf: then let those go, resample and move.
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
    # ESS is continuous but for unequal ω not monotone: brentq finds a crossing, which is all that is needed.
    # ℓ may spread over 10³⁰⁰ nats: the root is sought in units of its own order of magnitude.
    unit = remaining
    while excess(unit / SHRINK_FACTOR) < 0:
        unit /= SHRINK_FACTOR
    return unit * brentq(lambda u: excess(u * unit), 0.0, 1.0, xtol=1e-12, rtol=1e-10)


def step_bias(ell: np.ndarray, log_w: np.ndarray, delta: float) -> float:
    """Bias of log Ẑ, nats, from a Δ chosen for ESS(ω e^{Δℓ}) (that it is O(1/M): Beskos et al. 2016).

    ``delta`` is as :func:`next_step` chose it, positive and less than what remained.  To first order in 1/M,
    for independent particles; 0.0 where Δ is not known to within half of itself, because particles are few or
    ESS hardly falls there: then the first order says nothing.
    """
    log_u = log_w + delta * ell
    u = np.exp(log_u - np.max(log_u))
    u, g = u / np.mean(u), u**2 / np.mean(u**2)
    ell = np.where(u > 0, ell, 0.0)
    from_mean = ell - np.mean(u * ell)
    M, fall = len(ell), 2 * np.mean(g * from_mean)  # fall: −d log ESS/dΔ
    influence = 2 * u - g - 1  # of a particle on log ESS
    if not np.mean(influence**2) < M * (0.5 * delta * fall) ** 2:
        return 0.0
    length = influence / fall
    return float(np.mean(length * u * from_mean) / M)
