"""Evidence by strata: sums over all allocations of few rows, bounds, and walks planned to mislead."""

import itertools
from math import lgamma

import numpy as np
import pytest
from enumeration import partitions
from mixture_kinds import log_density
from scipy import stats
from scipy.special import gammaln, logsumexp
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

from sgevidence import BayesianGMM
from sgevidence.mixture.components import Categorical, DiagonalGaussian, FullGaussian, SphericalGaussian
from sgevidence.mixture.strata import (
    Strata,
    _evidence,
    _occupied,
    mixture_evidence,
    strata_up_to,
    why_not_affordable,
)
from sgevidence.mixture.strata._stratum import Stratum
from sgevidence.mixture.strata._sweeps import Problem

K = 3


def few_rows(seed=3):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.standard_normal((4, 2)), rng.standard_normal((3, 2)) + 2.5])


def few_codes(seed=4):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(L, size=7) for L in (3, 2)])


def strata_by_enumeration(family, X, a, K):
    """log B_1 … log B_K by all partitions of the rows."""
    F, n = family.features(X), len(X)
    T = np.array([[m >> r & 1 for r in range(n)] for m in range(2**n)], dtype=float) @ F
    block = family.log_evidence(T) + gammaln(a + T[:, -1]) - lgamma(a)
    terms = [[] for _ in range(n)]
    for blocks in partitions(n):
        terms[len(blocks) - 1].append(sum(block[mask] for mask in blocks))
    return np.array([np.logaddexp.reduce(one) + lgamma(k + 2) for k, one in enumerate(terms[:K])])


def evidence_by_enumeration(log_B, a, n, m):
    ways = [lgamma(m + 1) - lgamma(k + 1) - lgamma(m - k + 1) for k in range(1, m + 1)]
    return np.logaddexp.reduce(ways + log_B[:m]) + lgamma(m * a) - lgamma(m * a + n)


FAMILIES = [
    (DiagonalGaussian(2), few_rows(), 1.0),
    (FullGaussian(2, variance_prior=(1.5, 0.5)), few_rows(5), 0.7),
    (SphericalGaussian(2), few_rows(6), 2.0),
    (Categorical((3, 2)), few_codes(), 1.0),
]


@pytest.mark.parametrize("family, X, a", FAMILIES, ids=lambda one: type(one).__name__)
def test_strata_of_few_rows_are_exact(family, X, a):
    exact = strata_by_enumeration(family, X, a, 7)
    found = mixture_evidence(family, X, 9, a, np.random.default_rng(0))
    assert np.allclose(found.log_strata, exact, atol=1e-9)  # no more than there are rows
    assert np.all(found.log_evidence_std == 0)
    expected = evidence_by_enumeration(np.r_[exact, -np.inf, -np.inf], a, len(X), 9)
    assert found.log_evidence[-1] == pytest.approx(expected, abs=1e-9)
    assert found.doubt == ""


def test_draws_of_few_rows_are_those_of_the_posterior():
    """The mean of p(x_new | θ) over draws is the ratio of evidences, with the new row and without it."""
    family, X, a = FAMILIES[0]
    new, size = np.array([[0.4, 0.3]]), 4000
    found = mixture_evidence(family, X, 3, a, np.random.default_rng(0), n_draws=size)
    more = mixture_evidence(family, np.concatenate([X, new]), 3, a, np.random.default_rng(0))
    p = np.exp(found.log_weights + log_density(family, found.components, new)[..., 0]).sum(axis=1)
    expected = np.exp(more.log_evidence[-1] - found.log_evidence[-1])
    assert abs(p.mean() - expected) < 5 * p.std() / np.sqrt(800)  # 800 points of each stratum, at least


def test_fewer_components_are_answered_as_if_the_walk_had_ended_there():
    family, X, a = FAMILIES[1]
    wide, own = (strata_up_to(family, X, K, a, np.random.default_rng(0)) for K in (5, 3))
    one, other = (strata.posterior(3, 50, np.random.default_rng(1)) for strata in (wide, own))
    for name in one._fields:
        if name != "components":
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.components.means, other.components.means)


