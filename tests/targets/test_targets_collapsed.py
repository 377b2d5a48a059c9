"""Collapsed Gibbs sweeps: how often they meet each of all allocations, and rows that are far out."""

from itertools import product

import numpy as np
import pytest
from mutants import broken
from scipy import stats
from scipy.special import logsumexp

from sgevidence.models import MixtureModel, allocations
from sgevidence.targets import _annealing_reference
from sgevidence.targets._annealing_reference import AnnealingReference
from sgevidence.targets._collapsed import collapsed_sweep

ROWS = np.array([[0.1, -0.3], [0.6, 0.4], [-1.3, 0.5], [3.0, 2.1], [4.4, -1.9]])


@pytest.fixture(autouse=True)
def sharp(monkeypatch):
    """So that it counts which allocation is remembered."""
    monkeypatch.setattr(_annealing_reference, "BLUR", 0.1)


def check(rng, collapsed_sweep=collapsed_sweep):
    """Of all allocations of five rows each is met as often as q(z)^(1−λ) p(x, z)^λ says, from any start."""
    origin, K, M = np.array([0.3, -0.2]), 3, 10_000
    remembered = AnnealingReference(np.array([[0, 0, 1, 2, 2], [1, 1, 1, 1, 0]]), K)
    uneven = np.array([2.0, 0.5, 1.3, 1.0, 3.0])
    for weight, a, q, lam in ((np.ones(5), 1.0, None, 1.0), (uneven, 0.4, remembered, 0.25)):
        model = MixtureModel(K, 2, weight_concentration=a)
        F = allocations.features(ROWS, weight, origin)
        every = np.array(list(product(range(K), repeat=5)))
        log_p = lam * allocations.log_complete_evidence(model, allocations.statistics(every, F, K), origin)
        if q is not None:
            log_p += (1 - lam) * q.log_density(every)
        p = np.exp(log_p - logsumexp(log_p))
        z = np.zeros((M, 5), dtype=np.int16)
        for _ in range(30):
            z = collapsed_sweep(model, z, F, origin, rng, q, lam)
        counts = np.bincount(z @ K ** np.arange(4, -1, -1), minlength=K**5)
        likely = p * M > 5
        expected = M * np.r_[p[likely], p[~likely].sum()]
        chi2 = np.sum((np.r_[counts[likely], counts[~likely].sum()] - expected) ** 2 / expected)
        assert stats.chi2.sf(chi2, len(expected) - 1) > 1e-5, (chi2, len(expected))


def test_every_allocation_is_met_as_often_as_it_should(rng):
    check(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("lam * log_odds.reshape(K, M)", "log_odds.reshape(K, M)"),
        ("(1 - lam) * q.log_odds(agreement, r)", "q.log_odds(agreement, r)"),
        ("agreement -= q.z[:, r] == z[:, [r]]", "pass"),
        ("agreement += q.z[:, r] == k[:, None]", "pass"),
        ("log_odds = ... + with_z - of_z", "log_odds = ..."),
        ("0.5 * w * shrunk", "0.5 * w * (1 - shrunk)"),
        ("(b_n + 0.5 * w) * log_more", "b_n * log_more"),
        ("(1 - shrunk[at])", "shrunk[at]"),
        ("with_x - of_x - (b_n + 0.5 * w) * log_more", "0.0 - (b_n + 0.5 * w) * log_more"),
        ("left = T[at] - F[r]", "left = T[at]"),
        ("w != last", "last is None"),
        (
            "beta_n[at], log_beta[at], of_x[at], of_z[at] = ...; with_x[at], with_z[at] = ...",
            "beta_n[at], log_beta[at], of_x[at], of_z[at] = ...",
        ),
    ],
)
def test_power(rng, right, wrong):
    with pytest.raises(AssertionError):
        check(rng, broken(collapsed_sweep, right, wrong))


def test_far_out(rng):
    """Rows at 10⁶, one of them at 10⁹: two groups are told apart, and no number is lost."""
    X = 1e6 + np.r_[rng.standard_normal((6, 3)), 50 + rng.standard_normal((6, 3))]
    X = np.r_[X, np.full((1, 3), 1e9)]
    model, origin = MixtureModel(4, 3), allocations.origin_of(X)
    F = allocations.features(X, np.ones(13), origin)
    z = rng.integers(4, size=(50, 13)).astype(np.int16)
    for _ in range(20):
        z = collapsed_sweep(model, z, F, origin, rng)
    T = allocations.statistics(z, F, 4)
    assert np.all(np.isfinite(allocations.log_complete_evidence(model, T, origin)))
    assert np.mean(np.sum(T[:, :, -1] == 1, axis=0) >= 1) > 0.9  # the far row is alone
