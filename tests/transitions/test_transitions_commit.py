"""When the cloud has crossed: sums over every row at the anchor, and labels to match."""

import numpy as np
import pytest
from path_problem import MODELS, Problem, every_model

from sgevidence.history import Anchor, Memory
from sgevidence.particles import Cloud
from sgevidence.targets import TOO_NOISY
from sgevidence.transitions import Adaptation, State, Step, Streams, committed

pytestmark = pytest.mark.usefixtures("double_precision")


def commit(problem, rng, keep_anchor=True, sample_noise=np.nan, anchor=None, call=committed):
    state = State(Cloud.planted(problem.theta), problem.path.memory, Adaptation(sample_noise=sample_noise))
    return call(Step(state, anchor=anchor), problem.path, Streams.one(rng), keep_anchor)


def check_sums(rng, model):
    """The memory has all rows, and at its anchor, near the mode, the sums over each of them once."""
    problem = Problem(model, rng, n=300, c=200)
    after = commit(problem, rng, call=committed)
    assert after.n_rows == 500 and after.pending is None and after.ell is None, "rows"
    direct = Anchor.of(model, after.memory.sums.a, problem.rows)
    np.testing.assert_allclose(after.memory.sums.S, direct.S, rtol=1e-9, err_msg="sums")
    np.testing.assert_allclose(after.memory.sums.H, direct.H, rtol=1e-6, atol=1e-6, err_msg="sums")
    theta = model.canonicalize(problem.theta, after.memory.labels)
    np.testing.assert_array_equal(after.theta, theta)  # in the slots that the anchor is in
    anchor = after.memory.sums.a[None]
    np.testing.assert_array_equal(model.canonicalize(anchor, after.memory.labels), anchor)


@every_model
def test_sums_are_those_of_every_row(rng, model):
    check_sums(rng, model)


def test_an_anchor_that_the_step_knows_is_kept(rng):
    problem = Problem(MODELS["mixture"], rng, n=300, c=200)
    known = Anchor.of(problem.model, problem.anchor.a, problem.rows)
    after = commit(problem, rng, anchor=known)
    assert after.memory.sums is known and after.memory.labels is problem.labels
    np.testing.assert_array_equal(after.theta, problem.theta)


def test_without_use_for_an_anchor_none_is_kept(rng):
    assert commit(Problem(MODELS["linear"], rng), rng, keep_anchor=False).memory.anchor is None


@pytest.mark.parametrize("noise, capacity", [(np.nan, 100), (0.9 * TOO_NOISY, 100), (1.1 * TOO_NOISY, 200)])
def test_the_reservoir_grows_if_it_was_too_noisy(rng, noise, capacity):
    problem = Problem(MODELS["linear"], rng, n=300, c=200, capacity=100)
    grows = Memory(problem.history, problem.anchor, None, 1000)
    state = State(Cloud.planted(problem.theta), grows, Adaptation(sample_noise=noise))
    path = problem.path._replace(memory=grows)
    after = committed(Step(state), path, Streams.one(rng), True)
    assert after.memory.reservoir.capacity == capacity
