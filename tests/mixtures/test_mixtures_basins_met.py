"""Basins that searches have met, told apart by the rows that they group; and what none has met."""

import numpy as np
import pytest
from mutants import broken
from sklearn.metrics import adjusted_rand_score

from sgevidence.mixtures._basins_met import Visit, adjusted_rand, basins_of, seldom_met, unseen


def check_index(index, rng):
    """Against scikit-learn, alike and not, empty components and one group of all."""
    z = rng.integers(3, size=(8, 60))
    z[1] = np.where(rng.random(60) < 0.9, z[0], z[1])
    z[2], z[3] = (z[0] + 1) % 3, 0
    expected = [[adjusted_rand_score(one, other) for other in z] for one in z]
    np.testing.assert_allclose(index(z, 4), expected, atol=1e-12)


def test_adjusted_rand(rng):
    check_index(adjusted_rand, rng)


@pytest.mark.parametrize(
    "right, wrong", [("pairs - expected", "pairs"), ("(1, 3)", "(1, 2)")], ids=["by chance", "axes"]
)
def test_a_wrong_index_is_seen(rng, right, wrong):
    with pytest.raises((AssertionError, ValueError)):
        check_index(broken(adjusted_rand, right, wrong), rng)


A, B, C = np.arange(60) % 3, np.arange(60) // 20, np.arange(60) % 2


def visits(*basins):
    return [Visit(np.array([z, (z + 1) % 3]), score) for z, score in basins]


def test_basins_are_numbered_from_the_best(rng):
    met = visits((A, -20.0), (B, -10.0), (B[::-1], -11.0), ((A + 1) % 3, -21.0), (C, -10.1))
    assert list(basins_of(met, 3)) == [2, 0, 0, 2, 1]


def check_that_small_components_are_told_apart():
    """Two groups of 100 rows, and a third component of four in either: alike, and eight nats apart."""
    z = np.repeat([0, 1], 100)
    here, there = z.copy(), z.copy()
    here[:4], there[-4:] = 2, 2
    met = [
        Visit(np.array([one, one]), score) for one, score in [(here, -98.0), (there, -90.0), (here, -98.4)]
    ]
    assert adjusted_rand(np.array([here, there]), 3)[0, 1] > 0.8
    assert list(basins_of(met, 3)) == [1, 0, 1]


def test_small_components_are_told_apart():
    check_that_small_components_are_told_apart()


def test_basins_told_apart_by_groups_alone_are_seen(monkeypatch):
    monkeypatch.setattr("sgevidence.mixtures._basins_met.APART", np.inf)
    with pytest.raises(AssertionError):
        check_that_small_components_are_told_apart()


def test_a_basin_whose_chains_have_no_allocation_in_common_is_one(rng):
    """Components that overlap altogether; and others are no part of it."""
    loose = [Visit(rng.integers(3, size=(2, 60)), -10.0) for _ in range(5)]
    assert list(basins_of([*loose, *visits((A, -12.0))], 3)) == [0] * 5 + [1]


def check_unseen(nats):
    """A basin of 9 tenths of the evidence, met by one of five: log 10 with a chance of one in five."""
    met = visits((A, np.log(9.0)), *[(B, 0.0)] * 4)
    assert nats(met, 3) == pytest.approx(np.log(10) / np.sqrt(5))
    assert nats([*met, met[0]], 3) == 0.0
    assert nats(met[1:], 3) == 0.0


def test_unseen():
    check_unseen(unseen)


@pytest.mark.parametrize(
    "wrong", ["n_met[labels] >= 1", "n_met[labels] == 0"], ids=["met more often", "never"]
)
def test_wrong_doubts_are_seen(wrong):
    with pytest.raises(AssertionError):
        check_unseen(broken(unseen, "n_met[labels] == 1", wrong))


def test_seldom_met():
    met = visits((A, np.log(9.0)), *[(B, 0.0)] * 4)
    assert seldom_met(met, 3, enough=1) == 0.0
    assert seldom_met(met, 3, enough=2) == pytest.approx(0.9)
    assert seldom_met(met, 3, enough=5) == pytest.approx(1.0)
