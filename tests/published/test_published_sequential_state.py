"""What the sequential sampler says of itself: its error bar against the spread of its own estimates."""

import numpy as np
import pytest
from mutants import broken
from path_problem import MODELS, Problem

from sgevidence.history import Anchor, Memory, Rows
from sgevidence.particles import Weights
from sgevidence.published import SequentialState
from sgevidence.targets import Path
from sgevidence.transitions import Streams

M, CHUNKS, TIMES = 200, 5, 400


def after_chunks(rng, memory, deviations):
    """log Ẑ = Σ log mean p_ni where chains forget a part only, with E p = 1: log Z = 0."""
    state = SequentialState(np.zeros((M, 1)), Weights.ones(M), 0.0, np.zeros(M), 0.0, Memory.empty())
    trait = rng.standard_normal(M)
    for n in range(CHUNKS):
        state = state._replace(weights=Weights(0.4 * trait - 0.08))
        if n < CHUNKS - 1:
            state = state._replace(log_Z=state.log_evidence, deviation=deviations(state))
            trait = memory * trait + np.sqrt(1 - memory**2) * rng.standard_normal(M)
    return state


def check_error_bar(rng, memory, deviations=SequentialState.deviations.fget, std=None):
    states = [after_chunks(g, memory, deviations) for g in rng.spawn(TIMES)]
    std = std or SequentialState.log_evidence_std.fget
    actual = np.std([state.log_evidence for state in states])
    claimed = np.sqrt(np.mean([std(state) ** 2 for state in states]))
    assert abs(claimed / actual - 1) < 4.5 / np.sqrt(2 * TIMES) + 0.03, f"{claimed:.3f} for {actual:.3f}"


@pytest.mark.parametrize("memory", [0.0, 0.7, 1.0])
def test_the_error_is_that_of_all_means_with_their_correlations(rng, memory):
    check_error_bar(rng, memory)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("self.deviation + self.weights.M * self.weights.W", "self.weights.M * self.weights.W"),
        ("self.weights.M * self.weights.W", "self.weights.W"),
    ],
    ids=["the last chunk only", "normalised weights"],
)
def test_a_mistake_is_seen(rng, right, wrong):
    deviations = broken_property(SequentialState.deviations, right, wrong)
    with pytest.raises(AssertionError, match="for"):
        check_error_bar(rng, 0.7, deviations)


def broken_property(member, right, wrong):
    return broken(member.fget, right, wrong).fget


def test_initial_variance_comes_on_top(rng):
    state = after_chunks(rng, 0.5, SequentialState.deviations.fget)
    more = state._replace(initial_var=0.3)
    assert more.log_evidence_std**2 == pytest.approx(state.log_evidence_std**2 + 0.3)


def test_rows_that_wait_are_counted(rng):
    rows = Rows.of(np.zeros((10, 1)), None, np.full(10, 2.0))
    memory = Memory.empty().absorb(rows[:6], rng)
    state = SequentialState(np.zeros((M, 1)), Weights.ones(M), 0.0, np.zeros(M), 0.0, memory, rows[6:])
    assert state.n_rows == 10 and state.n == 20.0


def check_anchored(rng, stray):
    """Sums over history and chunk: at the old anchor if the cloud is near it, else near the mode."""
    problem = Problem(MODELS["linear"], rng, n=300, c=200)
    path: Path = problem.path
    theta = problem.theta + (3.0 if stray else 0.0)
    state = SequentialState(theta, Weights.ones(60), 0.0, np.zeros(60), 0.0, path.memory)
    after, anchor, _ = state.anchored(path, Streams.one(rng))
    direct = Anchor.of(problem.model, anchor.a, problem.rows)
    for name in ("S", "G", "H"):
        mine, sums = getattr(anchor, name), getattr(direct, name)
        np.testing.assert_allclose(mine, sums, rtol=1e-6, atol=1e-6 * np.abs(direct.H).max(), err_msg="sums")
    assert np.array_equal(anchor.a, problem.anchor.a) == (not stray), "place"
    np.testing.assert_array_equal(after.theta, theta)


@pytest.mark.parametrize("stray", [False, True])
@pytest.mark.usefixtures("double_precision")
def test_sums_are_those_of_history_and_chunk(rng, stray):
    check_anchored(rng, stray)
