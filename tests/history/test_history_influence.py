"""Rows that a sample would miss are found, kept, and count once: sums over the sample stay unbiased."""

import numpy as np
import pytest

from sgevidence.history import Anchor, Influence, Memory, Reservoir, Rows, _influence
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import SoftmaxModel
from sgevidence.targets import Likelihood, Target, find_mode

MODEL = SoftmaxModel(2, 2, coef_scale=5.0, intercept_scale=5.0).in_double_precision()
RARE = 5


def softmax_rows(rng, n=2000, rare=RARE):
    """The second column is zero but in the first few rows, which are all of one class."""
    X = np.column_stack([rng.normal(size=n), np.zeros(n)])
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    X[:rare, 1], y[:rare] = 1.0, 1
    return Rows.of(X, y, rng.choice([0.5, 1.0, 2.0], size=n))


def influence_of(model, rows, start, rng, n_draws=3):
    """At the mode, with draws from the Gaussian there."""
    a, P = find_mode(Target(model, Likelihood(rows)), start)
    L = np.linalg.inv(np.linalg.cholesky(P)).T
    return Influence(model, a, a + rng.normal(size=(n_draws, len(a))) @ L.T)


def softmax(rng):
    rows = softmax_rows(rng)
    return influence_of(MODEL, rows, np.zeros(MODEL.n_params), rng), rows


def mixture(rng):
    model = MixtureModel(2, 2)
    X = rng.normal(size=(300, 2))
    X[:100] += 4.0
    X[0] = [9.0, -9.0]
    rows = Rows.of(X)
    return influence_of(model, rows, np.array([0.0, 0.0, 4.0, 4.0, 0, 0, 0, 0, 0, 0]), rng), rows


@pytest.mark.parametrize("problem", [softmax, mixture])
def test_what_a_row_leaves_beside_its_quadratic(rng, problem):
    """Row by row what the anchor leaves of it, whose derivatives come from autograd."""
    influence, rows = problem(rng)
    model, a, theta = influence
    some = np.r_[: RARE + 1, len(rows) - 20 : len(rows)]
    got, wanted = influence.remainder(rows.take(some)), []
    for i in some:
        row = rows.take(np.array([i]))
        r = model.sum_log_likelihood(theta, row) - Anchor.of(model, a, row)(theta)
        wanted.append(np.sqrt(np.mean(r**2)))
    np.testing.assert_allclose(got, wanted, rtol=0.02, atol=1e-5 * max(wanted))


@pytest.mark.parametrize("problem", [softmax, mixture])
def test_what_is_left_is_quiet(rng, problem):
    """The other rows add hardly anything, or are many alike; no rare row of large influence is among them.

    Hardly: rows that swing little are not looked at closely.
    """
    influence, rows = problem(rng)
    r = influence.remainder(rows)
    chosen = influence.outstanding(rows, 200)
    assert len(np.unique(chosen)) == len(chosen) and np.all(np.diff(chosen) > 0)
    left = np.delete(r, chosen) ** 2
    quiet = left.sum() * len(rows) / _influence.SAMPLED_ROWS < (2 * _influence.QUIET_STD_NATS) ** 2
    alike = left.sum() ** 2 / np.sum(left**2) > _influence.MIN_LOUD_ROWS * len(rows) / _influence.SAMPLED_ROWS
    assert quiet or alike, "too few make what is left"
    if problem is softmax:
        assert len(chosen) and np.all(np.delete(r, chosen) < 0.005), "rare rows are missed"
        assert len(chosen) < 2 * RARE, "more rows than it takes"


def test_how_many_are_loud(rng):
    """Ten of two sizes over a thousand alike: these ten, unless all may stay or ten are enough to be seen."""
    r = rng.permutation(np.r_[np.full(5, 2.0), np.full(5, 1.0), np.full(1000, 0.01)])
    order, n = _influence.loudest(r, 1e-9, 100.0)
    assert n == 10 and np.all(r[order[:5]] == 2.0) and np.all(r[order[5:10]] == 1.0)
    assert _influence.loudest(r, 25.0 + 0.2, 100.0)[1] == 0 and _influence.loudest(r, 25.0, 100.0)[1] == 1
    assert _influence.loudest(r, 5.2, 100.0)[1] == 5
    assert _influence.loudest(r, 1e-9, 7.0)[1] == 0  # 25.1² / 85 = 7.4 rows make it
    assert _influence.loudest(r, 0.0, np.inf)[1] == len(r) and _influence.loudest(r[:0], 0.0, 1.0)[1] == 0


