"""Gibbs chains that have forgotten where they started, or say that they have not."""

import numpy as np
import pytest
from overlap import overlapping

from sgevidence.history import Rows
from sgevidence.models import MixtureModel
from sgevidence.targets import _chains
from sgevidence.targets._allocation_proposal import DRAWS, Problem, Sample
from sgevidence.targets._chains import followed, slowness
from sgevidence.targets._independent_searches import searched_together


def settled(K, X, rng):
    problem = Problem.of(MixtureModel(K, X.shape[1]), Rows.of(X), np.ones(len(X), dtype=int))
    rngs = rng.spawn(2)
    found = searched_together(problem.model, problem.X, problem.F, problem.origin, rngs)
    T = np.concatenate([problem.proposal(one, g) for one, g in zip(found, rngs)], axis=1)
    return followed(problem, problem.draw(T, DRAWS, rng).halves(), rngs)


def test_slowness_of_draws_that_owe_nothing_to_each_other(rng):
    R = slowness(rng.standard_normal((40, 48, 400)))
    assert 1 / 40 < R < 2.5 / 40


@pytest.mark.parametrize("slow", ["one of four hundred", "all from the same place"])
def test_slowness_of_slow_chains(rng, slow):
    """Chains that remember for a thousand steps, seen for 160."""
    x = rng.standard_normal((40, 48, 400))
    walk = np.cumsum(rng.standard_normal((40, 48)), axis=0)
    x[:, :, 17] = walk + (0.0 if slow == "all from the same place" else 5.0 * rng.standard_normal(48))
    assert slowness(x) > 5 * _chains.SLOW


def test_draws_are_those_of_the_posterior(rng):
    """One component: means and variances of the closed form, and none is ever empty."""
    X = 2.0 + 3.0 * np.random.default_rng(8).standard_normal((50, 2))
    chains = settled(1, X, rng)
    assert chains.have_converged and not chains.n_empty.any()
    theta = chains.theta.reshape(-1, 5)
    n, kappa = 50, 50.25
    mean = X.sum(axis=0) / kappa
    assert theta[:, 1:3].mean(axis=0) == pytest.approx(mean, abs=4 * 3 / np.sqrt(n * len(theta)))
    scale = 1 + 0.5 * (np.sum(X**2, axis=0) - kappa * mean**2)
    precision = (1 + n / 2) / scale  # of its inverse gamma distribution
    assert np.exp(-theta[:, 3:]).mean(axis=0) == pytest.approx(
        precision, rel=4 / np.sqrt((1 + n / 2) * len(theta))
    )


def test_chains_start_from_what_weighs(rng):
    """Not from draws far below the best; the best may be of one basin, so from any that are not."""
    theta = np.arange(2 * DRAWS, dtype=float).reshape(DRAWS, 2)
    log_w = np.where(np.arange(DRAWS) % 4 == 0, rng.uniform(-1, 0, DRAWS), -_chains.NEAR - 0.01)
    log_w[np.arange(DRAWS) % 8 == 0] -= 4.0
    draws = Sample(theta, log_w, np.zeros((DRAWS, 1)), np.ones(DRAWS, dtype=bool))
    which = _chains._starts(draws, rng)[:, 0] / 2
    assert len(set(which)) == _chains.EACH and np.all(which % 4 == 0)
    assert 10 < np.sum(which % 8 == 0) < 38
    lonely = draws._replace(log_likelihood=draws.log_likelihood + 1e3 * (np.arange(DRAWS) == 7))
    assert np.all(_chains._starts(lonely, rng) == theta[7])


def test_chains_of_two_basins_are_not_settled(rng):
    """Either of two pairs of groups may share a component, and no chain goes from one to the other."""
    at = np.array([[-6.0, 0.0], [-2, 0], [2, 0], [6, 0]])
    X = at[np.arange(60) % 4] + 0.5 * rng.standard_normal((60, 2))
    assert settled(3, np.r_[X, -X], rng).slowness > _chains.STUCK


def three_in_one():
    """Three groups within two standard deviations of each other take a thousand sweeps."""
    g = np.random.default_rng(9007)
    n = int(g.integers(200, 1200))
    mu = g.normal(size=(3, 2)) * g.uniform(0.3, 2)
    return mu[g.integers(3, size=n)] + g.normal(size=(n, 2)) * 0.8


def test_chains_that_are_slow_are_not_settled(rng):
    assert not settled(3, three_in_one(), rng).have_converged


@pytest.mark.slow
def test_slow_chains_go_on_where_annealing_would_take_long(rng, monkeypatch):
    X = overlapping(600, 10, 4, 0.5, 5)
    longer = settled(4, X, rng)
    once = 2 * _chains.EACH * (_chains.FORGET + _chains.LENGTH * _chains.BETWEEN)
    assert longer.n_sweeps == (1 + _chains.LONGER) * once
    monkeypatch.setattr(_chains, "SMALL", 1e12)
    chains = settled(4, X, rng)
    assert chains.n_sweeps == once and chains.slowness > 1.5 * longer.slowness


def test_what_would_fill_the_memory_is_not_followed(rng, monkeypatch):
    model = MixtureModel(2, 3)
    monkeypatch.setattr(_chains, "MOST_PARAMETERS", model.n_params - 1)
    assert followed(Problem.of(model, Rows.of(np.eye(3)), np.ones(3, dtype=int)), [], []) is None
