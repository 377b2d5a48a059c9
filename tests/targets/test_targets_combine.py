"""What searches know together: means of evidences, doubts, and which of two answers is taken."""

import numpy as np
import pytest
from enumeration import enumerated
from mutants import broken

from sgevidence.history import Rows
from sgevidence.models import MixtureModel
from sgevidence.particles import Weights
from sgevidence.targets._allocations import allocation_evidence
from sgevidence.targets._combine import (
    AllocationEvidence,
    add_disjoint,
    average,
    larger_lower_bound,
    prefer_precise,
)

ROWS = Rows.of(2.0 * np.random.default_rng([3, 6, 1]).standard_normal((6, 1)))
ANSWER = AllocationEvidence(-10.0, 0.1, np.zeros((1, 2)), np.zeros(1), 90.0, True, False, 5.0)


def check_pooled(rng, average=average):
    """Three searches of which one has missed a basin: the mean of their evidences, and of what they say."""
    model, rows, new = MixtureModel(3, 1), ROWS, Rows.of([[0.5]])
    found = [allocation_evidence(model, rows, g) for g in rng.spawn(3)]
    found[0] = found[0]._replace(theta=found[0].theta[:1500], log_weights=found[0].log_weights[:1500] - 0.8)
    found[0] = found[0]._replace(log_evidence=np.log(np.mean(np.exp(found[0].log_weights))))
    together = average(found)
    w, value = np.exp(together.log_weights), np.array([one.log_evidence for one in found])
    assert together.log_evidence == pytest.approx(np.log(np.mean(np.exp(value)))), "evidence"
    assert len(w) == len(together.theta) and np.log(w.mean()) == pytest.approx(together.log_evidence), "draws"
    share = 1500 * np.mean(w[:1500]) / w.sum()
    assert share == pytest.approx(np.exp(value[0]) / np.exp(value).sum()), "shares"
    p = np.exp(model.log_likelihood(together.theta, new)[:, 0])
    expected = np.exp(enumerated(model, rows.join(new)) - enumerated(model, rows))
    assert w @ p / w.sum() == pytest.approx(expected, rel=0.05)
    assert together.log_evidence_std == pytest.approx(np.ptp(value) / 2) and together.reliable, "doubt"
    assert together.n_likelihoods == sum(one.n_likelihoods for one in found)


def test_searches_are_pooled(rng):
    check_pooled(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("log_sum_exp(log_Z, axis=0) - np.log(N)", "np.mean(log_Z)"),
        ("np.ptp(log_Z) / 2", "0.0"),
        ("N * len(one.theta) / n_draws", "1.0"),
    ],
    ids=["mean of logs", "no doubt", "draws as they come"],
)
def test_power_of_pooling(rng, right, wrong):
    with pytest.raises(AssertionError, match=r"evidence|draws|shares|doubt"):
        check_pooled(rng, broken(average, right, wrong))


@pytest.mark.parametrize(
    "std, apart, expected, reliable",
    [
        ((0.3, 0.4), 0.0, 0.3, True),  # what both may share does not average out
        ((0.05, 0.4), 0.0, 0.2015, True),
        ((0.6, 0.6), 0.0, 0.6, False),
        ((0.1, 0.1), 0.6, 0.3, True),
        ((0.1, 0.1), 1.2, 0.6, False),
        ((0.7, 0.1), 0.1, 0.3536, True),
    ],
)
def test_doubts_are_pooled(std, apart, expected, reliable):
    rows, model = Rows.of([[0.7]]), MixtureModel(2, 1)
    one = allocation_evidence(model, rows, np.random.default_rng(0))
    found = [one._replace(log_evidence_std=s, log_evidence=apart * i) for i, s in enumerate(std)]
    together = average(found)
    assert together.log_evidence_std == pytest.approx(expected, abs=1e-3) and together.reliable == reliable
    assert average(found[:1]) is found[0]
    few_draws = [found[0], one._replace(reliable=False, hopeful=False)]
    assert not average(few_draws).reliable