def test_shares_of_strata_for_more_components_are_seen(install_broken):
    right = "combined(self.problem, used, m)"
    install_broken(Strata, "posterior", right, right.replace("used", "self.visited"))
    with pytest.raises((AssertionError, ValueError)):
        test_fewer_components_are_answered_as_if_the_walk_had_ended_there()


def chi_square_of_allocations(seed, M=4000):
    """χ² of allocations with all of four components in use, of five rows, and its degrees of freedom."""
    rng, k, n = np.random.default_rng(seed), 4, 5
    F = np.column_stack([np.eye(n), np.ones(n)])  # coefficients are then log responsibilities
    c = np.column_stack(
        [np.log(rng.dirichlet(np.full(n, 0.6), k)) + 2 * rng.normal(size=(k, 1)), np.zeros(k)]
    )
    R = np.exp(c @ F.T)
    z = np.array([z for z in itertools.product(range(k), repeat=n) if len(set(z)) == k])
    p = np.prod((R / R.sum(axis=0))[z, np.arange(n)], axis=1)
    T = _occupied.sample_in_use(np.repeat(c[:, None], M, axis=1), F, rng)
    assert np.array_equal(T[:, :, :n].sum(axis=0), np.ones((M, n)))
    found = np.argmax(T[:, :, :n], axis=0)
    key = k ** np.arange(n)
    n_of = np.bincount(found @ key, minlength=k**n)[z @ key]
    assert n_of.sum() == M
    expected = M * p / p.sum()
    large = expected > 3
    rest = expected[~large].sum(), n_of[~large].sum()
    chi = np.sum((n_of - expected)[large] ** 2 / expected[large]) + (rest[0] - rest[1]) ** 2 / max(rest[0], 1)
    return chi, np.count_nonzero(large)


@pytest.mark.parametrize("seed", range(4))
def test_allocations_with_all_components_in_use_are_drawn_exactly(seed):
    chi, df = chi_square_of_allocations(seed)
    assert stats.chi2.sf(chi, df) > 1e-4


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("rng.random(len(left)) < ...", "rng.random(len(left)) < 1"),
        ("expected[:, left] < 1.0", "expected[:, left] < 0.0"),
    ],
)
def test_allocations_that_are_accepted_too_often_or_not_at_all_are_seen(right, wrong, install_broken):
    install_broken(_occupied, "_with_rows_of_their_own", right, wrong)
    with pytest.raises(AssertionError):
        for seed in range(4):
            test_allocations_with_all_components_in_use_are_drawn_exactly(seed)


@pytest.mark.parametrize("family, X, a", FAMILIES, ids=lambda one: type(one).__name__)
def test_every_stratum_is_the_sum_over_its_allocations(family, X, a, never_summed):
    exact = strata_by_enumeration(family, X, a, K)
    found = mixture_evidence(family, X, K, a, np.random.default_rng(0), n_draws=10)
    std = np.hypot(found.log_strata_std, 0.003)
    assert np.all(np.abs(found.log_strata - exact) < 4 * std)
    assert np.all(std < 0.05)
    for m in range(1, K + 1):
        expected = evidence_by_enumeration(exact, a, len(X), m)
        assert abs(found.log_evidence[m - 1] - expected) < 4 * np.hypot(found.log_evidence_std[m - 1], 0.003)
    shares = np.exp(exact + [lgamma(K + 1) - lgamma(k + 1) - lgamma(K - k + 1) for k in range(1, K + 1)])
    assert np.allclose(found.in_use[-1], shares / shares.sum(), atol=0.02)


def test_without_the_probability_that_all_are_in_use_strata_are_too_large(monkeypatch, never_summed):
    family, X, a = FAMILIES[0]
    without = lambda self, c: _occupied.log_likelihood_in_use(c, self.F)[0]  # noqa: E731
    monkeypatch.setattr(Problem, "log_target", without)
    found = mixture_evidence(family, X[:5], 4, a, np.random.default_rng(0), n_draws=10)
    assert found.log_strata[-1] > strata_by_enumeration(family, X[:5], a, 4)[-1] + 0.1


