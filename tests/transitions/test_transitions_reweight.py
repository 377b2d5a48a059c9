"""Rows that only weigh: the evidence is theirs at once, and nothing moves before the weights ask for it."""

import numpy as np
import pytest
from path_problem import data

from sgevidence.history import Memory
from sgevidence.models import LinearModel
from sgevidence.particles import Cloud
from sgevidence.targets import Path
from sgevidence.transitions import Reweight, State, Streams

MODEL = LinearModel(2, noise_std=3.0)


@pytest.fixture
def posterior(rng):
    """Exact draws from the posterior of two hundred rows, and fifty rows to come."""
    rows = data(MODEL, 250, rng)
    memory = Memory.empty().absorb(rows[:200], rng)
    return State(Cloud.planted(MODEL.exact_posterior(rows[:200], rng, 4000)), memory), rows


def crossed(state, new, rng, target_ess=0.5, **settings):
    rows = new if state.pending is None else state.pending.join(new)
    return Reweight(target_ess, **settings)(state, Path(MODEL, state.memory, rows), Streams.one(rng))


def test_the_evidence_is_that_of_all_rows_at_once(posterior, rng):
    """log p(y_new | y_old) as the rows come in two parts, against the closed form."""
    state, rows = posterior
    exact = MODEL.exact_log_evidence
    for stop in (220, 250):
        start = state.n_rows
        step = crossed(state, rows[start:stop], rng)
        state = step.state
        assert step.crossed and step.info.n_likelihoods == 4000 * (stop - start)  # only the new rows
        assert state.n_rows == stop and state.memory.n_rows == 200
        error = state.log_evidence - (exact(rows[:stop]) - exact(rows[:200]))
        assert abs(error) < 4.5 * state.log_evidence_std
        np.testing.assert_allclose(state.ell, MODEL.sum_log_likelihood(state.theta, rows[200:stop]))


def test_it_declines_when_the_weights_ask_for_a_move(posterior, rng):
    """What it has found out is handed on."""
    state, rows = posterior
    step = crossed(state, rows[200:], rng, target_ess=0.999)
    assert not step.crossed and step.state.pending is None
    np.testing.assert_allclose(step.state.ell, MODEL.sum_log_likelihood(state.theta, rows[200:]))
    np.testing.assert_array_equal(step.state.theta, state.theta)


def test_more_rows_than_before_are_not_kept_waiting(posterior, rng):
    state, rows = posterior
    many = rows.join(rows)
    assert not crossed(state, many, rng, target_ess=0.01).crossed
    small = state._replace(memory=Memory.empty(60).absorb(rows[:200], rng))
    assert not crossed(small, rows[200:], rng, target_ess=0.01).crossed  # nor more than half a reservoir


def test_a_large_chunk_is_left_to_densities_at_the_modes(posterior, rng):
    """Without a look at it; but only where there is an anchor to follow."""
    state, rows = posterior
    assert crossed(state, rows[:150], rng, target_ess=0.01).crossed
    anchored = state._replace(memory=state.memory._replace(anchor=object()))
    step = crossed(anchored, rows[:150], rng, target_ess=0.01)
    assert not step.crossed and step.state.ell is None and step.info.n_likelihoods == 0
    assert crossed(anchored, rows[:150], rng, target_ess=0.01, leaves_large=False).crossed
