"""A bridge from a Gaussian: closed forms, the sum over all allocations, labels."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from enumeration import enumerated
from mutants import broken
from overlap import overlapping

from sgevidence import BayesianGMM
from sgevidence.history import Rows
from sgevidence.models import MixtureModel
from sgevidence.models.allocations import sample_parameters, statistics
from sgevidence.particles import Weights
from sgevidence.targets import _allocations as target
from sgevidence.targets import _gaussian_bridge
from sgevidence.targets._allocation_proposal import DRAWS, Problem
from sgevidence.targets._chains import followed, followed_from
from sgevidence.targets._combine import MIN_EFFECTIVE_CHAINS
from sgevidence.targets._gaussian_bridge import gaussian_bridge, most
from sgevidence.targets._independent_searches import searched_together


def halves_of(K, X, rng):
    problem = Problem.of(MixtureModel(K, X.shape[1]), Rows.of(X), np.ones(len(X), dtype=int))
    rngs = rng.spawn(2)
    found = searched_together(problem.model, problem.X, problem.F, problem.origin, rngs)
    T = np.concatenate([problem.proposal(one, g) for one, g in zip(found, rngs)], axis=1)
    chains = followed(problem, problem.draw(T, DRAWS, rng).halves(), rngs)
    return gaussian_bridge(problem, chains, rngs)


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


@pytest.mark.slow
@pytest.mark.parametrize("n, p", [(50, 3), (200, 40)])
def test_one_component_is_its_closed_form(rng, n, p):
    X = 2.0 + 3.0 * np.random.default_rng(8).standard_normal((n, p))
    check(MixtureModel(1, p).exact_log_evidence(Rows.of(X)), halves_of(1, X, rng))


@cache
def ten(p):
    X = overlapping(10, p, 2, 0.6, 2)
    return X, enumerated(MixtureModel(2, p), Rows.of(X))


def check_few(rng, monkeypatch, seeds=6):
    """Ten rows, any of which may be of either component."""
    z = []
    for p in (2, 4):
        X, expected = ten(p)
        for g in rng.spawn(seeds):
            halves = halves_of(2, X, g)
            check(expected, halves)
            z += [(half.estimate.log_Z - expected) / half.estimate.std for half in halves]
    assert abs(np.mean(z)) < 4 / np.sqrt(len(z)), z


@pytest.mark.slow
def test_it_is_the_sum_over_all_allocations(rng, monkeypatch):
    check_few(rng, monkeypatch)


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("_of_all_labels", "one.log_Z + lgamma(K + 1)", "one.log_Z"),
        ("_of_all_labels", "one.log_w + lgamma(K + 1)", "one.log_w"),
        (
            "_log_density",
            "-0.5 * np.sum(x**2, axis=0) - 0.5 * len(m) * np.log(2 * np.pi) - np.sum(np.log(np.diag(L)))",
            "-0.5 * np.sum(x**2, axis=0) - 0.5 * len(m) * np.log(2 * np.pi)",
        ),
        (
            "log_posterior",
            "problem.model.log_prior(theta) + problem.model.sum_log_likelihood(theta, problem.rows)",
            "problem.model.sum_log_likelihood(theta, problem.rows)",
        ),
    ],
)
def test_power_over_few_rows(rng, monkeypatch, name, right, wrong):
    monkeypatch.setattr(_gaussian_bridge, name, broken(getattr(_gaussian_bridge, name), right, wrong))
    with pytest.raises((AssertionError, np.linalg.LinAlgError)):
        check_few(rng, monkeypatch)


def check_labels(rng):
    """Of a Gaussian as wide as both labellings the draws of one are half of the evidence, no more."""
    X, expected = ten(2)
    problem = Problem.of(MixtureModel(2, 2), Rows.of(X), np.ones(len(X), dtype=int))
    start = problem.model.sample_prior(rng, 400)
    theta, _ = problem.swept(start, 50, rng)  # of both
    slots = problem.model.slot_reference(theta)
    m, L = _gaussian_bridge._fitted(theta)  # a little wider, so that no draw weighs much
    log_w = np.concatenate(
        [_gaussian_bridge._gaussian_weights(problem, slots, m, 1.3 * L, rng)[1] for _ in range(40)]
    )
    w = Weights(log_w)
    assert abs(w.log_mean + np.log(2) - expected) < 4 * np.sqrt(w.relative_variance) < 0.4
    assert 0.3 < np.mean(log_w > -np.inf) < 0.7


def test_draws_of_one_labelling_alone_count(rng):
    check_labels(rng)


def test_power_draws_of_both_count(rng, monkeypatch):
    both = broken(
        _gaussian_bridge._gaussian_weights,
        "np.where(in_A, log_posterior(problem, theta) - _log_density(theta, m, L), -np.inf)",
        "np.where(in_A | True, log_posterior(problem, theta) - _log_density(theta, m, L), -np.inf)",
    )
    monkeypatch.setattr(_gaussian_bridge, "_gaussian_weights", both)
    with pytest.raises(AssertionError):
        check_labels(rng)


WIDE = overlapping(500, 20, 5, 0.6, 4)


@pytest.mark.slow
def test_overlap_in_many_columns(rng):
    """Two searches agree, where one allocation of a hundred is effective."""
    found = [target.allocation_evidence(MixtureModel(5, 20), Rows.of(WIDE), g) for g in rng.spawn(2)]
    for one in found:
        assert one.reliable and one.n_effective > MIN_EFFECTIVE_CHAINS and one.log_evidence_std < 0.2
        w = np.exp(one.log_weights - one.log_evidence)
        assert np.log(w.mean()) == pytest.approx(0.0, abs=1e-4)
    std = np.hypot(*(one.log_evidence_std for one in found))
    assert abs(found[0].log_evidence - found[1].log_evidence) < 4.5 * std


@pytest.mark.slow
def test_a_fit_takes_it(seed):
    """Annealing was up to 1.8 nats low at 0.3, in silence, and took a minute."""
    found = target.allocation_evidence(MixtureModel(5, 20), Rows.of(WIDE), np.random.default_rng(seed))
    fitted = BayesianGMM(5, random_state=seed + 1).fit(WIDE)
    std = np.hypot(found.log_evidence_std, fitted.log_evidence_std_)
    assert fitted.log_evidence_std_ < 0.2 and abs(fitted.log_evidence_ - found.log_evidence) < 4.5 * std


def check_most(rng, most=most):
    """One component, whose evidence is known; its posterior is no Gaussian, so the bound is above it."""
    X = rng.standard_normal((30, 3))
    problem = Problem.of(MixtureModel(1, 3), Rows.of(X), np.ones(30, dtype=int))
    theta = [
        sample_parameters(problem.model, statistics(np.zeros((48, 30), int), problem.F, 1), problem.origin, g)
        for g in rng.spawn(2)
    ]
    chains = followed_from(problem, theta, rng.spawn(2))
    above = most(problem, chains) - problem.model.exact_log_evidence(problem.rows)
    assert 0.0 < above < 3.0


def test_no_more_than_a_gaussian(rng):
    check_most(rng)


def check_few_draws(rng, most=most, N=15, d=8, seeds=60):
    """Few draws of a Gaussian say what it holds without bias, their covariance notwithstanding."""
    problem = SimpleNamespace(model=MixtureModel(1, 1))
    A = rng.standard_normal((d, d))
    log_p = 1.5 - 0.5 * (d * np.log(2 * np.pi * np.e) + np.linalg.slogdet(A @ A.T)[1])  # log Z = 1.5 nats
    chains = [
        SimpleNamespace(theta=g.standard_normal((2, N, d)) @ A.T, log_p=np.full((2, N), log_p))
        for g in rng.spawn(seeds)
    ]
    errors = np.array([most(problem, one) - 1.5 for one in chains])
    assert abs(errors.mean()) < 4.5 * errors.std() / np.sqrt(seeds)


def test_few_draws_of_a_gaussian(rng):
    check_few_draws(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("log_det -= np.sum(digamma(...)) - d * np.log(...)", "pass"),
        ("0.5 * (N - 1 - np.arange(d))", "0.5 * (N - np.arange(d))"),
    ],
)
def test_power_of_few_draws(rng, right, wrong):
    with pytest.raises(AssertionError):
        check_few_draws(rng, broken(most, right, wrong), seeds=400)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("1 + np.log(2 * np.pi)", "np.log(2 * np.pi)"),
        ("np.linalg.slogdet(np.cov(theta.T))[1]", "2 * np.linalg.slogdet(np.cov(theta.T))[1]"),
    ],
)
def test_power_of_a_gaussian(rng, right, wrong):
    with pytest.raises(AssertionError):
        check_most(rng, broken(most, right, wrong))