@pytest.mark.parametrize("above, reliable, longer", [(0.5, True, 1.0), (2.0, True, 1.99), (5.0, False, None)])
def test_what_is_rough_may_object(above, reliable, longer):
    """Nothing without bias is much too high, but by chance: by so many errors, the bar is longer."""
    rough = ANSWER._replace(log_evidence=-10.0 + above, log_evidence_std=1.0, reliable=False)
    found = prefer_precise(rough, ANSWER)
    assert found.reliable == reliable and found.n_likelihoods == 10.0
    if reliable:
        assert found.log_evidence == -10.0
        assert found.log_evidence_std / ANSWER.log_evidence_std == pytest.approx(longer, abs=0.02)


@pytest.mark.parametrize(
    "gain, reliable, taken",
    [(0.06, True, True), (0.04, True, False), (-1.0, True, True), (-1.0, False, False)],
)
def test_the_higher_of_two(gain, reliable, taken):
    """By half of its error bar, or where it alone can be believed."""
    one = ANSWER._replace(reliable=gain > 0)
    other = ANSWER._replace(log_evidence=-10.0 + gain, reliable=reliable)
    found = larger_lower_bound(one, other)
    assert found.log_evidence == (other if taken else one).log_evidence and found.n_likelihoods == 10.0


def test_what_is_precise_must_be_believed():
    doubtful = ANSWER._replace(log_evidence=-9.9, reliable=False)
    assert prefer_precise(ANSWER, doubtful).log_evidence == -10.0
    assert prefer_precise(ANSWER, ANSWER._replace(log_evidence=-9.9, hopeful=True)).log_evidence == -10.0


def answer(log_Z, std=0.1, reliable=True, M=2, n_effective=90.0):
    return AllocationEvidence(
        log_Z, std, np.zeros((M, 3)), np.full(M, log_Z), n_effective, reliable, False, 5.0
    )


def test_both_are_added():
    found = add_disjoint(answer(-10.0), answer(-10.0, 0.3, M=6))
    assert found.log_evidence == pytest.approx(-10.0 + np.log(2))
    assert found.log_evidence_std == pytest.approx(np.hypot(0.05, 0.15))
    w = Weights(found.log_weights)
    assert w.log_mean == pytest.approx(found.log_evidence) and w.W[:2].sum() == pytest.approx(0.5)
    assert found.n_likelihoods == 10.0 and found.reliable


@pytest.mark.parametrize(
    "log_Z, std, n_effective, at_most, known, reliable",
    [
        (-16.0, 0.1, 90.0, np.inf, True, True),
        (-11.0, 0.1, 90.0, np.inf, True, True),
        (-13.0, 0.1, 90.0, np.inf, False, False),  # as it says; it may be 3 nats too low
        (-15.5, 0.1, 90.0, np.inf, False, True),
        (-18.5, 0.1, 90.0, np.inf, False, True),
        (-18.5, 0.1, 5.0, np.inf, False, False),  # or far too low
        (-16.0, 0.1, 90.0, -11.0, False, True),
        (-16.0, 0.1, 5.0, -11.0, False, False),
        (-16.0, 9.0, 90.0, -15.5, False, True),
        (-16.0, 9.0, 5.0, -15.5, False, True),
    ],
)
def test_what_is_in_doubt_and_may_count(log_Z, std, n_effective, at_most, known, reliable):
    other = answer(log_Z, std, known, n_effective=n_effective)._replace(at_most=at_most)
    for found in (add_disjoint(answer(-10.0), other), add_disjoint(other, answer(-10.0))):
        assert found.reliable == reliable and found.n_likelihoods == 10.0
        assert found.log_evidence == pytest.approx(np.logaddexp(-10.0, log_Z), abs=0.01)
        most = -10.0 if known else np.logaddexp(-10.0, min(at_most, log_Z + 3 * std + 3))
        assert not reliable or found.log_evidence_std > 0.45 * (most - found.log_evidence)
