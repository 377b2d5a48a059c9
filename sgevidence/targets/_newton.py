"""Damped Newton ascent to a posterior mode.

Symbols: ``f, g, P`` = log target, its gradient and −∇∇ at ``a``; ``step`` = (P + μI)⁻¹ g.
"""

import numpy as np

from ._target import Target

#: Half the squared Newton step in posterior widths below which the mode is found: 0.01 nats.
TOLERANCE = 1e-2


def find_mode(
    target: Target, a: np.ndarray, max_iterations: int = 30
) -> tuple[np.ndarray, np.ndarray | None]:
    """Climb from ``a``: (mode, precision there or None if it is not a maximum)."""
    f, g, P = target.derivatives(a)
    for _ in range(max_iterations):
        if not (np.isfinite(f) and np.isfinite(P).all()):
            return a, None
        width, V = np.linalg.eigh(P)
        step = V @ ((V.T @ g) / np.maximum(np.abs(width), 1e-3 * np.abs(width).max() + 1e-300))
        if g @ step < 2 * TOLERANCE:
            break
        ahead = target.derivatives(a + step)  # nearly always the next point: its value comes with the rest
        if ahead[0] > f + 1e-4 * (g @ step):
            a, (f, g, P) = a + step, ahead
            continue
        for shorten in 0.5 ** np.arange(1, 12):
            trial = target.value((a + shorten * step)[None])[0]
            if trial > f + 1e-4 * shorten * (g @ step):
                break
        else:
            return a, None
        a = a + shorten * step
        f, g, P = target.derivatives(a)
    return a, P if np.linalg.eigvalsh(P)[0] > 0 else None
