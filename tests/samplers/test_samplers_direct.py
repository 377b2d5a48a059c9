"""The answer of samplers that take all rows at once: draws that count, and doubts where few do."""

import numpy as np
import pytest

from sgevidence.history import Rows
from sgevidence.particles import Weights
from sgevidence.samplers import answer, doubts_of_few
from sgevidence.samplers._direct import MAX_DRAWS, MIN_EFFECTIVE_DRAWS, thinned_draws

ROWS = Rows.of(np.zeros((7, 1)))


def test_draws_whose_weight_vanishes_are_left_out(rng):
    theta, weights = rng.normal(size=(5, 2)), Weights(np.array([0.0, -np.inf, 1.0, -1e5, 0.5]))
    result = answer(-3.0, 0.5, theta, weights, ROWS, 0.0, n_likelihoods=35.0, n_moves=4)
    np.testing.assert_array_equal(result.theta, theta[[0, 2, 4]])
    assert result.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(result.weights @ result.theta, weights.W @ theta)
    assert (result.log_evidence, result.log_evidence_std, result.n_likelihoods) == (-3.0, 0.5, 35.0)
    assert result.path["n_samples"].tolist() == [7] and result.path["log_predictive"].tolist() == [-3.0]
    assert result.diagnostics["n_moves"] == 4 and result.diagnostics["ess"] == pytest.approx(weights.ess)


def doubted(ess, M=1000, share=0.0):
    """``ess`` of M draws count alike, the others not at all."""
    return doubts_of_few(Weights(np.where(np.arange(M) < ess, 0.0, -np.inf)), "do this", share)


def test_few_draws_are_doubted():
    few, enough = int(MIN_EFFECTIVE_DRAWS) - 1, int(MIN_EFFECTIVE_DRAWS)
    (doubt,) = doubted(few)
    assert f"only {few}.0 of 1000 draws count" in doubt and doubt.endswith("do this")
    assert not doubted(enough) and doubted(enough, share=0.1) and not doubted(100, share=0.1)


def check_thinned(rng):
    """A systematic sample keeps every mean: within what one draw weighs, for a function of the order."""
    M = 3 * MAX_DRAWS
    theta, log_w = np.sort(rng.normal(size=(M, 1)), axis=0), 2.0 * rng.normal(size=M)
    weights = Weights(log_w)
    few, counted = thinned_draws(theta, weights, rng)
    assert len(few) == len(counted.W) <= MAX_DRAWS and len(np.unique(few)) == len(few)
    for x in (-1.0, 0.0, 1.5):
        below = weights.W @ (theta[:, 0] < x), counted.W @ (few[:, 0] < x)
        assert abs(below[0] - below[1]) < 1.5 / MAX_DRAWS, f"shares {below}"


def test_thinned_draws_keep_all_means(rng):
    check_thinned(rng)
    theta, weights = rng.normal(size=(10, 1)), Weights(rng.normal(size=10))
    assert thinned_draws(theta, weights, rng) == (theta, weights)
