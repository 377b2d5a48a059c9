"""The step to a mixture with fewer components: sums over all allocations, chains, and saying no."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from enumeration import enumerated
from mutants import broken
from overlap import overlapping
from scipy.special import binom, logsumexp

from sgevidence import BayesianGMM
from sgevidence.history import Rows
from sgevidence.models import MixtureModel
from sgevidence.models.allocations import (
    coefficients,
    features,
    log_complete_evidence,
    sample_allocations,
    sample_parameters,
    statistics,
)
from sgevidence.targets import _allocations as target
from sgevidence.targets import _smaller_mixtures
from sgevidence.targets._smaller_mixtures import to_smaller_mixture


def check_exact(log_c):
    """Σ_z p(x, z) f(z) = c Z_{K−m} over all allocations of five rows, whatever they weigh."""
    rng = np.random.default_rng(5)
    X, origin = rng.standard_normal((5, 2)), np.zeros(2)
    for weight, a in ((np.ones(5), 1.0), (np.array([2.0, 0.5, 1.3, 1.0, 3.0]), 0.4)):
        F = features(X, weight, origin)
        for K in (2, 3, 4):
            model = MixtureModel(K, 2, weight_concentration=a)
            z = np.array(list(product(range(K), repeat=5)))
            T = statistics(z, F, K)
            n_empty = np.sum(T[:, :, -1] == 0, axis=0)
            for m in range(1, K):
                fewer = replace(model, n_components=K - m)
                few = np.array(list(product(range(K - m), repeat=5)))
                log_Z = logsumexp(log_complete_evidence(fewer, statistics(few, F, K - m), origin))
                f = binom(n_empty, m) / binom(K, m)
                left = logsumexp(log_complete_evidence(model, T, origin), b=f)
                assert left == pytest.approx(log_c(model, m, weight.sum()) + log_Z, abs=1e-9)


def test_given_components_are_empty_as_often_as_it_says():
    check_exact(_smaller_mixtures.log_c)


@pytest.mark.parametrize(
    "right, wrong",
    [
        (
            "gammaln(all_) - gammaln(all_ + n) + gammaln(fewer + n) - gammaln(fewer)",
            "gammaln(all_) - gammaln(all_ + n) + gammaln(fewer + n) + gammaln(fewer)",
        ),
        ("gammaln(all_) - gammaln(all_ + n)", "gammaln(all_ + n)"),
        ("model.n_components - m", "model.n_components - 1"),
        ("model.n_components * a", "model.n_components"),
    ],
)
def test_power_of_the_constant(right, wrong):
    with pytest.raises(AssertionError):
        check_exact(broken(_smaller_mixtures.log_c, right, wrong))


def gibbs(model, X, rng, T=100, C=96):
    """Empty components of draws of chains that have forgotten their start, (T, C)."""
    origin = np.median(X, axis=0)
    F, theta, n_empty = features(X, np.ones(len(X)), origin), model.sample_prior(rng, C), []
    for sweep in range(100 + 3 * T):
        _, stats, _ = sample_allocations(coefficients(model, theta, origin), F, rng)
        theta = sample_parameters(model, stats, origin, rng)
        if sweep >= 100 and sweep % 3 == 0:
            n_empty.append(np.sum(stats[:, :, -1] == 0, axis=0))
    return np.array(n_empty)


def check_chains(rng, ratio=_smaller_mixtures.ratio):
    """Beside the sums over all allocations of six rows."""
    z = []
    for K, p in ((3, 1), (4, 2), (5, 3)):
        model, X = MixtureModel(K, p), rng.standard_normal((6, p))
        log_Z, n_empty = enumerated(model, Rows.of(X)), gibbs(model, X, rng)
        for m in range(1, K):
            step = ratio(model, n_empty, 6.0, m)
            assert step.m == m and step.std < 0.15 and step.n_effective > 60
            fewer = replace(model, n_components=K - m)
            z.append((step.log_ratio - log_Z + enumerated(fewer, Rows.of(X))) / step.std)
    assert np.all(np.abs(z) < 4), z


def test_chains_say_so(rng):
    check_chains(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("binom(model.n_components, m)", "model.n_components"),
        ("binom(n_empty, m)", "1.0 * (n_empty >= m)"),
        ("log_c(model, m, n) - np.log(f.mean())", "log_c(model, m, n) + np.log(f.mean())"),
        ("log_c(model, m, n)", "log_c(model, 1, n)"),
        ("np.sqrt(each.relative_variance)", "0.01 * np.sqrt(each.relative_variance)"),
    ],
)
def test_power_of_chains(rng, right, wrong):
    with pytest.raises(AssertionError):
        for g in rng.spawn(5):
            check_chains(g, broken(_smaller_mixtures.ratio, right, wrong))


def test_as_many_are_left_out_as_are_always_empty():
    found = to_smaller_mixture(MixtureModel(7, 20), np.full((40, 96), 2), 500.0)
    assert found.m == 2 and found.std == 0.0
    assert found.log_ratio == pytest.approx(
        _smaller_mixtures.log_c(MixtureModel(7, 20), 2, 500.0) + np.log(21)
    )


@pytest.mark.parametrize("kind", ["all are full", "no chain comes and goes", "one draw in ten thousand"])
def test_chains_that_do_not_know(rng, kind):
    n_empty = np.zeros((40, 96), dtype=int)
    if kind == "no chain comes and goes":
        n_empty[:] = rng.integers(2, size=96)
    elif kind == "one draw in ten thousand":
        n_empty[3, 4] = 1
    assert to_smaller_mixture(MixtureModel(4, 2), n_empty, 100.0) is None


def test_halves_that_differ_widen_the_bar(rng):
    n_empty = (rng.random((400, 96)) < 0.5).astype(int)
    same = to_smaller_mixture(MixtureModel(3, 2), n_empty, 100.0)
    n_empty[:, :48] |= rng.random((400, 48)) < 0.1
    apart = to_smaller_mixture(MixtureModel(3, 2), n_empty, 100.0)
    assert same.std < 0.02 and apart.std > 0.03


WIDE = overlapping(500, 20, 5, 0.6, 4)


@pytest.mark.slow
def test_more_components_than_groups_in_many_columns(rng):
    """Two are empty; annealing took four minutes.  Two searches agree, above what empty ones alone hold."""
    model = MixtureModel(7, 20)
    found = [target.allocation_evidence(model, Rows.of(WIDE), g) for g in rng.spawn(2)]
    for one in found:
        assert one.reliable and one.log_evidence_std < 0.2
        w = np.exp(one.log_weights - one.log_evidence)
        assert len(w) == len(one.theta) and np.log(w.mean()) == pytest.approx(0.0, abs=1e-4)
    std = np.hypot(*(one.log_evidence_std for one in found))
    assert abs(found[0].log_evidence - found[1].log_evidence) < 4.5 * std
    five = target.allocation_evidence(MixtureModel(5, 20), Rows.of(WIDE), rng)
    least = five.log_evidence + _smaller_mixtures.log_c(model, 2, 500.0) + np.log(21)
    assert found[0].log_evidence > least - 4.5 * np.hypot(five.log_evidence_std, found[0].log_evidence_std)


@pytest.mark.slow
def test_a_fit_takes_it(seed):
    found = target.allocation_evidence(MixtureModel(7, 20), Rows.of(WIDE), np.random.default_rng(seed))
    fitted = BayesianGMM(7, random_state=seed + 1).fit(WIDE)
    std = np.hypot(found.log_evidence_std, fitted.log_evidence_std_)
    assert fitted.log_evidence_std_ < 0.2 and abs(fitted.log_evidence_ - found.log_evidence) < 4.5 * std
