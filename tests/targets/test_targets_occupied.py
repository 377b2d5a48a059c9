"""Components in use and empty ones: sums over all allocations, and groups that are as good as one."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from mutants import broken
from scipy.special import binom, logsumexp

from sgevidence.history import Rows
from sgevidence.models import MixtureModel
from sgevidence.models.allocations import features, log_complete_evidence, sample_parameters, statistics
from sgevidence.particles import Weights
from sgevidence.targets import _allocations as target
from sgevidence.targets import _chains, _occupied
from sgevidence.targets._allocation_proposal import Problem
from sgevidence.targets._allocation_search import Found
from sgevidence.targets._combine import AllocationEvidence
from sgevidence.targets._smaller_mixtures import log_c


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


def check_empty(rng, with_empty_ones=_occupied.with_empty_ones, log_ways=_occupied.log_ways):
    """Σ p(x, z) over the allocations with m empty components or more, and what their draws predict."""
    for K, m, a in ((2, 1, 1.0), (4, 1, 0.6), (4, 2, 0.6)):
        X = rng.standard_normal((5, 2)) * 2
        model = MixtureModel(K, 2, weight_concentration=a)
        problem = Problem.of(model, Rows.of(X), np.ones(5, dtype=int))._replace(origin=np.zeros(2))
        problem = problem._replace(F=features(X, np.ones(5), np.zeros(2)))
        _, every, log_p = exactly(model, X, rng)
        has_empty = np.array([len(set(z)) <= K - m for z in every])
        one, _, _ = exactly(problem.fewer(K - m).model, X, rng)
        found = with_empty_ones(problem, one, m, rng)
        expected = logsumexp(log_p[has_empty])
        assert found.log_evidence == pytest.approx(expected, abs=0.05)
        assert Weights(found.log_weights).log_mean == pytest.approx(found.log_evidence)
        exactly_m = np.array([len(set(z)) == K - m for z in every])
        has_none = exactly(problem.fewer(K - m).model, X, rng)
        all_ = logsumexp(has_none[2][[len(set(z)) == K - m for z in has_none[1]]])
        assert all_ + log_ways(problem, m) == pytest.approx(logsumexp(log_p[exactly_m]))
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


def test_empty_components(rng):
    check_empty(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("one.log_weights + log_share + log_all", "one.log_weights + log_share"),
        ("-np.log(binom(np.sum(T[:, :, -1] == 0, axis=0), m))", "0.0"),
        ("binom(np.sum(T[:, :, -1] == 0, axis=0), m)", "binom(np.sum(T[:, :, -1] == 0, axis=0), 1)"),
    ],
)
def test_power_of_empty_components(rng, right, wrong):
    with pytest.raises(AssertionError):
        for g in rng.spawn(3):
            check_empty(g, broken(_occupied.with_empty_ones, right, wrong))


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("np.log(binom(K, m))", "np.log(K)"),
        (
            "log_c(problem.model, m, problem.rows.weight.sum())",
            "log_c(problem.model, 1, problem.rows.weight.sum())",
        ),
    ],
)
def test_power_of_ways(rng, right, wrong):
    with pytest.raises(AssertionError):
        check_empty(rng, log_ways=broken(_occupied.log_ways, right, wrong))


def some_chains(n_empty, d=2):
    """Of either half, T draws of d parameters, numbered by chain."""
    T, C = n_empty.shape[1:]
    number = np.broadcast_to(np.arange(C, dtype=float), (2, T, C))
    return _chains.Chains(number[..., None] * np.resize([1.0, -1.0], d), 10 * number, n_empty, (), 7)


@pytest.fixture
def starts(monkeypatch):
    """Where chains are started, which stay with all components in use or do not, as ``starts[0]`` says."""
    given = [0]

    def followed_from(problem, theta, rngs):
        given.append(theta)
        return some_chains(np.full((2, 5, 8), given[0]))

    monkeypatch.setattr(_occupied, "followed_from", followed_from)
    return given


def two_groups(rng, K, n=40):
    X = rng.standard_normal((n, 2)) + 9.0 * (np.arange(n) % 2)[:, None]
    return Problem.of(MixtureModel(K, 2), Rows.of(X), np.ones(n, dtype=int))


def test_chains_that_keep_others_from_settling_are_left_out(rng, starts):
    n_empty = np.zeros((2, 5, 8), dtype=int)
    n_empty[0, 3, 2] = n_empty[1, :, 1:] = 1
    problem = two_groups(rng, 2)
    assert _occupied.all_occupied(problem, some_chains(n_empty), [], rng.spawn(2)) is not None
    first, second = (set(half[:, 0]) for half in starts[1])
    assert first == {0, 1, 3, 4, 5, 6, 7} and second == {0} and starts[1][0].shape == (_chains.EACH, 2)
    n_empty[1] = 1
    _occupied.all_occupied(problem, some_chains(n_empty), [], rng.spawn(2))
    assert set(starts[2][1][:, 0]) == first  # of the other half
    starts[0] = 1
    n_empty[0] = 1
    assert _occupied.all_occupied(problem, some_chains(n_empty), [], rng.spawn(2)) is None


def test_searches_may_know_what_no_chain_does(rng, starts):
    problem, none = two_groups(rng, 2), some_chains(np.ones((2, 5, 8), dtype=int), 10)
    # half of the two groups each: a tenth of the rows would have to come together by chance
    mixed, apart = np.tile([0, 0, 1, 1] * 10, (3, 1)), np.tile([0, 1] * 20, (3, 1))
    found = [Found(z, 0.0, 1, z) for z in (mixed, apart)]
    assert _occupied.all_occupied(problem, none, found, rng.spawn(2)) is not None
    mu = [half[:, 2:6].reshape(-1, 2, 2) for half in starts[1]]
    first, second = (np.abs(half[:, 0] - half[:, 1]) for half in mu)
    assert np.all(first < 5) and np.all(second > 5)


def check_a_split(rng, starts):
    """No search knows two groups in two components; of what it knows they are a split away."""
    problem, none = two_groups(rng, 2), some_chains(np.ones((2, 5, 8), dtype=int), 10)
    z = np.zeros((3, 40), dtype=int)
    T = statistics(np.zeros((99, 40), dtype=int), problem.F, 2)
    one = sample_parameters(problem.model, T, problem.origin, rng)
    _occupied.all_occupied(problem, none, [Found(z, 0.0, 1, z)] * 2, rng.spawn(2))
    log_p = problem.model.sum_log_likelihood(np.concatenate(starts[1]), problem.rows)
    # two groups in one component are as wide as they are apart, by which 40 rows are less probable
    assert np.mean(log_p > problem.model.sum_log_likelihood(one, problem.rows).max() + 30) > 0.1


def test_a_split_may_know_what_no_search_does(rng, starts):
    check_a_split(rng, starts)


def test_power_of_a_split(rng, starts, monkeypatch):
    monkeypatch.setattr(_occupied, "split_off", lambda z, X, free, rng: z)
    with pytest.raises(AssertionError):
        check_a_split(rng, starts)


def check_more_in_use(rng, n_empty, with_more_in_use=_occupied.with_more_in_use):
    """Two groups in components 0 and 2 of three, or in one of them: what is held with exactly one empty."""
    problem = two_groups(rng, 3)
    z = np.tile([0, 2] * 20 if n_empty == 1 else [1] * 40, (3, 1))
    found = [Found(z, 0.0, 1, z)] * 2
    more = max(with_more_in_use(problem, found, 2, rng.spawn(2)), key=lambda one: one.log_evidence)
    assert more.reliable
    two = target.allocation_evidence(problem.fewer(2).model, problem.rows, rng)
    expected = two.log_evidence + np.log(3) + log_c(problem.model, 1, 40.0)
    assert abs(more.log_evidence - expected) < 4 * np.hypot(more.log_evidence_std, 0.02)
    assert more.at_most > expected - 0.1 and more.at_most < expected + 8.0
    p = problem.model.log_likelihood(more.theta, problem.rows.take(np.arange(2)))
    q = problem.fewer(2).model.log_likelihood(two.theta, problem.rows.take(np.arange(2)))
    p, q = (np.log(Weights(w).W @ np.exp(one)) for one, w in ((p, more.log_weights), (q, two.log_weights)))
    # a third component, whose weight is a priori that of one row
    np.testing.assert_allclose(p, q, atol=0.15)


@pytest.mark.parametrize("n_empty", [1, 2])
def test_more_in_use(rng, n_empty):
    check_more_in_use(rng, n_empty)


@pytest.mark.parametrize(
    "n_empty, right, wrong",
    [
        (
            1,
            "with_empty_ones(problem, answer, e, rngs[0])",
            "with_empty_ones(problem, answer, e + 1, rngs[0])",
        ),
        (
            2,
            "_starts(fewer, _known(problem, found, e), next_to_it, rngs)",
            "_starts(fewer, _known(problem, found, e), _known(problem, [], 0), rngs)",
        ),
    ],
)
def test_power_of_more_in_use(rng, n_empty, right, wrong):
    with pytest.raises((AssertionError, ValueError)):
        check_more_in_use(rng, n_empty, broken(_occupied.with_more_in_use, right, wrong))


def test_a_component_that_chains_empty_is_not_in_use(rng):
    """One group by two components: a third of the draws have one of them empty."""
    problem = two_groups(rng, 2, n=4)
    problem = Problem.of(problem.model, Rows.of(problem.X * 0.01), np.ones(4, dtype=int))
    z = np.array([[0, 0, 0, 1]])
    for one in _occupied.with_more_in_use(problem, [Found(z, 0.0, 1, z)] * 2, 1, rng.spawn(2)):
        assert not one.reliable


def test_components_in_use_are_counted():
    z = np.array([[0, 0, 1], [2, 2, 2], [0, 1, 2]])
    np.testing.assert_array_equal(_occupied.empties(z, 3), [1, 2, 0])


@pytest.fixture
def benchmarks(monkeypatch):
    """Beside the calibration's files, which import each other as scripts do."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples" / "benchmarks"))


