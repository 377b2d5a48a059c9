"""Rules in boxes, and halves of boxes."""

import numpy as np
import pytest

from sgevidence.answers._cubature import Boxes, rule


@pytest.mark.parametrize("d", [1, 2, 3])
def test_rules_are_exact_for_polynomials(d):
    """Rules are exact up to degree 22 and 13 on a line, 7, 5 and 3 in the plane and in space."""
    nodes, high, low, lowest, cells, _ = rule(d)
    for weights, degree in zip((high, low, lowest), (22, 13, 13) if d == 1 else (7, 5, 3)):
        for powers in np.ndindex(*[degree + 1] * d):
            if sum(powers) <= degree:
                expected = np.prod([(1 + (-1) ** p) / 2 / (p + 1) for p in powers])
                assert weights @ np.prod(nodes**powers, axis=1) == pytest.approx(expected, abs=1e-12)
    assert np.prod(cells[:, 1] - cells[:, 0], axis=1).sum() == pytest.approx(2**d)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_halves_hold_what_a_box_held(d):
    def log_density(z):
        return np.sin(z).sum(axis=1)

    box = Boxes.of(log_density, -np.ones((1, d)), np.linspace(1, 2, d)[None])
    halves = box.split(log_density, np.ones(1, dtype=bool))
    assert np.prod(halves.hi - halves.lo, axis=1).sum() == pytest.approx(np.prod(box.hi - box.lo))
    value, error = halves.integrals(0.0)
    assert abs(value.sum() - box.integrals(0.0)[0][0]) <= error.sum() + box.integrals(0.0)[1][0]