def test_a_weight_is_so_many_rows():
    X, family = few_rows(), DiagonalGaussian(2)
    weight = np.array([1, 2, 1, 0, 1, 1, 1])
    by_weight = mixture_evidence(family, X, 2, rng=np.random.default_rng(0), weight=weight, n_draws=5)
    by_rows = mixture_evidence(
        family, np.repeat(X, weight, axis=0), 2, rng=np.random.default_rng(0), n_draws=5
    )
    assert np.array_equal(by_weight.log_evidence, by_rows.log_evidence)


def test_same_seed_same_digits_and_draws_are_of_all_labels():
    X, family = few_rows(), FullGaussian(2)
    one, two = (mixture_evidence(family, X, 2, rng=np.random.default_rng(7), n_draws=40) for _ in range(2))
    assert np.array_equal(one.log_evidence, two.log_evidence)
    assert np.array_equal(one.components.means, two.components.means)
    assert one.components.covariances.shape == (40, 2, 2, 2)
    assert np.allclose(np.exp(one.log_weights).sum(axis=1), 1)
    assert np.ptp(np.exp(one.log_weights).mean(axis=0)) < 0.3  # no label is the largest component's
    assert np.linalg.eigvalsh(one.covariance).min() > -1e-12


def test_no_allocation_holds_more_than_the_evidence():
    rng = np.random.default_rng(11)
    X = np.concatenate([rng.standard_normal((20, 2)) @ [[1, 0.9], [0, 0.3]] + c for c in ([0, 0], [6, 0])])
    family, z = FullGaussian(2), np.repeat([0, 1], 20)
    found = mixture_evidence(family, X, 2, rng=rng, n_draws=10)
    T = np.array([family.features(X[z == k]).sum(axis=0) for k in range(2)])
    log_joint = np.sum(family.log_evidence(T) + gammaln(1 + T[:, -1])) + lgamma(2) - lgamma(42) + lgamma(3)
    assert log_joint < found.log_evidence[1] + 3 * found.log_evidence_std[1]
    assert found.log_evidence[1] < log_joint + 3  # groups that far apart are in hardly any other allocation
    assert found.doubt == ""


def walk(monkeypatch, log_terms, K, **more):
    """The strata that a walk visits where C(K, k) B_k are as planned."""
    log_B = np.array(log_terms) - _evidence.log_ways(K, len(log_terms))

    def planned(problem, before, rngs, log_rest=0.0, leniency=1.0):
        k = 1 if before is None else before.k + 1
        return Stratum(
            k,
            log_B[k - 1],
            more.get("std", 0.1) * (k > 1),
            more.get("gap", 0.0) * (k > 1),
            1.0,
            2,
            [],
            None,
            None,
            0.0,
        )

    monkeypatch.setattr(_evidence, "stratum", planned)
    monkeypatch.setattr(_evidence, "single", lambda problem, rngs: planned(problem, None, rngs))
    monkeypatch.setattr(_evidence, "_draws", lambda *arguments: (None, None))
    return mixture_evidence(DiagonalGaussian(1), np.zeros((50, 1)), K)


@pytest.mark.parametrize(
    "fourth, in_search, expected",
    [(-15.0, True, [1, 1, 5]), (30.0, True, [1, 1, 5, 1]), (-15.0, False, [1, 1, 1])],
)
def test_a_search_is_lenient_with_what_is_far_behind(fourth, in_search, expected, monkeypatch):
    """Four components are nine nats behind one, unless their stratum turns out to hold much."""
    log_B, asked = [0.0, -5.0, -10.0, fourth], []

    def planned(problem, before, rngs, log_rest, leniency=1.0):
        asked.append(leniency)
        return before._replace(k=before.k + 1, log_B=log_B[before.k], std=0.1)

    monkeypatch.setattr(_evidence, "stratum", planned)
    none = [None] * 4
    first = Stratum(1, log_B[0], 0.0, 0.0, 1.0, 2, *none)
    monkeypatch.setattr(_evidence, "single", lambda problem, rngs: first)
    X, rng = np.zeros((50, 1)), np.random.default_rng(0)
    strata_up_to(DiagonalGaussian(1), X, 4, 1.0, rng, in_search=in_search)
    assert asked == expected


