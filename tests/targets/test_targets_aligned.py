"""A bridge from a Gaussian: closed forms, the sum over all allocations, labels, and saying no."""

from functools import cache

import numpy as np
import pytest
from enumeration import enumerated
from mutants import broken

from sgevidence import BayesianGMM
from sgevidence.history import Rows
from sgevidence.models import MixtureModel
from sgevidence.particles import Weights
from sgevidence.targets import _aligned
from sgevidence.targets import _allocations as target
from sgevidence.targets._aligned import by_gaussian, slowness
from sgevidence.targets._allocation_proposal import Problem
from sgevidence.targets._allocation_search import searched_together


def halves_of(K, X, rng):
    problem = Problem.of(MixtureModel(K, X.shape[1]), Rows.of(X), np.ones(len(X), dtype=int))
    rngs = rng.spawn(2)
    found = searched_together(problem.model, problem.X, problem.F, problem.origin, rngs)
    return by_gaussian(problem, found, rngs)


def overlapping(n, p, K, at, seed):
    """Groups whose means differ by at √2 standard deviations in each column."""
    rng = np.random.default_rng([seed, n, p, K])
    X = rng.normal(0, at, (K, p))[rng.integers(K, size=n)] + rng.standard_normal((n, p))
    return (X - X.mean(axis=0)) / X.std(axis=0)


def check(expected, halves):
    """Each half within its errors, and the weights are those of a sample whose mean weight is Z."""
    assert len(halves) == 2
    for half in halves:
        estimate = half.estimate
        assert estimate.std < 0.4
        assert abs(estimate.log_Z - expected) < 4.5 * estimate.std + 1e-3, (estimate.log_Z, estimate.std)
        w = estimate.log_w
        assert len(w) == len(half.points)
        assert np.log(np.mean(np.exp(w - w.max()))) + w.max() == pytest.approx(estimate.log_Z, abs=1e-4)


@pytest.mark.parametrize("n, p", [(50, 3), (200, 40)])
def test_one_component_is_its_closed_form(rng, n, p):
    X = 2.0 + 3.0 * np.random.default_rng(8).standard_normal((n, p))
    check(MixtureModel(1, p).exact_log_evidence(Rows.of(X)), halves_of(1, X, rng))


@cache
def ten(p):
    X = overlapping(10, p, 2, 0.6, 2)
    return X, enumerated(MixtureModel(2, p), Rows.of(X))


def check_few(rng, monkeypatch, seeds=6):
    """Ten rows, any of which may be of either component; chains need not be quick for it to be right."""
    monkeypatch.setattr(_aligned, "SLOW", 1.0)
    z = []
    for p in (2, 4):
        X, expected = ten(p)
        for g in rng.spawn(seeds):
            halves = halves_of(2, X, g)
            check(expected, halves)
            z += [(half.estimate.log_Z - expected) / half.estimate.std for half in halves]
    assert abs(np.mean(z)) < 4 / np.sqrt(len(z)), z


def test_it_is_the_sum_over_all_allocations(rng, monkeypatch):
    check_few(rng, monkeypatch)


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("_of_all_labels", "log_Z=one.log_Z + lgamma(K + 1)", "log_Z=one.log_Z"),
        ("_of_all_labels", "log_w=one.log_w + lgamma(K + 1)", "log_w=one.log_w"),
        ("_log_density", "- np.sum(np.log(np.diag(L)))", ""),
        ("_log_p", "problem.model.log_prior(theta) + ", ""),
    ],
)
def test_power_over_few_rows(rng, monkeypatch, name, right, wrong):
    monkeypatch.setattr(_aligned, name, broken(getattr(_aligned, name), right, wrong))
    with pytest.raises((AssertionError, np.linalg.LinAlgError)):
        check_few(rng, monkeypatch)


def check_labels(rng):
    """Of a Gaussian as wide as both labellings the draws of one are half of the evidence, no more."""
    X, expected = ten(2)
    problem = Problem.of(MixtureModel(2, 2), Rows.of(X), np.ones(len(X), dtype=int))
    start = problem.model.sample_prior(rng, 400)
    theta, _ = problem.swept(start, 50, rng)  # of both
    slots = problem.model.slot_reference(theta)
    m, L = _aligned._fitted(theta)
    log_w = np.concatenate([_aligned._gaussian_weights(problem, slots, m, L, rng)[1] for _ in range(10)])
    w = Weights(log_w)
    assert abs(w.log_mean + np.log(2) - expected) < 4 * np.sqrt(w.relative_variance) < 0.4
    assert 0.3 < np.mean(log_w > -np.inf) < 0.7


