"""Cases on which other libraries were reported wrong: right here, and to stay so.

Each is named after the thread that reported the fault, and told in our own words with an answer of its own.
"""

import autograd.numpy as anp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import multivariate_normal

from sgevidence import SGAIS, BayesianLinearRegression, BayesianModel, compare
from sgevidence.samplers import Exact

ONE_ROW = np.zeros((1, 1))


class Box:
    """A likelihood of θ alone, log L(θ) of shape (M,), with a uniform prior on (−half, half)^d."""

    def __init__(self, log_likelihood, d, half):
        self.function, self.d, self.half = log_likelihood, d, half

    def sample(self, rng, size):
        return rng.uniform(-self.half, self.half, (size, self.d))

    def log_prior(self, theta):
        inside = anp.all(anp.abs(theta) < self.half, axis=1)
        return anp.where(inside, -self.d * np.log(2 * self.half), -np.inf)

    def log_likelihood(self, theta, X, y=None):
        return self.function(theta)[:, None] + np.zeros(len(X))

    def fit(self, seed):
        model = BayesianModel(
            self.log_likelihood, sample_prior=self.sample, log_prior=self.log_prior, random_state=seed
        )
        return model.set_params(sampler=SGAIS(n_particles=500, max_particles=1000)).fit(ONE_ROW)


def gaussian(theta):
    d = theta.shape[1]
    return -0.5 * anp.sum(theta**2, axis=1) - 0.5 * d * np.log(2 * np.pi)


def two_gaussians(theta):
    """Of one width 0.5, in two corners."""

    def one(centre):
        return -0.5 * anp.sum((theta - centre) ** 2, axis=1) / 0.25 - np.log(2 * np.pi * 0.25)

    return anp.logaddexp(one(-3.0), one(3.0)) - np.log(2)


def two_shells(theta):
    """Radius 2, width 0.1, around (±3.5, 0)."""

    def one(centre):
        r = anp.sqrt((theta[:, 0] - centre) ** 2 + theta[:, 1] ** 2)
        return -0.5 * ((r - 2) / 0.1) ** 2 - 0.5 * np.log(2 * np.pi * 0.01)

    return anp.logaddexp(one(-3.5), one(3.5))


#: By the integral over the plane: 4π r for two shells of radius r, one for a density.
BOXES = {
    "cpnest #9": (gaussian, 1, 10.0, 0.0),
    "BayesianTools #105": (gaussian, 5, 10.0, 0.0),
    "dynesty #179": (two_gaussians, 2, 6.0, 0.0),
    "NestedSamplers.jl #62": (two_shells, 2, 6.0, np.log(8 * np.pi)),
}


@pytest.mark.parametrize("function, d, half, log_integral", BOXES.values(), ids=BOXES)
def test_a_likelihood_in_a_box(function, d, half, log_integral):
    est = Box(function, d, half).fit(11)
    assert abs(est.log_evidence_ - (log_integral - d * np.log(2 * half))) < 4 * est.log_evidence_std_
    assert est.log_evidence_std_ < 0.3


# -- pymc #2563: Bernoulli rows with Beta priors -----------------------------------------------------


class Coin:
    """p ~ Beta(a, b), θ = logit p."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def sample(self, rng, size):
        p = np.clip(rng.beta(self.a, self.b, (size, 1)), 1e-15, 1 - 1e-15)
        return np.log(p / (1 - p))

    def log_prior(self, theta):
        log_p, log_q = -anp.logaddexp(0, -theta[:, 0]), -anp.logaddexp(0, theta[:, 0])
        return self.a * log_p + self.b * log_q - betaln(self.a, self.b)

    def log_likelihood(self, theta, X, y=None):
        return -anp.logaddexp(0, -theta * (2 * X[:, 0] - 1))


def test_the_bayes_factor_of_two_priors_of_a_coin():
    X, exact, found = np.repeat([1.0, 0.0], [50, 50])[:, None], [], []
    for a, b in [(2.0, 5.0), (10.0, 10.0)]:
        coin = Coin(a, b)
        model = BayesianModel(
            coin.log_likelihood, sample_prior=coin.sample, log_prior=coin.log_prior, random_state=3
        )
        found.append(model.set_params(sampler=SGAIS(n_particles=500, max_particles=1000)).fit(X))
        exact.append(betaln(a + 50, b + 50) - betaln(a, b))
    for est, log_Z in zip(found, exact):
        assert abs(est.log_evidence_ - log_Z) < 4 * est.log_evidence_std_ < 0.4


# -- scikit-learn #13852: constants that were left out -----------------------------------------------


def total_of_one_row(noise_std):
    """∫ p(y) dy by the evidences of all y."""

    def p(y):
        stated = dict(coef_scale=0.7, intercept_scale=1.3, standardize=False)
        est = BayesianLinearRegression(noise_std, sampler=Exact(), **stated)
        return np.exp(est.fit([[0.4]], [y]).log_evidence_)

    return quad(p, -np.inf, np.inf, epsabs=1e-6, limit=40)[0]


@pytest.mark.parametrize("noise_std", [0.5, pytest.param(None, marks=pytest.mark.slow)])
def test_evidences_of_all_targets_add_to_one(noise_std):
    assert abs(total_of_one_row(noise_std) - 1) < 1e-3


# -- dynesty #373: log likelihoods of −10⁹ -----------------------------------------------------------


@pytest.mark.parametrize("seed", [5, 6])
def test_differences_of_evidences_of_minus_a_billion(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((100, 2)), 5.0 * rng.standard_normal(100)  # noise_std is wrong by far
    fits = {}
    for columns in ([0], [0, 1]):
        Phi = X[:, columns]
        exact = multivariate_normal.logpdf(y, np.zeros(100), Phi @ Phi.T + 1e-6 * np.eye(100))
        est = BayesianLinearRegression(
            1e-3, columns=columns, fit_intercept=False, random_state=seed, standardize=False
        ).fit(X, y)
        assert exact < -5e8 and abs(est.log_evidence_ - exact) < 4 * est.log_evidence_std_ + 1e-9 * abs(exact)
        fits[len(columns)] = est
    assert np.isfinite(compare(fits)["difference"]).all()
