r"""Published log evidences: data, priors and likelihoods as published, and the numbers to reach.

Each :class:`Problem` makes an estimator whose model is the published one; the table of our values
beside the published ones is made by ``examples/benchmarks/literature.py``.

Symbols
-------
=========  ==============================================================================================
``t``      log τ or log σ²: positive parameters live on the log scale, and the log prior has +t (the Jacobian)
``z``      log-gammas of the Dirichlet(1) weights: e^z ~ Gamma(1), weights = softmax z
``v``      mean i + 1 is mean i + e^v, so that a mixture has one labelling and its prior a factor K!
=========  ==============================================================================================
"""

from collections.abc import Callable
from math import lgamma, log, pi, sqrt
from pathlib import Path
from typing import NamedTuple

import autograd.numpy as np
import numpy

from sgevidence import BayesianModel, BayesianSoftmaxRegression

DATA = Path(__file__).parents[1] / "data"


class Problem(NamedTuple):
    """A published number, and how to compute our own."""

    name: str
    published: float
    published_std: float  #: as published; 0 for closed forms
    source: str
    rows: Callable  #: () -> (X, y); y may be None
    estimator: Callable  #: (**parameters) -> unfitted estimator


def log_normal(x, mean, variance):
    """Normal log density."""
    return -0.5 * ((x - mean) ** 2 / variance + np.log(2 * pi * variance))


# -- radiata pine: normal linear regression, conjugate ------------------------------------------------------

ALPHA, BETA = (3000.0, 0.06), (185.0, 6.0)  # means, and precisions over τ
SHAPE, RATE = 3.0, 2 * 300.0**2


def pine_rows(regressor: str):
    """Centred density x or adjusted density z as X, strength as y."""
    _, y, x, z = numpy.loadtxt(DATA / "radiata_pine.dat", unpack=True)
    x = {"x": x, "z": z}[regressor]
    return (x - x.mean())[:, None], y


def pine_sample_prior(rng, size):
    tau = rng.gamma(SHAPE, size=size) / RATE
    (a, p), (b, q) = ALPHA, BETA
    noise = rng.standard_normal((2, size))
    return numpy.column_stack(
        [a + noise[0] / numpy.sqrt(p * tau), b + noise[1] / numpy.sqrt(q * tau), numpy.log(tau)]
    )


def pine_log_prior(theta):
    t = theta[:, 2]
    of_tau = SHAPE * log(RATE) - lgamma(SHAPE) + SHAPE * t - RATE * np.exp(t)
    of_line = [log_normal(theta[:, j], m, np.exp(-t) / p) for j, (m, p) in enumerate((ALPHA, BETA))]
    return of_tau + of_line[0] + of_line[1]


def pine_log_likelihood(theta, X, y):
    line = theta[:, 0:1] + theta[:, 1:2] * X[:, 0]
    return log_normal(y, line, np.exp(-theta[:, 2:3]))


def pine_model(**parameters):
    return BayesianModel(
        pine_log_likelihood, sample_prior=pine_sample_prior, log_prior=pine_log_prior, **parameters
    )


# -- Pima Indians: logistic regression ----------------------------------------------------------------------

COLUMNS = ("npreg", "glu", "bp", "skin", "bmi", "ped", "age")


def pima_rows(*columns: str):
    table = numpy.loadtxt(DATA / "pima_indian.dat")
    return table[:, [1 + COLUMNS.index(c) for c in columns]], table[:, 0].astype(int)


def pima_model(tau: float, **parameters):
    """θ ~ N(0, I/τ) for the difference of two classes' coefficients, each of half that variance."""
    scale = 1 / sqrt(2 * tau)
    return BayesianSoftmaxRegression(coef_scale=scale, intercept_scale=scale, standardize=False, **parameters)


# -- galaxies: a mixture of normals -------------------------------------------------------------------------

MEAN, MEAN_VARIANCE = 20.0, 100.0
VARIANCE_SHAPE, VARIANCE_SCALE = 3.0, 20.0


def galaxy_rows():
    """Velocities in 1000 km/s."""
    return numpy.loadtxt(DATA / "galaxies.dat")[:, None] / 1000, None


