r"""Members of the runs of a series: their statistics, and the distribution of a row under each.

Rows have a density of any shape, a Pólya tree, and may take after the row before, by a Gaussian copula.

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

The noise of a row in a series: Gaussian, Gaussian with strays, heavy-tailed, or lopsided.

With e the deviation of a row from its prediction, :math:`s^2 = (b/a)(1+q)` the scale of a Gaussian row's
predictive density, and z the row itself:

=========  ==========================================  ================================  ==================
tails      p(row | rows before)                        weight w of the row               information κ, c
=========  ==========================================  ================================  ==================
Gaussian   :math:`t_{2a}(e; s)`                        1                                 1, 1
strays     :math:`(1-ε)\,t_{2a}(e; s) + ε\,t_1(z; 5)`  r, its probability to be no stray  r, r
heavy      :math:`t_ν(e; s)`, :math:`ν = \min(2a, 3)`  :math:`(ν+1) / (ν + e^2/s^2)`     (ν+1)/(ν+3), ν/(ν+3)
lopsided   :math:`\tfrac{2γ}{γ^2+1}\,t_ν(e/g; s)`       as heavy, of e/g; over :math:`g^2`  as heavy
=========  ==========================================  ================================  ==================

Strays come from anywhere and tell nothing.  Their share has a Beta(1, 9) prior and the mean ε = (1 + s)/(10 +
n) after n rows with s strays, each counted by its probability to be one: where none has come in a hundred
rows ε is 0.01.  (With ε a tenth for ever such rows can have had no strays, and the first one was taken for a
change in one stream of three.)

Heavy tails belong to the noise: Student's t with three degrees of freedom is a Gaussian whose precision λ/σ²
is drawn anew for each row, λ ~ Γ(3/2, 3/2), and the weight is the mean of λ given the row.  The row pulls at
the prediction by w e, and at σ² by w e² − s²; how much the posterior narrows by it is Fisher's information,
of which a row with heavy tails has a share κ on the prediction and c on the variance.  (As a whole row it
would make a run twice as sure of σ² as it may be, and its first rows would be forgotten too slowly.)
Lopsided noise has two scales (Fernández and Steel 1998): g is γ on the longer side, "right" or "left", and
1/γ on the other, and Fisher's information is that of heavy tails for every γ.  For strays and heavy tails
this is an approximation (assumed-density filtering); each density is exact in that it integrates to one over
the row.

Statistics of the members of every run of a series, and where a row is in a run's predictive distribution.

The distribution function of a run is the mean of those of its members, weighted by their posterior before
the row.  The row is known to its cell only (:class:`Past`), so it has the probabilities at both ends of the
cell.

**The past** is kept as far as what comes needs it: units, the last row, and recent ones.  The units of a run
are the mean and the standard deviation of all rows before it, which are kept up to date row by row (Welford
1962).  Means that forget, of the rows and of their squared deviations, begin with the units of the warm-up.

**Rounding.**  Rows are recorded on a grid, and no row tells more than its cell: a density may not exceed one
over the cell's width, or a run of equal rows gains without end by being a little narrower than another run.
So each member adds the variance of a rounding error, δ²/12 (Sheppard's correction), to its prediction.  The
width δ is taken to be the least difference between two successive rows so far; δ is common to all runs, and
next to nothing where rows are not rounded.  Rows that mostly rest are another thing: their few steps are what
is sought, and say nothing of the grid but that it is finer.

References
----------
M. Lavine (1992), Some aspects of Pólya tree distributions for statistical modelling;
H. Joe (1997), Multivariate models and dependence concepts, section 8.1;
C. Fernández and M. F. J. Steel (1998), On Bayesian modeling of fat tails and skewness.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from ._filter import Ends
from ._gaussian import LOG_2PI, log_gamma_ratio

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


#: Width of the grid over the least step, or over the size of the rows, where rows rest.  With a hundredth a
#: step from 7 to 7.01 is within a cell; from a thousandth down the changes found are the same.
REST_SHARE = 1e-4


#: Share of a new row in the mean of recent rows, and in that of their squared deviations.
RECENT_SHARE, RECENT_SQUARES_SHARE = 0.4, 0.08


@dataclass
class Past:
    """The stream so far: what the units of the next run are made of, and the last row, by column."""

    mean: np.ndarray
    squares: np.ndarray  # sum of squared deviations
    n: int  # rows in mean and squares
    seen: int  # rows absorbed: fewer than n during the warm-up
    last: np.ndarray
    step: np.ndarray  # from the row before to the last
    first: tuple[np.ndarray, np.ndarray]  # units of the warm-up
    smooth: np.ndarray  # mean of recent rows
    scatter: np.ndarray  # mean of their squared deviations from the mean of all
    grid: np.ndarray  # least difference between successive rows that differ, 0 while none do
    moves: np.ndarray  # rows of these n that differ from the one before

    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation; where rows are all the same, their size."""
        std = np.sqrt(self.squares / self.n)
        size = np.abs(self.mean)
        return self.mean, np.where(self.is_flat(), np.where(size > 0, size, 1.0), std)

    def is_flat(self) -> np.ndarray:
        """Where all rows have been the same: then they say nothing of the scale; (columns,) of bool."""
        return np.sqrt(self.squares / self.n) <= 1e-9 * np.abs(self.mean)

    def leaves_rest(self, x: np.ndarray) -> np.ndarray:
        """Is the row the first that differs?  (columns,) of bool."""
        return self.is_flat() & (x != self.mean)

    def log_first(self, x: np.ndarray) -> np.ndarray:
        """Log density of such a row in units of its distance, log-Cauchy about their size."""
        any_size = 5.0  # scale of the logarithm: a factor of 150 either way
        mean, size = self.units()
        distance = np.where(x == mean, size, np.abs(x - mean))  # there is no such row where they are equal
        return -np.log(2.0 * np.pi * any_size) - np.log1p((np.log(distance / size) / any_size) ** 2)

    def cell(self) -> np.ndarray:
        """Width of the grid on which rows are recorded; (columns,)."""
        # a hundredth of a unit before a row has differed from the one before
        grid = np.where(self.grid > 0.0, self.grid, 0.01 * self.units()[1])
        return np.where(self.rests(), REST_SHARE * self._step(), grid)

    def least_noise(self, x: np.ndarray) -> np.ndarray:
        """Noise of a run that begins with x where rows rest: less than their rounding; (columns,)."""
        return 0.1 * REST_SHARE * np.where(self.leaves_rest(x), np.abs(x - self.mean), self._step())

    def _step(self) -> np.ndarray:
        """The least step so far, or the size of the rows; (columns,)."""
        return np.where(self.grid > 0.0, self.grid, self.units()[1])

    def rests(self) -> np.ndarray:
        """Do most rows repeat the one before?  (columns,) of bool."""
        # noise on a grid that is no finer than itself moves every third row or more
        return self.moves <= 0.1 * self.n

    def absorb(self, x: np.ndarray) -> None:
        """Take in a row."""
        self.smooth = self.smooth + RECENT_SHARE * (x - self.smooth)
        squares = np.where(self.is_flat(), self.scatter, (x - self.mean) ** 2)  # rows at rest do not tell
        self.scatter = self.scatter + RECENT_SQUARES_SHARE * (squares - self.scatter)
        self.step = x - self.last if self.seen else np.zeros_like(x)
        step = np.abs(self.step)
        moves = step > 1e-12 * np.abs(x)  # less is the rounding of floats
        self.grid = np.where(moves & ((step < self.grid) | (self.grid == 0.0)), step, self.grid)
        self.seen, self.last = self.seen + 1, x
        if self.seen > self.n:
            self.n, self.moves = self.n + 1, self.moves + moves
            e = x - self.mean
            self.mean = self.mean + e / self.n
            self.squares = self.squares + e * (x - self.mean)


