"""Rows that rest: long stretches of one value, with steps between them."""

import numpy as np
import pytest

from sgevidence.monitoring import segment


@pytest.mark.parametrize(
    "levels, length",
    [
        ((7.0, 7.01, 7.0), 30),
        ((3.0, 0.0, 3.0, 0.0), 60),
        ((20.0, 20.5, 20.0, 20.5), 25),
        ((0.0, -4e9, 0.0), 20),
    ],
)
def test_rows_that_rest_between_steps(levels, length):
    """A step says nothing of the grid, and a jump of rows that rest is a change, not the habit of a walk."""
    series = np.repeat(levels, length)
    assert segment(series).change_points.tolist() == [length * k for k in range(1, len(levels))]
