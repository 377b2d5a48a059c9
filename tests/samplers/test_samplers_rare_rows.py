"""A column that ten rows of thirty thousand have: no sample tells of it, and evidence hangs on it.

Whether all rows are at hand or a tenth of them; in one call, or in calls of a thousand.
"""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from path_problem import MODELS, Problem
from scipy.special import log_expit, logsumexp

from sgevidence import SGAIS, BayesianSoftmaxRegression
from sgevidence.history import Influence
from sgevidence.transitions import _hmc

SCALE = 5.0


def rare_column(rng, n=30_000, rare=10):
    """Two columns, of which the second is an indicator that nearly no row has; labels that it separates."""
    X = np.column_stack([rng.normal(size=n), np.zeros(n)])
    X[rng.choice(n, rare, replace=False), 1] = 1.0
    y = (rng.random(n) < 1 / (1 + np.exp(1 - X[:, 0]))).astype(int)
    return X, np.where(X[:, 1] == 1.0, 1, y)


def log_evidence(X, y):
    """Of two classes by quadrature: Gauss–Hermite over what all rows tell of, a grid for the rest.

    Differences of two coefficients have twice the variance.
    """
    variance, rare = 2 * SCALE**2, X[:, 1] == 1.0
    Phi, sign = np.column_stack([X[:, 0], np.ones(len(X))]), 2 * y - 1.0
    w = np.zeros(2)
    for _ in range(30):
        p = 1 / (1 + np.exp(-Phi[~rare] @ w))
        P = (Phi[~rare].T * (p * (1 - p))) @ Phi[~rare] + np.eye(2) / variance
        w = w + np.linalg.solve(P, Phi[~rare].T @ ((sign[~rare] > 0) - p) - w / variance)
    L, (nodes, weights) = np.linalg.cholesky(np.linalg.inv(P)), hermegauss(10)
    grid, step = np.linspace(-12 * SCALE, 12 * SCALE, 4001, retstep=True)
    log_prior = -0.5 * grid**2 / variance - 0.5 * np.log(2 * np.pi * variance)
    terms = []
    for i, j in np.ndindex(10, 10):
        u = np.array([nodes[i], nodes[j]])
        eta = Phi @ (w + L @ u)
        common = log_expit(sign[~rare] * eta[~rare]).sum() - 0.5 * np.sum((w + L @ u) ** 2) / variance
        rest = log_prior + log_expit(sign[rare, None] * (eta[rare, None] + grid)).sum(axis=0)
        terms.append(common + logsumexp(rest) + np.log(step * weights[i] * weights[j]) + 0.5 * u @ u)
    return logsumexp(terms) + np.log(np.linalg.det(L)) - np.log(2 * np.pi * variance)


def fitted(rng, seed, reservoir_size, size, n=30_000):
    X, y = rare_column(rng, n)
    sampler = SGAIS(proposal=None, reservoir_size=reservoir_size)
    model = BayesianSoftmaxRegression(
        coef_scale=SCALE, intercept_scale=SCALE, sampler=sampler, random_state=seed, standardize=False
    )
    for i in range(0, n, size):
        model.partial_fit(X[i : i + size], y[i : i + size], classes=[0, 1])
    return model, log_evidence(X, y)


def check(rng, seed, reservoir_size, size):
    model, wanted = fitted(rng, seed, reservoir_size, size)
    error = model.log_evidence_ - wanted
    assert abs(error) < 4 * model.log_evidence_std_, f"off by {error} ± {model.log_evidence_std_}"


@pytest.mark.parametrize(
    "reservoir_size, size", [pytest.param(100_000, 30_000, marks=pytest.mark.slow), (3000, 1000)]
)
def test_rows_that_samples_have_not_are_known(rng, seed, reservoir_size, size):
    check(rng, seed, reservoir_size, size)


@pytest.mark.slow
def test_power(rng, seed, monkeypatch):
    """Without rows of high leverage fits are nats off beyond the reservoir, or say so."""
    monkeypatch.setattr(Influence, "outstanding", lambda self, rows, most, n=None: np.zeros(0, int))
    with pytest.raises(AssertionError, match="off by"):
        for _ in range(10):
            model, wanted = fitted(rng, seed, 3000, 1000)
            error = model.log_evidence_ - wanted
            assert abs(error) < 4 * model.log_evidence_std_, f"off by {error}"
            assert model.log_evidence_std_ < 0.5, f"off by {model.log_evidence_std_}"


@pytest.mark.slow
def test_errors_are_those_that_are_claimed(seed):
    """Fresh data, both ways: root mean square of z."""
    z = []
    for i in range(12):
        rng = np.random.default_rng([seed, i, 77])
        model, wanted = fitted(rng, i, 3000, (30_000, 1000)[i % 2])
        z.append((model.log_evidence_ - wanted) / model.log_evidence_std_)
    assert np.sqrt(np.mean(np.square(z))) < 1.6, f"z {np.round(z, 2)}"


def test_a_target_without_them_is_not_quiet(rng):
    problem = Problem(MODELS["softmax"], rng, n=5000, c=2000)
    all_rows, few = problem.path.on_rows(None, rng), problem.path.on_rows(600, rng)
    assert _hmc.is_quiet(few, all_rows, problem.theta)
    wide = problem.theta + 0.5 * rng.normal(size=problem.theta.shape)
    assert not _hmc.is_quiet(few, all_rows, wide)