class Mixture:
    """K normals with means N(20, 100), variances InvGamma(3, 20), weights Dirichlet(1).

    θ = (z, means, t), with one t for all components if ``equal``.  ``ordered`` writes the means as the
    smallest and the logs v of the gaps: the same model, without its K! labellings.
    """

    def __init__(self, K: int, equal: bool, ordered: bool = True):
        self.K, self.equal, self.ordered = K, equal, ordered

    def sample_prior(self, rng, size):
        K = self.K
        z = numpy.log(rng.gamma(1.0, size=(size, K)))
        means = MEAN + sqrt(MEAN_VARIANCE) * rng.standard_normal((size, K))
        if self.ordered:
            means = numpy.sort(means, axis=1)
            means[:, 1:] = numpy.log(numpy.diff(means, axis=1))
        t = -numpy.log(rng.gamma(VARIANCE_SHAPE, size=(size, 1 if self.equal else K)) / VARIANCE_SCALE)
        return numpy.hstack([z, means, t])

    def _means(self, theta):
        """Means (M, K), and the log of the ordering's Jacobian and K! (0 without it)."""
        raw = theta[:, self.K : 2 * self.K]
        if not self.ordered:
            return raw, 0.0
        v = raw[:, 1:]
        below = np.triu(np.ones((self.K - 1, self.K - 1)))  # cumulative sums, as autograd knows them
        means = np.hstack([raw[:, :1], raw[:, :1] + np.dot(np.exp(v), below)])
        return means, lgamma(self.K + 1) + np.sum(v, axis=1)

    def log_prior(self, theta):
        z, t = theta[:, : self.K], theta[:, 2 * self.K :]
        means, jacobian = self._means(theta)
        a, b = VARIANCE_SHAPE, VARIANCE_SCALE
        of_t = a * log(b) - lgamma(a) - a * t - b * np.exp(-t)
        return (
            np.sum(z - np.exp(z), axis=1)
            + np.sum(log_normal(means, MEAN, MEAN_VARIANCE), axis=1)
            + np.sum(of_t, axis=1)
            + jacobian
        )

    def log_likelihood(self, theta, X, y):
        z, t = theta[:, : self.K], theta[:, 2 * self.K :]
        means, _ = self._means(theta)
        terms = z[:, :, None] + log_normal(X[:, 0], means[:, :, None], np.exp(t)[:, :, None])
        return log_sum(terms) - log_sum(z[:, :, None])


def log_sum(terms):
    """log Σ exp over axis 1."""
    top = np.max(terms, axis=1, keepdims=True)
    return top[:, 0] + np.log(np.sum(np.exp(terms - top), axis=1))


def galaxy_model(K: int, equal: bool, ordered: bool = True, **parameters):
    mixture = Mixture(K, equal, ordered)
    return BayesianModel(
        mixture.log_likelihood, sample_prior=mixture.sample_prior, log_prior=mixture.log_prior, **parameters
    )


# -- a Gaussian in a box ------------------------------------------------------------------------------------


class Box:
    """θ uniform in [−L, L]^d, as L(2 expit(u) − 1); one row at the origin, x ~ N(θ, 1)."""

    def __init__(self, d: int, half_width: float):
        self.d, self.half_width = d, half_width

    def sample_prior(self, rng, size):
        return rng.logistic(size=(size, self.d))

    def log_prior(self, u):
        return np.sum(-np.abs(u) - 2 * np.log1p(np.exp(-np.abs(u))), axis=1)

    def log_likelihood(self, u, X, y):
        theta = self.half_width * np.tanh(u / 2)
        return np.sum(log_normal(X, theta[:, None, :], 1.0), axis=2)


def box_model(d: int, half_width: float, **parameters):
    box = Box(d, half_width)
    return BayesianModel(
        box.log_likelihood, sample_prior=box.sample_prior, log_prior=box.log_prior, **parameters
    )


# -- the list -----------------------------------------------------------------------------------------------

FRIEL_PETTITT, FRIEL_WYSE, NEAL = "Friel and Pettitt 2008", "Friel and Wyse 2012", "Neal 1999"
PIMA = ("npreg", "glu", "bmi", "ped")


def _pine(name, regressor, published):
    return Problem(name, published, 0.0, FRIEL_PETTITT, lambda: pine_rows(regressor), pine_model)


def _pima(name, columns, tau, published):
    def rows():
        return pima_rows(*columns)

    # four decimals, by t importance sampling with an error below 0.001
    return Problem(name, published, 0.001, FRIEL_WYSE, rows, lambda **p: pima_model(tau, **p))


def _galaxy(name, K, equal, published, std):
    return Problem(name, published, std, NEAL, galaxy_rows, lambda **p: galaxy_model(K, equal, **p))


def _box(d, L):
    def rows():
        return numpy.zeros((1, d)), None

    name = f"Gaussian in a box, d = {d}, L = {L:g}"
    return Problem(name, -d * log(2 * L), 0.0, "−d log 2L", rows, lambda **p: box_model(d, L, **p))


PROBLEMS = [
    _pine("radiata pine, density", "x", -310.12829),
    _pine("radiata pine, adjusted density", "z", -301.70460),
    _pima("Pima Indians, 4 columns, τ = 0.01", PIMA, 0.01, -257.2337),
    _pima("Pima Indians, with age, τ = 0.01", (*PIMA, "age"), 0.01, -259.8576),
    _pima("Pima Indians, 4 columns, τ = 1", PIMA, 1.0, -247.3043),
    _pima("Pima Indians, with age, τ = 1", (*PIMA, "age"), 1.0, -247.5624),
    _galaxy("galaxies, K = 2, equal variances", 2, True, -239.764, 0.005),
    _galaxy("galaxies, K = 3, equal variances", 3, True, -226.803, 0.040),
    _galaxy("galaxies, K = 3", 3, False, -226.791, 0.089),
    _box(2, 10.0),
    _box(10, 10.0),
]
