"""Parts that integrals of exp f over one scale or a few share: where f counts, and the error of the rule.

An integrand that is analytic and falls off on either side is summed on an even grid between the ends of what
counts: the trapezoid rule, which converges geometrically there (Trefethen and Weideman 2014, SIAM Review 56,
385).  The rule with twice the step tells how far it is from the integral.

Symbols: ``f`` = log integrand at the nodes, ``u`` = nodes (m,).
"""

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp


def span(f: np.ndarray, tail_nats: float) -> tuple[int, int]:
    """First and last node with all that counts between them: within so many nats of the maximum.

    One node more stands on either side, if there is one.  Of several functions, (…, m), all is between them.
    """
    counts = (f > np.max(f, axis=-1, keepdims=True) - tail_nats).reshape(-1, f.shape[-1])
    near = np.flatnonzero(counts.any(axis=0))
    return max(int(near[0]) - 1, 0), min(int(near[-1]) + 1, f.shape[-1] - 1)


def closed_in(
    log_f: Callable[[np.ndarray], np.ndarray],
    low: float,
    high: float,
    cells: int,
    tail_nats: float,
    least_share: float,
) -> np.ndarray:
    """An even grid of so many cells, of which what counts fills the least share or more; (cells + 1,)."""
    while True:
        u = np.linspace(low, high, cells + 1)
        first, last = span(log_f(u), tail_nats)
        if u[last] - u[first] > least_share * (high - low):
            return u
        low, high = u[first], u[last]


def log_sum(f: np.ndarray) -> tuple[float, float]:
    """log Σ exp f over all nodes, and how far the rule with twice the step is from it, nats."""
    value = float(logsumexp(f))
    coarse = logsumexp(f[(slice(None, None, 2),) * f.ndim]) + f.ndim * np.log(2)
    return value, abs(float(coarse) - value)
