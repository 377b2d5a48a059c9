"""The path: its two ends are the two posteriors, on all rows or on average over samples of them."""

import numpy as np
import pytest
from path_problem import MODELS, Problem, every_model

pytestmark = pytest.mark.usefixtures("double_precision")


@every_model
@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_all_rows_make_the_tempered_posterior(rng, model, lam):
    problem = Problem(model, rng, 300, 100, M=5)
    target = problem.path.on_rows(None, rng).at(lam)
    before, theta = problem.rows[:300], problem.theta
    new = model.log_likelihood(theta, problem.chunk).sum(axis=1)
    exact = problem.full_log_joint(theta, before) + lam * new
    np.testing.assert_allclose(target.value(theta), exact, rtol=1e-10)
    assert problem.path.on_rows(None, rng).is_exact
    np.testing.assert_allclose(problem.path.increment(theta), new, rtol=1e-10)


def test_sizes(rng):
    problem = Problem(MODELS["linear"], rng, 300, 100, capacity=120)
    assert problem.path.n == 400 and problem.path.n_at_hand == 220


def check_mean(values, exact):
    z = (values.mean(axis=0) - exact) / (values.std(axis=0, ddof=1) / np.sqrt(len(values)))
    assert np.abs(z).max() < 4.5


def test_samples_with_their_anchor_are_right_on_average(rng):
    """Over samples of history and chunk; the reservoir is a sample of its own, so all rows are at hand."""
    problem = Problem(MODELS["softmax"], rng, 400, 300, M=3)
    theta = problem.anchor.a + 3 * (problem.theta - problem.anchor.a)
    exact = problem.path.on_rows(None, rng).at(0.5).value(theta)
    tempered = [problem.path.on_rows(50, rng) for _ in range(300)]
    assert not tempered[0].is_exact
    assert len(tempered[0].at(0.5).likelihood.rows) == 100
    check_mean(np.array([t.at(0.5).value(theta) for t in tempered]), exact)


def test_the_rows_of_a_path_stay_the_same(rng):
    """Another λ is the same sample at another power."""
    problem = Problem(MODELS["softmax"], rng, 400, 300, M=3)
    tempered = problem.path.on_rows(50, rng)
    ends = [tempered.at(lam).value(problem.theta) for lam in (0.0, 0.5, 1.0)]
    np.testing.assert_allclose(ends[1], (ends[0] + ends[2]) / 2, rtol=1e-10)


def test_without_an_anchor_the_chunk_is_not_thinned(rng):
    problem = Problem(MODELS["softmax"], rng, 40, 300)
    path = problem.path._replace(memory=problem.path.memory._replace(anchor=None))
    assert len(path.on_rows(50, rng).at(1.0).likelihood.rows) == 340


@pytest.mark.parametrize("capacity", [None, 200])
def test_mini_batches_are_right_on_average(rng, capacity):
    """Û of Eq. (4.14): λ times the chunk, and the history from a mini-batch; of the rows that are kept."""
    problem = Problem(MODELS["softmax"], rng, 400, 50, capacity=capacity, M=3)
    model, path, theta = problem.model, problem.path, problem.theta
    exact = model.sum_log_likelihood(theta, path.memory.sample) + 0.3 * path.increment(theta)
    batches = [path.batch(0.3, 60, rng) for _ in range(400)]
    assert len(batches[0]) == 110 and batches[0].total_weight == pytest.approx(400 + 0.3 * 50)
    check_mean(np.array([model.sum_log_likelihood(theta, rows) for rows in batches]), exact)


def test_the_first_chunk_has_no_history(rng):
    problem = Problem(MODELS["softmax"], rng, 1, 50)
    first = problem.path._replace(memory=type(problem.path.memory).empty())
    assert first.batch(0.5, 60, rng).total_weight == pytest.approx(25) and first.n == first.n_at_hand == 50


def test_a_chunk_is_looked_at_where_it_will_be_thinned(rng):
    """And not where it is used whole, or where there is no anchor."""
    problem = Problem(MODELS["softmax"], rng, n=3000, c=2800, M=20)
    path, draws = problem.path, problem.theta[:8]
    chunk = path.chunk.copy()
    chunk.weight[5] = 3000.0
    path = path._replace(chunk=chunk)
    looked = path.with_leverage(draws)
    assert 5 in looked.high_leverage and looked.chunk_memory.n_high_leverage == len(looked.high_leverage) < 10
    assert looked.with_leverage(draws) is looked
    assert len(looked.on_rows(600, rng).new.rows) == 600 + len(looked.high_leverage)
    few = path._replace(chunk=chunk[:2500])
    bare = path._replace(memory=path.memory._replace(anchor=None))
    for other in (few, bare):
        assert other.with_leverage(draws) is other
