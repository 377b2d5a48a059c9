"""Families: densities, moments and draws against scipy.stats, derivatives against autograd, extreme rows."""

import numpy as np
import pytest
from autograd import elementwise_grad
from scipy import stats
from scipy.special import expit, ndtr

from sgevidence.history import Rows
from sgevidence.models import (
    Bernoulli,
    Beta,
    Binomial,
    ExponentialTimes,
    FarColumns,
    Gamma,
    Gaussian,
    GLMModel,
    HalfStudentT,
    HurdleNegativeBinomial,
    HurdlePoisson,
    LogLogistic,
    LogNormal,
    Model,
    NegativeBinomial,
    Ordinal,
    PiecewiseExponential,
    Poisson,
    StudentT,
    Weibull,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
    ZeroOneBeta,
    from_normal,
    value_and_grad,
)
from sgevidence.models._own_priors import GammaPrior, value_of

COUNTS, NUMBERS = np.array([0.0, 1.0, 2.0, 7.0, 30.0]), np.array([-3.0, -0.2, 0.0, 0.7, 9.0])


class OnCounts:
    """A law of counts from its log probabilities; moments by summation."""

    def __init__(self, logpmf):
        self.logpmf = logpmf

    def stats(self):
        p, y = np.exp(self.logpmf(np.arange(4000.0))), np.arange(4000.0)
        return p @ y, p @ y**2 - (p @ y) ** 2


def inflated(law, share):
    return OnCounts(lambda y: np.log(share * (y == 0) + (1 - share) * law.pmf(y)))


def hurdle(law, share):
    return OnCounts(
        lambda y: np.where(y == 0, np.log(share), np.log1p(-share) + law.logpmf(y) - law.logsf(0))
    )


class ZeroOne:
    """A beta, and masses at its ends."""

    def __init__(self, eta, phi, ends, ones):
        self.law, self.masses = beta(eta, phi), np.array([1 - ends, ends * (1 - ones), ends * ones])

    def logpdf(self, y):
        inside = np.log(self.masses[0]) + self.law.logpdf(y)
        return np.select([y == 0, y == 1], np.log(self.masses[1:])[:, None] + 0 * y, inside)

    def stats(self):
        mean, square = (self.masses @ [self.law.moment(k), 0, 1] for k in (1, 2))
        return mean, square - mean**2

    def entropy(self):
        return self.masses[0] * self.law.entropy() - self.masses @ np.log(self.masses)


def levels(eta, *c):
    """Masses between thresholds, of a logistic distribution around η."""
    edges = stats.logistic.cdf(np.array([-np.inf, *c, np.inf]) - eta)
    return stats.rv_discrete(values=(np.arange(len(c) + 1), np.diff(edges)))


def beta(eta, phi):
    return stats.beta(expit(eta) * phi, expit(-eta) * phi)


def weibull(eta, sigma=1.0):
    return stats.weibull_min(1 / sigma, scale=np.exp(eta))


class Piecewise:
    """Hazards that change at 1.5 and 4, by quadrature in each piece."""

    def __init__(self, eta, *rates):
        self.rates = np.array(rates) * np.exp(-eta)

    def logpdf(self, t):
        spent = np.array([np.minimum(t, 1.5), np.clip(t - 1.5, 0, 2.5), np.maximum(t - 4.0, 0)])
        return np.log(self.rates[np.searchsorted([1.5, 4.0], t)]) - self.rates @ spent

    def expectation(self, function):
        x, w = np.polynomial.legendre.leggauss(40)
        z, v = np.polynomial.laguerre.laggauss(40)
        t = np.concatenate([0.75 + 0.75 * x, 2.75 + 1.25 * x, 4.0 + z / self.rates[2]])
        weight = np.concatenate([0.75 * w, 1.25 * w, v * np.exp(z) / self.rates[2]])
        return weight @ (np.exp(self.logpdf(t)) * function(t))

    def stats(self):
        mean = self.expectation(lambda t: t)
        return mean, self.expectation(lambda t: (t - mean) ** 2)

    def entropy(self):
        return -self.expectation(self.logpdf)


def negative_binomial(eta, alpha):
    return stats.nbinom(1 / alpha, 1 / (1 + alpha * np.exp(eta)))


