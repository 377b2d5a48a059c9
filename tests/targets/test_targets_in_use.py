"""Components in use and empty ones: sums over all allocations, and groups that are as good as one."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from mutants import broken
from scipy.special import logsumexp

from sgevidence.history import Rows
from sgevidence.models import MixtureModel
from sgevidence.models.allocations import features, log_complete_evidence, sample_parameters, statistics
from sgevidence.particles import Weights
from sgevidence.targets import _allocations as target
from sgevidence.targets import _chains, _in_use
from sgevidence.targets._allocation_answer import AllocationEvidence
from sgevidence.targets._allocation_proposal import Problem
from sgevidence.targets._allocation_search import Found
from sgevidence.targets._fewer import log_c


def exactly(model, X, rng, M=4000):
    """The evidence, and draws from the posterior by way of all allocations."""
    F = features(X, np.ones(len(X)), np.zeros(X.shape[1]))
    every = np.array(list(product(range(model.n_components), repeat=len(X))))
    log_p = log_complete_evidence(model, statistics(every, F, model.n_components), np.zeros(X.shape[1]))
    log_Z = logsumexp(log_p)
    z = every[rng.choice(len(every), p=np.exp(log_p - log_Z), size=M)]
    theta = sample_parameters(model, statistics(z, F, model.n_components), np.zeros(X.shape[1]), rng)
    answer = AllocationEvidence(log_Z, 0.01, theta, np.full(M, log_Z), 100.0, True, False, 1.0)
    return answer, every, log_p


def check_empty(rng, with_an_empty_one=_in_use.with_an_empty_one):
    """Σ p(x, z) over the allocations with an empty component, and what their draws predict."""
    for K, a in ((2, 1.0), (4, 0.6)):
        X = rng.standard_normal((5, 2)) * 2
        model = MixtureModel(K, 2, weight_concentration=a)
        problem = Problem.of(model, Rows.of(X), np.ones(5, dtype=int))._replace(origin=np.zeros(2))
        problem = problem._replace(F=features(X, np.ones(5), np.zeros(2)))
        _, every, log_p = exactly(model, X, rng)
        has_empty = np.array([len(set(z)) < K for z in every])
        one, _, _ = exactly(problem.fewer(K - 1).model, X, rng)
        found = with_an_empty_one(problem, one, rng)
        expected = logsumexp(log_p[has_empty])
        assert found.log_evidence == pytest.approx(expected, abs=0.05)
        assert Weights(found.log_weights).log_mean == pytest.approx(found.log_evidence)
        new = Rows.of(X[:1] + 0.3)
        more = np.r_[X, new.X]
        wider = features(more, np.ones(6), np.zeros(2))
        T = statistics(
            np.column_stack([np.repeat(every, K, axis=0), np.tile(np.arange(K), len(every))]), wider, K
        )
        log_new = logsumexp(log_complete_evidence(model, T, np.zeros(2)).reshape(-1, K), axis=1)
        predictive = logsumexp(log_new[has_empty]) - expected
        p = model.log_likelihood(found.theta, new)[:, 0]
        assert np.log(Weights(found.log_weights).W @ np.exp(p)) == pytest.approx(predictive, abs=0.1)


def test_an_empty_component(rng):
    check_empty(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("np.log(K) + log_c", "log_c"),
        ("log_c(model, 1,", "log_c(fewer, 1,"),
        ("-np.log(np.sum(T[:, :, -1] == 0, axis=0))", "0.0"),
    ],
)
def test_power_of_an_empty_component(rng, right, wrong):
    with pytest.raises(AssertionError):
        for g in rng.spawn(3):
            check_empty(g, broken(_in_use.with_an_empty_one, right, wrong))


def answer(log_Z, std=0.1, reliable=True, M=2):
    return AllocationEvidence(log_Z, std, np.zeros((M, 3)), np.full(M, log_Z), 90.0, reliable, False, 5.0)


def test_both_are_added():
    found = _in_use.both(answer(-10.0), answer(-10.0, 0.3, M=6), 5.0)
    assert found.log_evidence == pytest.approx(-10.0 + np.log(2))
    assert found.log_evidence_std == pytest.approx(np.hypot(0.05, 0.15))
    w = Weights(found.log_weights)
    assert w.log_mean == pytest.approx(found.log_evidence) and w.W[:2].sum() == pytest.approx(0.5)
    assert found.n_likelihoods == 10.0 and found.reliable


@pytest.mark.parametrize(
    "log_Z, std, reliable", [(-16.0, 0.1, True), (-16.0, 1.0, False), (-11.0, 0.1, False)]
)
def test_what_is_in_doubt_and_may_count(log_Z, std, reliable):
    assert _in_use.both(answer(-10.0), answer(log_Z, std, reliable=False), 5.0).reliable == reliable


def some_chains(n_empty):
    """Of either half, T draws, numbered by chain."""
    T, C = n_empty.shape[1:]
    number = np.broadcast_to(np.arange(C, dtype=float), (2, T, C))
    return _chains.Chains(number[..., None] * [1.0, -1.0], 10 * number, n_empty, (), 7)


def test_chains_that_keep_others_from_settling_are_left_out():
    n_empty = np.zeros((2, 5, 8), dtype=int)
    n_empty[0, 3, 2] = n_empty[1, :, 0] = 1
    kept = _in_use.all_in_use(some_chains(n_empty))
    assert not kept.n_empty.any() and kept.theta.shape == (2, 5, 8, 2) and kept.n_sweeps == 7
    np.testing.assert_array_equal(
        kept.theta[:, 4, :, 0], [[0, 1, 3, 4, 5, 6, 7, 0], [1, 2, 3, 4, 5, 6, 7, 1]]
    )
    np.testing.assert_array_equal(kept.log_p, 10 * kept.theta[..., 0])


@pytest.mark.parametrize("n_left", [0, 3])
def test_all_chains_or_too_few(n_left):
    n_empty = np.zeros((2, 5, 8), dtype=int)
    n_empty[1, 2, :n_left] = 2
    assert _in_use.all_in_use(some_chains(n_empty)) is None


def test_components_in_use_are_counted():
    z = np.array([[0, 0, 1], [2, 2, 2], [0, 1, 2]])
    np.testing.assert_array_equal(_in_use.empties(Found(z, 0.0, 1, z), 3), [1, 2, 0])


@pytest.fixture
def benchmarks(monkeypatch):
    """Beside the calibration's files, which import each other as scripts do."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples" / "benchmarks"))


