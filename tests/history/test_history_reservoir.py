"""The reservoir: uniform, bounded, a value; and mini-batches that estimate sums over all rows."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from sgevidence.history import Reservoir, Rows

CUTS = {
    "at once": [7],
    "one by one": [1] * 7,
    "uneven": [2, 1, 4],
    "filled exactly": [3, 4],
    "half full": [1, 6],
}
CAPACITIES = pytest.mark.parametrize("capacity", [None, 30])


def stream(n, weight=None, start=0):
    """Rows that know their number."""
    number = np.arange(start, start + n)
    return Rows.of(number[:, None] + 0.5, number, np.ones(n) if weight is None else weight)


def fill(capacity, rows, cuts, rng):
    reservoir, start = Reservoir(capacity), 0
    for size in cuts:
        reservoir, start = reservoir.absorb(rows[start : start + size], rng), start + size
    assert start == len(rows)
    return reservoir


def snapshot(reservoir):
    rows = reservoir.rows
    return rows.X.copy(), rows.y.copy(), rows.weight.copy(), reservoir.n_rows, reservoir.n


def assert_snapshot(reservoir, before):
    for a, b in zip(snapshot(reservoir), before):
        np.testing.assert_array_equal(a, b)


def check_uniform(rng, cuts):
    """All 35 sets of three rows out of seven are equally likely (so every row is, and every pair)."""
    rows, n_streams = stream(7), 3000
    sets = {s: 0 for s in itertools.combinations(range(7), 3)}
    for _ in range(n_streams):
        sets[tuple(sorted(fill(3, rows, cuts, rng).rows.y))] += 1
    expected = n_streams / len(sets)
    statistic = sum((count - expected) ** 2 for count in sets.values()) / expected
    assert chi2.sf(statistic, len(sets) - 1) > 1e-6, "not uniform"


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
def test_every_sample_is_equally_likely(rng, cuts):
    check_uniform(rng, cuts)


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("_slots", "n_before + coming + 1", "n_before + n_new"),
        ("_slots", "n_before + coming + 1", "n_before + coming + 2"),
        (
            "absorb",
            "rows.replace(slot, chunk.take(coming[room + chosen]))",
            "rows.replace(slot, chunk.take(coming[room + np.arange(len(chosen))]))",
        ),
        ("absorb", "rows.replace(slot, chunk.take(coming[room + chosen]))", "rows"),
    ],
    ids=["position of the chunk's last row", "off by one", "wrong rows", "nothing replaced"],
)
def test_broken_reservoir_is_caught(rng, install_broken, name, right, wrong):
    install_broken(Reservoir, name, right, wrong)
    with pytest.raises(AssertionError, match="not uniform"):
        check_uniform(rng, CUTS["uneven"])


@CAPACITIES
def test_the_cut_into_chunks_does_not_matter(rng, capacity):
    """The same stream of random numbers gives the same sample, in the same places."""
    rows, seed = stream(200, rng.random(200)), int(rng.integers(2**32))
    samples = [
        fill(capacity, rows, cuts, np.random.default_rng(seed)).rows
        for cuts in ([200], [1] * 200, [10, 25, 65, 100], [30, 170], [31, 169])
    ]
    for sample in samples[1:]:
        np.testing.assert_array_equal(sample.y, samples[0].y)
        np.testing.assert_array_equal(sample.weight, samples[0].weight)


@CAPACITIES
def test_counts_size_and_whole_rows(rng, capacity):
    rows, reservoir = stream(1000, rng.random(1000)), Reservoir(capacity)
    assert len(reservoir) == 0
    for chunk in rows.chunks(17.0):
        reservoir = reservoir.absorb(chunk, rng)
        assert len(reservoir) == min(capacity or 1000, reservoir.n_rows)
    assert reservoir.n_rows == 1000 and reservoir.n == pytest.approx(rows.total_weight)
    kept = reservoir.rows
    np.testing.assert_array_equal(kept.X[:, 0], kept.y + 0.5)  # X, y and weight of one row stay together
    np.testing.assert_array_equal(kept.weight, rows.weight[kept.y])
    assert len(set(kept.y)) == len(kept)
    assert kept.X.base is None or len(kept.X.base) <= 4 * len(kept)  # spare room is bounded too


def test_rows_without_targets(rng):
    reservoir = Reservoir(10)
    for _ in range(3):
        reservoir = reservoir.absorb(Rows.of(rng.normal(size=(7, 2))), rng)
    assert reservoir.rows.y is None and len(reservoir) == 10
    assert reservoir.draw(4, rng).y is None


@CAPACITIES
def test_absorb_leaves_the_old_reservoir(rng, capacity):
    reservoir = Reservoir(capacity)
    for i in range(12):
        old, before = reservoir, snapshot(reservoir) if i else None
        reservoir = reservoir.absorb(stream(8, start=8 * i), rng)
        if i:
            assert_snapshot(old, before)


@CAPACITIES
@pytest.mark.parametrize("n", [1, 3, 40])
def test_branches_do_not_disturb_each_other(rng, capacity, n):
    """Two continuations of one stream, interleaved, are what each would be alone."""
    root = fill(capacity, stream(8 * n), [8] * n, rng)
    before = snapshot(root)

    def chunk(branch, i):
        return stream(8, start=1000 * (branch + 1) + 8 * i)

    alone = []
    for branch in range(2):
        generator, r = np.random.default_rng(branch), pickle.loads(pickle.dumps(root))
        for i in range(6):
            r = r.absorb(chunk(branch, i), generator)
        alone.append(snapshot(r))
    both, generators = [root, root], [np.random.default_rng(0), np.random.default_rng(1)]
    for i in range(6):
        both = [r.absorb(chunk(b, i), generators[b]) for b, r in enumerate(both)]
    for r, expected in zip(both, alone):
        assert_snapshot(r, expected)
    assert_snapshot(root, before)


@CAPACITIES
def test_the_caller_may_reuse_the_arrays(rng, capacity):
    """A stream read into one buffer: what was seen stays seen."""
    reservoir, X, y, weight = Reservoir(capacity), np.empty((5, 1)), np.empty(5), np.empty(5)
    for i in range(3):
        X[:], y[:], weight[:] = i, i, i + 1
        reservoir = reservoir.absorb(Rows(X, y, weight), rng)
    X[:], y[:], weight[:] = -1, -1, -1
    np.testing.assert_array_equal(reservoir.rows.y, np.repeat([0, 1, 2], 5))
    np.testing.assert_array_equal(reservoir.rows.X[:, 0], reservoir.rows.y)
    np.testing.assert_array_equal(reservoir.rows.weight, reservoir.rows.y + 1)


@CAPACITIES
def test_whole_numbers_then_fractions(rng, capacity):
    """The first chunk's types do not cut off what comes later."""
    reservoir = Reservoir(capacity)
    for y in (np.arange(10), np.arange(10) + 0.5, np.arange(10)):
        reservoir = reservoir.absorb(Rows.of(np.zeros((10, 1)), y), rng)
    np.testing.assert_array_equal(reservoir.rows.y, np.r_[np.arange(10), np.arange(10) + 0.5, np.arange(10)])


