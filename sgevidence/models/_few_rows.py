r"""Regressions through as many rows as there are coefficients, where modes of heavy-tailed noise may be.

A group of rows that lie close to one plane is a mode of its own: the others are outliers to it.  Of few rows
drawn at random all may be of one group (Rousseeuw 1984), and the nearest quarter of all rows tells its noise.
Climbs from there end at such a mode two to five times as often as those from draws of the prior.

Symbols: ``Phi`` = design (n, q), ``y`` = targets less their offset (n,), ``w`` = coefficients (q,).

References
----------
P. J. Rousseeuw (1984), Least median of squares regression, JASA 79, 871.
"""

from typing import Any

import numpy as np
from scipy.special import ndtri

#: Share of the rows whose residuals tell the noise of a group, and the normal quantile of theirs.
NEAREST_SHARE = 0.25
#: Prior quantiles of the noise that are looked up, as standard normals.
Z_GRID = np.linspace(-8.0, 4.0, 481)


def fits_of_few(
    Phi: np.ndarray, y: np.ndarray, scales: np.ndarray, family: Any, n: int, rng: np.random.Generator
) -> np.ndarray:
    """Starts (n, q + 2): coefficients, noise and degrees of freedom as standard normals."""
    q = Phi.shape[1]
    ridge = np.diag(1e-6 / scales[:q] ** 2)
    noises = family.own_of(np.column_stack([Z_GRID, Z_GRID]))[0][:, 0]
    spread = np.std(y) + 1e-300
    starts = np.empty((n, q + 2))
    for start in starts:
        few = rng.choice(len(y), size=min(q, len(y)), replace=False)
        w = np.linalg.solve(Phi[few].T @ Phi[few] + ridge, Phi[few].T @ y[few])
        noise = np.quantile(np.abs(y - Phi @ w), NEAREST_SHARE) / ndtri(0.5 + NEAREST_SHARE / 2)
        start[:q] = w
        # degrees of freedom of a group among others, as a standard normal: towards the smallest
        # least noise, in units of y's spread: rows that are equal have none
        start[q:] = np.interp(max(noise, 1e-4 * spread), noises, Z_GRID), -2.0
    return starts