def five_groups():
    """500 rows of 20 columns in five groups; with two of them as one, the evidence is about as high."""
    from calibration import CELLS

    cell = CELLS["mixture K=5, d=20, n=500, overlapping in many columns"]
    return cell.make(cell.rng(0, 0))


def check_five_groups(rng):
    """All in use, by chains from the truth and code of its own, and four components: both are in it."""
    import calibration_wide

    data, five, four = five_groups(), MixtureModel(5, 20), MixtureModel(4, 20)
    full = np.mean(calibration_wide.bridges(data.X, np.eye(5)[data.start], rng), axis=0)[0] + np.log(120)
    fewer = target.allocation_evidence(four, Rows.of(data.X), rng).log_evidence
    fewer += log_c(five, 1, 500.0) + np.log(5)
    expected = np.logaddexp(full, fewer)
    assert max(full, fewer) < expected - 0.3
    found = target.allocation_evidence(five, Rows.of(data.X), rng)  # one search of four is annealed, ± 0.7
    assert found.reliable and found.log_evidence_std < 1.0
    assert abs(found.log_evidence - expected) < 4.5 * max(found.log_evidence_std, 0.06)
    assert Weights(found.log_weights).log_mean == pytest.approx(found.log_evidence)


@pytest.mark.slow
@pytest.mark.parametrize("start", ["where the search ends", "all in use"])
def test_groups_that_are_as_good_as_one(rng, monkeypatch, benchmarks, start):
    if start == "all in use":
        data = five_groups()

        def from_truth(problem, draws, rngs):
            if problem.model.n_components < 5:
                return followed(problem, draws, rngs)
            T = statistics(np.tile(data.start, (_chains.EACH, 1)), problem.F, 5)
            theta = [sample_parameters(problem.model, T, problem.origin, g) for g in rngs]
            return _chains.followed_from(problem, theta, rngs)

        followed = _chains.followed
        monkeypatch.setattr(target, "followed", from_truth)
    check_five_groups(rng)


@pytest.mark.slow
def test_power_over_groups(rng, monkeypatch, benchmarks):
    monkeypatch.setattr(target, "with_more_in_use", lambda *_: None)
    with pytest.raises(AssertionError):
        check_five_groups(rng)