@CAPACITIES
def test_pickles_and_continues_identically(rng, capacity):
    reservoir = fill(capacity, stream(200, rng.random(200)), [50] * 4, rng)
    data = pickle.dumps(reservoir)
    rows = reservoir.rows
    assert (
        len(data) < 1.1 * (rows.X.nbytes + rows.y.nbytes + rows.weight.nbytes) + 2000
    )  # the sample, no more
    twin, a, b = pickle.loads(data), np.random.default_rng(5), np.random.default_rng(5)
    for i in range(4):
        chunk = stream(60, rng.random(60), start=200 + 60 * i)
        reservoir, twin = reservoir.absorb(chunk, a), twin.absorb(chunk, b)
        assert_snapshot(twin, snapshot(reservoir))
        np.testing.assert_array_equal(reservoir.draw(20, a).y, twin.draw(20, b).y)


def test_growth_shares_one_array(rng):
    """2000 absorbs of 500 rows copy the history eleven times or so, not 2000 times."""
    reservoir, bases = Reservoir(None), []
    for i in range(2000):
        reservoir = reservoir.absorb(stream(500, start=500 * i), rng)
        if not bases or reservoir.rows.X.base is not bases[-1]:
            bases.append(reservoir.rows.X.base)
    assert len(bases) <= 2 + np.log2(2000)
    np.testing.assert_array_equal(reservoir.rows.y, np.arange(1_000_000))


class Listed:
    """A generator whose uniforms are given."""

    def __init__(self, u):
        self.u = np.asarray(u)

    def random(self, size):
        assert size == len(self.u)
        return self.u


