"""Bridges by regions between which chains do not cross, on modes of a line whose sum is known."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from sgevidence.hidden_markov import _regions
from sgevidence.hidden_markov._regions import Points, sum_over_regions

#: Log evidence of the target, nats.
LOG_Z = 3.0
#: Shares of the target's modes, and where these are.
SHARES, MODES = np.array([0.9, 0.1]), np.array([-5.0, 5.0])


def problem(rng, crossing=0.0, chains=(12, 12), n_q=1500, n_points=30, modes=MODES):
    """Points of chains, equally many from each mode, that change modes with a probability ``crossing``."""
    home = np.repeat([0, 1], chains)
    at = np.empty((len(home), n_points), dtype=int)
    for t in range(n_points):  # shares of the chains' law are the target's where they cross
        moves = rng.random(len(home)) < crossing
        before = home if t == 0 else at[:, t - 1]
        at[:, t] = np.where(moves, rng.random(len(home)) < SHARES[1], before)
    x_p = rng.normal(modes[at]).ravel()
    centers = modes[home] + rng.normal(size=len(home))
    x_q = rng.normal(rng.choice(centers, n_q), 1.3)
    x = np.r_[x_q, x_p]
    by_owner = norm.logpdf(x[:, None], centers, 1.3) - np.log(len(home))
    log_target = LOG_Z + logsumexp(norm.logpdf(x[:, None], modes) + np.log(SHARES), axis=1)
    log_w = log_target - logsumexp(by_owner, axis=1)
    return Points(log_w, by_owner, np.repeat(np.arange(len(home)), n_points)), x


def check(rng, **params):
    errors = []
    for _ in range(12):
        points, x = problem(rng, **params)
        found = sum_over_regions(points)
        errors.append((found.log_Z - LOG_Z) / found.std)
        assert found.std < 0.2
        W = np.exp(found.log_w - logsumexp(found.log_w))
        assert W[x > 0].sum() == pytest.approx(SHARES[1], abs=0.05)
    assert np.sqrt(np.mean(np.square(errors))) < 1.8, errors


@pytest.mark.parametrize("crossing", [0.0, 0.02, 0.5])
def test_starts_of_chains_do_not_decide(crossing, rng):
    check(rng, crossing=crossing)


def test_a_region_of_two_chains_is_of_importance_sampling(rng):
    check(rng, chains=(12, 2), n_q=4000)


def test_a_region_without_draws_of_q_counts_nothing():
    log_w, chain = np.array([0.1, -0.2, 0.3, 0.0, 0.1, 5.0]), np.array([0, 1, 2, 3])
    by_owner = np.where(np.arange(6)[:, None] == 5, [-9.0, -9, -9, 0], [0.0, 0, 0, -9])
    found = sum_over_regions(Points(log_w, by_owner, chain))
    assert abs(found.log_Z) < 0.3
    assert found.log_w[5] == -np.inf


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("_regions", "np.argmax(each, axis=0)", "np.zeros(len(each[0]), dtype=int)"),
        ("_sum", "one.log_w - log_sum_exp(one.log_w) + one.log_Z", "one.log_w - log_sum_exp(one.log_w)"),
        ("_of_region", "np.where(inside[:n_q], points.log_w[:n_q], -np.inf)", "points.log_w[:n_q]"),
    ],
)
def test_wrong_sums_over_regions_are_seen(name, right, wrong, rng, install_broken):
    install_broken(_regions, name, right, wrong)
    with pytest.raises(AssertionError):
        check(rng)
