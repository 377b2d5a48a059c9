"""Rows that nobody scaled: far from the prior, far from each other, or marked by 10²⁰ as missing."""

import numpy as np
import pytest
from enumeration import enumerated
from scipy.special import gammaln, logsumexp

from sgevidence import SGAIS, BayesianGLM, BayesianGMM, BayesianSoftmaxRegression, EvidenceWarning
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import SoftmaxModel, near

FAR = {
    "one row": lambda rng, n, p, far: rng.normal(size=(n, p)) + far * (np.arange(n) == n // 2)[:, None],
    "all rows": lambda rng, n, p, far: rng.normal(size=(n, p)) + far,
    "two groups": lambda rng, n, p, far: rng.normal(size=(n, p)) + far * (-1.0) ** np.arange(n)[:, None],
}


def check_exact(rng, kind, K, p, n, far, calls=None, **settings):
    """Beside the sum over all allocations."""
    X = FAR[kind](rng, n, p, far)
    model = BayesianGMM(
        K, sampler=SGAIS(**settings), random_state=int(rng.integers(2**31)), standardize=False
    )
    for start in range(0, n, calls or n):
        model.partial_fit(X[start : start + (calls or n)])
    exact = enumerated(MixtureModel(K, p), Rows.of(X))
    assert model.log_evidence_std_ < 0.2, "error bar"
    error = abs(model.log_evidence_ - exact)
    assert error < 4.5 * model.log_evidence_std_ + 1e-9 * abs(exact), "evidence"


@pytest.mark.parametrize("kind", FAR)
@pytest.mark.parametrize("K, p, n", [(2, 1, 1), (2, 1, 9), (3, 2, 7)])
@pytest.mark.parametrize("far", [30.0, pytest.param(1e3, marks=pytest.mark.slow), 1e9])
def test_few_rows_of_a_mixture(rng, kind, K, p, n, far):
    check_exact(rng, kind, K, p, n, far)


@pytest.mark.parametrize("kind", FAR)
@pytest.mark.parametrize("calls", [1, 4])
def test_few_rows_of_a_mixture_in_calls(rng, kind, calls):
    check_exact(rng, kind, 2, 1, 5 if calls == 1 else 9, 1e3, calls)


def test_particles_alone_would_not_do(rng):
    """Annealing from the prior stops where means no longer keep up with scales: several nats, in silence."""
    with pytest.raises(AssertionError, match=r"error bar|evidence"):
        for g in rng.spawn(3):
            check_exact(g, "one row", 2, 1, 9, 1e3, proposal=None)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("far", [1e3, 1e12, 1e20, 1e100])
def test_a_far_row_of_a_softmax_regression(rng, far):
    """Only u = w₁ − w₀ ~ N(0, 2) matters: quadrature over it, on a grid that is geometric on either side."""
    x = rng.normal(size=(40, 1))
    y = (rng.random(40) < 1 / (1 + np.exp(-1.5 * x[:, 0]))).astype(int)
    x[7], y[7] = far, 1
    half = np.logspace(-110, np.log10(20.0), 60_001)
    u = np.concatenate([-half[::-1], [0.0], half])
    log_f = -0.25 * u**2 - 0.5 * np.log(4 * np.pi)
    for sign, value in zip(2 * y - 1, x[:, 0]):
        log_f = log_f - np.logaddexp(0.0, -sign * value * u)
    width = np.diff(u)
    exact = logsumexp(np.logaddexp(log_f[1:], log_f[:-1]) - np.log(2) + np.log(width))
    seed = int(rng.integers(2**31))
    found = BayesianSoftmaxRegression(fit_intercept=False, random_state=seed, standardize=False).fit(x, y)
    assert abs(found.log_evidence_ - exact) < 4.5 * found.log_evidence_std_
    assert found.log_evidence_std_ < 0.2


def test_a_value_that_marks_missing_ones_does_not_move_the_others(rng):
    """The centre of a column keeps the digits of its other rows, and one of time stamps is their mean."""
    X = rng.normal(size=(40, 2))
    X[rng.random(40) < 0.6, 0] = 1e20
    X[:, 1] = 1.7e18 + 1e13 * X[:, 1]
    model = near(SoftmaxModel(2, 2), X)
    others = X[:, 0] < 1e19
    moved = X[others, 0] - model.centre[0]
    np.testing.assert_allclose(moved + model.centre[0], X[others, 0], atol=1e-12)
    assert model.centre[1] == pytest.approx(X[:, 1].mean(), rel=1e-12)


def test_a_value_without_a_square_is_refused(rng):
    X = rng.normal(size=(30, 2))
    X[7, 0] = 1e200
    with pytest.raises(
        ValueError, match=r"X has values of 1e\+200, in row 7 of column 0, whose squares leave"
    ):
        BayesianGLM(family="poisson", random_state=0, standardize=False).fit(X, rng.poisson(1.0, size=30))


def three_groups(rng, n, far):
    """Rows of three groups, shifted, and their log evidence: groups are apart, so p(x) = K! p(x, z)."""
    centres, z = np.array([[0.0, 0.0], [8.0, 8.0], [-8.0, 8.0]]), rng.integers(3, size=n)
    X = far + centres[z] + rng.normal(size=(n, 2))
    one, each = MixtureModel(1, 2), np.bincount(z)
    exact = sum(one.exact_log_evidence(Rows.of(X[z == k])) for k in range(3))
    return X, exact + np.sum(gammaln(1 + each)) + gammaln(3) - gammaln(3 + n) + gammaln(4)


def check_three_groups(rng, n, far, **settings):
    """Three groups so many prior widths from zero."""
    X, exact = three_groups(rng, n, far)
    model = BayesianGMM(
        3, sampler=SGAIS(**settings), random_state=int(rng.integers(2**31)), standardize=False
    ).fit(X)
    more = model.log_evidence_ - exact  # a few rows between two groups have other allocations
    slack = 4.5 * model.log_evidence_std_ + 1e-9 * abs(exact)
    assert -slack < more < 0.05 + slack, "evidence"
    assert model.log_evidence_std_ < 0.3, "error bar"


def test_groups_far_from_the_prior(rng):
    check_three_groups(rng, 300, 10.0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2500, 6000])
def test_more_rows_of_groups_far_from_the_prior(rng, n):
    check_three_groups(rng, n, 100.0)


@pytest.mark.parametrize("far", [pytest.param(1e8, marks=pytest.mark.slow), -1e9])
def test_particles_that_cannot_move_are_said(far):
    """Counts with a column far from zero, annealed: no move is accepted, log Z is thousands too low."""
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((20, 1)) + far, rng.poisson(2.0, 20)
    with pytest.warns(EvidenceWarning, match="hardly moved"):
        BayesianGLM(fit_intercept=False, sampler=SGAIS(proposal=None), random_state=0, standardize=False).fit(
            X, y
        )