def test_at_most_so_many_the_loudest_first(rng):
    influence, rows = softmax(rng)
    chosen = influence.outstanding(rows, 2)
    assert len(chosen) == 2 and np.all(
        influence.remainder(rows)[chosen] >= np.sort(influence.remainder(rows))[-2]
    )
    assert len(influence.outstanding(rows, 0)) == 0


def test_certain_rows_stay_while_they_are_loud(rng):
    influence, rows = softmax(rng)
    some = rows.take(np.r_[: RARE + 5])
    assert len(influence.still(some, 100, 2000)) >= np.sum(influence.remainder(some) > 0.005) > 0
    near = influence._replace(theta=influence.a + 1e-3 * (influence.theta - influence.a))
    assert len(near.still(some, 100, 2000)) == 0


def test_where_nothing_stands_out_nothing_is_chosen(rng):
    rows = softmax_rows(rng, n=4000, rare=0)
    assert len(influence_of(MODEL, rows, np.zeros(MODEL.n_params), rng).outstanding(rows, 200)) == 0


def test_swing_sees_what_draws_agree_on(rng):
    """Of rows explained all but certainly, all draws say nought: the other side of the anchor is steep."""
    influence, rows = softmax(rng)
    far = influence.a.copy()
    far[4] += 30.0  # second column, second class
    sure = influence._replace(theta=np.stack([far, far + 1e-3]))
    assert np.ptp(MODEL.log_likelihood(sure.theta, rows[:1])) < 1e-6 and sure.swing(rows[:1])[0] > 1.0


def test_impossible_rows_are_kept_first(rng):
    class Walled(SoftmaxModel):
        def log_likelihood(self, theta, rows):
            ell = np.array(super().log_likelihood(theta, rows))
            ell[1:, 7] = -np.inf
            return ell

    influence, rows = softmax(rng)
    assert np.isinf(influence._replace(model=Walled(2, 2)).remainder(rows[:10])[7])


class Listed:
    """In the place of an Influence: the rows whose number is a multiple, at most so many."""

    def __init__(self, multiple):
        self.multiple = multiple

    def outstanding(self, rows, most, n):
        assert n >= len(rows)
        return np.flatnonzero(rows.y % self.multiple == 0)[:most]

    still = outstanding


def numbered(start, stop):
    number = np.arange(start, stop)
    return Rows.of(number[:, None] + 0.0, number, 1.0 + (number % 3))


def absorbed(rng, multiples, capacity=12, size=10):
    memory, before = Memory.empty(capacity), []
    for i, multiple in enumerate(multiples):
        before.append(memory)
        memory = memory.absorb(numbered(i * size, (i + 1) * size), rng, influence=Listed(multiple))
    return memory, before


def check_unbiased(rng, n_streams=4000):
    """Each row is expected with its own weight, whichever were kept when: some come late, some go back.

    With weights the ratio estimate is only consistent, so that here they are equal.
    """
    multiples, size = (4, 4, 2, 5, 5, 3), 10
    n = size * len(multiples)
    total = np.zeros(n)
    for _ in range(n_streams):
        memory = Memory.empty(12)
        for i, multiple in enumerate(multiples):
            chunk = Rows.of(np.zeros((size, 1)), np.arange(i * size, (i + 1) * size))
            memory = memory.absorb(chunk, rng, influence=Listed(multiple))
        sample = memory.sample
        assert abs(sample.total_weight - n) < 1e-9 and memory.n == n and memory.n_rows == n, "rows miscounted"
        assert len(np.unique(sample.y)) == len(sample), "a row is there twice"
        np.add.at(total, sample.y.astype(int), sample.weight)
    mean = total / n_streams
    std = np.sqrt(np.maximum(np.max(mean) * 8.0 - 1.0, 1.0) / n_streams)
    assert np.all(np.abs(mean - 1.0) < 5 * std), f"biased: {mean.round(2)}"


@pytest.fixture
def a_third_at_most(monkeypatch):
    """Rows of high leverage may be a third of those at hand."""
    monkeypatch.setattr("sgevidence.history._memory.MAX_HIGH_LEVERAGE_SHARE", 0.34)


@pytest.mark.slow
def test_sums_over_the_sample_are_unbiased(rng, a_third_at_most):
    check_unbiased(rng)


