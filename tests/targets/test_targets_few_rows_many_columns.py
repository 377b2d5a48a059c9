"""A dozen rows of many columns: many allocations hold little each, and the error bar knows of those."""

import numpy as np
import pytest
from enumeration import enumerated

from sgevidence.history import Rows
from sgevidence.models import MixtureModel
from sgevidence.models.allocations import features, origin_of
from sgevidence.targets import _allocation_search
from sgevidence.targets._allocation_proposal import Problem, Sample
from sgevidence.targets._allocation_search import distinct
from sgevidence.targets._allocations import allocation_evidence
from sgevidence.targets._collapsed import cooled

#: (K, rows, columns).
SIZES = [(2, 9, 10), (3, 9, 10), (4, 9, 10), (6, 8, 15), (4, 7, 10), (6, 7, 15)]


def z_scores(size, seeds):
    """Errors by their bars, for heavy-tailed rows: against the sum over all allocations."""
    K, n, p = size
    z = []
    for seed in seeds:
        X = np.random.default_rng([seed, K, n, p]).standard_t(3, (n, p))
        found = allocation_evidence(MixtureModel(K, p), Rows.of(X), np.random.default_rng(seed))
        assert found.reliable and found.log_evidence_std < 0.15
        z.append((found.log_evidence - enumerated(MixtureModel(K, p), Rows.of(X))) / found.log_evidence_std)
    return np.array(z)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_error_bars_know_of_rare_allocations(size):
    z = z_scores(size, range(8))
    assert np.abs(z).max() < 3 and abs(z.mean()) < 1


def test_cooled_allocations_are_of_all_basins(rng, cool=cooled):
    """Two groups of rows that must be told apart, and one row alone that is of neither."""
    X = np.concatenate(
        [rng.standard_normal((5, 12)) + 4, rng.standard_normal((5, 12)) - 4, np.full((1, 12), 30.0)]
    )
    origin, model = origin_of(X), MixtureModel(3, 12)
    z = cool(model, 50, features(X, np.ones(11), origin), origin, rng)
    right = [len(set(one[:5])) == len(set(one[5:10])) == 1 and len(set(one[[0, 5, 10]])) == 3 for one in z]
    assert np.mean(right) > 0.5
    assert len({tuple(one) for one in z[right]}) == 6, "all labellings"


def test_distinct_knows_no_labels():
    z = np.array([[0, 0, 1, 2], [2, 2, 0, 1], [0, 1, 1, 2], [1, 1, 1, 1], [2, 2, 2, 2]])
    assert {tuple(one) for one in distinct(z, 3)} == {(0, 0, 1, 2), (0, 1, 1, 2), (1, 1, 1, 1)}


def test_alone_is_what_one_allocation_makes_up():
    """By weight: of four draws the second and the last are one allocation's, and the last counts twice."""
    terms = np.log([[0.5, 0.5, 1e-9], [0.9, 0.05, 0.05], [0.4, 0.4, 0.2], [1e-9, 1e-9, 1.0]])
    log_w = np.log([1.0, 1.0, 1.0, 2.0])
    sample = Sample(
        np.zeros((4, 1)), log_w + np.log(np.exp(terms).sum(axis=1)), terms, np.ones(4, dtype=bool)
    )
    assert sample.alone == pytest.approx(3 / 5)


def test_what_a_search_found_is_remembered(rng):
    """An allocation that no chain holds is in q, if it weighs anything."""
    X = np.concatenate([rng.standard_normal((4, 10)) + 2, rng.standard_normal((4, 10)) - 2])
    problem = Problem.of(MixtureModel(2, 10), Rows.of(X), np.ones(8, dtype=int))
    stuck, groups = np.zeros((48, 8), dtype=int), np.repeat([[0, 1]], 4, axis=1)
    found = _allocation_search.Found(stuck, 0.0, 1, np.concatenate([stuck[:1], groups]))
    T = problem.proposal(found, rng)
    n_in_first = T[0, :, -1]
    assert np.mean(n_in_first == 4) > 0.2, "the groups"
