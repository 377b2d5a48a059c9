r"""The noise of a row in a series:  Gaussian, with strays, heavy-tailed, lopsided, or of any shape.

**Tails.**  With e the deviation of a row from its prediction, :math:`s^2 = (b/a)(1+q)` the scale of a
Gaussian row's predictive density, and z the row itself:

=========  ==========================================  ================================  ==================
tails      p(row | rows before)                        weight w of the row               information κ, c
=========  ==========================================  ================================  ==================
Gaussian   :math:`t_{2a}(e; s)`                        1                                 1, 1
strays     :math:`(1-ε)\,t_{2a}(e; s) + ε\,t_1(z; 5)`  r, its probability to be no stray  r, r
heavy      :math:`t_ν(e; s)`, :math:`ν = \min(2a, 3)`  :math:`(ν+1) / (ν + e^2/s^2)`     (ν+1)/(ν+3), ν/(ν+3)
lopsided   :math:`\tfrac{2γ}{γ^2+1}\,t_ν(e/g; s)`       as heavy, of e/g; over :math:`g^2`  as heavy
=========  ==========================================  ================================  ==================

Strays come from anywhere and tell nothing.  Their share has a Beta(1, 9) prior and the mean ε = (1 + s)/(10
+ n) after n rows with s strays, each counted by its probability to be one: where none has come in a hundred
rows ε is 0.01.  (With ε a tenth for ever such rows can have had no strays, and the first one was taken for a
change in one stream of three.)

Heavy tails belong to the noise:  Student's t with three degrees of freedom is a Gaussian whose precision λ/σ²
is drawn anew for each row, λ ~ Γ(3/2, 3/2), and the weight is the mean of λ given the row.  The row pulls at
the prediction by w e, and at σ² by w e² − s²; how much the posterior narrows by it is Fisher's information,
of which a row with heavy tails has a share κ on the prediction and c on the variance.  (As a whole row it
would make a run twice as sure of σ² as it may be, and its first rows would be forgotten too slowly.)
Lopsided noise has two scales (Fernández and Steel 1998): g is γ on the longer side, "right" or "left", and
1/γ on the other, and Fisher's information is that of heavy tails for every γ.  For strays and heavy tails
this is an approximation (assumed-density filtering); each density is exact in that it integrates to one over
the row.

**Any shape** is a Pólya tree, in which rows may take after the row before, by a Gaussian copula.  The line
is halved L times, where Student's t with two degrees of freedom, in the units of the stream's first rows,
has half of its probability:  F(z) = ½ + z / 2√(2 + z²).  At each node of level l − 1 the share of rows that
go to the left has a Beta(α_l, α_l) prior, α_l = c l², so a row has the density

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
C. Fernández and M. F. J. Steel (1998), On Bayesian modeling of fat tails and skewness;
M. Lavine (1992), Some aspects of Pólya tree distributions for statistical modelling;
H. Joe (1997), Multivariate models and dependence concepts, section 8.1.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtr

from ._normal import LOG_2PI, log_gamma_ratio

#: Prior probability of each.  Without "heavy" streams of Student-t rows had nine times the false alarms
#: wanted; as probable as the others it cost covering on the Turing series, at this a third of that.  Without
#: "right" and "left" skewed rows had up to twenty times (exponential ones eleven times).
TAILS = {"Gaussian": 10 / 23, "strays": 10 / 23, "heavy": 1 / 23, "right": 1 / 23, "left": 1 / 23}
STRAYS, OTHERS = 1.0, 9.0  # rows that the prior of their share is worth
STRAY_SCALE = 5.0  # units
SHAPE = 1.0  # of the inverse gamma prior of σ²
FREEDOM = 3.0  # degrees of freedom of heavy tails
LOPSIDED = 1.6  # γ: one side is 2.6 times as wide as the other
LOPSIDED_POWERS = {"heavy": 0.0, "right": 1.0, "left": -1.0}  # the exponent of γ for e > 0


def log_prior() -> np.ndarray:
    """Log prior probability of each kind of tails; (tails,)."""
    return np.log(list(TAILS.values()))


class Seen(NamedTuple):
    """A row as each member sees it, (..., noises × tails)."""

    log_p: np.ndarray  # predictive density, nats
    weight: np.ndarray  # w of its deviation
    mean_information: np.ndarray  # κ and c: what a Gaussian row has is 1
    variance_information: np.ndarray
    surprise: np.ndarray  # mean of w e²/s² under the member, less c


def under_tails(
    e: np.ndarray, z2: np.ndarray, a: np.ndarray, scale: np.ndarray, age: np.ndarray | float
) -> Seen:
    """How probable a row is, and how much it tells; the kinds of tails alternate along the last axis.

    ``e`` is its deviation, ``z2`` its square, in units, ``scale`` b (1 + q), and ``age`` the run's rows."""
    e2 = e * e
    log_p, surprise = np.empty_like(e2), np.zeros_like(e2)
    weight, kappa, c = np.ones_like(e2), np.ones_like(e2), np.ones_like(e2)
    for k, name in enumerate(TAILS):
        i = (..., slice(k, None, len(TAILS)))
        if name in LOPSIDED_POWERS:
            nu = np.minimum(2.0 * a[i], FREEDOM)
            s2 = scale[i] / a[i]
            gamma = LOPSIDED ** LOPSIDED_POWERS[name]
            g2 = np.where(e[i] > 0.0, gamma, 1.0 / gamma) ** 2
            log_p[i] = student_t(e2[i] / g2, 0.5 * nu, 0.5 * nu * s2) - np.log(0.5 * (gamma + 1.0 / gamma))
            weight[i] = (nu + 1.0) / (nu + e2[i] / g2 / s2) / g2
            kappa[i], c[i] = (nu + 1.0) / (nu + 3.0), nu / (nu + 3.0)
            surprise[i] = 1.0 - c[i]
            continue
        log_p[i] = student_t(e2[i], a[i], scale[i])
        if name == "strays":
            epsilon = (STRAYS + age - 2.0 * (a[i] - SHAPE)) / (STRAYS + OTHERS + age)
            log_clean = np.log1p(-epsilon) + log_p[i]
            log_stray = np.log(epsilon) + student_t(z2, 0.5, 0.5 * STRAY_SCALE**2)
            log_p[i] = np.logaddexp(log_clean, log_stray)
            weight[i] = kappa[i] = c[i] = np.exp(log_clean - log_p[i])
    return Seen(log_p, weight, kappa, c, surprise)


