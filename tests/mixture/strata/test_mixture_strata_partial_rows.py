"""Rows that do not count once: against rows that do, the sum over allocations, and draws of the prior."""

import numpy as np
import pytest
from mixture_kinds import log_density, prior_draws
from scipy.special import gammaln

from sgevidence.history import Rows
from sgevidence.mixture.components import Categorical, DiagonalGaussian, FullGaussian, SphericalGaussian
from sgevidence.mixture.models import MixtureModel
from sgevidence.mixture.strata import mixture_evidence
from sgevidence.mixture.strata._partial_rows import PartialRows

FAMILIES = [DiagonalGaussian(2), SphericalGaussian(2), FullGaussian(2), Categorical((3, 3))]


def some_rows(family, rng, n=7):
    codes, numbers = rng.integers(0, 3, size=(n, 2)), rng.normal(size=(n, 2))
    return codes if isinstance(family, Categorical) else numbers + 2.0


def in_parts(X, parts=(0.2, 0.3, 0.5)):
    """Rows cut into parts whose weights add up to one."""
    return np.repeat(X, len(parts), axis=0), np.tile(parts, len(X))


def check_parts(family, rng, K=3):
    """The error over its bar of the largest number of components."""
    X = some_rows(family, rng)
    exact = mixture_evidence(family, X, K, 0.7, rng, n_draws=2)
    rows, weight = in_parts(X)
    found = mixture_evidence(family, rows, K, 0.7, rng, weight, n_draws=2)
    assert np.all(exact.log_evidence_std == 0) and np.all(found.log_evidence_std < 0.05)
    error = found.log_evidence - exact.log_evidence
    assert np.all(np.abs(error) < 4.5 * found.log_evidence_std + 1e-6), (error, found.log_evidence_std)
    return error[-1] / found.log_evidence_std[-1]


def check_no_bias(rng):
    """Eight problems together, which see what their bars hide one by one."""
    assert abs(np.mean([check_parts(FAMILIES[-1], rng) for _ in range(8)])) < 1.5


@pytest.mark.parametrize(
    "family",
    [pytest.param(one, marks=[pytest.mark.slow] * isinstance(one, FullGaussian)) for one in FAMILIES],
    ids=lambda one: type(one).__name__,
)
def test_parts_of_rows_add_up(family, rng):
    check_parts(family, rng)


@pytest.mark.slow
def test_parts_of_rows_have_no_bias(rng):
    check_no_bias(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("is_new | (np.log(rng.random(len(z))) < log_ratio)", "np.full(len(z), True)"),
        ("counted_once(self.F) - self.F", "self.F - counted_once(self.F)"),
    ],
)
def test_sweeps_that_refuse_nothing_or_the_wrong_points_are_seen(right, wrong, rng, install_broken):
    install_broken(PartialRows, "swept", right, wrong)
    with pytest.raises(AssertionError):
        check_no_bias(rng)


def test_tempered_rows(rng):
    """Weights below one, as of a path to the posterior: against draws from the prior."""
    model, rows = MixtureModel(2, 1), Rows.of(rng.normal(size=(3, 1)), None, [0.3, 0.5, 0.2])
    w = np.exp(model.sum_log_likelihood(model.sample_prior(rng, 200_000), rows))
    std = w.std() / w.mean() / np.sqrt(len(w))
    found = mixture_evidence(model.family, rows.X, 2, rng=rng, weight=rows.weight)
    error = found.log_evidence[-1] - np.log(w.mean())
    assert abs(error) < 4.5 * np.hypot(std, found.log_evidence_std[-1])


@pytest.mark.parametrize("K, n, heavy", [(2, 8, 1e6), pytest.param(3, 6, 1e5, marks=pytest.mark.slow)])
def test_one_heavy_row(K, n, heavy, rng):
    """Too heavy for a copy each time it counts: its lumps go where all of it would."""
    X, weight = rng.standard_normal((n, 2)), np.r_[heavy, np.ones(n - 1)]
    family, z = DiagonalGaussian(2).at(X), np.array(list(np.ndindex((K,) * n)))
    member = z[:, :, None] == np.arange(K)
    T = np.einsum("snk,nq->ksq", member, family.features(X) * weight[:, None])
    exact = np.logaddexp.reduce(np.sum(gammaln(1 + T[..., -1]) + family.log_evidence(T), axis=0))
    exact += gammaln(K) - gammaln(K + weight.sum())
    found = mixture_evidence(family, X, K, rng=rng, weight=weight, n_draws=2)
    assert abs(found.log_evidence[-1] - exact) < 4.5 * found.log_evidence_std[-1] + 1e-11 * abs(exact)
    assert found.log_evidence_std[-1] < 0.05


def test_draws_are_those_of_the_posterior(rng):
    """The mean of p(x_new | θ) over draws is the ratio of evidences, with the new row and without it."""
    family, new, size = FAMILIES[0], np.array([[0.4, 0.3]]), 4000
    X = some_rows(family, rng)
    without, more = (mixture_evidence(family, one, 3, rng=rng) for one in (X, np.concatenate([X, new])))
    found = mixture_evidence(family, in_parts(X)[0], 3, rng=rng, weight=in_parts(X)[1], n_draws=size)
    p = np.exp(found.log_weights + log_density(family, found.components, new)[..., 0]).sum(axis=1)
    expected = np.exp(more.log_evidence[-1] - without.log_evidence[-1])
    assert abs(p.mean() - expected) < 5 * p.std() / np.sqrt(300)  # of two halves of a few hundred chains
    assert np.ptp(np.exp(found.log_weights).mean(axis=0)) < 0.1  # no label is the largest component's


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: type(one).__name__)
def test_parameters_have_their_coefficients(family, rng):
    c = family.coefficients(prior_draws(family, rng, 5))
    c[..., -1] += rng.normal(size=5)  # a weight, of which the parameters know nothing
    found = family.coefficients(family.parameters(c))
    assert np.allclose(found[..., :-1], c[..., :-1], rtol=1e-6)
