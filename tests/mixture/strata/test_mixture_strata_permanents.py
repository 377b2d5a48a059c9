"""Permanents against the sum over all permutations."""

from itertools import permutations

import numpy as np
import pytest
from scipy.special import logsumexp

from sgevidence.mixture.strata import log_permanent
from sgevidence.mixture.strata._allocation_draws import permanent

pytestmark = pytest.mark.usefixtures("double_precision")


@pytest.mark.parametrize("K", range(1, 7))
def test_permanent_is_the_sum_over_permutations(rng, K):
    A = np.exp(3 * rng.standard_normal((K, K, 5)))
    expected = sum(np.prod([A[k, pi[k]] for k in range(K)], axis=0) for pi in permutations(range(K)))
    np.testing.assert_allclose(permanent(A), expected, rtol=1e-12)


def test_equal_entries_count_the_permutations():
    assert permanent(np.ones((8, 8, 1)))[0] == 40320


def test_nothing_cancels():
    """Diagonal 1 and 10⁻⁹ elsewhere: differences of products of sums would leave rounding errors of 10⁻¹⁰."""
    A = np.full((6, 6, 1), 1e-9) + (1 - 1e-9) * np.eye(6)[:, :, None]
    A[5, 5] = 1e-30  # then no entry is left that could hide an error
    A[5, :5] = A[:5, 5] = 0.0
    assert permanent(A)[0] == pytest.approx(1e-30, rel=1e-12)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1.0, 30.0, 100.0, 3000.0])
@pytest.mark.parametrize("K", [1, 2, 3, 5])
def test_logs_however_small_the_permanent(rng, K, size, precision):
    """Entries of at most 1, like densities: each column has been divided by its largest."""
    log_A = size * rng.standard_normal((K, K, 200))
    log_A -= log_A.max(axis=0)
    expected = logsumexp([sum(log_A[k, pi[k]] for k in range(K)) for pi in permutations(range(K))], axis=0)
    found = log_permanent(log_A, np.exp(log_A.astype(precision)))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-5)


def check_bounds(rng, K=4, size=300.0):
    """Those that matter are exact; of the others, bounds that are no smaller, and do not matter either."""
    log_A = size * rng.standard_normal((K, K, 400))
    log_A -= log_A.max(axis=0)
    A = np.exp(log_A.astype(np.float32))
    exact = log_permanent(log_A, A)
    least = np.median(exact) + rng.standard_normal(400)
    found, matters = log_permanent(log_A, A, least), exact >= least
    np.testing.assert_allclose(found[matters], exact[matters], rtol=1e-9)
    assert np.all(found[~matters] >= exact[~matters] - 1e-3)
    assert np.all((found < least) | (abs(found - exact) <= 1e-6 * abs(exact)))
    assert np.sum(found != exact) > 100


def test_those_that_do_not_matter_are_bounded(rng):
    check_bounds(rng)
