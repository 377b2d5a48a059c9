"""Annealed allocations: sums over all of them, labels, and groups of heavy tails."""

from types import SimpleNamespace

import numpy as np
import pytest
from enumeration import enumerated
from mutants import broken

from sgevidence.history import Rows
from sgevidence.models import MixtureModel
from sgevidence.particles import Cloud, Weights
from sgevidence.targets import _allocations as target
from sgevidence.targets import _annealed_allocations
from sgevidence.targets._allocation_proposal import Problem
from sgevidence.targets._allocation_search import Found
from sgevidence.targets._allocations import allocation_evidence
from sgevidence.targets._independent_searches import searched_together


def problem_of(K, X):
    return Problem.of(MixtureModel(K, X.shape[1]), Rows.of(X), np.ones(len(X), dtype=int))


def found(K, X, rng):
    """By searches of these rows, and annealing."""
    problem, rngs = problem_of(K, X), rng.spawn(2)
    searched = searched_together(problem.model, problem.X, problem.F, problem.origin, rngs)
    return _annealed_allocations.by_annealing(problem, searched, rngs)


def check_few(rng, seeds=4, shapes=((2, 3), (3, 8), (5, 4))):
    """Eight rows, two of which are far from the others."""
    z = []
    for K, p in shapes:
        X = np.random.default_rng([K, p]).standard_normal((8, p))
        X[:2] += 4.0
        expected = enumerated(MixtureModel(K, p), Rows.of(X))
        for g in rng.spawn(seeds):
            one = found(K, X, g)
            assert one.log_evidence_std < 0.3 and one.reliable
            w = Weights(one.log_weights)
            assert w.log_mean == pytest.approx(one.log_evidence) and len(one.theta) == len(w.W)
            z.append((one.log_evidence - expected) / one.log_evidence_std)
    assert np.all(np.abs(z) < 4.5) and abs(np.mean(z)) < 4 / np.sqrt(len(z)), z


@pytest.mark.slow
def test_it_is_the_sum_over_all_allocations(rng):
    check_few(rng)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, right, wrong",
    [
        (
            "annealed",
            "collapsed_sweep(model, z, F, origin, rng, q, lam)",
            "collapsed_sweep(model, z, F, origin, rng, q, 0.5 * lam)",
        ),
        pytest.param(
            "annealed",
            "collapsed_sweep(model, z, F, origin, rng, q, lam)",
            "collapsed_sweep(model, z, F, origin, rng, None, 1.0)",
            marks=pytest.mark.slow,
        ),
        pytest.param("annealed", "delta * ell", "0.8 * delta * ell", marks=pytest.mark.slow),
        (
            "annealed",
            "log_complete_evidence(model, statistics(z, F, q.K), origin) - q.log_density(z)",
            "log_complete_evidence(model, statistics(z, F, q.K), origin)",
        ),
        ("annealed", "q.relabelled(z, 1.0 - lam, rng)", "q.relabelled(z, 1.0, rng)"),
        ("by_annealing", "cloud.log_Z + cloud.weights.log_w", "cloud.weights.log_w"),
    ],
)
def test_power_over_few_rows(rng, monkeypatch, name, right, wrong):
    mutant = broken(getattr(_annealed_allocations, name), right, wrong)
    monkeypatch.setattr(_annealed_allocations, name, mutant)
    with pytest.raises((AssertionError, UnboundLocalError)):
        check_few(rng, 12, shapes=[(3, 8)])


def groups(K, n, p, rng):
    """Rows of K groups that hardly overlap: of K! labellings each search knows one."""
    return 3.0 * rng.standard_normal((K, p))[np.arange(n) % K] + rng.standard_normal((n, p))


