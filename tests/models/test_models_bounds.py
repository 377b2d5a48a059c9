"""Bounds and late entries: probabilities of scipy, derivatives, tails that underflow, narrow intervals."""

import numpy as np
import pytest
from autograd import elementwise_grad
from scipy import stats

from sgevidence.models import (
    Beta,
    Bounded,
    ExponentialTimes,
    Gamma,
    Gaussian,
    HurdlePoisson,
    LogLogistic,
    LogNormal,
    NegativeBinomial,
    PiecewiseExponential,
    Poisson,
    StudentT,
    Weibull,
    ZeroInflatedPoisson,
)
from sgevidence.models._special import log_beta_tail, log_gamma_tail


def inflated(eta, share):
    """Zeros on top of a Poisson."""
    law, k = stats.poisson(np.exp(eta)), np.arange(80)
    p = (1 - share) * law.pmf(k)
    p[0] += share
    return stats.rv_discrete(values=(k, p / p.sum()))


class Piecewise:
    """Hazards that change at 1.5 and 4."""

    def __init__(self, eta, *rates):
        self.rates = np.array(rates) * np.exp(-eta)

    def sf(self, t):
        spent = [np.minimum(t, 1.5), np.clip(t - 1.5, 0, 2.5), max(t - 4.0, 0.0)]
        return np.exp(-self.rates @ np.array(spent))

    def cdf(self, t):
        return 1 - self.sf(t)

    def pdf(self, t):
        return self.rates[np.searchsorted([1.5, 4.0], t)] * self.sf(t)


#: Family, own parameters, and the law of scipy at η.
LAWS = {
    "gaussian": (Gaussian(), (0.6,), lambda eta, s: stats.norm(eta, s)),
    "student_t": (StudentT(), (0.6, 4.5), lambda eta, s, nu: stats.t(nu, eta, s)),
    "gamma": (Gamma(), (2.5,), lambda eta, k: stats.gamma(k, scale=np.exp(eta) / k)),
    "weibull": (Weibull(), (0.6,), lambda eta, s: stats.weibull_min(1 / s, scale=np.exp(eta))),
    "exponential": (ExponentialTimes(), (), lambda eta: stats.expon(scale=np.exp(eta))),
    "lognormal": (LogNormal(), (0.6,), lambda eta, s: stats.lognorm(s, scale=np.exp(eta))),
    "loglogistic": (LogLogistic(), (0.6,), lambda eta, s: stats.fisk(1 / s, scale=np.exp(eta))),
    "piecewise": (PiecewiseExponential((1.5, 4.0)), (0.8, 2.0, 0.5), lambda *more: Piecewise(*more)),
    "poisson": (Poisson(), (), lambda eta: stats.poisson(np.exp(eta))),
    "negative_binomial": (
        NegativeBinomial(),
        (0.7,),
        lambda eta, a: stats.nbinom(1 / a, 1 / (1 + a * np.exp(eta))),
    ),
    "zero_inflated": (ZeroInflatedPoisson(), (0.3,), inflated),
}
every_law = pytest.mark.parametrize("name", LAWS)
ETA = np.array([-0.7, 0.4, 1.6])
INF = np.inf
#: y, lower, upper and entry: exact, right, left, interval, exact and late, right and late, interval and late,
#: and a row that says nothing.
ROWS = np.array(
    [
        [2.0, 2.0, 2.0, -INF],
        [2.0, 2.0, INF, -INF],
        [3.0, -INF, 3.0, -INF],
        [2.0, 1.0, 3.0, -INF],
        [3.0, 3.0, 3.0, 1.0],
        [2.0, 2.0, INF, 1.0],
        [2.0, 1.0, 3.0, 1.0],
        [1.0, -INF, INF, -INF],
    ]
)


def columns(family, rows=ROWS):
    """y, and its bounds as the model has them."""
    y = rows[:, 0].copy()
    return y, *(rows[:, 1:] - (y[:, None] if family.link == "identity" else 0.0)).T


def by_scipy(law):
    """Log likelihood of each row by differences of probabilities."""
    density = getattr(law, "pmf", None) or law.pdf
    found = []
    for y, lower, upper, entry in ROWS:
        p = density(y) if lower == upper else law.cdf(upper) - (law.cdf(lower) if lower > -INF else 0.0)
        found.append(p / (law.sf(entry) if entry > -INF else 1.0))
    return np.log(found)


def check_density(name):
    family, own, law = LAWS[name]
    y, *bounds = columns(family)
    for eta in ETA:
        found = Bounded(family, 0.25).log_density(np.full(len(y), eta), y, *bounds, *own)
        exact = ROWS[:, 1] == ROWS[:, 2]
        np.testing.assert_allclose(found - np.where(exact, 0.0, 0.25), by_scipy(law(eta, *own)), rtol=1e-6)


@every_law
def test_probabilities_are_those_of_scipy(name):
    check_density(name)


def check_derivatives(name):
    family, own, _ = LAWS[name]
    y, *bounds = columns(family)
    bounded = Bounded(family)
    for eta in ETA:
        at = np.full(len(y), eta)
        h = 1e-5
        score = bounded.score(at, y, *bounds, *own)
        by_hand = (
            bounded.log_density(at + h, y, *bounds, *own) - bounded.log_density(at - h, y, *bounds, *own)
        ) / (2 * h)
        np.testing.assert_allclose(score, by_hand, atol=1e-7, rtol=1e-6)
        slope = (bounded.score(at + h, y, *bounds, *own) - bounded.score(at - h, y, *bounds, *own)) / (2 * h)
        np.testing.assert_allclose(bounded.curvature(at, y, *bounds, *own), -slope, atol=1e-6, rtol=1e-6)
        np.testing.assert_allclose(
            elementwise_grad(lambda eta: bounded.log_density(eta, y, *bounds, *own))(at), score
        )