def five_groups(K=5, seed=0, n=500):
    """Rows of 20 columns in five groups; with two of them as one, the evidence is about as high."""
    from calibration import CELLS
    from calibration_mixtures import many_columns

    if n != 500:
        return many_columns(np.random.default_rng([62817, seed]), n, k=5, d=20)
    name = {5: "overlapping in many columns", 7: "5 groups that overlap in many columns"}[K]
    cell = CELLS[f"mixture K={K}, d=20, n=500, {name}"]
    return cell.make(cell.rng(seed, 0))


def check_five_groups(rng, K=5, seed=0, n=500):
    """Five in use, by chains from the truth and code of its own, and four: both are in it."""
    import calibration_wide

    data, model, four = five_groups(K, seed, n), MixtureModel(K, 20), MixtureModel(4, 20)
    full = np.mean(calibration_wide.bridges(data.X, np.eye(5)[data.start], rng), axis=0)[0] + np.log(120)
    full += log_c(model, K - 5, float(n)) + np.log(binom(K, 5))
    fewer = target.allocation_evidence(four, Rows.of(data.X), rng).log_evidence
    fewer += log_c(model, K - 4, float(n)) + np.log(binom(K, 4))
    expected = np.logaddexp(full, fewer)
    found = target.allocation_evidence(model, Rows.of(data.X), rng)
    assert found.reliable and found.log_evidence_std < 0.3
    assert abs(found.log_evidence - expected) < 4.5 * max(found.log_evidence_std, 0.06)
    assert Weights(found.log_weights).log_mean == pytest.approx(found.log_evidence)


