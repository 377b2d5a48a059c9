"""Integrals of one hump over the real line: the trapezoid rule, whose step is halved until two agree."""

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

#: Nats below the maximum at which an integrand is nothing.
NOTHING = 40.0
#: Steps between the ends of the first grid, and the most of the last.
FIRST_STEPS, MOST_STEPS = 128, 2**14
#: Nats by which two rules may differ.
TOLERANCE = 1e-9
#: Rounding of a log integrand, relative.
EPS = float(np.finfo(float).eps)


def log_integral(log_f: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> tuple[float, float]:
    """log ∫ exp(log_f), and the difference of the last two rules, nats.

    ``log_f`` falls on both sides of its maximum, and is nothing beyond ``low`` and ``high``.
    """
    while True:  # closer around the hump
        u = np.linspace(low, high, FIRST_STEPS + 1)
        f = log_f(u)
        near = np.flatnonzero(f > f.max() - NOTHING)
        ends = u[max(near[0] - 1, 0)], u[min(near[-1] + 1, FIRST_STEPS)]
        if ends[1] - ends[0] > 0.5 * (high - low):
            break
        low, high = ends
    step = u[1] - u[0]
    value = float(logsumexp(f) + np.log(step))
    while True:
        between = log_f(np.linspace(low + step / 2, high - step / 2, round((high - low) / step)))
        finer = float(np.logaddexp(value, logsumexp(between) + np.log(step)) - np.log(2))
        value, gap, step = finer, abs(finer - value), step / 2
        if gap < TOLERANCE or (high - low) / step > MOST_STEPS:
            return value, gap + EPS * float(np.abs(f).max())
