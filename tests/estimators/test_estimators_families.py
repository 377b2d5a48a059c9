"""Families of BayesianGLM: evidence by quadrature, by another model, between families; rows, trials, classes."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, gammaln, logsumexp, ndtr

from sgevidence import (
    BayesianGLM,
)
from sgevidence.models import Bernoulli

RNG = np.random.default_rng(11)
x, TRIALS = RNG.standard_normal(25), RNG.integers(1, 9, 25)
MEAN = np.exp(0.8 * x)
HALF_T = stats.t(3).logpdf
Y = {
    "gaussian": 0.8 * x + 0.4 * RNG.standard_normal(25),
    "student_t": 0.8 * x + 0.4 * RNG.standard_t(2, 25),
    "bernoulli": (RNG.random(25) < expit(0.8 * x)).astype(float),
    "probit": (RNG.random(25) < ndtr(0.8 * x)).astype(float),
    "binomial": RNG.binomial(TRIALS, expit(0.8 * x)).astype(float),
    "poisson": RNG.poisson(MEAN).astype(float),
    "negative_binomial": RNG.poisson(MEAN * RNG.gamma(2.0, 0.5, 25)).astype(float),
    "gamma": MEAN * RNG.gamma(2.0, 0.5, 25),
    "zero_inflated_poisson": RNG.poisson(3 * MEAN) * (RNG.random(25) > 0.3).astype(float),
}
# log density of y at η, and log prior of the family's own parameters as logarithms, by hand
LAWS = {
    "gaussian": lambda y, eta, s: stats.norm.logpdf(y, eta, s),
    "student_t": lambda y, eta, s, nu: stats.t.logpdf(y, nu, eta, s),
    "bernoulli": lambda y, eta: np.log(expit((2 * y - 1) * eta)),
    "probit": lambda y, eta: stats.norm.logcdf((2 * y - 1) * eta),
    "binomial": lambda y, eta: stats.binom.logpmf(y, TRIALS, expit(eta)),
    "poisson": lambda y, eta: stats.poisson.logpmf(y, np.exp(eta)),
    "negative_binomial": lambda y, eta, a: stats.nbinom.logpmf(y, 1 / a, 1 / (1 + a * np.exp(eta))),
    "gamma": lambda y, eta, k: k * (np.log(k * y) - eta - y * np.exp(-eta)) - gammaln(k) - np.log(y),
    "zero_inflated_poisson": lambda y, eta, p: np.log(
        p * (y == 0) + (1 - p) * np.exp(stats.poisson.logpmf(y, np.exp(eta)))
    ),
}
PRIORS = {
    "gaussian": [lambda s: np.log(2) + HALF_T(s)],
    "student_t": [lambda s: np.log(2) + HALF_T(s), stats.gamma(2, scale=10).logpdf],
    "negative_binomial": [stats.expon().logpdf],
    "gamma": [stats.expon().logpdf],
    "zero_inflated_poisson": [lambda p: np.zeros_like(p)],
}


def by_quadrature(family, size=None):
    """log ∫ p(y | w, own) N(w | 0, 1) p(own), by the trapezoid rule in w and log own."""
    priors = PRIORS.get(family, [])
    size = size or (40 if len(priors) == 2 else 120)
    w = np.linspace(-2.5, 3.5, size)
    log_own = np.linspace(-9, 6 if family != "zero_inflated_poisson" else -1e-9, size)
    grids = np.meshgrid(w, *[log_own] * len(priors), indexing="ij")
    w, own = grids[0].ravel(), [np.exp(g.ravel()) for g in grids[1:]]
    log_p = stats.norm.logpdf(w) + sum(p(v) + np.log(v) for p, v in zip(priors, own))
    with np.errstate(divide="ignore"):
        log_p = log_p + LAWS[family](Y[family], w[:, None] * x, *(v[:, None] for v in own)).sum(axis=1)
    cell = 6.0 / (size - 1) * ((log_own[-1] - log_own[0]) / (size - 1)) ** len(priors)
    return logsumexp(log_p) + np.log(cell)


def glm(family, **params):
    family = Bernoulli(link="probit") if family == "probit" else family
    return BayesianGLM(**{"family": family, "random_state": 3} | params)


def known(family):
    return {"trials": TRIALS} if family == "binomial" else {}


def check_evidence(family):
    est = glm(family, fit_intercept=False).fit(x[:, None], Y[family], **known(family))
    assert abs(est.log_evidence_ - by_quadrature(family)) < 4 * est.log_evidence_std_ + 0.003
    assert est.log_evidence_std_ < 0.2
    return est


@pytest.mark.parametrize("family", Y)
def test_one_coefficient_by_quadrature(family):
    check_evidence(family)