class Expected(NamedTuple):
    """A row as the members of all runs expected it; the axes are those of the members' statistics."""

    e: np.ndarray  # deviation from the prediction
    z: np.ndarray  # the row over h
    half: np.ndarray  # of the row's cell, over h
    scale: np.ndarray
    a: np.ndarray
    age: np.ndarray
    log_member: np.ndarray  # before the row, and so is the rest
    log_shape: np.ndarray
    counts: np.ndarray
    shape_z: np.ndarray  # the row in units of the first rows, (columns,); its half cell; the row before
    shape_half: np.ndarray
    shape_before: np.ndarray
    is_flat: np.ndarray  # all rows have been the same: then the cell is not known; (columns,) of bool

    @classmethod
    def of(cls, runs: Any, R: int, x: np.ndarray, e, z, one, scale) -> "Expected":
        """The row that the first R runs are about to learn, with copies of all that they change then."""
        cell, (centre, unit) = runs.past.cell(), runs.past.first
        half = one * (0.5 * cell / runs.unit[:R])[:, :, None, None]
        state = [v[:R].copy() for v in (runs.a, runs.age, runs.log_member, runs.log_shape, runs.counts)]
        shape = (x - centre) / unit, 0.5 * cell / unit, (runs.past.last - centre) / unit
        return cls._make([e, z, half, scale, *state, *shape, runs.past.is_flat()])

    def cdf(self, leaders: np.ndarray) -> Ends:
        """At both ends of the row's cell; two arrays of shape (1, columns)."""
        slot = int(leaders[0])
        e, z, half, scale, a, age, log_member, log_shape, counts = (v[slot] for v in self[:9])
        member, shape = np.exp(log_member), np.exp(log_shape)
        total = member.sum((1, 2)) + shape.sum(1)
        before = normal_score(counts, self.shape_before)
        ends = []
        for side in (-1.0, 1.0):
            F = (member * cdf_under_tails(e + side * half, z + side * half, a, scale, age)).sum((1, 2))
            if shape.any():
                q = normal_score(counts, self.shape_z + side * self.shape_half)
                F += (shape * ndtr((q[:, None] - RHO * before[:, None]) / np.sqrt(1.0 - RHO**2))).sum(1)
            ends.append(np.clip(F / total, 0.0, 1.0))
        low, high = np.where(self.is_flat, 0.0, ends[0]), np.where(self.is_flat, 1.0, np.maximum(*ends))
        return low[None], high[None]