# family, what it is asked for beside y, y, and the law of scipy
LAWS = {
    "gaussian": (Gaussian(), (0.6,), NUMBERS, lambda eta, s: stats.norm(eta, s)),
    "student_t": (StudentT(), (0.6, 4.5), NUMBERS, lambda eta, s, nu: stats.t(nu, eta, s)),
    "poisson": (Poisson(), (), COUNTS, lambda eta: stats.poisson(np.exp(eta))),
    "negative_binomial": (NegativeBinomial(), (0.7,), COUNTS, negative_binomial),
    "nearly_poisson": (NegativeBinomial(), (1e-12,), COUNTS, lambda eta, a: stats.poisson(np.exp(eta))),
    "gamma": (Gamma(), (2.5,), COUNTS[1:], lambda eta, k: stats.gamma(k, scale=np.exp(eta) / k)),
    "zero_inflated": (
        ZeroInflatedPoisson(),
        (0.3,),
        COUNTS,
        lambda eta, p: inflated(stats.poisson(np.exp(eta)), p),
    ),
    "zero_inflated_nb": (
        ZeroInflatedNegativeBinomial(),
        (0.7, 0.3),
        COUNTS,
        lambda eta, a, p: inflated(negative_binomial(eta, a), p),
    ),
    "hurdle": (HurdlePoisson(), (0.3,), COUNTS, lambda eta, p: hurdle(stats.poisson(np.exp(eta)), p)),
    "hurdle_nb": (
        HurdleNegativeBinomial(),
        (0.7, 0.3),
        COUNTS,
        lambda eta, a, p: hurdle(negative_binomial(eta, a), p),
    ),
    "beta": (Beta(), (7.5,), np.array([0.003, 0.2, 0.5, 0.98]), beta),
    "zero_one_beta": (ZeroOneBeta(), (7.5, 0.3, 0.2), np.array([0.0, 0.003, 0.2, 0.98, 1.0]), ZeroOne),
    "ordinal": (Ordinal(n_levels=4), (-1.2, 0.1, 2.5), np.arange(4.0), levels),
    "weibull": (Weibull(), (0.6,), COUNTS[1:], weibull),
    "exponential": (ExponentialTimes(), (), COUNTS[1:], weibull),
    "lognormal": (LogNormal(), (0.6,), COUNTS[1:], lambda eta, s: stats.lognorm(s, scale=np.exp(eta))),
    "loglogistic": (LogLogistic(), (0.2,), COUNTS[1:], lambda eta, s: stats.fisk(1 / s, scale=np.exp(eta))),
    "piecewise": (PiecewiseExponential((1.5, 4.0)), (0.8, 2.0, 0.5), COUNTS[1:], Piecewise),
    "bernoulli": (Bernoulli(), (), COUNTS[:2], lambda eta: stats.bernoulli(expit(eta))),
    "probit": (Bernoulli("probit"), (), COUNTS[:2], lambda eta: stats.bernoulli(ndtr(eta))),
    "binomial": (Binomial(), (30.0,), COUNTS, lambda eta, n: stats.binom(n, expit(eta))),
}
every_law = pytest.mark.parametrize("name", LAWS)
ETA = np.array([-2.5, -0.4, 0.3, 1.9])


def check_density(name):
    family, more, y, law = LAWS[name]
    for eta in ETA:
        its = law(eta, *more)
        expected = getattr(its, "logpmf", None) or its.logpdf
        np.testing.assert_allclose(family.log_density(eta, y, *more), expected(y), rtol=1e-7, atol=1e-8)


@every_law
def test_density_is_that_of_scipy(name):
    check_density(name)


def check_derivatives(name):
    family, more, y, _ = LAWS[name]
    score = elementwise_grad(lambda eta: family.log_density(eta, y, *more))
    for eta in ETA:
        eta = np.full(len(y), eta)
        np.testing.assert_allclose(family.score(eta, y, *more), score(eta), rtol=1e-7, atol=1e-9)
        curvature = -elementwise_grad(score)(eta)
        np.testing.assert_allclose(family.curvature(eta, y, *more), curvature, rtol=1e-6, atol=1e-8)
        assert np.all(curvature >= 0) or not family.is_log_concave


@every_law
def test_score_and_curvature_are_derivatives(name):
    check_derivatives(name)


@every_law
def test_moments_and_draws(name):
    """Mean, variance and entropy of the law, and draws that have them."""
    family, more, _, law = LAWS[name]
    for eta in ETA[1:]:
        its = law(eta, *more)
        mean, variance = its.stats()
        np.testing.assert_allclose(family.mean(np.array(eta), *more), mean)
        np.testing.assert_allclose(family.variance(np.array(eta), *more), variance, rtol=1e-6)
        entropy = family.entropy(np.array([eta]), *more)[0]
        if hasattr(its, "entropy"):
            exact, is_bound = float(its.entropy()), family.grain and type(family) not in (Poisson, Bernoulli)
            assert abs(entropy - exact) < 2e-5 or (is_bound and exact < entropy < exact + 0.5)
        draws = family.simulate(np.full(4000, eta), np.random.default_rng(1), *more)
        assert abs(draws.mean() - mean) < 4.5 * np.sqrt(variance / 4000)
        fourth = np.mean((draws - mean) ** 4)
        assert abs(np.mean((draws - mean) ** 2) - variance) < 5 * np.sqrt(fourth / 4000)


