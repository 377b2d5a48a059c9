"""Annealed allocations: sums over all of them, their prior, and groups of heavy tails."""

import numpy as np
import pytest
from enumeration import enumerated
from mutants import broken

from sgevidence.history import Rows
from sgevidence.models import MixtureModel
from sgevidence.particles import Weights
from sgevidence.targets import _allocations as target
from sgevidence.targets import _annealed_allocations
from sgevidence.targets._allocation_proposal import Problem
from sgevidence.targets._allocations import allocation_evidence
from sgevidence.targets._annealed_allocations import by_annealing


def problem_of(K, X):
    return Problem.of(MixtureModel(K, X.shape[1]), Rows.of(X), np.ones(len(X), dtype=int))


def check_few(rng, seeds=4):
    """Eight rows, two of which are far from the others."""
    z = []
    for K, p in ((2, 3), (3, 8), (5, 4)):
        X = np.random.default_rng([K, p]).standard_normal((8, p))
        X[:2] += 4.0
        expected = enumerated(MixtureModel(K, p), Rows.of(X))
        for g in rng.spawn(seeds):
            found = by_annealing(problem_of(K, X), g.spawn(2))
            assert found.log_evidence_std < 0.4 and found.reliable
            w = Weights(found.log_weights)
            assert w.log_mean == pytest.approx(found.log_evidence) and len(found.theta) == len(w.W)
            z.append((found.log_evidence - expected) / found.log_evidence_std)
    assert np.all(np.abs(z) < 4.5) and abs(np.mean(z)) < 4 / np.sqrt(len(z)), z


def test_it_is_the_sum_over_all_allocations(rng):
    check_few(rng)


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("annealed", "rng, lam)", "rng, 1.0)"),
        ("annealed", "delta * ell", "0.8 * delta * ell"),
        ("by_annealing", "cloud.log_Z + cloud.weights.log_w", "cloud.weights.log_w"),
    ],
)
def test_power_over_few_rows(rng, monkeypatch, name, right, wrong):
    mutant = broken(getattr(_annealed_allocations, name), right, wrong)
    monkeypatch.setattr(_annealed_allocations, name, mutant)
    check = broken(check_few, "by_annealing(", "_annealed_allocations.by_annealing(")
    with pytest.raises((AssertionError, UnboundLocalError)):
        check(rng)


def test_allocations_start_from_their_prior(rng, monkeypatch):
    """Two rows share a component with probability (a + 1)/(K a + 1), and a third with (a + 2)/(K a + 2)."""
    monkeypatch.setattr(_annealed_allocations, "M", 20_000)
    model = MixtureModel(3, 2, weight_concentration=0.7)
    problem = Problem.of(model, Rows.of(np.eye(4)[:, :2]), np.ones(4, dtype=int))
    z = _annealed_allocations._prior(problem, rng)
    two = 1.7 / 3.1
    assert np.mean(z[:, 0] == z[:, 3]) == pytest.approx(two, abs=4 * 0.5 / np.sqrt(20_000))
    three = np.mean((z[:, 0] == z[:, 1]) & (z[:, 1] == z[:, 2]))
    assert three == pytest.approx(two * 2.7 / 4.1, abs=4 * 0.5 / np.sqrt(20_000))
    assert np.bincount(z[:, 0]) / 20_000 == pytest.approx(np.full(3, 1 / 3), abs=4 * 0.5 / np.sqrt(20_000))


def test_draws_are_the_posterior(rng):
    """What they predict of a new row, beside the sums over all allocations."""
    X, new = np.random.default_rng(3).standard_normal((7, 2)), np.array([[0.5, -0.5]])
    model, rows = MixtureModel(3, 2), Rows.of(X)
    found = by_annealing(problem_of(3, X), rng.spawn(2))
    predictive = Weights(found.log_weights).W @ np.exp(model.log_likelihood(found.theta, Rows.of(new))[:, 0])
    expected = np.exp(enumerated(model, Rows.of(np.r_[X, new])) - enumerated(model, rows))
    assert predictive == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("short, reliable", [(0.0, True), (1.0, True), (400.0, False)])
def test_annealing_must_not_fall_short_of_searches(rng, monkeypatch, short, reliable):
    """Where groups overlap it does not find them: it is taken with half of what it falls short, or not."""
    rough = by_annealing(problem_of(2, np.random.default_rng(1).standard_normal((6, 8))), rng.spawn(2))
    rough = rough._replace(reliable=False, log_evidence_std=2.0, n_effective=5.0)
    low = rough._replace(log_evidence=rough.log_evidence - short, log_evidence_std=0.1, reliable=True)
    monkeypatch.setattr(target, "_at_once", lambda *_: rough)
    monkeypatch.setattr(target, "_by_chains", lambda *_: rough)
    monkeypatch.setattr(target, "by_annealing", lambda *_: low)
    found = allocation_evidence(MixtureModel(2, 8), Rows.of(np.eye(8)), rng)
    assert found.reliable == reliable
    if reliable:
        assert found.log_evidence_std == pytest.approx(max(0.1, short / 2))


def heavy(seed, n=70, p=30):
    """Five groups of t-distributed rows: any far row may be alone, or with any other."""
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1.5, (5, p))[rng.integers(5, size=n)] + rng.standard_t(3, (n, p))


@pytest.mark.parametrize("data_seed", [1, 2])
def test_few_rows_of_many_columns(rng, data_seed):
    """Two searches, and annealing, agree; one in four searches was up to three nats low at 0.05."""
    X = heavy(data_seed)
    model = MixtureModel(6, X.shape[1])
    found = [allocation_evidence(model, Rows.of(X), g) for g in rng.spawn(3)]
    found.append(by_annealing(problem_of(6, X), rng.spawn(2)))
    for one in found[1:]:
        std = np.hypot(found[0].log_evidence_std, one.log_evidence_std)
        assert abs(one.log_evidence - found[0].log_evidence) < 4 * std + 0.02
