"""A map is not refused for what may be chance, nor does an estimate go on from what is noticed as high."""

import numpy as np
import pytest
from mutants import broken
from path_problem import Problem

from sgevidence.models import LinearModel
from sgevidence.particles import RESAMPLING, Cloud, Weights
from sgevidence.transitions import HMC, Anneal, Crossing, Escort, Rejuvenate, State, Streams
from sgevidence.transitions._escort import MapCheck

pytestmark = pytest.mark.usefixtures("double_precision")
M, MODEL = 100, LinearModel(2, noise_std=1.0)


@pytest.mark.parametrize(
    "heavy, excess, refused, chance",
    [
        (1, 5.0, False, True),  # its standard error is 1 at most: three of them are too often exceeded
        (1, 8.0, True, False),
        (50, 0.6, True, False),
        (50, 0.3, False, True),
        (20, 0.75, True, True),  # more than three standard errors, and than 7 over 20, but not than both
    ],
)
def test_evidence_of_a_few_particles_has_to_be_much_more(heavy, excess, refused, chance):
    ell = np.where(np.arange(M) < heavy, np.log(M / heavy) + excess, -50.0)
    left = MapCheck.of(Weights(ell), Weights.ones(M), 0.0)
    assert left.excess == pytest.approx(excess)
    assert (left.is_too_much(3.0), left.may_be_chance(3.0)) == (refused, chance)


def test_weights_that_rule_all_out_say_nothing():
    left = MapCheck.of(Weights(np.full(M, -np.inf)), Weights.ones(M), -5.0)
    assert not left.is_too_much(3.0) and not left.may_be_chance(3.0)


def lucky(problem, rng, n_clouds=2000):
    """Of clouds from the posterior of the history the one that likes the chunk best, and by how much."""
    model, c = problem.model, problem.history.n_rows
    exact = model.exact_log_evidence(problem.rows) - model.exact_log_evidence(problem.rows[:c])
    theta = model.exact_posterior(problem.rows[:c], rng, n_clouds * M)
    ell = model.sum_log_likelihood(theta, problem.chunk).reshape(n_clouds, M)
    excess = np.array([Weights(w).log_mean - exact for w in ell])
    std = np.array([Weights(w).relative_variance ** 0.5 for w in ell])
    doubtful = [MapCheck.of(Weights(w), Weights.ones(M), exact).may_be_chance(3.0) for w in ell]
    best = int(np.argmax(np.where(doubtful, excess / std, -np.inf)))
    return theta.reshape(n_clouds, M, -1)[best], exact, excess[best] / std[best]


def errors(rng, call=None):
    """z of what is said of the chunk, from clouds that are lucky by about three standard errors."""
    z = []
    for g in rng.spawn(8):
        problem = Problem(MODEL, g, n=40, c=150, M=M)
        theta, exact, luck = lucky(problem, g)
        assert luck > 2
        anneal = Anneal(HMC(conditional=False), 0.5, RESAMPLING["systematic"], lambda n: M)
        ways = Crossing(anneal, Escort())
        state = State(Cloud.planted(theta), problem.path.memory)
        state, _ = (call or Crossing.__call__)(ways, state, problem.path, Streams.spawned(g))
        z.append((state.log_evidence - exact) / state.log_evidence_std)
    return np.array(z)


def check(z):
    assert abs(z.mean()) < 3 / np.sqrt(len(z)) and np.abs(z).max() < 4, f"off by {z.round(1)}"


@pytest.mark.slow
def test_a_lucky_cloud_does_not_stay(rng):
    check(errors(rng))


@pytest.mark.parametrize("wrong", ["(state.cloud.is_even)", "True"], ids=["not made fresh", "declines"])
def test_it_would_be_too_high(rng, monkeypatch, wrong):
    right = '(state.cloud.is_even and state.adaptation.map_is != "disputed")'
    monkeypatch.setattr(Rejuvenate, "__call__", broken(Rejuvenate.__call__, right, wrong))
    with pytest.raises(AssertionError, match="off by"):
        check(errors(rng))


def test_a_dispute_is_of_one_chunk(rng):
    problem = Problem(MODEL, rng, n=300, c=100, M=M)
    ways = Crossing(Anneal(HMC(), 0.5, RESAMPLING["systematic"], lambda n: M), Escort())
    state = State(Cloud.planted(problem.theta), problem.path.memory)
    state = state._replace(adaptation=state.adaptation._replace(map_is="disputed"))
    state, _ = ways(state, problem.path, Streams.spawned(rng))
    assert state.adaptation.map_is != "disputed"
