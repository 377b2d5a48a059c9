"""Columns far from zero: the same belief in other coordinates, in which nothing is lost."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sgevidence.answers import one_mode_answer
from sgevidence.history import Rows
from sgevidence.models import FAMILIES, Bounded, FarColumns, GLMModel, SoftmaxModel, near

CENTRE = (50.0, -20.0)


def rows_of(rng, model, n=40):
    X = np.array(CENTRE) + rng.standard_normal((n, 2))
    if isinstance(model, SoftmaxModel):
        return Rows.of(X, rng.integers(3, size=n), rng.uniform(0, 2, n))
    return Rows.of(X, rng.poisson(2.0, n).astype(float), rng.uniform(0, 2, n))


MODELS = [
    GLMModel(2, coef_scale=0.3, intercept_scale=2.0),
    GLMModel(2, fit_intercept=False, coef_scale=0.3),
    SoftmaxModel(2, 3, coef_scale=0.3, intercept_scale=2.0),
    SoftmaxModel(2, 3, fit_intercept=False),
]


@pytest.fixture(params=MODELS, ids=["counts", "counts without", "classes", "classes without"])
def pair(request):
    return request.param, FarColumns(request.param, CENTRE)


def test_the_prior_is_the_same(rng, pair):
    """The map to (w, b) is a rotation in units of the prior."""
    plain, far = pair
    C = far.to_plain @ far.to_plain.T
    assert np.allclose(C, np.diag(plain.scales**2))
    theta = far.sample_prior(rng, 5)
    jacobian = np.linalg.slogdet(far.to_plain)[1]
    assert np.allclose(far.log_prior(theta), plain.log_prior(theta @ far.to_plain.T) + jacobian)


def test_the_likelihood_is_the_same(rng, pair):
    plain, far = pair
    rows, theta = rows_of(rng, plain), 0.1 * far.sample_prior(rng, 6)
    beta = theta @ far.to_plain.T
    assert np.allclose(far.log_likelihood(theta, rows), plain.log_likelihood(beta, rows))
    assert np.allclose(far.sum_log_likelihood(theta, rows), plain.sum_log_likelihood(beta, rows))
    for name, value in plain.parameters(beta).items():
        assert np.allclose(far.parameters(theta)[name], value)


def test_derivatives(rng, pair):
    plain, far = pair
    rows, theta = rows_of(rng, plain), 0.01 * far.sample_prior(rng, 1)[0]
    S, G, H = far.derivatives(theta, rows)
    value, grad, hessian = plain.derivatives(far.to_plain @ theta, rows)
    assert np.isclose(S, value)
    assert np.allclose(G, grad @ far.to_plain, atol=1e-7 * abs(G).max())
    assert np.allclose(H, far.to_plain.T @ hessian @ far.to_plain, atol=1e-6 * abs(H).max())
    for one, other in zip(far.prior_derivatives(theta), far.evaluation.prior_derivatives(far, theta)):
        assert np.allclose(one, other, atol=1e-5)


def test_near_columns_are_left_as_they_are(rng):
    model = GLMModel(2)
    assert near(model, rng.standard_normal((10, 2))) is model
    with_offset = replace(model, has_offset=True)
    assert near(with_offset, np.column_stack([np.eye(2), [1e9, 1e9]])) is with_offset
    assert isinstance(near(model, np.full((3, 2), 1e9)), FarColumns)


@pytest.mark.parametrize("offset", [1e5, 1e9, 1e18])
def test_linear_predictors_are_exact(rng, offset):
    """Against exact rational numbers, at draws as wide as a posterior of η of order one."""
    X = offset + max(1.0, offset / 1e12) * np.round(100 * rng.standard_normal((20, 2)))
    model = near(GLMModel(2), X)
    theta = rng.standard_normal((4, 3)) / np.maximum(1.0, abs(model.A).max(axis=0) / 3)
    theta[:, 1:] /= max(1.0, offset / 1e12) * 100
    eta = model.centred.linear_predictor(model._coefficients(theta), model._X(X))
    Q, beta = model.reflection
    for m in range(4):
        t = [Fraction(float(v)) for v in theta[m]]
        w = [sum(Fraction(float(q)) * v for q, v in zip(row, t)) for row in Q[:2]]
        for r in range(20):
            D = [Fraction(float(x)) - Fraction(c) for x, c in zip(X[r], model.centre)]
            exact = sum(d * v for d, v in zip(D, w)) + sum(Fraction(float(q)) * v for q, v in zip(beta, t))
            assert abs(float(exact) - eta[m, r]) < 1e-12 * max(1.0, abs(eta[m, r]))


@pytest.mark.parametrize("s", [1e-3, 1.0, 1e6])
def test_the_reflection_takes_the_offset_to_one_coordinate(s):
    model = FarColumns(GLMModel(3, coef_scale=s), (1e9, -3e18, 7.0))
    Q, beta = model.reflection
    assert np.allclose(Q @ Q.T, np.eye(4))
    a = model.scales * np.r_[model.centre, 1.0]
    assert np.allclose(a @ Q, beta, atol=1e-15 * np.linalg.norm(a)) and np.sum(beta != 0.0) == 1


def test_columns_that_no_coordinates_resolve_are_declined(rng):
    """Two columns that differ by 10⁻¹³ of their width, around zero; but not a time stamp, however far."""
    half = 3e13 * rng.standard_normal(25)
    spread, y = np.concatenate([half, -half]), rng.poisson(1.0, 50).astype(float)
    X = np.column_stack([1.7e18 + spread, rng.standard_normal(50)])
    assert near(GLMModel(2), X).resolves(Rows.of(X, y)) and not GLMModel(2).resolves(Rows.of(X, y))
    difference = rng.standard_normal(25)
    X = np.column_stack([spread, spread + np.concatenate([difference, -difference])])
    model, rows = FarColumns(GLMModel(2), (0.0, 0.0)), Rows.of(X, y)
    assert not model.resolves(rows)
    assert one_mode_answer(model, rows, rng, 100) is None


TIMES = GLMModel(2, Bounded(FAMILIES["weibull"]))
PREDICTIONS = [
    (GLMModel(2), "predictive_mean"),
    (GLMModel(2), "predictive_std"),
    (GLMModel(2), "expected_score"),
    (GLMModel(2), "sample_rows"),
    (TIMES, "predictive_survival"),
    (TIMES, "predictive_median"),
    (SoftmaxModel(2, 3), "log_probabilities"),
    (SoftmaxModel(2, 3), "expected_score"),
]


@pytest.mark.parametrize(("model", "name"), PREDICTIONS)
def test_predictions_in_far_coordinates_are_those_in_plain_ones(model, name):
    """At a distance at which plain arithmetic still has its digits."""
    rng, centre = np.random.default_rng(20261129), (1e3, -2e3)
    far = FarColumns(model, centre)
    is_level = np.r_[np.tile(far.T[-1] != 0, far.n_classes), np.zeros(far.n_own, dtype=bool)]
    theta = rng.standard_normal((6, far.n_params)) * np.where(is_level, 1e-3, 1.0)
    X, W = np.array(centre) + rng.standard_normal((6, 2)), rng.dirichlet(np.ones(6))
    if model is TIMES:
        X = np.column_stack([X, np.tile([0.0, 0.0, -np.inf], (6, 1))])
    plain, same = far.in_plain(theta)
    others = {"log_probabilities": (X,), "predictive_survival": (W, X, 0.7), "sample_rows": (X, rng)}
    rng_state, found = rng.bit_generator.state, getattr(far, name)(theta, *others.get(name, (W, X)))
    rng.bit_generator.state = rng_state
    known = getattr(plain, name)(same, *others.get(name, (W, X)))
    assert np.std(known) > 1e-3
    assert found == pytest.approx(known, rel=1e-7)


def test_columns_about_zero_stay_as_they_are_without_an_intercept():
    """Their centre is zero, and nothing is far from it."""
    model = GLMModel(1, fit_intercept=False)
    assert near(model, np.array([[-1e6], [1e6]])) is model
