"""Searches for allocations: the score is the log evidence of a basin, and a poor basin is left."""

from itertools import combinations
from math import lgamma

import numpy as np
import pytest
from enumeration import enumerated
from mutants import broken

from sgevidence.history import Rows
from sgevidence.mixtures import _allocation_search as module
from sgevidence.mixtures._allocation_search import CHAINS, SWEEPS, search
from sgevidence.mixtures._conditionals import features, log_complete_evidence, statistics
from sgevidence.models import MixtureModel


def problem(rows):
    origin = rows.X.mean(axis=0)
    return features(rows.X, rows.weight, origin), origin


def scored(model, rows, rng, z, sweeps=module.sweeps, n_sweeps=300):
    """Mean score of chains from z."""
    F, origin = problem(rows)
    return sweeps(model, z, F, origin, n_sweeps, rng)[1].mean()


def test_score_of_one_component_is_its_evidence(rng):
    """Chib's identity with nothing to allocate, to ten digits."""
    rows, model = Rows.of(rng.normal(size=(12, 2))), MixtureModel(1, 2)
    found = scored(model, rows, rng, np.zeros((4, 12), dtype=int), n_sweeps=SWEEPS)
    assert found == pytest.approx(model.exact_log_evidence(rows), rel=1e-10)


def check_score(rng, sweeps=module.sweeps):
    """Below log p(x) by what one θ says of the allocations beyond what the rows do: a nat or two.

    The components overlap, so that chains go through all labellings, and allocations are worth nats.
    """
    rows, model = Rows.of(rng.normal(size=(10, 1))), MixtureModel(2, 1)
    z = rng.integers(2, size=(CHAINS, 10))
    below = enumerated(model, rows) - scored(model, rows, rng, z, sweeps)
    assert 0.0 < below < 2.5, f"{below:.2f} nats below the evidence"


def test_score_is_near_the_evidence(rng):
    check_score(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("log_complete_evidence(model, T, origin) - log_p", "log_complete_evidence(model, T, origin)"),
        (
            "log_complete_evidence(model, T, origin) - log_p",
            "log_complete_evidence(model, T, origin) + log_p",
        ),
        (
            "log_complete_evidence(model, T, origin) - log_p",
            "log_complete_evidence(model, T, origin) - 2 * log_p",
        ),
    ],
)
def test_a_score_that_does_not_count_allocations_is_seen(rng, right, wrong):
    with pytest.raises(AssertionError, match="below the evidence"):
        check_score(rng, broken(module.sweeps, right, wrong))


EACH, P = 300, 2
GROUPS = np.repeat([0, 1, 2], EACH)


def check_search(rng, monkeypatch, rounds=module.ROUNDS):
    """Two of three far groups in one component and the third in two: a few sweeps stay there."""
    for name, value in dict(ROUNDS=rounds, CHAINS=12, STAY=4, SWEEPS=4).items():
        monkeypatch.setattr(module, name, value)
    rows = Rows.of(10.0 * (GROUPS[:, None] - 1) + 0.5 * rng.normal(size=(3 * EACH, P)))
    model, (F, origin) = MixtureModel(3, P), problem(rows)
    poor = np.where(GROUPS == 2, 1 + np.arange(3 * EACH) % 2, 0)
    found = search(model, rows.X, F, origin, rng, np.tile(poor, (12, 1)))
    together = found.z[0][:, None] == found.z[0]
    assert np.all(together == (GROUPS[:, None] == GROUPS)), "not the groups"
    # far apart, so that the score is the log evidence of one labelling
    each = [MixtureModel(1, P).exact_log_evidence(rows[EACH * k : EACH * (k + 1)]) for k in range(3)]
    dirichlet = 3 * lgamma(EACH + 1) + lgamma(3) - lgamma(3 * EACH + 3)
    assert found.score == pytest.approx(sum(each) + dirichlet, abs=0.1)
    assert found.n_sweeps == 12 * 4 + rounds * (48 * 2 + 16 * 4 + 6 * 8)


def test_merging_and_splitting_leaves_a_poor_basin(rng, monkeypatch):
    check_search(rng, monkeypatch)


def test_sweeps_alone_would_not(rng, monkeypatch):
    with pytest.raises(AssertionError, match="not the groups"):
        check_search(rng, monkeypatch, rounds=0)


def test_clusters_find_groups_that_are_far_apart(rng):
    """Every group a cluster of its own, as far as there are so many; rows all alike make one."""
    x = module._scaled(100.0 * GROUPS[:, None] + rng.normal(size=(3 * EACH, 1)))
    clusters = module._clusters(x, 3, rng)
    assert np.all((clusters[:, None] == clusters) == (GROUPS[:, None] == GROUPS))
    assert not module._clusters(np.zeros((9, 2)), 4, rng).any()


def check_emptied(rng, n=3000):
    """Two overlapping groups 33 standard deviations out: one component for all spares the other the way."""
    for g in rng.spawn(12):
        group = g.integers(2, size=(n, 1))
        rows = Rows.of(5e5 + 1e4 * (1.5 * group + np.where(group, 1.0, 2.0) * g.normal(size=(n, 2))))
        F, origin = problem(rows)
        found = search(MixtureModel(2, 2), rows.X, F, origin, g, module.starts(rows.X, 2, CHAINS, g))
        as_one = MixtureModel(1, 2).exact_log_evidence(rows) - np.log(1 + n)
        assert found.score > as_one - 3.0, f"{as_one - found.score:.1f} nats below one component for all"


@pytest.mark.slow
def test_components_are_emptied(rng):
    check_emptied(rng)


def test_gibbs_sweeps_alone_do_not_empty_them(rng, monkeypatch):
    monkeypatch.setattr("sgevidence.mixtures._merge_split.EMPTIED", 0.0)
    with pytest.raises(AssertionError, match="below one component"):
        check_emptied(rng)


def items(rng, n=200, p=4):
    """A questionnaire whose answers, one to five, have nothing to do with each other."""
    return np.clip(np.round(3 + rng.standard_normal((n, p))), 1, 5) - 3


def best_slices(model, X, F, origin):
    """The largest log p(x, z) of components that are intervals of a column: no search may miss them."""
    K, best = model.n_components, -np.inf
    for x in X.T:
        values = np.unique(x)
        for cuts in combinations(values[:-1], K - 1):
            z = np.searchsorted(cuts, x)
            best = max(best, log_complete_evidence(model, statistics(z[None], F, K), origin)[0])
    return best


def check_items(rng, n_sets=8):
    """A search ends no lower than the best interval slices, whose evidence its score includes."""
    missed = 0
    for g in rng.spawn(n_sets):
        rows, model = Rows.of(items(g)), MixtureModel(5, 4)
        F, origin = problem(rows)
        found = search(model, rows.X, F, origin, g, module.starts(rows.X, 5, CHAINS, g))
        missed += found.score < best_slices(model, rows.X, F, origin) - 1.0
    assert missed <= n_sets // 4, f"{missed} of {n_sets} searches missed the slices of one column"


def test_components_of_rows_that_share_a_value_are_found(rng):
    check_items(rng)


def test_splits_by_distance_do_not_find_them(rng, monkeypatch):
    monkeypatch.setattr("sgevidence.mixtures._merge_split.SLICED", 0.0)
    monkeypatch.setattr("sgevidence.mixtures._merge_split.ALONG", 0.0)
    with pytest.raises(AssertionError, match="missed the slices"):
        check_items(rng)
