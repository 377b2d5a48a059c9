"""Several ways to put groups together, each in a basin of its own: exact sums over all allocations."""

from itertools import product

import numpy as np
import pytest
from mutants import broken
from scipy.special import logsumexp

from sgevidence.history import Rows
from sgevidence.models import MixtureModel
from sgevidence.models.allocations import log_complete_evidence, sample_parameters, statistics
from sgevidence.particles import Weights
from sgevidence.targets import _separated_modes
from sgevidence.targets._allocation_proposal import Problem
from sgevidence.targets._chains import EACH, Chains, followed_from
from sgevidence.targets._combine import AllocationEvidence


def four_groups(rng, far=8.0):
    """Of four rows each at the corners of a square, as like as not if its axes are exchanged; K = 2.

    So groups may be put together in two ways that hold the same, and are far from each other.
    """
    corner = np.repeat([[0.0, 0.0], [far, far], [0.0, far]], [2, 2, 4], axis=0)
    X = np.repeat(corner, 2, axis=1) + rng.standard_normal((8, 4))
    X = np.concatenate([X, X[:, [2, 3, 0, 1]]])
    return Problem.of(MixtureModel(2, 4), Rows.of(X), np.ones(16, dtype=int))


def all_occupied(problem):
    """log Σ p(x, z) over the allocations that have no empty component."""
    n, K = len(problem.F), problem.model.n_components
    z = np.array(list(product(range(K), repeat=n)), dtype=np.int16)
    z = z[[len(set(one)) == K for one in z]]
    T = statistics(z, problem.F, K)
    return logsumexp(log_complete_evidence(problem.model, T, problem.origin))


#: All ways to put groups at (0, 0), (1, 1), (0, 1) and (1, 0) into two; the first two hold the same.
WAYS = np.array(
    [[0, 1, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]
)[:, np.repeat([0, 1, 2, 0, 1, 3], [2, 2, 4, 2, 2, 4])]


def chains_from(problem, ways, rngs):
    """Chains of either half that start from allocations, as often one as another, with any labels."""
    halves = []
    for own, rng in zip(ways, rngs):
        z = np.resize(own, (EACH, own.shape[1]))
        z = np.where(rng.random((EACH, 1)) < 0.5, z, 1 - z)
        T = statistics(z, problem.F, problem.model.n_components)
        halves.append(sample_parameters(problem.model, T, problem.origin, rng))
    return followed_from(problem, halves, rngs)


def check_ways(rng, sum_of_separated_modes=_separated_modes.sum_of_separated_modes, seeds=3):
    n_reliable = 0
    for g in rng.spawn(seeds):
        problem, rngs = four_groups(g), g.spawn(2)
        answer = sum_of_separated_modes(problem, chains_from(problem, [WAYS, WAYS], rngs), rngs)
        n_reliable += answer.reliable
        assert answer.log_evidence_std < 0.05
        assert abs(answer.log_evidence - all_occupied(problem)) < 4 * answer.log_evidence_std
        assert Weights(answer.log_weights).log_mean == pytest.approx(answer.log_evidence)
        # the draws are of both ways, as often one as the other
        mu = answer.theta[:, 2:10].reshape(-1, 2, 4)
        is_first = np.abs(mu[:, 0, 2] - mu[:, 1, 2]) > np.abs(mu[:, 0, 0] - mu[:, 1, 0])
        assert abs(Weights(answer.log_weights).W @ is_first - 0.5) < 0.1
    assert 2 * n_reliable > seeds


@pytest.mark.slow
def test_it_is_the_sum_over_all_ways(rng):
    check_ways(rng)


def test_chains_of_one_way_alone_are_half_of_it(rng):
    problem, rngs = four_groups(rng), rng.spawn(2)
    answer = _separated_modes.sum_of_separated_modes(
        problem, chains_from(problem, [WAYS[:1]] * 2, rngs), rngs
    )
    assert abs(answer.log_evidence + np.log(2) - all_occupied(problem)) < 4 * answer.log_evidence_std


def test_a_way_that_one_half_does_not_know_is_not_known_well(rng):
    problem, rngs = four_groups(rng), rng.spawn(2)
    answer = _separated_modes.sum_of_separated_modes(
        problem, chains_from(problem, [WAYS, WAYS[:1]], rngs), rngs
    )
    assert not answer.reliable


def check_twice(rng, sum_of_separated_modes=_separated_modes.sum_of_separated_modes):
    """Chains of one way in two basins by mistake: it counts once."""
    for g in rng.spawn(4):
        problem, rngs = four_groups(g), g.spawn(2)
        answer = sum_of_separated_modes(problem, chains_from(problem, [WAYS, WAYS], rngs), rngs)
        assert abs(answer.log_evidence - all_occupied(problem)) < 4 * answer.log_evidence_std


def in_pieces(model, chains):
    """One more basin than there are."""
    basin = basins(model, chains)
    basin += basin > 0
    basin[:, ::2] += basin[:, ::2] == 0
    return basin


basins = _separated_modes.basins


@pytest.mark.slow
def test_a_way_that_is_met_twice_counts_once(rng, monkeypatch):
    monkeypatch.setattr(_separated_modes, "basins", in_pieces)
    check_twice(rng)


def test_power_of_a_way_met_twice(rng, monkeypatch):
    monkeypatch.setattr(_separated_modes, "basins", in_pieces)
    with pytest.raises(AssertionError):
        check_twice(
            rng,
            broken(
                _separated_modes.sum_of_separated_modes,
                "own is None or any(are_one(problem.model, other.chains, own) for other in known)",
                "own is None and any(are_one(problem.model, other.chains, own) for other in known)",
            ),
        )


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("total", "known[1:]", "known[2:]"),
        ("basins", "DISTINCT", "100"),
        ("are_one", "DISTINCT", "100"),
    ],
)
def test_power_over_ways(rng, monkeypatch, name, right, wrong):
    monkeypatch.setattr(_separated_modes, name, broken(getattr(_separated_modes, name), right, wrong))
    with pytest.raises(AssertionError):
        check_ways(rng, seeds=4)


