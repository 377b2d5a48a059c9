"""Rows: chunks and blocks cover everything once and in order; copies and views are what they say."""

import numpy as np
import pytest

from sgevidence.history import Rows


def some_rows(rng, n=1000, weight=None, y=True):
    return Rows.of(rng.normal(size=(n, 2)), np.arange(n) if y else None, weight)


def assert_same(a: Rows, b: Rows):
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.weight, b.weight)
    assert (a.y is None) == (b.y is None)
    if a.y is not None:
        np.testing.assert_array_equal(a.y, b.y)


def joined(parts):
    parts = list(parts)
    out = parts[0]
    for part in parts[1:]:
        out = out.join(part)
    return out


def test_of():
    rows = Rows.of([[1, 2], [3, 4]], [0, 1])
    assert len(rows) == 2 and rows.total_weight == 2.0
    assert rows.X.dtype == rows.weight.dtype == float and rows.y.dtype.kind == "i"
    assert Rows.of([[1.0]]).y is None
    assert Rows.of([[1.0], [2.0]], weight=[1, 3]).scaled(0.5).total_weight == 2.0


@pytest.mark.parametrize("y", [True, False])
@pytest.mark.parametrize("size", [1, 7, 500, 999, 1000, 5000])
def test_chunks_of_unit_weights(rng, size, y):
    rows = some_rows(rng, y=y)
    chunks = list(rows.chunks(size))
    assert_same(joined(chunks), rows)
    assert [len(c) for c in chunks[:-1]] == [size] * ((1000 - 1) // size)
    assert np.shares_memory(chunks[0].X, rows.X)  # views


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 2.0, 700.0])
def test_chunks_of_constant_weights(rng, weight):
    """A weight is a number of repetitions: 500 of weight, not 500 rows.  A heavy row is its own chunk."""
    rows = some_rows(rng, weight=np.full(1000, weight))
    chunks = list(rows.chunks(50.0))
    assert_same(joined(chunks), rows)
    per_chunk = max(round(50 / weight), 1)
    assert all(len(c) == per_chunk for c in chunks[:-1])


def test_chunks_of_uneven_weights(rng):
    rows = some_rows(rng, weight=rng.exponential(size=1000))
    chunks = list(rows.chunks(20.0))
    assert_same(joined(chunks), rows)
    assert all(len(c) > 0 for c in chunks)
    sums = np.array([c.total_weight for c in chunks])
    assert sums.sum() == pytest.approx(rows.total_weight)
    largest = rows.weight.max()
    assert np.all(np.abs(sums[:-1] - 20.0) <= largest) and sums[-1] <= 20.0 + largest
    ends = np.cumsum(sums)[:-1]  # errors do not add up along the stream
    assert np.all(np.abs(ends - 20.0 * np.arange(1, len(sums))) <= largest)


def test_one_chunk_and_none(rng):
    rows = some_rows(rng, n=10)
    for size in (10, 1e3, 1e12):
        (only,) = rows.chunks(size)
        assert_same(only, rows)
    (light,) = rows.scaled(1e-12).chunks(500)
    assert len(light) == 10
    (single,) = rows[:1].chunks(500)
    assert_same(single, rows[:1])
    assert list(rows[:0].chunks(500)) == list(rows[:0].blocks(500)) == []


@pytest.mark.parametrize("size, sizes", [(400, [400, 400, 200]), (1, [64] * 15 + [40]), (5000, [1000])])
def test_blocks(rng, size, sizes):
    rows = some_rows(rng)
    blocks = list(rows.blocks(size))
    assert [len(b) for b in blocks] == sizes
    assert_same(joined(blocks), rows)
    assert np.shares_memory(blocks[0].X, rows.X)


@pytest.mark.parametrize("y", [True, False])
def test_take_and_join(rng, y):
    rows, i = some_rows(rng, n=20, weight=rng.random(20), y=y), np.array([3, 3, 0, 19])
    taken = rows.take(i)
    np.testing.assert_array_equal(taken.X, rows.X[i])
    np.testing.assert_array_equal(taken.weight, rows.weight[i])
    if y:
        np.testing.assert_array_equal(taken.y, i)
    assert_same(rows[:7].join(rows[7:]), rows)


@pytest.mark.parametrize("y", [True, False])
def test_replace(rng, y):
    """A copy; of several rows for one place the last stays."""
    rows, new = some_rows(rng, n=5, y=y), some_rows(rng, n=3, weight=np.array([2.0, 3.0, 4.0]), y=y)
    before = rows.take(np.arange(5))
    out = rows.replace(np.array([1, 4, 1]), new)
    assert_same(rows, before)
    assert_same(out.take([0, 2, 3]), rows.take([0, 2, 3]))
    assert_same(out.take([4, 1]), new.take([1, 2]))


def test_replace_keeps_fractions(rng):
    """Whole numbers first, fractions later: nothing is cut off."""
    rows = Rows.of(np.zeros((3, 1)), np.array([1, 2, 3]))
    out = rows.replace(np.array([1]), Rows.of(np.zeros((1, 1)), np.array([0.5])))
    np.testing.assert_array_equal(out.y, [1, 0.5, 3])