@pytest.mark.parametrize(
    "method, right, wrong",
    [
        ("_parted", "self._replace(reservoir=Reservoir(self.reservoir.capacity))", "self"),
        ("_parted", "self.at_hand.join(chunk)", "self.at_hand.join(chunk[1:])"),
        (
            "absorb",
            "memory.reservoir.absorb(chunk, rng, left)",
            "memory.reservoir.absorb(chunk, rng)",
        ),
        ("_parted", "memory.high_leverage.join(kept)", "kept"),
        ("with_high_leverage", "rows.join(self.high_leverage)", "rows"),
    ],
)
def test_broken_parting_is_caught(rng, a_third_at_most, install_broken, method, right, wrong):
    install_broken(Memory, method, right, wrong)
    with pytest.raises(AssertionError):
        check_unbiased(rng)


def check_chunk(rng):
    """Of a chunk at hand each row counts once, in all of it and in mini-batches, of which each has those."""
    rows = numbered(0, 40)
    high_leverage = np.array([3, 17, 18])
    memory = Memory.of(rows, high_leverage)
    assert memory.n == pytest.approx(rows.total_weight) and memory.complete
    assert memory.sample.weight @ memory.sample.y == pytest.approx(rows.weight @ rows.y)
    total = np.zeros(40)
    for _ in range(400):
        batch = memory.draw(10, rng)
        assert set(high_leverage) == set(batch.y[10:]) and not set(high_leverage) & set(batch.y[:10])
        np.add.at(total, batch.y, batch.weight / 400)
    np.testing.assert_allclose(total, rows.weight, atol=5 * np.sqrt(rows.total_weight / 10 * 2 / 400))
    assert Memory.of(rows).high_leverage is None and Memory.of(rows).n_rows == 40


def test_a_chunk_with_certain_rows(rng):
    check_chunk(rng)
    rows = numbered(0, 40)
    Memory.of(rows, np.array([3]))
    assert np.all(rows.weight > 0)  # the caller's weights stay


def test_nothing_is_looked_at_while_all_rows_are_used(rng):
    memory, _ = absorbed(rng, (2, 2), capacity=20)
    assert memory.high_leverage is None and memory.complete and len(memory.sample) == 20


def test_a_sample_that_has_grown_is_not_looked_at(rng, a_third_at_most):
    memory = Memory.empty(12, 1000).absorb(numbered(1, 21), rng, influence=Listed(50))
    memory = memory.absorb(numbered(21, 28), rng, grow=True, influence=Listed(2))
    assert memory.reservoir.capacity == 24 and memory.n_rows == 27
    assert set(memory.high_leverage.y) == {22, 24, 26}


def test_weights_and_old_memories_stay(rng, a_third_at_most):
    memory, before = absorbed(rng, (4, 4, 2, 5))
    assert 0 < memory.n_high_leverage <= 4 and memory.n_at_hand == memory.n_high_leverage + 12
    np.testing.assert_array_equal(memory.high_leverage.weight, 1.0 + memory.high_leverage.y % 3)
    assert memory.n == pytest.approx(numbered(0, 40).total_weight)
    assert memory.sample.total_weight == pytest.approx(memory.n)
    assert [m.n_rows for m in before] == [0, 10, 20, 30] and before[1].complete


def test_sums_move_as_if_certain_rows_were_exact(rng):
    """With all rows of high leverage kept, sums that are moved on a sample are right, and know it."""
    influence, rows = softmax(rng)
    model, a, theta = influence
    exact = Anchor.of(model, a, rows)
    loud = influence.outstanding(rows, 60)
    rest = rows.take(np.setdiff1d(np.arange(len(rows)), loud))
    errors = []
    for high_leverage, others in ((None, rows), (rows.take(loud), rest)):
        reservoir = Reservoir(200).absorb(others, rng)
        memory = Memory(reservoir, exact, high_leverage=high_leverage)
        moved = memory.moved(model, theta[0])
        error = moved(theta[:1])[0] - model.sum_log_likelihood(theta[:1], rows)[0]
        claimed = moved.doubt.shared_var(theta[:1], np.ones(1)) ** 0.5
        assert abs(error) < 5 * claimed + 1e-9 or high_leverage is None
        errors.append(abs(error))
        assert claimed < 0.05 or high_leverage is None
    assert errors[1] < max(errors[0], 0.05)


def test_mini_batches_have_them(rng):
    rows = numbered(0, 200)
    memory = Memory(Reservoir(50).absorb(rows[:190], rng), high_leverage=rows[190:])
    batch = memory.draw(30, rng)
    assert len(batch) == 40 and batch.total_weight == pytest.approx(memory.n)
    np.testing.assert_array_equal(batch.y[30:], rows.y[190:])