@pytest.mark.nightly
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


@pytest.mark.nightly
@pytest.mark.parametrize("K, seed, n", [(5, 9, 500), (7, 10, 500), (5, 2, 700)])
def test_groups_in_more_components(rng, benchmarks, K, seed, n):
    """With five in use held by one search end in ten; before, 1.2 to 2.7 nats low at 0.3 to 0.6."""
    check_five_groups(rng, K, seed, n)


@pytest.mark.nightly
def test_power_over_groups(rng, monkeypatch, benchmarks):
    monkeypatch.setattr(target, "add_disjoint", lambda one, other: one)
    with pytest.raises(AssertionError):
        check_five_groups(rng)


def check_what_no_search_finds():
    """Four of five groups hold the most, by 3 nats; six searches of eight know three at most."""
    rows = Rows.of(five_groups(5, 3).X)
    for rng in np.random.default_rng(0).spawn(3):
        found = target.allocation_evidence(MixtureModel(4, 20), rows, rng)
        assert found.reliable and found.log_evidence_std < 0.3
        # where searches know four
        assert abs(found.log_evidence + 14303.77) < 4 * np.hypot(found.log_evidence_std, 0.08)


@pytest.mark.nightly
def test_what_no_search_finds(benchmarks):
    check_what_no_search_finds()


@pytest.mark.nightly
def test_power_of_splitting_further(benchmarks, monkeypatch):
    monkeypatch.setattr(_occupied, "split_off", lambda z, X, free, rng: z)
    with pytest.raises(AssertionError):
        check_what_no_search_finds()
