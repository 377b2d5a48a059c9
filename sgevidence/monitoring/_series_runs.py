r"""Statistics of the members of every run of a series, and where a row is in a run's predictive distribution.

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
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from ._filter import Ends
from ._noise import CELLS, RHO, cdf_under_tails, normal_score

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