def cdf_under_tails(
    e: np.ndarray, z: np.ndarray, a: np.ndarray, scale: np.ndarray, age: np.ndarray | float
) -> np.ndarray:
    """Predictive distribution function of a row, z in units, under each member; see :func:`under_tails`."""
    F = np.empty_like(e)
    for k, name in enumerate(TAILS):
        i = (..., slice(k, None, len(TAILS)))
        s = np.sqrt(scale[i] / a[i])
        if name in LOPSIDED_POWERS:
            nu, gamma = np.minimum(2.0 * a[i], FREEDOM), LOPSIDED ** LOPSIDED_POWERS[name]
            longer = e[i] > 0.0
            g = np.where(longer, gamma, 1.0 / gamma)  # the share of a side is g over the sum of both
            tail = 2.0 * g / (gamma + 1.0 / gamma) * stdtr(nu, -np.abs(e[i]) / (g * s))
            F[i] = np.where(longer, 1.0 - tail, tail)
            continue
        F[i] = stdtr(2.0 * a[i], e[i] / s)
        if name == "strays":
            epsilon = (STRAYS + age - 2.0 * (a[i] - SHAPE)) / (STRAYS + OTHERS + age)
            F[i] += epsilon * (0.5 + np.arctan(z / STRAY_SCALE) / np.pi - F[i])
    return F


def from_anywhere(log_p: np.ndarray, z2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log density of a run's first row, whose level may be as far from those before as a stray is.

    ``log_p`` is that where the level is near; its probability is the second answer."""
    share = STRAYS / (STRAYS + OTHERS)
    log_near = np.log1p(-share) + log_p
    log_density = np.logaddexp(log_near, np.log(share) + student_t(z2, 0.5, 0.5 * STRAY_SCALE**2))
    return log_density, np.exp(log_near - log_density)


def are_tails(kind: str, n_noises: int) -> np.ndarray:
    """Which members have tails of this kind; (noises × tails,) of bool."""
    return np.tile(np.array(list(TAILS)) == kind, n_noises)


def student_t(e2: np.ndarray, a: np.ndarray | float, b: np.ndarray | float) -> np.ndarray:
    """Log density of the deviation e under t with 2a degrees of freedom and scale² b/a."""
    a = np.asarray(a)
    return log_gamma_ratio(a) - 0.5 * (LOG_2PI + np.log(b)) - (a + 0.5) * np.log1p(e2 / (2.0 * b))


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
