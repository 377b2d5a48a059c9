"""Correlations of a cloud with its start."""

import numpy as np
import pytest

from sgevidence.kernels import correlations, largest_correlation


def test_correlations_are_of_each_coordinate(rng):
    a, b = rng.standard_normal((2, 20_000, 2))
    mixed = np.column_stack([0.6 * a[:, 0] + 0.8 * b[:, 0] + 5.0, -3.0 * a[:, 1]])
    assert correlations(a, a) == pytest.approx([1.0, 1.0])
    assert correlations(a, mixed) == pytest.approx([0.6, -1.0], abs=0.03)
    assert correlations(a, np.zeros_like(a)).tolist() == [0.0, 0.0]


def test_largest_correlation(rng):
    """Of the coordinate that remembers most, less what chance makes of few points."""
    a, b = rng.standard_normal((2, 10_000, 3))
    b[:, 1] = 0.8 * a[:, 1] + 0.6 * b[:, 1]
    assert largest_correlation(a, b) == pytest.approx(0.8 - 0.02, abs=0.03)
    assert largest_correlation(a, a) == pytest.approx(1 - 0.02)
    assert largest_correlation(a[:4], a[:4]) == pytest.approx(0.0)
