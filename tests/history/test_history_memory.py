"""What was seen: reservoir, anchor and labels change together, and only by absorbing."""

import numpy as np
import pytest

from sgevidence.history import Anchor, Memory, Rows
from sgevidence.models import LinearModel

MODEL = LinearModel(2, noise_std=1.0)


def rows(rng, n, weight=None):
    X = rng.standard_normal((n, 2))
    return Rows.of(X, X @ [1.0, -1.0] + rng.standard_normal(n), weight)


def test_nothing_seen_yet():
    memory = Memory.empty(100, 1000)
    assert memory.n == 0 and memory.n_rows == 0 and memory.complete
    assert memory.anchor is None and memory.labels is None
    with pytest.raises(ValueError, match="no anchor"):
        _ = memory.sums
    assert np.isnan(memory.anchor_distance(np.zeros(3)))


def test_it_counts_rows_and_weight(rng):
    memory = Memory.empty(100)
    for n, total in ((40, 80.0), (90, 180.0), (190, 380.0)):
        memory = memory.absorb(rows(rng, n - memory.n_rows, np.full(n - memory.n_rows, 2.0)), rng)
        assert memory.n_rows == n and memory.n == pytest.approx(total)
        assert memory.complete == (n <= 100)
        assert memory.sample.total_weight == pytest.approx(total)
        assert len(memory.sample) == min(n, 100)


def test_absorbing_leaves_the_old_memory(rng):
    before = Memory.empty(50).absorb(rows(rng, 30), rng)
    kept = before.reservoir.rows.X.copy()
    before.absorb(rows(rng, 200), rng)
    assert before.n_rows == 30 and before.complete
    np.testing.assert_array_equal(before.reservoir.rows.X, kept)


def test_anchor_and_labels_are_those_given(rng):
    chunk = rows(rng, 30)
    anchor, labels = Anchor.of(MODEL, np.zeros(3), chunk), (np.zeros(1), np.ones(1))
    memory = Memory.empty().absorb(chunk, rng, anchor, labels)
    assert memory.anchor is anchor and memory.labels is labels
    assert memory.absorb(chunk, rng).anchor is None  # sums that do not stand for all rows are not kept


def test_distance_in_posterior_widths(rng):
    chunk = rows(rng, 30)
    memory = Memory.empty().absorb(chunk, rng, Anchor.of(MODEL, np.zeros(3), chunk))
    u = np.array([0.1, -0.2, 0.3])
    Phi = np.c_[chunk.X, np.ones(30)]
    assert memory.anchor_distance(u) == pytest.approx(np.sqrt(u @ Phi.T @ Phi @ u / 3))


@pytest.mark.parametrize(
    "capacity, largest, sizes",
    [(100, 350, [200, 350, 350]), (100, None, [100, 100, 100]), (None, None, [None, None, None])],
    ids=["to its largest", "not at all", "it has no bound"],
)
def test_it_grows_by_doubling(rng, capacity, largest, sizes):
    memory = Memory.empty(capacity, largest)
    for size in sizes:
        memory = memory.absorb(rows(rng, 500), rng, grow=True)
        assert memory.reservoir.capacity == size and memory.largest == largest
    assert memory.absorb(rows(rng, 500), rng).reservoir.capacity == sizes[-1]


def test_a_grown_reservoir_is_filled_by_rows_to_come(rng):
    memory = Memory.empty(100, 1000).absorb(rows(rng, 300), rng)
    memory = memory.absorb(rows(rng, 100), rng, grow=True)
    assert memory.reservoir.capacity == 200 and len(memory.reservoir) <= 200
    assert memory.sample.total_weight == pytest.approx(400)