def test_probabilities_of_levels_are_uniform(rng):
    """Probabilities at η = 0 have the moments of Dirichlet(1, …, 1), and draws of the prior are in order."""
    family = Ordinal(n_levels=4)
    c = np.hstack(family.own_of(rng.standard_normal((20_000, 3))))
    assert np.all(np.diff(c) > 0)
    p = np.diff(expit(c), prepend=0.0, append=1.0)
    law = stats.dirichlet([1.0] * 4)
    error = np.sqrt(law.var() / len(p))
    assert np.all(abs(p.mean(axis=0) - law.mean()) < 4 * error)
    np.testing.assert_allclose(np.cov(p.T), law.cov(), atol=0.0015)
    for k in range(4):
        assert stats.kstest(p[:, k], stats.beta(1, 3).cdf).pvalue > 1e-4


PRIORS = [getattr(family, own) for family, *_ in LAWS.values() for own in family.own]


@pytest.mark.parametrize(
    "prior",
    [*dict.fromkeys(PRIORS), GammaPrior(0.5, 3.0), HalfStudentT(0.2), stats.expon()],
    ids=lambda prior: type(prior).__name__,
)
def test_a_prior_is_a_function_of_a_standard_normal(prior):
    """P(κ < value) = Φ(z), by quadrature of its density, and the slope by differences."""
    z = np.array([-9.0, -5.5, -4.9, -2.0, -1.01, 0.0, 0.7, 3.0, 7.9, 8.1])
    value = value_of(z, prior)
    assert np.all(np.diff(value) > 0)
    slope = value_and_grad(lambda t: from_normal(t, prior)[:, 0], z[:, None])[1][:, 0]
    by_hand = (value_of(z + 1e-5, prior) - value_of(z - 1e-5, prior)) / 2e-5
    np.testing.assert_allclose(slope, by_hand, rtol=1e-5, atol=1e-10)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    half = np.log(value[7] / value[3]) / 2
    at = value[3] * np.exp(half * (nodes + 1))
    mass = half * (weights @ (at * np.exp(prior.logpdf(at))))
    assert mass == pytest.approx(ndtr(3.0) - ndtr(-2.0), rel=1e-4)


def model_and_rows(name, n=40, **params):
    """Two columns, an offset and what the family asks for."""
    family, _, y, _ = LAWS[name]
    rng = np.random.default_rng(0)
    known = {"trials": [np.full(n, 30.0)], "": []}[family.known]
    X = np.column_stack([rng.standard_normal((n, 2)), rng.uniform(-1, 1, n), *known])
    return GLMModel(2, family, has_offset=True, **params), Rows.of(
        X, rng.choice(y, n), rng.gamma(2.0, size=n)
    )


@pytest.mark.parametrize("far", [False, True], ids=["plain", "far"])
@every_law
def test_sums_and_derivatives_equal_autograd(name, far):
    model, rows = model_and_rows(name, coef_scale=0.5)
    model = FarColumns(model, (3.0, -2.0)) if far else model
    theta = 0.3 * model.sample_prior(np.random.default_rng(1), 3)
    plain = value_and_grad(lambda t: Model._block_log_likelihood(model, t, rows, None), theta)
    for fused, expected in zip(model._value_and_grad_log_likelihood(theta, rows), plain):
        np.testing.assert_allclose(fused, expected, rtol=1e-8)

    def by_differences(t, h=1e-5):
        g = value_and_grad(
            lambda s: Model._block_log_likelihood(model, s, rows, None),
            np.vstack([t + h * np.eye(len(t)), t - h * np.eye(len(t))]),
        )[1]
        return (g[: len(t)] - g[len(t) :]) / (2 * h)

    value, grad, H = model.derivatives(theta[0], rows)
    np.testing.assert_allclose(value, plain[0][0], rtol=1e-10)
    np.testing.assert_allclose(grad, plain[1][0], rtol=1e-8)
    assert np.abs(H - by_differences(theta[0])).max() < 1e-6 * np.abs(H).max()


