r"""A few weighted points that have the mean and the second moments of many.

A Gaussian likelihood needs number, mean and second moments of its rows; so q + 1 points of
equal weight n/(q + 1) say as much as n rows of q columns.  With the mean m and RᵀR the centred sums of
squares, they are the rows of

    m + √(m₊/n) U R,     m₊ = q + 1,   U (q + 1, q) with UᵀU = 1 and 1ᵀU = 0,

since their mean is m and their weighted sums of squares about it are Rᵀ UᵀU R.

Symbols: ``v`` = rows (n, q), ``w`` = their weights, ``R`` = triangular factor of √w (v − m),
``U`` = Helmert's contrasts.
"""

import numpy as np
from scipy.linalg import helmert

#: Rows that are condensed at a time: the copies that this takes stay small.
CONDENSED_ROWS = 20_000


def with_moments(v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Points (q + 1, q) and weights (q + 1,) with the moments of v.

    None where v has no more rows itself, or where its squares leave the finite numbers.
    """
    while len(v) > CONDENSED_ROWS:
        starts = range(0, len(v), CONDENSED_ROWS)
        parts = [(v[i : i + CONDENSED_ROWS], w[i : i + CONDENSED_ROWS]) for i in starts]
        parts = [with_moments(*part) or part for part in parts]
        points, weights = (np.concatenate(part) for part in zip(*parts))
        if len(points) == len(v):
            return None
        v, w = points, weights
    size, n = v.shape[1] + 1, np.sum(w)
    mean = w @ v / n
    with np.errstate(over="ignore"):
        finite = np.isfinite(w @ (v - mean) ** 2).all()
    if len(v) <= size or not finite:
        return None
    R = np.linalg.qr(np.sqrt(w)[:, None] * (v - mean), mode="r")
    return mean + np.sqrt(size / n) * helmert(size).T @ R, np.full(size, n / size)
