"""The proposal from allocations: halves, how far chains are swept, and where the posterior is known."""

import numpy as np
import pytest
from mutants import broken
from scipy.special import logsumexp

from sgevidence.history import Rows
from sgevidence.mixtures import _allocation_proposal
from sgevidence.mixtures._allocation_proposal import CHAINS, LENGTH, SPREAD, SWEEPS, Problem, Sample
from sgevidence.mixtures._conditionals import statistics
from sgevidence.models import MixtureModel


def problem(rng, K=2, n=40):
    X = rng.standard_normal((n, 2)) + 1.5 * (np.arange(n) % 2)[:, None]
    return Problem.of(MixtureModel(K, 2), Rows.of(X), np.ones(n, dtype=int))


def allocations_of(problem, rng, S=60):
    K = problem.model.n_components
    return statistics(rng.integers(K, size=(S, len(problem.F))), problem.F, K)


def test_one_component_is_known(rng):
    """q is the posterior, and every weight the evidence; so along chains."""
    one = problem(rng, K=1)
    exact = one.model.exact_log_evidence(one.rows)
    T = allocations_of(one, rng)
    draws = one.draw(T, 200, rng)
    np.testing.assert_allclose(draws.log_w, exact, atol=1e-5)
    chains = one.chains(T, one.starts(draws, rng), 2, rng)
    assert chains.theta.shape == (LENGTH * CHAINS, one.model.n_params)
    np.testing.assert_allclose(chains.log_w, exact, atol=1e-5)


def check_halves(rng):
    """q is the average of the proposals of either half, at every point, draw or chain."""
    two = problem(rng)
    T = allocations_of(two, rng)
    draws = two.draw(T, 300, rng)
    both = two.weighed(draws.theta, T, draws.first)
    alone = [two.weighed(draws.theta, part, draws.first) for part in (T[:, :30], T[:, 30:])]
    log_q = [each.log_likelihood - each.log_w for each in alone]
    np.testing.assert_allclose(
        both.log_likelihood - both.log_w, logsumexp(log_q, axis=0) - np.log(2), atol=1e-4
    )
    assert draws.first.sum() == 150
    for half, part, one in zip(both.halves(), (draws.first, ~draws.first), alone):
        np.testing.assert_array_equal(half.theta, draws.theta[part])
        np.testing.assert_allclose(half.log_w, one.log_w[part], atol=1e-3)


def test_a_half_is_weighed_by_its_own_allocations(rng):
    check_halves(rng)


def test_power_of_halves(rng, monkeypatch):
    """Without the factor two each half claims log 2 too much."""
    monkeypatch.setattr(
        Sample, "_only", broken(Sample._only, "self.terms[m, s] + np.log(2)", "self.terms[m, s]")
    )
    with pytest.raises(AssertionError):
        check_halves(rng)


def test_chains_of_either_half_stay_apart(rng):
    """The first half of the chains starts from draws of the first half of the allocations."""
    two = problem(rng)
    T = allocations_of(two, rng)
    draws = two.draw(T, 300, rng)
    draws = draws._replace(theta=np.where(draws.first[:, None], 0.0, 1.0) * np.ones_like(draws.theta))
    two = Held(*two)
    starts = two.starts(draws, rng)
    assert np.all(starts[: CHAINS // 2] == 0.0) and np.all(starts[CHAINS // 2 :] == 1.0)
    chains = two.chains(T, starts, 3, rng)
    np.testing.assert_array_equal(chains.theta[:, 0] == 0.0, chains.first)
    np.testing.assert_array_equal(chains.theta[-CHAINS:], starts)


class Held(Problem):
    """Of which no chain moves."""

    def swept(self, theta, n_sweeps, rng):
        return theta, None


@pytest.mark.parametrize(
    "effective, most, expected",
    [(0.9, 1e9, SWEEPS), (0.1, 1e9, SPREAD), (0.1, 0, SWEEPS), (0.1, 50 * 40 * 2 * 5, 50)],
    ids=["alike", "overlapping", "many rows", "not too many"],
)
def test_how_long_allocations_are_swept(rng, monkeypatch, effective, most, expected):
    counted = []

    class Counted(Held):
        def swept(self, theta, n_sweeps, rng):
            counted.append((len(theta), n_sweeps))
            return theta, T

    monkeypatch.setattr(_allocation_proposal, "MOST_SPREAD", most)
    two = Counted(*problem(rng))
    T = allocations_of(two, rng)
    draws = two.draw(T, 200, rng)
    weighing = np.where(np.arange(200) < 200 * effective, 0.0, -50.0)
    draws = draws._replace(log_likelihood=weighing, terms=np.full_like(draws.terms, -np.log(60)))
    assert two.grown(T, draws, rng).shape[1] == 120
    assert counted == [(_allocation_proposal.NEW, expected)]
