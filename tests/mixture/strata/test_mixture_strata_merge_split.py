"""Merging and splitting: which components change, and which rows leave."""

import numpy as np
import pytest
from mutants import broken

from sgevidence.mixture.strata import _search as module
from sgevidence.mixture.strata._search import merged_and_split


def test_two_components_become_one_and_another_two(rng):
    """Nothing else changes, in any of the chains; and each has its own pair."""
    z, X = rng.integers(4, size=(200, 60)), rng.normal(size=(60, 2))
    kinds = set()
    for before, after in zip(z, merged_and_split(z, X, 4, rng)):
        moved = {(int(a), int(b)) for a, b in zip(before, after) if a != b}
        assert len({a for a, _ in moved}) <= 3 and set(after) <= set(range(4))
        kinds.add(frozenset(moved))
    assert len(kinds) > 12


def check_distances(rng, distances):
    """Every column by its own spread among the members."""
    X = rng.normal(size=(50, 3)) * [1.0, 100.0, 0.0] + [0.0, 1e3, 5.0]  # the last is constant
    members = rng.random((20, 50)) < 0.3
    found = distances(members, X, rng)
    for chain, inside in zip(np.concatenate(found), np.tile(members, (2, 1))):
        rows = np.flatnonzero(inside & (np.abs(chain) < 1e-6))
        assert len(rows) == 1, "not measured from a member"
        scaled = X[:, :2] / X[inside, :2].std(axis=0)
        np.testing.assert_allclose(chain, np.sum((scaled - scaled[rows]) ** 2, axis=1), rtol=1e-6, atol=1e-6)


def test_distances_are_in_widths_of_the_members(rng):
    check_distances(rng, module._distances)


def from_any_row(members, rng):
    return rng.integers(members.shape[1], size=len(members))


def check_along(rng):
    """A value of a column, or what is no larger; of continuous columns only the latter."""
    X = np.column_stack([rng.integers(4, size=60), rng.normal(size=60), rng.integers(3, size=60)])
    members, kinds = rng.random((400, 60)) < 0.6, set()
    for leave, inside in zip(module._along(members, X, rng), members):
        own = leave & inside
        assert own.any(), "no member leaves"
        for j, x in enumerate(X.T):
            shared, below = inside & (x == x[own][0]), inside & (x <= x[own].max())
            kinds |= {("shared", j)} if np.array_equal(own, shared) and shared.sum() > 1 else set()
            kinds |= {("below", j)} if np.array_equal(own, below) else set()
    assert kinds == {("shared", 0), ("below", 0), ("below", 1), ("shared", 2), ("below", 2)}


def test_rows_that_share_a_value_leave(rng):
    check_along(rng)


def test_a_value_of_any_row_is_seen(rng, monkeypatch):
    monkeypatch.setattr(module, "_random_member", from_any_row)
    with pytest.raises(AssertionError):
        check_along(rng)


def check_sliced(rng, sliced):
    """Some components, at least two, are cut into intervals of one column; the others keep their rows."""
    z, X = rng.integers(4, size=(300, 80)), rng.normal(size=(80, 2))
    n_cut = set()
    for before, after in zip(z, sliced(z, X, 4, rng)):
        stay = [k for k in range(4) if np.array_equal(before == k, after == k)]
        cut = ~np.isin(before, stay)
        n_cut.add(4 - len(stay))
        assert np.array_equal(np.isin(after, stay), ~cut), "a row came to a component that stays"
        n_changes = [np.sum(np.diff(after[cut][np.argsort(x[cut])]) != 0) for x in X.T]
        assert min(n_changes) < 4 - len(stay), "no intervals of a column"
    assert n_cut == {2, 3, 4}


def test_components_are_sliced_along_a_column(rng):
    check_sliced(rng, module.sliced)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda z, X, K, rng: merged_and_split(z, X, K, rng),
        lambda z, X, K, rng: module.sliced(z, rng.permutation(X), K, rng),
        lambda z, X, K, rng: np.where(z == 0, 1, module.sliced(z, X, K, rng)),
    ],
    ids=["one split", "another column", "a component loses all rows"],
)
def test_other_slices_are_seen(rng, wrong):
    with pytest.raises(AssertionError):
        check_sliced(rng, wrong)


def check_around(rng, around):
    """The nearest ones leave, between the least share and the most, half of them below the geometric mean."""
    members = np.arange(1000) < 800
    distance = rng.permutation(1000).astype(float)
    left = around(np.tile(members, (400, 1)), np.tile(distance, (400, 1)), rng) & members
    for chain in left:
        assert distance[chain].max() < distance[members & ~chain].min()
    share = left.sum(axis=1) / 800
    assert module.MIN_SPLIT_SHARE <= share.min() and share.max() <= module.MAX_SPLIT_SHARE + 0.01
    middle = np.sqrt(module.MIN_SPLIT_SHARE * module.MAX_SPLIT_SHARE)
    assert abs(np.mean(share < middle) - 0.5) < 5 * 0.5 / np.sqrt(400)


def test_the_nearest_members_leave(rng):
    check_around(rng, module._around)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("np.where(members, distance, np.inf)", "distance"),
        (
            "distance <= np.take_along_axis(ordered, last, axis=1)",
            "distance >= np.take_along_axis(ordered, last, axis=1)",
        ),
        (
            "(MIN_SPLIT_SHARE / MAX_SPLIT_SHARE) ** rng.random((len(members), 1))",
            "rng.random((len(members), 1))",
        ),
    ],
    ids=["shares of all rows", "the farthest", "uniform"],
)
def test_other_rows_that_leave_are_seen(rng, right, wrong):
    with pytest.raises(AssertionError):
        check_around(rng, broken(module._around, right, wrong))


def test_rows_all_alike_and_a_component_of_one_row(rng):
    """Nothing to divide by; at most one component is new."""
    z = np.tile([0, 1, 1, 2], (50, 1))
    with np.errstate(all="raise"):
        new = merged_and_split(z, np.ones((4, 2)), 3, rng)
    assert new.shape == z.shape and new.min() >= 0 and new.max() <= 2


def test_slices_where_rows_are_alike_and_components_empty(rng):
    z = np.tile([0, 0, 1, 1], (50, 1))
    new = module.rearranged(z, np.ones((4, 2)), 5, rng)
    assert new.shape == z.shape and new.min() >= 0 and new.max() <= 4
