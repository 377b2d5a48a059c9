"""All rows once more from the prior: the evidence of all of them, from a cloud that was wrong."""

import numpy as np
import pytest
from mutants import broken
from path_problem import data

from sgevidence.history import Memory
from sgevidence.models import LinearModel
from sgevidence.particles import RESAMPLING, Cloud
from sgevidence.transitions import HMC, Anneal, State, Streams
from sgevidence.transitions._prior_survey import Restart

MODEL, M = LinearModel(2, noise_std=1.0), 400
RESTART = Restart(Anneal(HMC(), 0.5, RESAMPLING["systematic"], lambda n: M))


def wrong_cloud(rng, rows, capacity=None):
    memory = Memory.empty(capacity).absorb(rows[:60], rng)
    state = State(Cloud.planted(np.full((50, MODEL.n_params), 9.0))._replace(log_Z=-1e5), memory)
    return state, state.path(MODEL, rows[60:])


def check(rng, call=Restart.__call__):
    rows = data(MODEL, 80, rng)
    state, path = wrong_cloud(rng, rows)
    step = call(RESTART, state, path, Streams.spawned(rng))
    error = step.state.log_evidence - MODEL.exact_log_evidence(rows)
    assert abs(error) < 5 * step.state.log_evidence_std < 2.0, f"evidence off by {error:.2f}"
    assert step.crossed and step.state.cloud.M == M and step.state.memory is state.memory
    exact = MODEL.exact_posterior(rows, rng, 2000)
    off = (step.state.cloud.mean - exact.mean(axis=0)) / (exact.std(axis=0) / np.sqrt(M / 4))
    assert np.abs(off).max() < 5, "particles"


def test_nothing_of_the_cloud_before_is_left(rng):
    check(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("path.all_rows", "path.chunk"),
        ("step.state.cloud", "state.cloud"),
    ],
    ids=["the new rows only", "the old cloud"],
)
def test_a_mistake_is_seen(rng, right, wrong):
    mutant = broken(Restart.__call__, right, wrong)
    with pytest.raises(AssertionError, match="evidence off"):
        check(rng, mutant)


def test_it_declines_where_rows_are_gone(rng):
    state, path = wrong_cloud(rng, data(MODEL, 80, rng), capacity=16)
    step = RESTART(state, path, Streams.spawned(rng))
    assert not step.crossed and step.state is state