def test_draws_of_one_labelling_alone_count(rng):
    check_labels(rng)


def test_power_draws_of_both_count(rng, monkeypatch):
    both = broken(_aligned._gaussian_weights, "np.where(in_A, ", "np.where(in_A | True, ")
    monkeypatch.setattr(_aligned, "_gaussian_weights", both)
    with pytest.raises(AssertionError):
        check_labels(rng)


WIDE = overlapping(500, 20, 5, 0.6, 4)


def test_overlap_in_many_columns(rng):
    """Two searches agree, where one allocation of a hundred is effective."""
    found = [target.allocation_evidence(MixtureModel(5, 20), Rows.of(WIDE), g) for g in rng.spawn(2)]
    for one in found:
        assert one.reliable and one.n_effective > target.FEW and one.log_evidence_std < 0.2
        w = np.exp(one.log_weights - one.log_evidence)
        assert np.log(w.mean()) == pytest.approx(0.0, abs=1e-4)
    std = np.hypot(*(one.log_evidence_std for one in found))
    assert abs(found[0].log_evidence - found[1].log_evidence) < 4.5 * std


def test_a_fit_takes_it(seed):
    """Annealing was up to 1.8 nats low at 0.3, in silence, and took a minute."""
    found = target.allocation_evidence(MixtureModel(5, 20), Rows.of(WIDE), np.random.default_rng(seed))
    fitted = BayesianGMM(5, random_state=seed + 1).fit(WIDE)
    std = np.hypot(found.log_evidence_std, fitted.log_evidence_std_)
    assert fitted.log_evidence_std_ < 0.2 and abs(fitted.log_evidence_ - found.log_evidence) < 4.5 * std


def test_slowness_of_draws_that_owe_nothing_to_each_other(rng):
    R = slowness(rng.standard_normal((40, 48, 400)))
    assert 1 / 40 < R < 2.5 / 40


@pytest.mark.parametrize("slow", ["one of four hundred", "all from the same place"])
def test_slowness_of_slow_chains(rng, slow):
    """Chains that remember for a thousand steps, seen for 160."""
    x = rng.standard_normal((40, 48, 400))
    walk = np.cumsum(rng.standard_normal((40, 48)), axis=0)
    x[:, :, 17] = walk + (0.0 if slow == "all from the same place" else 5.0 * rng.standard_normal(48))
    assert slowness(x) > 5 * _aligned.SLOW


def test_chains_of_two_basins_are_not_bridged(rng):
    """Either of two pairs of groups may share a component, and no chain goes from one to the other."""
    at = np.array([[-6.0, 0.0], [-2, 0], [2, 0], [6, 0]])
    X = at[np.arange(120) % 4] + 0.5 * rng.standard_normal((120, 2))
    assert halves_of(3, X, rng) == []


def test_chains_that_are_slow_are_not_bridged(rng):
    """Three groups within two standard deviations of each other take a thousand sweeps."""
    g = np.random.default_rng(9007)
    n = int(g.integers(200, 1200))
    mu = g.normal(size=(3, 2)) * g.uniform(0.3, 2)
    assert halves_of(3, mu[g.integers(3, size=n)] + g.normal(size=(n, 2)) * 0.8, rng) == []


@pytest.mark.parametrize("above, reliable", [(0.5, True), (5.0, False)])
def test_what_is_rough_may_object(above, reliable):
    """Nothing without bias is much too high, but by chance."""
    precise = target.AllocationEvidence(-10.0, 0.1, np.zeros((1, 2)), np.zeros(1), 90.0, True, False, 5.0)
    rough = precise._replace(log_evidence=-10.0 + above, log_evidence_std=1.0, reliable=False)
    found = target._agreeing(rough, precise)
    assert found.reliable == reliable and found.n_likelihoods == 10.0


def test_what_would_fill_the_memory_is_not_bridged(rng, monkeypatch):
    model = MixtureModel(5, 20)
    monkeypatch.setattr(_aligned, "MOST_PARAMETERS", model.n_params - 1)
    assert by_gaussian(Problem.of(model, Rows.of(WIDE), np.ones(500, dtype=int)), [], []) == []
