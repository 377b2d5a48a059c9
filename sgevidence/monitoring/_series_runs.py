"""Statistics of the members of every run of a series."""

from typing import NamedTuple

import numpy as np

from ._copula import RHO
from ._past import Past
from ._series_cdf import Expected
from ._shape import CELLS


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