class SeriesRuns(NamedTuple):
    """Posteriors of the members of every run; the leading axis is the run's slot."""

    age: np.ndarray  # (capacity,)
    centre: np.ndarray  # (capacity, columns)
    unit: np.ndarray  # (capacity, columns)
    m1: np.ndarray  # this and the rest: (capacity, columns, structures, noises)
    m2: np.ndarray
    v11: np.ndarray
    v12: np.ndarray
    v22: np.ndarray
    determinant: np.ndarray  # of V
    a: np.ndarray
    b: np.ndarray
    excess: np.ndarray  # of the last row over its prediction, so far as it was a stray
    log_member: np.ndarray
    log_shape: np.ndarray  # (capacity, columns, correlations)
    counts: np.ndarray  # (capacity, columns, cells)
    log_gain: np.ndarray  # (capacity, columns), of columns that change with the run over those that go on
    log_weight: np.ndarray  # (capacity,), posterior of the runs, which the filter keeps up to date
    past: Past
    expected: list[Expected]  # the last row, if there was one


def make_runs(capacity: int, n_features: int, n_structures: int, n_members: int) -> SeriesRuns:
    """Room for some runs, each with ``n_members`` of every structure."""
    shape = (capacity, n_features, n_structures, n_members)
    table = np.zeros((capacity, n_features))
    none, members = np.zeros(n_features), [np.zeros(shape) for _ in range(10)]
    shapes = [np.zeros((capacity, n_features, size)) for size in (len(RHO), CELLS)]
    past = Past(none, none, 0, 0, none, none, (none, none + 1.0), none, none + 1.0, none, none)
    arrays = [np.zeros(capacity), table, table.copy(), *members, *shapes, table.copy(), np.zeros(capacity)]
    return SeriesRuns._make([*arrays, past, []])


def spread(v11, v12, v22, one, u):
    """V x and x' V x, where x is (``one``, u)."""
    Vx1, Vx2 = v11 * one + v12 * u, v12 * one + v22 * u
    return Vx1, Vx2, np.maximum(one * Vx1 + u * Vx2, 0.0)  # rounding may take a variance below zero
