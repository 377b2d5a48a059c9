"""Permanents against the sum over all permutations."""

from itertools import permutations

import numpy as np
import pytest

from sgevidence.models._permanents import permanent


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
