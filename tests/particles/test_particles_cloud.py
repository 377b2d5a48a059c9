"""A weighted cloud: its evidence through weighting and resampling, against sums written out."""

import numpy as np
import pytest
from mutants import broken

from sgevidence.particles import RESAMPLING, Cloud

M = 50


@pytest.fixture
def cloud(rng):
    """Draws of N(0, 1) in two dimensions, weighted twice."""
    return Cloud.planted(rng.standard_normal((M, 2)))._replace(log_Z=-3.0)


def test_planted_draws_have_unit_weight(rng):
    theta = rng.standard_normal((M, 2))
    cloud = Cloud.planted(theta)
    assert cloud.M == M and cloud.log_evidence == 0.0
    assert cloud.log_evidence_std == 1 / M  # a part of so much of the prior is met by no draw, as a rule
    np.testing.assert_allclose(cloud.W, 1 / M)
    np.testing.assert_allclose(cloud.mean, theta.mean(axis=0))


def test_weights_multiply(cloud, rng):
    """log Ẑ = log_Z + log mean w, and the mean is that of the weighted particles."""
    a, b = rng.standard_normal((2, M))
    weighted = cloud.weighted(a).weighted(b)
    w = np.exp(a + b)
    assert weighted.log_evidence == pytest.approx(-3.0 + np.log(w.mean()))
    np.testing.assert_allclose(weighted.W, w / w.sum())
    np.testing.assert_allclose(weighted.mean, w @ cloud.theta / w.sum())
    assert cloud.log_evidence == -3.0  # a value: not changed


def check_resampled(cloud, rng, resampled=Cloud.resampled):
    """The evidence is kept, the particles come in proportion, and equal weights follow."""
    log_w = 2.0 * rng.standard_normal(M)
    before = cloud.weighted(log_w)
    numbers = np.zeros(M)
    for _ in range(400):
        after = resampled(before, RESAMPLING["multinomial"], 80, rng)
        assert after.log_evidence == pytest.approx(before.log_evidence), "evidence lost"
        assert after.M == 80 and np.all(after.W == 1 / 80)
        numbers += np.sum(after.theta[:, 0, None] == cloud.theta[:, 0], axis=0)
    W = before.W
    z = (numbers - 400 * 80 * W) / np.sqrt(400 * 80 * W * (1 - W))
    assert np.abs(z).max() < 5, "not in proportion"


def test_resampling_keeps_the_evidence(cloud, rng):
    check_resampled(cloud, rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("self.log_Z + self.weights.log_mean", "self.log_Z"),
        ("scheme(self.W, rng, M)", "scheme(np.full(self.M, 1 / self.M), rng, M)"),
        ("Weights.ones(M)", "self.weights"),
    ],
    ids=["mean weight not folded in", "all alike", "weights kept"],
)
def test_broken_resampling_is_caught(cloud, rng, right, wrong):
    with pytest.raises((AssertionError, ValueError)):
        check_resampled(cloud, rng, broken(Cloud.resampled, right, wrong))


def test_the_error_is_that_of_the_mean_weight(rng):
    """Over many clouds log Ẑ spreads as it says, also after resampling; what all share comes on top."""
    found, claimed = [], []
    for _ in range(400):
        cloud = Cloud.planted(rng.standard_normal((200, 1)))
        cloud = cloud.weighted(0.5 * cloud.theta[:, 0]).resampled(RESAMPLING["systematic"], 200, rng)
        cloud = cloud.weighted(0.3 * cloud.theta[:, 0])
        found.append(cloud.log_evidence)
        claimed.append(cloud.log_evidence_std)
    ratio = np.std(found) / np.sqrt(np.mean(np.square(claimed)))
    assert abs(ratio - 1) < 4.5 / np.sqrt(2 * 400) + 0.05
    shared = cloud._replace(shared_var=0.3)
    assert shared.log_evidence_std**2 == pytest.approx(claimed[-1] ** 2 + 0.3)


def test_some_of_them_are_spread_over_the_weight(cloud):
    """As many of each as its weight says; all of them where there are no more."""
    first = cloud._replace(weights=cloud.weights.add(np.where(np.arange(M) < 10, 0.0, -np.inf)))
    np.testing.assert_array_equal(first.spread_theta(4), cloud.theta[[1, 3, 6, 8]])
    np.testing.assert_array_equal(cloud.spread_theta(M + 1), cloud.theta)


def test_what_is_known_to_be_wrong_is_taken_off(cloud):
    found = cloud.corrected(-0.25)
    assert found.log_evidence == pytest.approx(cloud.log_evidence + 0.25)
    assert found.log_evidence_std == cloud.log_evidence_std


def test_fewer_particles_of_even_weights_leave_the_evidence_and_its_error(cloud, rng):
    """By roots the error would be 1/M more, which the weights of the next rows have."""
    weighted = cloud.weighted(0.01 * rng.standard_normal(M))
    fewer = weighted.thinned(RESAMPLING["systematic"], M // 2, rng)
    assert fewer.M == M // 2 and fewer.log_evidence == pytest.approx(weighted.log_evidence)
    assert fewer.log_evidence_std == pytest.approx(weighted.log_evidence_std)
    by_roots = weighted.resampled(RESAMPLING["systematic"], M // 2, rng)
    assert by_roots.log_evidence_std**2 > weighted.log_evidence_std**2 + 0.8 / M
    later = fewer.weighted(np.arange(M // 2) / M)  # the next rows tell what fewer particles know
    gained = later.log_evidence_std**2 - fewer.log_evidence_std**2
    assert gained == pytest.approx(np.sum((later.W - 2 / M) ** 2))