def check_labels(rng, distance=_separated_modes.distance):
    """Components of a point in another order are as near to it."""
    problem, rngs = four_groups(rng), rng.spawn(2)
    theta = chains_from(problem, [WAYS[:1]] * 2, rngs).theta[0]
    swapped = theta.copy()
    swapped[..., 0], swapped[..., 1] = theta[..., 1], theta[..., 0]
    for first in (2, 10):
        swapped[..., first : first + 4] = theta[..., first + 4 : first + 8]
        swapped[..., first + 4 : first + 8] = theta[..., first : first + 4]
    same = problem.model.sum_log_likelihood(swapped[0], problem.rows)
    np.testing.assert_allclose(same, problem.model.sum_log_likelihood(theta[0], problem.rows))
    assert np.all(distance(problem.model, theta, theta) < 2)
    np.testing.assert_allclose(
        distance(problem.model, theta, swapped), distance(problem.model, theta, theta), atol=1e-9
    )


def test_labels_do_not_tell_ways_apart(rng):
    check_labels(rng)


def test_power_of_labels(rng):
    right = "theta = model.canonicalize(theta.reshape(-1, d), slots).reshape(T, C, d)"
    with pytest.raises(AssertionError):
        check_labels(rng, broken(_separated_modes.distance, right, "pass"))


def some(n_empty, value):
    """Chains (2, T, C) whose draws are numbered."""
    theta = np.broadcast_to(value, n_empty.shape)[..., None]
    return Chains(theta, theta[..., 0], n_empty, (), 1)


def test_chains_that_stay():
    n_empty = np.zeros((2, 3, 8), dtype=int)
    n_empty[0, 1, 2] = n_empty[1, 2, 2:] = 1
    own = _separated_modes.staying(some(n_empty, np.arange(8.0)))
    assert not own.n_empty.any()
    np.testing.assert_array_equal(own.theta[:, 2, :, 0], [[0, 1, 3, 4, 5, 6, 7, 0], [0, 1] * 4])
    np.testing.assert_array_equal(own.log_p, own.theta[..., 0])
    n_empty[1, 0, 1] = 1
    assert _separated_modes.staying(some(n_empty, 0.0)) is None


def answer(log_Z, reliable=True):
    return AllocationEvidence(log_Z, 0.1, np.zeros((2, 3)), np.full(2, log_Z), 90.0, reliable, False, 5.0)


@pytest.mark.parametrize(
    "log_Z, is_shared, reliable", [(-1.0, True, True), (-1.0, False, False), (-4, False, True)]
)
def test_what_one_half_alone_may_hold(log_Z, is_shared, reliable):
    none = some(np.zeros((2, 3, 8), dtype=int), 0.0)
    known = [
        _separated_modes.Basin(answer(log_Z), none, is_shared),
        _separated_modes.Basin(answer(0.0), none, True),
    ]
    found = _separated_modes.total(known)
    assert found.log_evidence == pytest.approx(np.logaddexp(0.0, log_Z)) and found.reliable == reliable
