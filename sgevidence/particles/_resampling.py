"""Resampling schemes: indices of the surviving particles from normalised weights.

Both are unbiased: particle i is drawn M·W_i times in expectation, with M survivors, by default as
many as there are particles.
"""

import numpy as np


def systematic(W: np.ndarray, rng: np.random.Generator, M: int | None = None) -> np.ndarray:
    """One uniform, M evenly spaced points: the counts differ from M·W_i by less than one."""
    M = M or len(W)
    return _invert_cdf(W, (rng.random() + np.arange(M)) / M)


def multinomial(W: np.ndarray, rng: np.random.Generator, M: int | None = None) -> np.ndarray:
    """M independent draws."""
    return _invert_cdf(W, np.sort(rng.random(M or len(W))))


def spread(W: np.ndarray, n: int) -> np.ndarray:
    """n points evenly spaced through the weights, without randomness."""
    return _invert_cdf(W, (np.arange(n) + 0.5) / n)


def _invert_cdf(W: np.ndarray, u: np.ndarray) -> np.ndarray:
    cdf = np.cumsum(W)
    # u·cdf[-1] < cdf[-1] may round up to it; the last particle of positive weight is then meant
    return np.minimum(np.searchsorted(cdf, u * cdf[-1], side="right"), np.flatnonzero(W)[-1])


RESAMPLING = {"systematic": systematic, "multinomial": multinomial}
