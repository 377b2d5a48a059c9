"""Independent searches: how many there are, what they know together, and which of them goes on."""

import numpy as np
import pytest
from mutants import broken

from sgevidence.history import Rows
from sgevidence.mixtures import _independent_searches as module
from sgevidence.mixtures._allocation_search import Found
from sgevidence.mixtures._basins_met import Visit
from sgevidence.mixtures._conditionals import features
from sgevidence.mixtures._independent_searches import searched_together
from sgevidence.models import MixtureModel


def check_together(together):
    """The search that lags goes on from where it was, and what it spent adds up."""
    scores = {0: iter([-10.0]), 1: iter([-50.0, -30.0, -11.0])}
    starts = []

    def found(model, X, F, origin, rng, z):
        starts.append((rng, z))
        return Found(f"of {rng}", next(scores[rng]), 100, None)

    together.__globals__["search"] = found
    together.__globals__["starts"] = lambda X, K, size, rng: "nowhere"
    result = together(MixtureModel(2, 1), np.arange(9.0)[:, None], None, None, [0, 1])
    assert [one.score for one in result] == [-10.0, -11.0], "one lags"
    assert [one.n_sweeps for one in result] == [100, 300], "costs"
    assert starts == [(0, "nowhere"), (1, "nowhere"), (1, "of 1"), (1, "of 1")], "starts"


@pytest.fixture
def own_globals():
    """Of the function that a test gives another ``search``: a copy of it."""
    return lambda right="MORE", wrong="MORE": broken(searched_together, right, wrong)


def test_the_search_that_lags_goes_on(own_globals):
    check_together(own_globals())


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("range(MORE)", "range(1)"),
        ("np.argmin", "np.argmax"),
        ("more.n_sweeps + found[worst].n_sweeps", "more.n_sweeps"),
    ],
    ids=["once more only", "the best goes on", "costs of the first forgotten"],
)
def test_a_search_that_lags_and_stays_is_seen(own_globals, right, wrong):
    with pytest.raises((AssertionError, StopIteration)):
        check_together(own_globals(right, wrong))


A, B = np.arange(40) % 2, np.arange(40) // 20


def visits(*basins):
    return [Visit(np.array([z, 1 - z]), score) for z, score in basins]


def test_searches_end_when_enough_of_them_have_met_each_basin_that_counts():
    often, twice = [(A, -10.0)] * 4, [(B, -10.2)] * 2
    assert module.have_met(visits(*often), 2, module.LEAST_SEARCHES)
    assert not module.have_met(visits(*often), 2, module.LEAST_SEARCHES - 1), "few searches"
    assert not module.have_met(visits(*often, *twice), 2, 9), "half of the evidence was met twice"
    assert module.have_met(visits(*often, *twice, *twice), 2, 9)
    assert module.have_met(visits(*often, (B, -14.0)), 2, 9), "a basin that does not count"


@pytest.mark.parametrize(
    "make, tied",
    [
        (lambda rng: rng.normal(size=(200, 2)), False),
        (lambda rng: np.round(rng.normal(size=(200, 2))), True),
        (lambda rng: np.column_stack([rng.normal(size=200), rng.random(200) < 0.3]), True),
        (lambda rng: np.column_stack([rng.normal(size=200), np.ones(200)]), False),
        (lambda rng: np.tile(rng.normal(size=(100, 2)), (4, 1)), False),
        (lambda rng: rng.integers(2, size=(4, 1)).astype(float), False),
    ],
    ids=["normal", "rounded", "one binary column", "a constant column", "each row four times", "four rows"],
)
def test_rows_are_tied(rng, make, tied):
    assert module.is_tied(make(rng)) is tied


def together(rng, X, monkeypatch, scores, basins=None):
    """The scores that the halves are given, until searches end; and how many there were."""
    left, n = iter(scores), [0]

    def found(model, X, F, origin, rng, z):
        n[0] += 1
        return Found(np.full((48, len(X)), n[0]), next(left), 100, np.full((2, len(X)), n[0]))

    def visited(model, one, F, origin, rng):
        basin = A if basins is None else basins[n[0] - 1]
        return Visit(np.array([basin, basin]), one.score)

    monkeypatch.setattr(module, "search", found)
    monkeypatch.setattr(module, "visit", visited)
    rows = Rows.of(X)
    F = features(rows.X, rows.weight, rows.X.mean(axis=0))
    return searched_together(MixtureModel(2, X.shape[1]), X, F, rows.X.mean(axis=0), rng.spawn(2)), n[0]


def check_that_basins_of_equal_scores_are_told_apart(rng, monkeypatch):
    """The eighth search is the first to meet another basin that holds as much: four must meet it."""
    X = np.round(rng.normal(size=(100, 2)))
    found, n = together(rng, X, monkeypatch, [-30.0] * 99, [A] * 7 + [B] * 99)
    assert n == 12 and [one.unseen for one in found] == [0.0, 0.0]
    # the budget ends when one alone has met half of the evidence: ln 2 with a chance of one in eight
    monkeypatch.setattr(module, "predicted_seconds", lambda model, F: module.MAX_SECONDS / 8)
    found, n = together(rng, X, monkeypatch, [-30.0] * 99, [A] * 7 + [B] * 99)
    expected = pytest.approx(np.log(2) / np.sqrt(8))
    assert n == 8 and [one.unseen for one in found] == [expected, expected]


def test_basins_of_equal_scores_are_told_apart(rng, monkeypatch):
    check_that_basins_of_equal_scores_are_told_apart(rng, monkeypatch)


def test_basins_told_apart_by_scores_alone_are_seen(rng, monkeypatch):
    monkeypatch.setattr("sgevidence.mixtures._basins_met.ALIKE", -1.0)
    with pytest.raises(AssertionError):
        check_that_basins_of_equal_scores_are_told_apart(rng, monkeypatch)


def test_tied_rows_are_searched_until_the_best_basin_is_met_often(rng, monkeypatch):
    X = np.round(rng.normal(size=(100, 2)))
    scores, basins = [-50.0, -30.0, -30.0, -31.0] + 6 * [-30.0], [B, A, A, A] + 6 * [A]
    found, n = together(rng, X, monkeypatch, scores, basins)
    assert n == 8 and [one.score for one in found] == [-30.0, -30.0]
    assert [one.n_sweeps for one in found] == [400, 400]
    # the first search of the first half found nothing that is worth it
    assert set(found[0].z[:, 0]) == {3, 5, 7} and set(found[1].z[:, 0]) == {2, 4, 6, 8}
    assert len(found[0].z) == 48 and len(found[1].z) == 48 and len(found[0].ever) == 6


def test_other_rows_are_searched_twice(rng, monkeypatch):
    assert together(rng, rng.normal(size=(100, 2)), monkeypatch, [-30.0, -31.0])[1] == 2


def test_the_predicted_cost_bounds_them(rng, monkeypatch):
    """However little they agree, and the more often the less a search costs."""
    X, scores = np.round(rng.normal(size=(100, 2))), -30.0 - 20.0 * np.arange(500)
    monkeypatch.setattr(module, "MORE", 0)
    basins = [rng.integers(2, size=40) for _ in scores]
    few = together(rng, X, monkeypatch, scores, basins)[1]
    monkeypatch.setattr(module, "MAX_SECONDS", 2 * module.MAX_SECONDS)
    assert 4 < few < 200 and abs(together(rng, X, monkeypatch, scores, basins)[1] - 2 * few) <= 2
    monkeypatch.setattr(module, "MAX_SECONDS", 0.0)
    assert together(rng, X, monkeypatch, scores, basins)[1] == 2 * module.LEAST_AT_ANY_COST
