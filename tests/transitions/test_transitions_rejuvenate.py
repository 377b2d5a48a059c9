"""A cloud made fresh at the posterior of the history, before anything of the chunk counts."""

import pytest
from mutants import broken
from path_problem import Problem

from sgevidence.models import LinearModel
from sgevidence.particles import RESAMPLING, Cloud, Weights
from sgevidence.transitions import HMC, Anneal, Escort, Rejuvenate, State, Streams, TwoSidedEscort
from sgevidence.transitions._escort import MapEscort

pytestmark = pytest.mark.usefixtures("double_precision")
M, MODEL = 400, LinearModel(2, noise_std=1.0)


def refresh():
    anneal = Anneal(HMC(), 0.5, RESAMPLING["systematic"], lambda n: M)
    return Rejuvenate(anneal, TwoSidedEscort(anneal, MapEscort(Escort())))


def uneven(problem, rng):
    """Draws of something wider than the posterior of the history, weighted to be of it."""
    wide = problem.theta.mean(0) + 1.3 * (problem.theta - problem.theta.mean(0))
    rows = problem.rows[: problem.history.n_rows]
    log_w = problem.model.log_joint(wide, rows) - problem.model.log_joint(problem.theta, rows)
    return State(Cloud.planted(wide).weighted(log_w - Weights(log_w).log_mean), problem.path.memory)


def check(rng, make=Rejuvenate.__call__):
    problem = Problem(MODEL, rng, n=300, c=100, M=M)
    state, exact = uneven(problem, rng), problem.model.exact_log_evidence
    assert not state.cloud.is_even
    step = make(refresh(), state, problem.path, Streams.spawned(rng))
    assert step.crossed and step.info.n_moves >= 1 and step.info.n_escorts == 1
    error = step.state.log_evidence - (exact(problem.rows) - exact(problem.rows[:300]))
    assert abs(error) < 4 * step.state.log_evidence_std < 1.0
    assert step.state.cloud.weights.ess > 0.9 * M


def test_evidence_from_an_uneven_cloud(rng):
    check(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        (
            "move = self.anneal.move.along(path._replace(chunk=path.chunk[:0], high_leverage=None), rng); "
            "cloud, adaptation, moved = "
            "self.anneal.renewed(state.cloud, move, 0.0, state.adaptation, path, rng)",
            "move = self.anneal.move.along(path, rng); "
            "cloud, adaptation, moved = "
            "self.anneal.renewed(state.cloud, move, 1.0, state.adaptation, path, rng)",
        ),
    ],
    ids=["the posterior of all"],
)
def test_power(rng, right, wrong):
    with pytest.raises(AssertionError):
        check(rng, broken(Rejuvenate.__call__, right, wrong))


def test_an_even_cloud_is_left_alone(rng):
    problem = Problem(MODEL, rng, n=300, c=100, M=M)
    state = State(Cloud.planted(problem.theta), problem.path.memory)
    step = refresh()(state, problem.path, Streams.spawned(rng))
    assert step.state is state and not step.crossed