@every_law
def test_score_and_curvature_are_derivatives(name):
    check_derivatives(name)


@every_law
def test_sums_are_of_rows_and_gradients_reach_own_parameters(name, rng):
    family, own, _ = LAWS[name]
    y, *bounds = columns(family)
    bounded, weight, eta = Bounded(family, 0.5), rng.gamma(2.0, size=len(y)), rng.normal(size=(3, len(y)))
    values = [np.full((3, 1), one) for one in own]
    each = bounded.log_density(eta, y, *bounds, *values)
    np.testing.assert_allclose(bounded.summed(y, weight, *bounds)(eta, *values), each @ weight)
    for j in range(len(own)):

        def of_own(value, j=j):
            return bounded.log_density(eta, y, *bounds, *values[:j], value, *values[j + 1 :])

        slope = elementwise_grad(of_own)(values[j])
        h = 1e-5
        by_hand = (of_own(values[j] + h) - of_own(values[j] - h)).sum(axis=1, keepdims=True) / (2 * h)
        np.testing.assert_allclose(slope, by_hand, rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in LAWS if name not in ("poisson", "negative_binomial")])
@pytest.mark.parametrize("y", [0.9, 30.0])
@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-9, 1e-12, 4e-16])
def test_a_narrow_interval_is_density_times_width(name, y, width):
    """Also in a tail of 10⁻³⁰⁰⁰, where differences of probabilities are zero."""
    family, own, _ = LAWS[name]
    if family.grain:
        return
    upper = np.nextafter(y, 99.0) if width < 1e-15 else y + width
    rows = np.array([[y, y, upper, -INF]])
    rows[:, 0] = y + 0.5 * (upper - y)
    values, *bounds = columns(family, rows)
    if family.link == "identity":  # the width as differences of columns have it
        upper, width = y + (bounds[1] - bounds[0])[0], (bounds[1] - bounds[0])[0]
    eta = np.array([0.3])
    found = Bounded(family).log_density(eta, values, *bounds, *own)
    width = upper - y if width > 1e-15 else bounds[1] - bounds[0]
    near = family.log_density(eta, values, *own) + np.log(width)
    np.testing.assert_allclose(found, near, atol=1e-4, rtol=1e-6)
    score = Bounded(family).score(eta, values, *bounds, *own)
    np.testing.assert_allclose(score, family.score(eta, values, *own), rtol=1e-3, atol=1e-3)


def test_tails_beyond_the_smallest_double():
    """mpmath, forty digits."""
    gammas = [(2.0, 1e3, -993.0912452206844, 1), (50.0, 2e3, -1772.0966311 - 0.0001000673, 1)]
    gammas += [(0.01, 900.0, -911.3349488723333, 1), (2.5, 1e-300, -1728.139793347881, -1)]
    gammas += [(1e3, 10.0, -3619.533045350749, -1), (1e3, 1e-5, -17425.0536534484, -1)]
    for k, x, expected, direction in gammas:
        np.testing.assert_allclose(log_gamma_tail(k, x, direction), expected, rtol=1e-9)
    betas = [(2.0, 3.0, -400.0, -798.208240530772, -1), (2.0, 3.0, 400.0, -1198.6137056388802, 1)]
    betas += [(500.0, 0.5, -3.0, -1527.9493507847155, -1), (1e4, 0.5, -0.3, -8548.45285172573, -1)]
    for a, b, w, expected, direction in betas:
        np.testing.assert_allclose(log_beta_tail(a, b, w, direction), expected, rtol=1e-9)


@every_law
def test_extreme_parameters_leave_no_false_certainty(name):
    """A law that cannot have reached y gives −∞ or a very small number, never zero nats or no number."""
    family, own, _ = LAWS[name]
    y, *bounds = columns(family)
    informative = np.array([0, 1, 3, 4, 5, 6])
    for eta in (-60.0, -700.0):
        for small in (1.0, 1e-3, 1e-8):
            more = [np.full((1, 1), one * (small if j == 0 else 1.0)) for j, one in enumerate(own)]
            more = [np.minimum(one, 0.999) for one in more] if name == "zero_inflated" else more
            found = Bounded(family).log_density(np.full((1, len(y)), eta), y, *bounds, *more)[0]
            total = Bounded(family).summed(y, np.ones(len(y)), *bounds)(np.full((1, len(y)), eta), *more)
            assert not np.any(np.isnan(found)) and np.all(found[informative[:3]] < -3.0)
            assert not np.isnan(total[0]) and total[0] < -3.0
            derivatives = Bounded(family).score(np.full(len(y), eta), y, *bounds, *more)
            assert np.all(np.isfinite(derivatives))


def test_an_entry_that_nothing_survives_is_impossible():
    """Both survivals underflow: the difference of their logarithms is no number."""
    late, sigma = columns(Weibull(), np.array([[2.0, 2.0, INF, 1.999]])), np.array([[1e-4]])
    assert Bounded(Weibull()).log_density(np.zeros((1, 1)), *late, sigma)[0, 0] == -INF
    assert Bounded(Weibull()).summed(late[0], np.ones(1), *late[1:])(np.zeros((1, 1)), sigma)[0] == -INF


@pytest.mark.parametrize("family", [HurdlePoisson(), Beta()])
def test_families_without_tails_have_no_bounds(family):
    with pytest.raises(ValueError, match="has no bounds"):
        Bounded(family)
