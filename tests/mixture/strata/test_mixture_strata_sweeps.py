"""Sweeps with all components in use against the sum over all allocations."""

from itertools import product

import numpy as np

from sgevidence.mixture.components import DiagonalGaussian
from sgevidence.mixture.strata._occupied import log_likelihood_in_use
from sgevidence.mixture.strata._sweeps import Problem


def problem(n=5, seed=0):
    X, family = np.random.default_rng(seed).standard_normal((n, 1)), DiagonalGaussian(1)
    return Problem(family, X, X, family.features(X), 1.0)


def points(here, k, size, seed=1):
    T = np.zeros((k, size, here.F.shape[1]))
    return here.draw(T, np.random.default_rng(seed))


def all_allocations(here, c, k):
    """Allocations with all components in use and their log p(x, z | θ)."""
    z = np.array([z for z in product(range(k), repeat=len(here.F)) if len(set(z)) == k])
    R = c[:, 0] @ here.F.T
    return z, R[z, np.arange(len(here.F))].sum(axis=1)


def test_the_probability_that_all_are_in_use():
    here, k = problem(), 3
    c = points(here, k, 20)
    log_p, log_in_use = log_likelihood_in_use(c, here.F)
    for m in range(20):
        one = c[:, [m]]
        _, log_joint = all_allocations(here, one, k)
        assert np.isclose(log_p[m] + log_in_use[m], np.logaddexp.reduce(log_joint), atol=1e-8)


def test_with_fewer_rows_than_components_it_is_impossible():
    here = problem(n=2)
    assert np.all(log_likelihood_in_use(points(here, 3, 4), here.F)[1] == -np.inf)


def test_allocations_have_their_conditional_distribution():
    here, k, size = problem(n=4), 3, 20_000
    c = points(here, k, 1, seed=3)
    z, log_joint = all_allocations(here, c, k)
    expected = np.exp(log_joint - np.logaddexp.reduce(log_joint))
    rng = np.random.default_rng(4)
    now = z[rng.choice(len(z), size, p=expected)]  # chains that have it must keep it
    T = here.statistics(now, k)
    for _ in range(3):
        now, T, log_p = here.allocate(np.repeat(c, size, axis=1), now, T, rng)
    assert np.allclose(here.statistics(now, k), T)
    code = now @ k ** np.arange(4)
    seen = np.array([np.sum(code == one @ k ** np.arange(4)) for one in z]) / size
    assert np.all(np.abs(seen - expected) < 4.5 * np.sqrt(expected / size) + 1e-4)
    R = c[:, 0] @ here.F.T
    direct = R[now[0], np.arange(4)].sum() - np.logaddexp.reduce(R, axis=0).sum()
    assert np.isclose(log_p[0], direct, atol=1e-4)


def check_integrated(rng, integrated):
    """Allocations that have p(z | x, all in use) keep it."""
    here, k, size = problem(n=4), 2, 20_000
    z = np.array([z for z in product(range(k), repeat=4) if len(set(z)) == k], dtype=np.int16)
    log_p = here.log_joint(here.statistics(z, k))
    expected = np.exp(log_p - np.logaddexp.reduce(log_p))
    now = z[rng.choice(len(z), size, p=expected)]
    before, T = now, here.statistics(now, k)
    for _ in range(2):
        now, T = integrated(here, now, T, rng)
    assert np.allclose(here.statistics(now, k), T)
    assert np.mean(np.any(now != before, axis=1)) > 0.3
    code = now @ k ** np.arange(4)
    seen = np.array([np.sum(code == one @ k ** np.arange(4)) for one in z]) / size
    assert np.all(np.abs(seen - expected) < 4.5 * np.sqrt(expected / size) + 1e-4)


def test_rows_that_are_allocated_one_by_one_have_it_too(rng):
    check_integrated(rng, Problem.integrated)
