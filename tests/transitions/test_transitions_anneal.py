"""The tempering loop: the evidence between two posteriors, its steps, and what it tells of them."""

import numpy as np
import pytest
from mutants import broken
from path_problem import data

from sgevidence import DivergenceError
from sgevidence.history import Memory
from sgevidence.models import LinearModel
from sgevidence.particles import RESAMPLING, Cloud
from sgevidence.targets import Path
from sgevidence.transitions import HMC, Anneal, State, Streams

MODEL = LinearModel(2, noise_std=1.0)
M = 400


def anneal(**settings):
    settings = dict(target_ess=0.7, resampling=RESAMPLING["systematic"], n_particles=lambda n: M) | settings
    return Anneal(HMC(conditional=False), **settings)


def crossing(rng, n=40, c=200):
    """Exact draws from the posterior of n rows, and the path over c more."""
    rows = data(MODEL, n + c, rng)
    memory = Memory.empty().absorb(rows[:n], rng) if n else Memory.empty()
    draws = MODEL.exact_posterior(rows[:n], rng, M) if n else MODEL.sample_prior(rng, M)
    exact = MODEL.exact_log_evidence(rows) - (MODEL.exact_log_evidence(rows[:n]) if n else 0.0)
    return State(Cloud.planted(draws), memory), Path(MODEL, memory, rows[n:]), exact, rows


def check_errors(rng, call=Anneal.__call__, **settings):
    """log p(y_new | y_old), and where the particles end: over seeds, as claimed."""
    z = []
    for g in rng.spawn(8):
        state, path, exact, rows = crossing(g)
        step = call(anneal(**settings), state, path, Streams.spawned(g))
        z.append((step.state.log_evidence - exact) / step.state.log_evidence_std)
        mean = MODEL.exact_posterior(rows, g, 20_000)
        off = (step.state.cloud.mean - mean.mean(axis=0)) / mean.std(axis=0)
        assert np.abs(off).max() < 5 / np.sqrt(0.4 * M), "elsewhere"
    assert 0.3 < np.sqrt(np.mean(np.square(z))) < 1.8 and np.abs(z).max() < 4.5, f"off by {z}"


@pytest.mark.parametrize("settings", [{}, {"last_move": True}, {"schedule": np.linspace(0, 1, 13)[1:] ** 2}])
def test_evidence_between_two_posteriors(rng, settings):
    check_errors(rng, **settings)


@pytest.mark.parametrize(
    "right, wrong",
    [
        (
            "lam = min(max(lam + delta, ...), 1.0)",
            "lam = min(max(lam + delta, ...), 1.0); delta = lam",
        ),
        (
            "self.renewed(cloud, move, lam, adaptation, path, rng)",
            "self.renewed(cloud, move, 0.0, adaptation, path, rng)",
        ),
    ],
    ids=["λ for its step", "moves at the old posterior"],
)
def test_a_mistake_is_seen(rng, right, wrong):
    with pytest.raises(AssertionError, match=r"off by|elsewhere"):
        check_errors(rng, broken(Anneal.__call__, right, wrong))


def test_it_says_what_it_did(rng):
    """Steps that keep the effective sample size, one move between each two, and a rung for each move."""
    state, path, _, _ = crossing(rng, 0)
    rungs = []
    step = anneal(watch=rungs.append)(state, path, Streams.spawned(rng))
    info = step.info
    assert info.lambdas[-1] == 1.0 and np.all(np.diff(info.lambdas) > 0) and len(info.lambdas) > 3
    assert info.ess == pytest.approx(0.7 * M, rel=1e-3)
    assert info.n_moves == len(info.lambdas) - 1 == len(rungs)
    assert info.n_likelihoods == M * 200 * len(info.lambdas) and info.n_gradients > info.n_likelihoods
    assert [rung.lam for rung in rungs] == list(info.lambdas[:-1])
    assert rungs[-1].eps == pytest.approx(np.exp(step.state.adaptation.log_eps))
    np.testing.assert_array_equal(rungs[-1].cloud.theta, step.state.theta)
    with_last = anneal(last_move=True)(state, path, Streams.spawned(rng)).info
    assert with_last.n_moves == len(with_last.lambdas)


def test_the_number_of_particles_follows_the_rows(rng):
    state, path, _, _ = crossing(rng)
    step = anneal(n_particles=lambda n: 100 if n == 240 else 7)(state, path, Streams.spawned(rng))
    assert step.state.cloud.M == 100


def test_annealing_that_gets_nowhere_is_an_error(rng):
    state, path, _, _ = crossing(rng, 0)
    with pytest.raises(DivergenceError, match="in 2 steps: check the model"):
        anneal(max_steps=2)(state, path, Streams.spawned(rng))
