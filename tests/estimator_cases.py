"""One small data set and one estimator a kind, for the tests of the estimators and of the averager."""

import autograd.numpy as anp
import numpy as np

from sgevidence import SGAIS, BayesianGMM, BayesianLinearRegression, BayesianModel, BayesianSoftmaxRegression


def sample_slope(rng, size):
    return rng.standard_normal((size, 1))


def slope_log_prior(theta):
    return -0.5 * theta[:, 0] ** 2 - 0.5 * np.log(2 * np.pi)


def slope_log_likelihood(theta, X, y):
    """y ~ N(θ x₀, 1)."""
    return -0.5 * (y - anp.dot(theta, X[:, :1].T)) ** 2 - 0.5 * np.log(2 * np.pi)


def slope_model(log_likelihood=slope_log_likelihood, **params):
    params = {"sampler": SGAIS(n_particles=30, max_particles=30), "random_state": 0} | params
    return BayesianModel(sample_slope, slope_log_prior, log_likelihood, **params)


KINDS = ("linear", "softmax", "gmm", "custom")


def estimator(kind, n_particles=30, random_state=0, **params):
    """A fast one; sampler=None is the untouched default, which the scikit-learn checks run."""
    make = {
        "linear": BayesianLinearRegression,
        "softmax": BayesianSoftmaxRegression,
        "gmm": BayesianGMM,
        "custom": slope_model,
    }[kind]
    if kind == "gmm":
        params = {"n_components": 2} | params
    return make(
        **{"sampler": SGAIS(n_particles=n_particles, max_particles=n_particles), "random_state": random_state}
        | params
    )


def data(kind, n=90, seed=0):
    """X (n, 2) and y; three classes, two clusters."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    if kind == "gmm":
        return X + np.where(rng.random(n) < 0.4, 4.0, -4.0)[:, None], None
    if kind == "softmax":
        logits = X @ np.array([[2.0, 0.0, -2.0], [0.0, 2.0, -1.0]])
        return X, np.argmax(logits + rng.gumbel(size=(n, 3)), axis=1)
    return X, X @ [1.0, -2.0] + 0.5 + 0.5 * rng.standard_normal(n)


def part(kind, start, stop):
    """Some of the rows."""
    X, y = data(kind)
    return X[start:stop], None if y is None else y[start:stop]


def first_call(kind) -> dict:
    """What the first partial_fit needs to know."""
    return {"classes": [0, 1, 2]} if kind == "softmax" else {}


def same_fit(a, b):
    """Bit for bit."""
    np.testing.assert_array_equal(a.particles_, b.particles_)
    np.testing.assert_array_equal(a.particle_weights_, b.particle_weights_)
    assert (a.log_evidence_, a.log_evidence_std_) == (b.log_evidence_, b.log_evidence_std_)
    assert (a.n_samples_seen_, a.data_fingerprint_) == (b.n_samples_seen_, b.data_fingerprint_)
