"""Short searches from the particles: what is better than where they are is found, and nothing else is."""

import numpy as np
import pytest
from mutants import broken

from sgevidence.history import Rows
from sgevidence.mixtures import _candidate_allocations as target
from sgevidence.mixtures._candidate_allocations import DRAWS, candidate_allocations
from sgevidence.mixtures._conditionals import features, sample_parameters, statistics
from sgevidence.models import MixtureModel

MODEL = MixtureModel(2, 2)
EACH = np.array([150, 60, 40])


def three_groups(rng, scale=1):
    """A wide group and two tight ones, for two components; and where each row is from."""
    group = np.repeat([0, 1, 2], scale * EACH)
    centre, width = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5]]), np.array([1.0, 0.2, 0.2])
    return Rows.of(centre[group] + width[group, None] * rng.standard_normal((len(group), 2))), group


def particles(rows, apart, rng, size=4):
    """Points of the basin in which one group is apart from the others."""
    origin = rows.X.mean(axis=0)
    T = statistics(np.tile(apart.astype(int), (size, 1)), features(rows.X, rows.weight, origin), 2)
    return sample_parameters(MODEL, T, origin, rng)


def check(rng, search=candidate_allocations):
    """The larger tight group apart is better by tens of nats than the smaller one."""
    rows, group = three_groups(rng)
    theta = particles(rows, group == 2, rng)
    poor = search(MODEL, rows, theta, theta[:0], rng)
    good = search(MODEL, rows, particles(rows, group == 1, rng), theta[:0], rng)
    assert poor.gap.min() < -10.0, "what is better is not seen"
    assert good.gap.min() > -4.0, "what is not better is taken for it"
    best = poor.theta[np.argmin(poor.gap)]
    gain = MODEL.sum_log_likelihood(best, rows).mean() - MODEL.sum_log_likelihood(theta, rows).mean()
    assert gain > 3.0, "the points are not those of the allocations"  # draws differ by three nats
    assert good.own.shape == (4, DRAWS, MODEL.n_params) and len(good.theta) == len(good.gap)


def test_what_is_better_is_found(rng):
    for g in rng.spawn(5):
        check(g)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("best - score[C:]", "score[C:] - best"),
        (
            "rearranged(np.resize(stay, (HEATS[0][0], len(F))), rows.X, K, rng)",
            "np.resize(stay, (48, len(F)))",
        ),
        (
            "CandidateAllocations(found[:C], found[C:], ..., ..., ..., ...)",
            "CandidateAllocations(found[:C], found[C:][::-1], ..., ..., ..., ...)",
        ),
    ],
    ids=["the sign", "nothing is split", "points in another order"],
)
def test_a_mistake_is_seen(rng, monkeypatch, right, wrong):
    monkeypatch.setattr(target, "ANYWHERE", 1)  # what starts from anywhere finds these groups, too
    with pytest.raises(AssertionError):
        for g in rng.spawn(5):
            check(g, broken(candidate_allocations, right, wrong))


def test_five_thousand_rows_are_enough_and_weights_of_a_sample_do_not_count(rng):
    """The gap of a few rows, not of the many that they stand for; cost is bounded."""
    rows, group = three_groups(rng, scale=40)
    theta = particles(rows, group == 2, rng)
    few, many = (
        candidate_allocations(MODEL, each, theta, theta[:0], rng) for each in (rows, rows.scaled(50.0))
    )
    assert few.n_likelihoods == many.n_likelihoods == (4 * 5 + 3 * (48 * 2 + 16 * 4 + 6 * 8)) * 5000
    assert -3000 < many.gap.min() < -150 and -3000 < few.gap.min() < -150


def check_far(rng, search=candidate_allocations):
    """8000 rows so far from the prior that one component was better at 5000, by 400 nats; now two are."""
    group = rng.integers(2, size=8000)
    rows = Rows.of(150.0 + 4.0 * group[:, None] + rng.standard_normal((8000, 2)))
    theta = particles(rows, 0 * group, rng)
    found = search(MODEL, rows, theta, theta[:0], rng)
    assert found.gap.min() < -100.0, "a part of the rows cannot tell"


def test_rows_that_are_far_out_are_all_looked_at(rng):
    check_far(rng)


def test_a_part_of_them_would_not_do(rng):
    wrong = broken(candidate_allocations, "MOST_SEEN * patience(model, rows)", "MOST_SEEN")
    with pytest.raises(AssertionError, match="cannot tell"):
        check_far(rng, wrong)
