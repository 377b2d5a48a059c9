r"""Rows have a density of any shape, a Pólya tree, and may take after the row before, by a Gaussian copula.

The line is halved L times, where Student's t with two degrees of freedom, in the units of the stream's first
rows, has half of its probability: F(z) = ½ + z / 2√(2 + z²).  At each node of level l − 1 the share of rows
that go to the left has a Beta(α_l, α_l) prior, α_l = c l², so a row has the density

.. math::
    p(z) = F'(z) \prod_{l=1}^{L} 2\,\frac{α_l + n_l(z)}{2α_l + n_{l-1}(z)}, \quad F'(z) = (2 + z^2)^{-3/2},

with n_l(z) the rows so far in the cell of level l that z is in.  It learns any shape in time: two peaks, a
hard edge, a long tail, rounded values.  Where no member of a family is right the posterior of a long run is
too sure of a wrong one, and young runs, which know less, look better.

All trees of a stream have the same cells.  With cells of its own each run would be right in places of its
own, and runs that began with better units would be taken for changes (exponential rows: 28 in 40 000 in the
place of 4).

Symbols
-------
======  =============  =========================================================
here    code           meaning
======  =============  =========================================================
z       ``z``          row in units of the first rows
n_l     ``counts``     rows by cell; cell j of level l is at 2^l + j
α_l     ``HALF_ROWS``  rows that the prior of a half is worth
q       ``q``          score of the row, ``before`` of the row before
ρ       ``RHO``        correlation of successive scores
======  =============  =========================================================

**The row before.**  With F the distribution of a row whatever came before, and its scores
:math:`q_t = Φ^{-1}(F(z_t))`, which are standard Gaussian, an autoregression of the scores is

.. math::
    p(z_t \mid z_{t-1}) = f(z_t)\, N(q_t \mid ρ q_{t-1}, 1 - ρ^2) / N(q_t \mid 0, 1),

a density of z_t for every ρ, and for ρ = 0 that of independent rows.  The exponential of an autoregression,
or any other increasing function of it, is one of these.

References
----------
M. Lavine (1992), Some aspects of Pólya tree distributions for statistical modelling;
H. Joe (1997), Multivariate models and dependence concepts, section 8.1.
"""

import numpy as np
from scipy.special import ndtri

#: Correlations; the first is independence.
RHO = np.array([0.0, 0.4, 0.7, 0.9, 0.97])

#: Levels: 64 cells.  Eight were no better, and neither was a Cauchy density in the place of F'.
LEVELS = 6
#: By level, from the first; with c = 1 an exponential stream is learnt half as fast in its first 400 rows.
HALF_ROWS = 0.3 * np.arange(1, LEVELS + 1) ** 2
#: Length of the counts of one tree.
CELLS = 2 ** (LEVELS + 1)
#: Least probability on either side of a row: the square of its score has to be a number.
MIN_TAIL_PROBABILITY = 1e-12


def learn_shape(counts: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Log predictive density of a row under each tree, which then learns it; nats, in units of z.

    Counts (..., CELLS) change in place; z is of shape (...), or broadcast to it."""
    path, _ = _path(z)
    n = np.take_along_axis(counts, path, axis=-1)
    np.put_along_axis(counts, path, n + 1.0, axis=-1)
    shares = _shares(n)
    return np.log((2.0 * shares).prod(-1)) - 3.0 * np.log(np.hypot(z, np.sqrt(2.0)))


def normal_score(counts: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Place of a row in the predictive distribution of each tree, as a standard Gaussian's quantile."""
    path, inside = _path(z)
    shares = _shares(np.take_along_axis(counts, path, axis=-1))
    mass = np.cumprod(shares, axis=-1)  # of the cell of each level
    to_the_right = path[..., 1:] & 1
    left = np.sum(to_the_right * mass * (1.0 / shares - 1.0), axis=-1)  # of the cells beside the path
    return ndtri(np.clip(left + mass[..., -1] * inside, MIN_TAIL_PROBABILITY, 1.0 - MIN_TAIL_PROBABILITY))


def _path(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cells that z is in, from the root, (..., LEVELS + 1), and its place in the last, from 0 to 1."""
    leaf = (0.5 + 0.5 * z / np.hypot(z, np.sqrt(2.0))) * 2**LEVELS
    cell = np.minimum(leaf.astype(int), 2**LEVELS - 1)
    return (2**LEVELS + cell)[..., None] >> np.arange(LEVELS, -1, -1), leaf - cell


def _shares(n: np.ndarray) -> np.ndarray:
    """Share of each cell of a path below the root in the one above it, (..., LEVELS)."""
    return (HALF_ROWS + n[..., 1:]) / (2.0 * HALF_ROWS + n[..., :-1])


def log_copula(q: np.ndarray, before: np.ndarray) -> np.ndarray:
    """How much more probable rows are for the one before: nats, by ρ along a new last axis."""
    q, before = q[..., None], before[..., None]
    variance = 1.0 - RHO**2
    return 0.5 * (q**2 - (q - RHO * before) ** 2 / variance - np.log(variance))
