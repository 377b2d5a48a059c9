"""Resampling: unbiased, never a particle of weight zero, the right spread."""

import numpy as np
import pytest
from mutants import broken

from sgevidence.particles import RESAMPLING, multinomial, systematic

M, N_DRAWS = 8, 4000
SCHEMES = pytest.mark.parametrize("scheme", RESAMPLING.values(), ids=RESAMPLING)


class Extreme:
    """The smallest or the largest number a generator can return, always."""

    def __init__(self, u):
        self.u = u

    def random(self, size=None):
        return self.u if size is None else np.full(size, self.u)


def uneven(rng):
    """Without symmetry, with zeros at both ends and within, and one weight that is copied for sure."""
    W = np.r_[0.0, rng.exponential(size=M - 3), 0.0]
    W = np.insert(W, 4, 0.0)
    W[2] += 0.5 * W.sum()
    return W / W.sum()


def counts(scheme, W, rng):
    return np.array([np.bincount(scheme(W, rng), minlength=len(W)) for _ in range(N_DRAWS)])


def check_unbiased(scheme, W, rng):
    """Particle i is drawn M·W_i times on average, within the standard error of N_DRAWS draws."""
    n = counts(scheme, W, rng)
    assert np.all(n.sum(axis=1) == len(W))
    error = np.maximum(n.std(axis=0) / np.sqrt(N_DRAWS), 1e-12)
    assert np.all(np.abs(n.mean(axis=0) - len(W) * W) < 5 * error), "biased"
    return n


@SCHEMES
def test_unbiased(rng, scheme):
    W = uneven(rng)
    before = W.copy()
    n = check_unbiased(scheme, W, rng)
    assert np.all(n[:, W == 0] == 0)
    np.testing.assert_array_equal(W, before)


def test_systematic_counts_are_within_one(rng):
    for _ in range(20):
        W = rng.dirichlet(np.full(M, 0.3))
        assert np.all(np.abs(counts(systematic, W, rng)[:100] - M * W) < 1 + 1e-9)


def test_multinomial_draws_are_independent(rng):
    """Variance M W (1 − W) of each count."""
    W = rng.dirichlet(np.ones(M))
    variance = counts(multinomial, W, rng).var(axis=0)
    # a binomial's kurtosis exceeds a normal's by at most 1/variance
    error = M * W * (1 - W) * np.sqrt((2 + 1 / (M * W * (1 - W))) / N_DRAWS)
    assert np.all(np.abs(variance - M * W * (1 - W)) < 5 * error)


@SCHEMES
def test_equal_weights(rng, scheme):
    indices = scheme(np.full(M, 1 / M), rng)
    assert len(indices) == M and np.all(np.diff(indices) >= 0)
    if scheme is systematic:
        np.testing.assert_array_equal(indices, np.arange(M))


@SCHEMES
@pytest.mark.parametrize("u", [0.0, np.nextafter(1.0, 0.0)], ids=["first", "last"])
@pytest.mark.parametrize("n", [3, 10, 1000])
def test_extreme_uniforms_never_draw_a_zero_weight(rng, scheme, u, n):
    """0 must pass over leading zeros; (M − 1 + u)/M rounds to one and must not run past the end."""
    W = rng.random(n)
    W[[0, -1]] = 0.0
    indices = scheme(W / W.sum(), Extreme(u))
    assert len(indices) == n and np.all(W[indices] > 0)


@SCHEMES
def test_one_particle_left(rng, scheme):
    np.testing.assert_array_equal(scheme(np.eye(M)[3], rng), 3)


@pytest.mark.parametrize("wrong", ["1 - rng.random() / 2", "rng.random() / 2"])
def test_broken_systematic_is_caught(rng, wrong):
    with pytest.raises(AssertionError, match="biased"):
        check_unbiased(broken(systematic, "rng.random()", wrong), uneven(rng), rng)
