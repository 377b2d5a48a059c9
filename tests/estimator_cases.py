"""One small data set and one estimator a kind, for the tests of the estimators and of the averager."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import autograd.numpy as anp
import numpy as np

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianModel,
    BayesianSoftmaxRegression,
)


def sample_slope(rng, size):
    return rng.standard_normal((size, 1))


def slope_log_prior(theta):
    return -0.5 * theta[:, 0] ** 2 - 0.5 * np.log(2 * np.pi)


def slope_log_likelihood(theta, X, y):
    """y ~ N(θ x₀, 1)."""
    return -0.5 * (y - anp.dot(theta, X[:, :1].T)) ** 2 - 0.5 * np.log(2 * np.pi)


def slope_model(log_likelihood=slope_log_likelihood, **params):
    params = {"sampler": SGAIS(n_particles=30, max_particles=30), "random_state": 0} | params
    return BayesianModel(log_likelihood, sample_prior=sample_slope, log_prior=slope_log_prior, **params)


class Case(NamedTuple):
    """One estimator as all common tests see it; a new estimator is one more entry of CASES."""

    make: Callable  #: the class, or a function that makes one
    rows: Callable  #: (X (n, 2), rng) -> X, y; y is None for a density
    posterior: dict[str, tuple[int, ...]]  #: names and shapes of ``posterior_samples``
    params: dict = {}  #: what makes it a case of its own
    other: dict = {}  #: parameters of a model that is nearly as good, for the averager
    first_call: dict = {}  #: what the first partial_fit needs to know
    kind: str | None = (
        None  #: "classifier", "regressor", "density": scikit-learn's checks run; None: they don't
    )


def line(X, rng):
    return X, X @ [1.0, -2.0] + 0.5 + 0.5 * rng.standard_normal(len(X))


def three_classes(X, rng):
    logits = X @ np.array([[2.0, 0.0, -2.0], [0.0, 2.0, -1.0]])
    return X, np.argmax(logits + rng.gumbel(size=(len(X), 3)), axis=1)


def two_clusters(X, rng):
    return X + np.where(rng.random(len(X)) < 0.4, 4.0, -4.0)[:, None], None


def counts(X, rng):
    return X, rng.poisson(np.exp(np.clip(X @ [0.5, -0.5] + 1.0, -5, 3))).astype(float)


CASES = {
    "linear": Case(
        BayesianLinearRegression,
        line,
        posterior={"coef": (2,), "intercept": (), "noise_std": ()},
        other=dict(fit_intercept=False),
        kind="regressor",
    ),
    "softmax": Case(
        BayesianSoftmaxRegression,
        three_classes,
        posterior={"coef": (3, 2), "intercept": (3,)},
        other=dict(coef_scale=0.3),
        first_call=dict(classes=[0, 1, 2]),
        kind="classifier",
    ),
    "gmm": Case(
        BayesianGMM,
        two_clusters,
        posterior={"weights": (2,), "means": (2, 2), "covariances": (2, 2)},
        params=dict(n_components=2),
        other=dict(mean_scale=1.0),
        kind="density",
    ),
    "glm": Case(
        partial(BayesianGLM, "poisson"),  # scikit-learn's checks have y that no family is the default for
        counts,
        posterior={"coef": (2,), "intercept": ()},
        other=dict(fit_intercept=False),
        kind="regressor",
    ),
    "custom": Case(slope_model, line, posterior={"theta": (1,)}),
}
KINDS = tuple(CASES)
WITH_TARGETS = tuple(kind for kind, case in CASES.items() if case.kind != "density")


def estimator(kind, n_particles=30, random_state=0, **params):
    """A fast one; sampler=None is the untouched default, which the scikit-learn checks run."""
    fast = {"sampler": SGAIS(n_particles=n_particles, max_particles=n_particles)}
    if kind == "custom":  # whose prior is surveyed with 10⁵ draws, half a second each time
        fast["sampler"].set_params(mode_search=None)
    return CASES[kind].make(**fast | {"random_state": random_state} | CASES[kind].params | params)


def noisy(kind, **params):
    """The same without closed forms, which have neither noise nor rows that wait nor steps to interrupt."""
    sampler = SGAIS(n_particles=30, max_particles=30, proposal=None)
    return estimator(kind, **({"sampler": sampler} if kind == "linear" else {}) | params)


def data(kind, n=90, seed=0):
    """X (n, 2) and y."""
    rng = np.random.default_rng(seed)
    return CASES[kind].rows(rng.standard_normal((n, 2)), rng)


def part(kind, start, stop):
    """Some of the rows."""
    X, y = data(kind)
    return X[start:stop], None if y is None else y[start:stop]


def first_call(kind) -> dict:
    """What the first partial_fit needs to know."""
    return CASES[kind].first_call


def same_fit(a, b):
    """Bit for bit."""
    np.testing.assert_array_equal(a.particles_, b.particles_)
    np.testing.assert_array_equal(a.particle_weights_, b.particle_weights_)
    assert (a.log_evidence_, a.log_evidence_std_) == (b.log_evidence_, b.log_evidence_std_)
    assert (a.n_samples_seen_, a.data_fingerprint_) == (b.n_samples_seen_, b.data_fingerprint_)