def check_unbiased_by_enumeration(reservoir, f, B):
    """The mean of the mini-batch sum over *all* draws of a grid that the weights divide: no tolerance."""
    n = reservoir.n
    grid = (np.arange(int(n)) + 0.5) / n
    estimates = []
    for u in itertools.product(grid, repeat=B):
        batch = reservoir.draw(B, Listed(u))
        assert len(batch) == B
        estimates.append(np.sum(batch.weight * f[batch.y]))
    rows = reservoir.rows
    assert np.mean(estimates) == pytest.approx(np.sum(rows.weight * f[rows.y]), rel=1e-12), "biased"


WEIGHTS = {"uneven": [1.0, 3.0, 2.0, 0.0, 4.0], "all one": [1.0] * 5, "all two": [2.0] * 5}


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("B", [1, 2])
def test_batch_is_unbiased(rng, weight, B):
    reservoir = Reservoir(None).absorb(stream(5, np.array(weight)), rng)
    assert reservoir.equal_weights == (len(set(weight)) == 1)
    check_unbiased_by_enumeration(reservoir, rng.normal(size=5), B)


@pytest.mark.parametrize("weighted", [False, True])
def test_batch_from_a_sample_estimates_the_whole(rng, weighted):
    """Sampling of rows and of batches together: 200 rows, 50 kept, batches of 10."""
    weight = rng.integers(1, 3, 200).astype(float) if weighted else np.full(200, 2.0)
    rows, f = stream(200, weight), rng.exponential(size=200)
    estimates = []
    for _ in range(2000):
        batch = fill(50, rows, [80, 120], rng).draw(10, rng)
        assert batch.total_weight == pytest.approx(rows.total_weight)
        estimates.append(np.sum(batch.weight * f[batch.y]))
    error = np.std(estimates) / np.sqrt(len(estimates))
    bias = 0.0  # of a ratio estimator: Cov(Σw f, Σw)/(R w̄) to first order
    if weighted:
        g = f - np.sum(weight * f) / weight.sum()
        bias = -(1 - 50 / 200) / 50 * np.mean(weight * g * (weight - weight.mean())) / weight.mean() ** 2
        bias *= weight.sum()
    assert abs(np.mean(estimates) - np.sum(weight * f) - bias) < 5 * error


@pytest.mark.parametrize("weight", [1.0, 2.0])
def test_equal_weights_draw_what_the_general_route_would(rng, weight):
    reservoir = Reservoir(None).absorb(stream(300, np.full(300, weight)), rng)
    assert reservoir.equal_weights
    general, seed = replace(reservoir, equal_weights=False), int(rng.integers(2**32))
    a, b = (r.draw(100, np.random.default_rng(seed)) for r in (reservoir, general))
    np.testing.assert_array_equal(a.y, b.y)
    np.testing.assert_array_equal(a.weight, b.weight)


@CAPACITIES
def test_unequal_weights_are_noticed(rng, capacity):
    """Within a chunk, between chunks, and even when the odd row was not kept."""
    for chunks in ([[1.0, 2.0]], [[1.0] * 40, [2.0] * 40], [[1.0] * 40, [1.0] * 4000 + [2.0]]):
        reservoir = Reservoir(capacity)
        for weight in chunks:
            reservoir = reservoir.absorb(stream(len(weight), np.array(weight)), rng)
        assert not reservoir.equal_weights
        assert not reservoir.absorb(stream(3), rng).equal_weights


def test_small_history_is_returned_whole(rng):
    """Exact: no draw, no noise.  But never a sample that is only part of what was seen."""
    reservoir = Reservoir(None).absorb(stream(20), rng)
    for B in (20, 500):
        batch = reservoir.draw(B, rng)
        assert batch is reservoir.rows and batch.total_weight == 20
    assert len(reservoir.draw(19, rng)) == 19
    part = Reservoir(10).absorb(stream(20), rng).draw(15, rng)
    assert len(part) == 15 and part.total_weight == pytest.approx(20)
    heavy = Reservoir(None).absorb(stream(20, np.full(20, 2.0)), rng).draw(30, rng)
    assert len(heavy) == 30 and heavy.total_weight == pytest.approx(40)


def test_rows_of_weight_zero_are_never_drawn(rng):
    weight = np.r_[np.zeros(5), rng.random(40), np.zeros(5)]
    batch = Reservoir(None).absorb(stream(50, weight), rng).draw(40, rng)
    assert np.all(weight[batch.y] > 0)
    low, high = (
        Reservoir(None).absorb(stream(50, weight), rng).draw(1, Listed([u])).y[0]
        for u in (0.0, np.nextafter(1, 0))
    )
    assert (low, high) == (5, 44)