def check_labels(rng, sizes):
    """Far groups, beside conditionals that cover the posterior, and all labellings of it."""
    for K in sizes:
        X = groups(K, 60, 8, rng)
        problem = problem_of(K, X)
        expected = allocation_evidence(problem.model, problem.rows, rng)
        assert expected.reliable and expected.n_effective > 90
        one = found(K, X, rng)
        assert abs(one.log_evidence - expected.log_evidence) < 4 * max(one.log_evidence_std, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("K", [3, 5])
def test_all_labellings_count(rng, K):
    check_labels(rng, [K])


@pytest.mark.slow
@pytest.mark.parametrize(
    "right, wrong", [("q.relabelled(z, 1.0 - lam, rng)", "z"), ("1.0 if is_last else SHARE", "1.0")]
)
def test_power_over_labels(rng, monkeypatch, right, wrong):
    monkeypatch.setattr(
        _annealed_allocations, "annealed", broken(_annealed_allocations.annealed, right, wrong)
    )
    with pytest.raises(AssertionError):
        for g in rng.spawn(4):
            check_labels(g, sizes=[5])


def test_draws_are_the_posterior(rng):
    """What they predict of a new row, beside the sums over all allocations."""
    X, new = np.random.default_rng(3).standard_normal((7, 2)), np.array([[0.5, -0.5]])
    model, rows = MixtureModel(3, 2), Rows.of(X)
    one = found(3, X, rng)
    predictive = Weights(one.log_weights).W @ np.exp(model.log_likelihood(one.theta, Rows.of(new))[:, 0])
    expected = np.exp(enumerated(model, Rows.of(np.r_[X, new])) - enumerated(model, rows))
    assert predictive == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("apart, reliable", [(0.0, True), (0.9, True), (2.0, False)])
def test_halves_that_differ_say_so(rng, monkeypatch, apart, reliable):
    """Half of it is in the bar, and what neither has seen may be more."""
    z, log_w = np.zeros((4, 6), dtype=np.int16), iter((0.0, apart))
    monkeypatch.setattr(
        _annealed_allocations, "annealed", lambda *_: (Cloud.planted(z).weighted(next(log_w)), 1)
    )
    one = found(2, np.eye(6), rng)
    assert one.reliable == reliable
    # each half of four particles that agree may have missed a part of one in four: variance 1/M²
    assert one.log_evidence_std == pytest.approx(np.hypot(apart, np.sqrt(2) / 4) / 2)


@pytest.mark.parametrize("short, reliable", [(0.0, True), (4.0, True), (400.0, False)])
def test_annealing_must_not_fall_short_of_searches(rng, monkeypatch, short, reliable):
    """What it falls short by, in errors, makes its bar longer; by more than three it is not taken."""
    rough = found(2, np.random.default_rng(1).standard_normal((6, 8)), rng)
    rough = rough._replace(reliable=False, log_evidence_std=2.0, n_effective=5.0)
    low = rough._replace(log_evidence=rough.log_evidence - short, log_evidence_std=0.1, reliable=True)
    monkeypatch.setattr(target, "global_bridge", lambda *_: rough)
    monkeypatch.setattr(target, "_by_chains", lambda *_: rough)
    monkeypatch.setattr(target, "by_annealing", lambda *_: low)
    taken = allocation_evidence(MixtureModel(2, 8), Rows.of(np.eye(8)), rng)
    assert taken.reliable == reliable
    if reliable:
        assert taken.log_evidence_std == pytest.approx(0.1 * max(1.0, short / np.hypot(2.0, 0.1)))


def heavy(seed, n=70, p=30):
    """Five groups of t-distributed rows: any far row may be alone, or with any other."""
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1.5, (5, p))[rng.integers(5, size=n)] + rng.standard_t(3, (n, p))


@pytest.mark.slow
@pytest.mark.parametrize("data_seed", [1, 2])
def test_few_rows_of_many_columns(rng, data_seed):
    """Two searches, and annealing, agree; one in four searches was up to three nats low at 0.05."""
    X = heavy(data_seed)
    model = MixtureModel(6, X.shape[1])
    first, *others = [allocation_evidence(model, Rows.of(X), g) for g in rng.spawn(3)]
    for one in (*others, found(6, X, rng)):
        std = np.hypot(first.log_evidence_std, one.log_evidence_std)
        assert abs(one.log_evidence - first.log_evidence) < 4 * std + 0.02


def test_the_error_bar_has_what_halves_say_and_what_they_differ_by(rng, monkeypatch):
    X = rng.standard_normal((6, 2))
    problem = Problem.of(MixtureModel(2, 2), Rows.of(X), np.ones(6, dtype=int))
    z = rng.integers(2, size=(5, 6))
    says = iter([(-10.0, 0.3), (-10.8, 0.4)])

    def annealed(problem, q, rng):
        log_Z, std = next(says)
        weights = SimpleNamespace(log_w=np.zeros(5))
        half = SimpleNamespace(
            log_evidence=log_Z, log_evidence_std=std, theta=z, log_Z=log_Z, weights=weights
        )
        return half, 7

    monkeypatch.setattr(_annealed_allocations, "annealed", annealed)
    found = _annealed_allocations.by_annealing(problem, [Found(z, 0.0, 1, z)] * 2, rng.spawn(2))
    assert found.log_evidence == pytest.approx(np.log((np.exp(-10.0) + np.exp(-10.8)) / 2))
    assert found.log_evidence_std == pytest.approx(np.sqrt(0.3**2 + 0.4**2 + 0.8**2) / 2)
