"""Allocations that annealing starts from: sums over all, draws, conditionals, labels exchanged."""

from itertools import permutations, product

import numpy as np
import pytest
from mutants import broken
from scipy import stats
from scipy.special import logsumexp

from sgevidence.targets import _annealing_reference
from sgevidence.targets._annealing_reference import AnnealingReference

K, N = 3, 4
EVERY = np.array(list(product(range(K), repeat=N)), dtype=np.int16)
Q = AnnealingReference(np.array([[0, 0, 1, 2], [1, 1, 1, 0]], dtype=np.int16), K)


def check_frequencies(z, log_p):
    """As many of each allocation as its log-density, but for a constant, says."""
    p = np.exp(log_p - logsumexp(log_p))
    counts = np.bincount(z.astype(int) @ K ** np.arange(N - 1, -1, -1), minlength=K**N)
    assert stats.chi2.sf(np.sum((counts - len(z) * p) ** 2 / (len(z) * p)), K**N - 1) > 1e-5


def test_density():
    """By hand, and it sums to one."""
    rho = 0.5 * (Q.z[:, :, None] == np.arange(K)) + 0.5 / K  # (S, n, K)
    by_hand = np.mean([np.prod(one[np.arange(N), EVERY], axis=1) for one in rho], axis=0)
    np.testing.assert_allclose(Q.log_density(EVERY), np.log(by_hand), atol=1e-12)
    assert by_hand.sum() == pytest.approx(1.0)


def test_draws_have_it(rng):
    check_frequencies(Q.draw(20_000, rng), Q.log_density(EVERY))


def test_odds_are_of_the_density():
    for r in range(N):
        others = Q.agreement(EVERY) - (Q.z[:, r] == EVERY[:, [r]])
        odds = Q.log_odds(others, r)
        for k in range(K):
            given = EVERY.copy()
            given[:, r] = k
            np.testing.assert_allclose(
                odds[k] - odds[0], Q.log_density(given) - Q.log_density(np.where(np.arange(N) == r, 0, given))
            )


def check_labels(rng, relabelled=AnnealingReference.relabelled):
    """Draws of q^α f stay so, for an f that knows no labels; with α = 0 all labellings are alike."""
    same = np.sum(EVERY[:, :, None] == EVERY[:, None, :], axis=(1, 2))  # knows no labels
    for power in (0.0, 0.7):
        log_p = power * Q.log_density(EVERY) + 0.1 * same
        p = np.exp(log_p - logsumexp(log_p))
        z = EVERY[rng.choice(len(EVERY), p=p, size=20_000)]
        moved = relabelled(Q, z, power, rng)
        assert np.mean(np.any(moved != z, axis=1)) > 0.1
        together = [np.all((one[:, :, None] == one[:, None, :]), axis=0) for one in (z[:1], moved[:1])]
        np.testing.assert_array_equal(*together)
        check_frequencies(moved, log_p)
    z = Q.draw(20_000, rng)
    for _ in range(4):
        z = relabelled(Q, z, 0.0, rng)
    check_frequencies(z, _over_labels())


def _over_labels():
    """log of the mean of q over all labellings of each allocation."""
    each = [Q.log_density(np.array(pi)[EVERY]) for pi in permutations(range(K))]
    return logsumexp(each, axis=0)


def test_labels_are_exchanged(rng):
    check_labels(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("power * (log_new - log_q)", "(log_new - log_q)"),
        ("A + B[m, :, k, l] + B[m, :, l, k]", "A + 2 * B[m, :, k, l]"),
        (
            "A + B[m, :, k, l] + B[m, :, l, k] - B[m, :, k, k] - B[m, :, l, l]",
            "A + B[m, :, k, l] + B[m, :, l, k] - B[m, :, k, k]",
        ),
        ("A[taken], log_q[taken] = new[taken], log_new[taken]", "pass"),
        ("B[taken, :, i], B[taken, :, j] = B[taken, :, j], B[taken, :, i]", "pass"),
        ("np.argsort(label, axis=1)", "label"),
        ("k, l = rng.integers(K, size=(2, M))", "k, l = np.tile(rng.permutation(K)[:2, None], M)"),
    ],
)
def test_power(rng, right, wrong):
    with pytest.raises(AssertionError):
        for g in rng.spawn(3):
            check_labels(g, broken(_annealing_reference.AnnealingReference.relabelled, right, wrong))
