"""The variance of log Ẑ from the ancestors: against the actual spread over replications of a toy SMC.

The toy has known weights: a particle's potential is the exponential of the sum of a part that moves
forget at once and a part that is inherited for ever.  What is inherited counts again and again.
"""

import numpy as np
import pytest
from mutants import broken

from sgevidence.particles import Genealogy, Weights, multinomial, systematic

MIN_ROOTS = 20  # families with fewer say nothing about an error


def test_planted():
    tree = Genealogy.planted(50, 0.25)
    np.testing.assert_array_equal(tree.root, np.arange(50))
    assert tree.variance(np.full(50, 1 / 50)) == pytest.approx(0.25)


@pytest.mark.parametrize("M", [1, 2, 300])
def test_without_resampling_it_is_the_relative_variance(rng, M):
    weights = Weights(rng.normal(size=M))
    expected = weights.relative_variance
    assert Genealogy.planted(M).variance(weights.W) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_by_hand():
    """Four roots, the first with two children, the third with two: shares ¾, 0, ¼, 0 against ¼ each."""
    tree = Genealogy(np.array([0, 0, 2, 2]), 4, 0.5)
    W = np.array([0.5, 0.25, 0.125, 0.125])
    assert tree.variance(W) == pytest.approx(0.5 + 0.25 + 1 / 16 + 0 + 1 / 16)


def test_the_number_of_particles_may_change(rng):
    """Roots stay as many as were planted; the children may be fewer or more, and no variance is lost."""
    M, W = 400, rng.dirichlet(np.ones(400))
    tree, before = Genealogy.planted(M), Genealogy.planted(M).variance(W)
    for M_new in (1000, 100_000):
        child = tree.descend(systematic(W, rng, M_new), W)
        assert len(child.root) == M_new and child.M0 == M
        # systematic resampling keeps each share to within one child
        assert child.variance(np.full(M_new, 1 / M_new)) == pytest.approx(before, rel=5 * M / M_new)


def test_planted_anew_when_few_roots_are_left(rng):
    """The variance so far is kept, and later spread adds to it."""
    M, W = 100, np.full(100, 1e-9)
    W[:MIN_ROOTS] = 1 / MIN_ROOTS
    W /= W.sum()
    tree, parents = Genealogy.planted(M), np.repeat(np.arange(MIN_ROOTS), M // MIN_ROOTS)
    kept = tree.descend(parents, W)
    assert kept.M0 == M and kept.var == 0.0 and len(np.unique(kept.root)) == MIN_ROOTS
    few = np.where(parents == MIN_ROOTS - 1, 0, parents)
    anew = tree.descend(few, W)
    np.testing.assert_array_equal(anew.root, np.arange(M))
    assert anew.var == pytest.approx(tree.variance(W)) and anew.var > 0
    later = rng.dirichlet(np.ones(M))
    assert anew.variance(later) == pytest.approx(anew.var + Genealogy.planted(M).variance(later))


@pytest.mark.parametrize("spread", [0.1, 3.0, 30.0])
def test_never_negative_nor_nan(rng, spread):
    """Whatever the weights: zeros, one survivor, M up and down."""
    M, tree, last = 60, Genealogy.planted(60), 0.0
    for step in range(60):
        log_w = spread * rng.normal(size=M)
        log_w[rng.random(M) < 0.2] = -np.inf
        log_w[0] = 0.0
        W = Weights(log_w).W
        assert np.isfinite(tree.variance(W)) and tree.variance(W) >= 0
        M = (60, 20, 5, 200)[step % 4]
        tree = tree.descend(systematic(W, rng, M), W)
        assert np.isfinite(tree.var) and tree.var >= last
        last = tree.var


# ----------------------------------------------------------------------------- against actual spread

STEPS = 12


def run(rng, M, fresh, inherited, scheme=systematic, descend=Genealogy.descend):
    """log Ẑ of a toy with Z = 1, its estimated variance, and the simple sum of relative variances.

    ``fresh``, ``inherited`` = standard deviations of the log-potential's two parts.
    """
    tree, log_Z, simple, trait = Genealogy.planted(M), 0.0, 0.0, rng.normal(size=M)
    for step in range(STEPS):
        weights = Weights(fresh * rng.normal(size=M) + inherited * trait)
        simple += weights.relative_variance
        log_Z += weights.log_mean
        if step < STEPS - 1:
            parents = scheme(weights.W, rng, M)
            tree, trait = descend(tree, parents, weights.W), trait[parents]
    return log_Z, tree.variance(weights.W), simple


def replicate(rng, n, **kwargs):
    return np.array([run(rng, **kwargs) for _ in range(n)]).T


def check_calibrated(rng, noise=(0.0, 0.25), n=800, **kwargs):
    """Mean estimate = actual variance of log Ẑ + noise of the resampling, within the error of n replications.

    Where moves forget, the noise of resampling is forgotten too, but the shares keep it: so much, in
    units of 1/M a resampling, may be too much.  A fraction f of a child has variance f(1 − f) ≤ ¼.
    """
    log_Z, estimate, simple = replicate(rng, n, **kwargs)
    actual = log_Z.var(ddof=1)
    kurtosis = np.mean((log_Z - log_Z.mean()) ** 4) / actual**2
    error = np.hypot(actual * np.sqrt((kurtosis - 1) / n), estimate.std() / np.sqrt(n))
    # the estimate is of the relative variance of Ẑ, which is that of log Ẑ to first order only
    slack = 4 * error + 0.08 * actual
    low, high = actual + np.array(noise) * (STEPS - 1) / kwargs["M"] + [-slack, slack]
    assert low < estimate.mean() < high, f"estimate off: {estimate.mean():.4f} for {actual:.4f} ± {error:.4f}"
    return actual, estimate.mean(), simple.mean()


def test_with_moves_that_forget(rng):
    """ESS = M/2 at each step, as annealing makes it: there all three agree."""
    actual, _, simple = check_calibrated(rng, noise=(0, 0), M=300, fresh=0.83, inherited=0.0)
    assert simple == pytest.approx(actual, rel=0.25)


@pytest.mark.slow
def test_with_moves_that_forget_nothing(rng):
    """Here the simple sum reports a small fraction of the variance: this is why there is a genealogy."""
    actual, _, simple = check_calibrated(rng, M=1000, fresh=0.0, inherited=0.06)
    assert simple < 0.2 * actual


@pytest.mark.slow
def test_with_moves_that_forget_a_part(rng):
    actual, _, simple = check_calibrated(rng, M=1000, fresh=0.83, inherited=0.08)
    assert simple < 0.7 * actual


@pytest.mark.slow
@pytest.mark.parametrize("fresh, inherited", [(0.83, 0.0), (0.0, 0.06), (0.3, 0.06)])
def test_multinomial_adds_one_over_M_a_resampling(rng, fresh, inherited):
    """To first order the factor (M/(M − 1))^T of Lee and Whiteley; systematic resampling needs none."""
    M = 1000
    check_calibrated(rng, noise=(1.0, 1.0), M=M, fresh=fresh, inherited=inherited, scheme=multinomial)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("self.root[parents]", "parents"),
        ("self.root[parents]", "np.arange(len(parents))"),
    ],
    ids=["parents for roots", "no descent"],
)
def test_broken_genealogy_is_caught(rng, right, wrong):
    descend = broken(Genealogy.descend, right, wrong)
    with pytest.raises(AssertionError, match="estimate off"):
        check_calibrated(rng, n=400, M=1000, fresh=0.0, inherited=0.06, descend=descend)
