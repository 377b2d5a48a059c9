"""Sums by a triangular factor, against fractions."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from sgevidence.models import QRSums


def values(rng, n=30):
    """Columns of all sizes, far from zero, without variation; the last two may be missing."""
    far = 1.7e18 + 3e13 * rng.random(n)
    tiny = 1e-60 * rng.standard_normal(n)
    return np.column_stack([np.ones(n), rng.standard_normal(n), np.full(n, 0.1), tiny, far, 1e9 + tiny])


WEIGHTS = {
    "equal": lambda rng: np.full(30, 0.1),
    "counts": lambda rng: rng.integers(0, 9000, 30).astype(float),
    "fractions": lambda rng: rng.uniform(0.01, 3.0, 30),
}


def check(rng, weights):
    """Means, and sums about them, which decimals of v v' would have lost."""
    v, w = values(rng), WEIGHTS[weights](rng)
    cut = QRSums.of(v[:11], 0, w[:11]).plus(QRSums.of(v[:0], 0, w[:0])).plus(QRSums.of(v[11:], 0, w[11:]))
    by_rows = reduce(QRSums.plus, [QRSums.of(v[r : r + 1], 0, w[r : r + 1]) for r in range(30)])
    exact, W = [[Fraction(x) for x in column] for column in v.T[1:]], [Fraction(x) for x in w]
    means = [sum(a * x for a, x in zip(W, column)) / sum(W) for column in exact]
    about = [[x - mean for x in column] for column, mean in zip(exact, means)]
    scatter = np.array([[float(sum(a * x * y for a, x, y in zip(W, i, j))) for j in about] for i in about])
    lengths = np.sqrt(np.diag(scatter))
    for sums in (QRSums.of(v, 0, w), cut, by_rows):
        assert sums.total_weight == pytest.approx(w.sum(), rel=1e-14)
        error = np.abs(sums.means - np.array(means, dtype=float))
        assert np.all(error <= 4e-15 * np.abs(v[:, 1:]).max(axis=0))
        error = np.abs(sums.rest.T @ sums.rest - scatter)
        assert np.all(error <= 1e-14 * np.multiply.outer(lengths, lengths))
        np.testing.assert_allclose(sums.by_column()[2], np.diag(scatter), rtol=1e-13)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_digits_of_columns_are_kept(rng, weights):
    check(rng, weights)


def test_missing_cells_are_measured_from_no_centre(rng):
    """Far columns of which some cells are missing, in parts, of which the first has all."""
    X, there, w = 1e9 + rng.standard_normal((30, 2)), rng.random((30, 2)) < 0.7, rng.uniform(0.5, 2.0, 30)
    there[:10] = True
    table = np.column_stack([np.ones(30), np.where(there, X, 0.0), there])
    parts = QRSums.of(table[:10, :3], 0, w[:10]).plus(QRSums.of(table[10:], 2, w[10:]))
    for sums in (
        QRSums.of(table, 2, w),
        parts,
        QRSums.of(table[10:], 2, w[10:]).plus(QRSums.of(table[:10, :3], 0, w[:10])),
    ):
        weight, mean, scatter = sums.by_column()
        for j in range(2):
            x, a = X[there[:, j], j] - 1e9, w[there[:, j]]
            assert weight[j] == pytest.approx(a.sum())
            assert mean[j] - 1e9 == pytest.approx(np.average(x, weights=a), abs=1e-6)
            assert scatter[j] == pytest.approx(a @ (x - np.average(x, weights=a)) ** 2, rel=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_has_no_sum(value):
    v = np.ones((5, 2))
    v[3, 1] = value
    with pytest.raises(ValueError, match="not finite"):
        QRSums.of(v, 0, np.ones(5))
