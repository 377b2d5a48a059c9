r"""Statistics of the members of every run of a series, and where a row is in a run's predictive distribution.

The distribution function of a run is the mean of those of its members, weighted by their posterior before
the row.  The row is known to its cell only (:mod:`._past`), so it has the probabilities at both ends of the
cell.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from ._expected import Ends
from ._past import Past
from ._shape import CELLS, RHO, normal_score
from ._tails import cdf_under_tails


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
