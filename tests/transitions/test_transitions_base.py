"""States and refusals: evidence with what is pending, and the row that nothing can explain."""

import numpy as np
import pytest
from path_problem import data

from sgevidence import ImpossibleRowsError
from sgevidence.history import Memory, Rows
from sgevidence.models import LinearModel
from sgevidence.particles import Cloud
from sgevidence.targets import Path
from sgevidence.transitions import State, Streams, check_likelihood, check_rows

MODEL, M = LinearModel(2, noise_std=1.0), 50


def waiting(rng):
    """Twenty rows in the memory, and ten that only weigh."""
    rows = data(MODEL, 30, rng)
    cloud = Cloud.planted(MODEL.exact_posterior(rows[:20], rng, M))._replace(log_Z=-7.0)
    memory = Memory.empty().absorb(rows[:20], rng)
    ell = MODEL.log_likelihood(cloud.theta, rows[20:]).sum(axis=1)
    return State(cloud, memory, pending=rows[20:], ell=ell), rows


def check_seen(rng, evidence=lambda state: state.log_evidence):
    state, rows = waiting(rng)
    w = np.exp(state.ell)
    assert evidence(state) == pytest.approx(-7.0 + np.log(w.mean())), "evidence"
    np.testing.assert_allclose(state.all_weights.W, w / w.sum())
    assert state.n_rows == 30 and state.n == 30.0
    path = state.path(MODEL, rows[:3])
    assert len(path.chunk) == 13 and path.n == 33.0
    np.testing.assert_array_equal(path.chunk.X[:10], rows.X[20:])  # those that wait come first


def test_pending_rows_count_at_once(rng):
    check_seen(rng)


def test_an_evidence_without_them_is_seen(rng):
    with pytest.raises(AssertionError, match="evidence"):
        check_seen(rng, lambda state: state.cloud.log_evidence)


def test_streams_are_separate(rng):
    """However many numbers one gives, the others stay as they are."""
    one, other = (Streams.spawned(np.random.default_rng(3)) for _ in range(2))
    one.noise.standard_normal(1000)
    assert one.rows.random() == other.rows.random() != other.resampling.random()
    assert Streams.one(rng).noise is Streams.one(rng).rows is rng


def check_refused(rng, check, where=17):
    """The row is named, with its place in the stream; the others are not."""
    rows = data(MODEL, 40, rng)
    rows.y[where] = 1e200
    state = State(Cloud.planted(MODEL.sample_prior(rng, M)), Memory.empty().absorb(rows[:10], rng))
    path = Path(MODEL, state.memory, rows[10:])
    with np.errstate(all="ignore"), pytest.raises(ImpossibleRowsError, match="1 row") as caught:
        check(state, path)
    assert "e+200" in str(caught.value) and "follow row 10" in str(caught.value)


def by_rows():
    return lambda state, path: check_rows(path.chunk, state, path)


def by_likelihood():
    return lambda state, path: check_likelihood(path.increment(state.theta), state.cloud, path)


@pytest.mark.parametrize("check", [by_rows(), by_likelihood()], ids=["before", "of known likelihoods"])
@pytest.mark.parametrize("where", [17, 39])
def test_the_impossible_row_is_named(rng, check, where):
    check_refused(rng, check, where)


class Cut(LinearModel):
    """Rows with a positive y are impossible where the first coefficient is negative."""

    def log_likelihood(self, theta, rows):
        ell = super().log_likelihood(theta, rows)
        return np.where((theta[:, :1] < 0) & (rows.y > 0), -np.inf, ell)

    def sum_log_likelihood(self, theta, rows):
        return self.log_likelihood(theta, rows).sum(axis=1)


def test_one_particle_that_can_explain_a_row_is_enough(rng):
    """Whichever it is, and also if no particle can explain all rows."""
    model = Cut(2, noise_std=1.0)
    theta = np.r_[[[1.0, 0.0, 0.0]], np.tile([-1.0, 0.0, 0.0], (M - 1, 1))]
    rows = Rows.of(np.ones((2, 2)), [1.0, -1.0])
    state = State(Cloud.planted(theta[::-1]), Memory.empty())
    path = Path(model, state.memory, rows)
    check_rows(rows, state, path)
    check_likelihood(path.increment(state.theta), state.cloud, path)
    none = state._replace(cloud=Cloud.planted(theta[1:]))
    with pytest.raises(ImpossibleRowsError, match=r"1 row.*y = 1"):
        check_rows(rows, none, path)