EXTREME = {  # y, η, and what log p is near
    "poisson": [(1e9, np.log(1e9), -0.5 * np.log(2e9 * np.pi)), (0.0, -1e3, 0.0), (3.0, 1e3, -np.inf)],
    "negative_binomial": [(0.0, -1e3, 0.0), (1e12, 1e3, None), (0.0, 1e3, (-1e3 - np.log(0.7)) / 0.7)],
    "nearly_poisson": [(1e9, np.log(1e9), -0.5 * np.log(2e9 * np.pi)), (0.0, -1e3, 0.0)],
    "bernoulli": [(1.0, 1e3, 0.0), (0.0, 1e3, -1e3), (1.0, -1e3, -1e3)],
    "probit": [(1.0, 1e3, 0.0), (0.0, 1e3, -5e5), (1.0, -1e3, -5e5)],
    "binomial": [(30.0, 1e3, 0.0), (30.0, -1e3, -3e4)],
    "gamma": [(1e-300, 0.0, None), (1e100, 0.0, -2.5e100), (1.0, 1e3, -2.5e3)],
    "gaussian": [(1e90, 0.0, -1e180 / 0.72), (0.0, 1e3, -1e6 / 0.72)],
    "student_t": [(1e90, 0.0, None), (1e3, -1e3, None)],
    "zero_inflated": [(0.0, 1e3, np.log(0.3)), (0.0, -1e3, 0.0), (5.0, 1e3, -np.inf)],
    "zero_inflated_nb": [(0.0, -1e3, 0.0), (1e12, 1e3, None)],
    "hurdle": [(0.0, 1e3, np.log(0.3)), (0.0, -1e3, np.log(0.3)), (1.0, -1e3, np.log(0.7))],
    "hurdle_nb": [(0.0, 1e3, np.log(0.3)), (0.0, -1e3, np.log(0.3)), (1.0, -1e3, np.log(0.7))],
    "zero_one_beta": [(0.0, 1e3, np.log(0.24)), (1.0, -1e3, np.log(0.06))],
    "beta": [(1e-300, 0.0, None), (0.5, 30.0, None)],
    "ordinal": [(0.0, -1e3, 0.0), (3.0, -1e3, -1002.5), (1.0, 1e3, None)],
    "weibull": [(1e-300, 0.0, None), (1e100, 300.0, None), (1.0, 1e3, None)],
    "loglogistic": [(1e-300, 0.0, None), (1.0, 1e3, None), (1e100, 0.0, None)],
}


@pytest.mark.parametrize("name", EXTREME)
def test_extreme_rows(name):
    """A number or -inf, and right to a thousandth; derivatives are numbers where the density is one."""
    family, more, _, _ = LAWS[name]
    for y, eta, expected in EXTREME[name]:
        with np.errstate(all="ignore"):
            found = family.log_density(np.array([eta]), np.array([y]), *more)[0]
            derivatives = (
                family.score(np.array([eta]), np.array([y]), *more),
                family.curvature(np.array([eta]), np.array([y]), *more),
            )
        assert found < 1e-9 or name in ("gamma", "gaussian", "student_t", "weibull", "loglogistic", "beta")
        if expected is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
        if np.isfinite(found):
            assert np.all(np.isfinite(derivatives))


@pytest.mark.parametrize(
    "name, y, words",
    [
        ("poisson", [1.0, -2.0], "negative value -2"),
        ("zero_inflated", [1.0, -2.0], "negative value -2"),
        ("gamma", [1.0, 0.0], "y must be positive, but has 0"),
        ("hurdle", [1.0, -2.0], "negative value -2"),
        ("beta", [0.5, 1.0], "shares between 0 and 1, both excluded, but has 1"),
        ("weibull", [0.5, 0.0], "positive times, but has 0"),
        ("binomial", [3.0, 31.0], "31 successes among 30 trials in row 1"),
        ("binomial", [3.0, 0.5], "has 0.5: multiply shares by their trials"),
    ],
)
def test_impossible_rows_are_refused_in_words(name, y, words):
    family, more, _, _ = LAWS[name]
    with pytest.raises(ValueError, match=words):
        family.refuse(np.array(y), *more[: family.n_known])


@pytest.mark.parametrize(
    "prior, error, words",
    [
        (stats.norm(), ValueError, r"values in \(0, inf\), but reaches from -inf"),
        (stats.poisson(3), TypeError, "must be continuous"),
        (1.0, TypeError, "must be continuous"),
    ],
)
def test_priors_that_are_none(prior, error, words):
    with pytest.raises(error, match=words):
        NegativeBinomial(dispersion=prior)
    with pytest.raises(ValueError, match="link must be one of"):
        Bernoulli(link="log")
    with pytest.raises(ValueError, match=r"values in \(0, 1\)"):
        ZeroInflatedPoisson(share_of_zeros=stats.expon())


def test_sums_of_shares_beyond_the_precision_of_a_difference():
    y, w, eta = np.array([0.0, 0.3, 1.0]), np.array([1.0, 2.0, 0.5]), np.full((1, 3), 0.2)
    own = [np.array([[value]]) for value in (1e7, 0.3, 0.2)]
    expected = ZeroOneBeta().log_density(eta, y, *own) @ w
    np.testing.assert_allclose(ZeroOneBeta().summed(y, w)(eta, *own), expected)