def test_the_walk_goes_through_a_dip(monkeypatch):
    found = walk(monkeypatch, [0.0, -9.0, -7.0, 2.0, -3.0, -8.0, -12.0, -16.0], 8)
    assert len(found.log_strata) == 7  # two strata below e⁻⁶ and falling, not one, and not rising ones
    assert found.in_use[-1].argmax() == 3


def test_the_walk_ends_and_what_may_follow_is_in_the_bar(monkeypatch):
    planned = [0.0, -3.0, -6.5, -7.0, -7.5, -8.0]
    found = walk(monkeypatch, planned, 6, std=0.0)
    assert len(found.log_strata) == 4
    left_out = np.logaddexp.reduce(planned) - np.logaddexp.reduce(planned[:4])
    assert left_out < found.log_evidence_std[-1] < 3 * left_out


def test_errors_are_shared(monkeypatch):
    found = walk(monkeypatch, [-8.0, -4.0, 0.0, -1.0, -4.0], 5)
    C = found.covariance
    difference = np.sqrt(C[3, 3] + C[4, 4] - 2 * C[3, 4])
    assert difference < 0.5 * found.log_evidence_std[3]


def test_halves_that_differ_are_a_doubt(monkeypatch):
    assert walk(monkeypatch, [0.0, 1.0], 2).doubt == ""
    found = walk(monkeypatch, [0.0, 1.0], 2, gap=3.0)
    assert "differ by 3.0 nats" in found.doubt
    assert 2.0 < float(found.doubt.partition("off by ")[2].split()[0]) < 3.0
    assert walk(monkeypatch, [0.0, -9.0], 2, gap=3.0).doubt == ""  # of what does not matter


def test_what_is_affordable():
    X, ones = np.zeros((50, 2)), np.ones(50)
    assert why_not_affordable(FullGaussian(2), X, 4, ones) is None
    assert why_not_affordable(FullGaussian(2), X, 11, ones) is not None
    assert all(why_not_affordable(FullGaussian(2), X, 4, u * ones) is None for u in (0.5, 1e6))
    assert why_not_affordable(FullGaussian(2), X.repeat(1000, axis=0), 5, np.ones(50_000)) is not None
    far = np.concatenate([X, [[1e9, 0.0]]])
    assert why_not_affordable(FullGaussian(2), far, 4, np.ones(51)) is not None


def test_full_covariances_of_few_rows_are_doubted_where_searches_may_miss_some():
    X = np.random.default_rng(0).standard_normal((21, 6))
    assert "so few" in mixture_evidence(FullGaussian(6), X, 2, rng=np.random.default_rng(0), n_draws=5).doubt


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_sixteen_rows_of_full_covariances_are_right_and_not_doubted(seed):
    """Two components, against the sum over all allocations."""
    rng, n, family = np.random.default_rng([15, seed]), 16, FullGaussian(4, variance_prior=(1.0, 0.18))
    X = rng.standard_normal((n, 4)) + 3 * rng.integers(0, 2, (n, 1))
    found = mixture_evidence(family, X, 2, rng=rng)
    F = family.features(X)
    inside = np.arange(2**n)[:, None] >> np.arange(n) & 1
    size = inside.sum(axis=1)
    log_p = family.log_evidence(inside @ F) + family.log_evidence((1 - inside) @ F)
    exact = logsumexp(log_p + gammaln(1 + size) + gammaln(1 + n - size)) - gammaln(2 + n)
    assert abs(found.log_evidence[-1] - exact) < 4 * found.log_evidence_std[-1]
    assert found.doubt == "" and found.log_evidence_std[-1] < 0.1


@pytest.mark.parametrize("n_components, X", [(11, np.zeros((20, 1))), (2, np.zeros((0, 1)))])
def test_refusals(n_components, X):
    with pytest.raises(ValueError):
        mixture_evidence(DiagonalGaussian(1), X, n_components)


@pytest.mark.slow
def test_rows_in_another_order_or_repeated_have_the_same_digits():
    """scikit-learn's check, at the defaults, where the allocation is not certain."""
    check_sample_weight_equivalence_on_dense_data("gmm", BayesianGMM(2))
