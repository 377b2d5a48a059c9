"""Newton on log-concave posteriors: the mode, whatever the start, and exact sums there."""

import numpy as np
import pytest

from sgevidence.history import Rows
from sgevidence.models import GLMModel, SoftmaxModel
from sgevidence.targets import concave_mode, gaussian

#: Squared posterior widths: an answer from the Gaussian there is off by half of it at most.
NEAR = 1e-3


def counts(rng, n, p=3, mean=1.0):
    X = rng.standard_normal((n, p))
    return GLMModel(p), Rows.of(X, rng.poisson(mean * np.exp(X @ rng.normal(0, 0.3, p))).astype(float))


def classes(rng, n, p=3, K=3):
    X = rng.standard_normal((n, p))
    Z = X @ rng.standard_normal((p, K)) + rng.gumbel(size=(n, K))
    return SoftmaxModel(p, K), Rows.of(X, np.argmax(Z, axis=1))


@pytest.mark.parametrize("problem", [counts, classes])
@pytest.mark.parametrize("n", [1, 50, 12_000, 250_000])
def test_the_gradient_vanishes_at_the_mode(rng, problem, n):
    model, rows = problem(rng, n)
    anchor = concave_mode(model, rows, rng, np.zeros(model.n_params))
    m, P = gaussian(model, anchor)
    gradient = model.grad_log_joint(m[None], rows)[0]
    assert gradient @ np.linalg.solve(P, gradient) < NEAR


@pytest.mark.parametrize("problem", [counts, classes])
def test_sums_are_those_of_all_rows(rng, problem):
    model, rows = problem(rng, 12_000)
    anchor = concave_mode(model, rows, rng, np.zeros(model.n_params))
    S, G, H = model.derivatives(anchor.a, rows)
    assert np.isclose(anchor.S, S) and np.allclose(anchor.G, G, atol=1e-6) and np.allclose(anchor.H, -H)


@pytest.mark.parametrize("mean", [1e-6, 1.0, 1e3, 1e9])
def test_counts_of_any_size(rng, mean):
    """From a start that is off by twenty in the exponent."""
    model, rows = GLMModel(1, intercept_scale=30.0), counts(rng, 40, 1, mean)[1]
    m, P = gaussian(model, concave_mode(model, rows, rng, np.zeros(2)))
    gradient = model.grad_log_joint(m[None], rows)[0]
    assert gradient @ np.linalg.solve(P, gradient) < NEAR


@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0, 1e4])
def test_separable_classes(rng, scale):
    X = rng.standard_normal((30, 2))
    model = SoftmaxModel(2, 2, coef_scale=scale, intercept_scale=scale)
    rows = Rows.of(X, (X[:, 0] > 0).astype(int))
    m, P = gaussian(model, concave_mode(model, rows, rng, np.zeros(6)))
    gradient = model.grad_log_joint(m[None], rows)[0]
    assert gradient @ np.linalg.solve(P, gradient) < NEAR


def test_a_class_that_a_sample_does_not_have(rng):
    """Ten of 200 000 rows are of a class of their own."""
    X, y = rng.standard_normal((200_000, 2)), np.zeros(200_000, dtype=int)
    y[rng.choice(len(y), 10, replace=False)] = 1
    model, rows = SoftmaxModel(2, 2), Rows.of(X, y)
    m, P = gaussian(model, concave_mode(model, rows, rng, np.zeros(6)))
    gradient = model.grad_log_joint(m[None], rows)[0]
    assert gradient @ np.linalg.solve(P, gradient) < NEAR


def test_derivatives_of_counts_are_those_of_autograd(rng):
    model, rows = counts(rng, 20_000)
    offset = rng.standard_normal(len(rows))
    model = GLMModel(3, has_offset=True)
    rows = Rows.of(np.column_stack([rows.X, offset]), rows.y, rng.uniform(0, 3, len(rows)))
    theta = rng.normal(0, 0.3, 4)
    found, numerical = model.derivatives(theta, rows), model.evaluation.derivatives(model, theta, rows)
    for one, other in zip(found, numerical):
        assert np.allclose(one, other, rtol=1e-5, atol=1e-2)
    for one, other in zip(model.prior_derivatives(theta), model.evaluation.prior_derivatives(model, theta)):
        assert np.allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_fold_is_a_sum_over_blocks(rng):
    rows = Rows.of(rng.standard_normal((1000, 2)), weight=rng.uniform(0, 2, 1000))
    n, total = rows.fold(lambda block: (len(block), block.weight @ block.X), 100)
    assert n == 1000 and np.allclose(total, rows.weight @ rows.X)
    assert np.isclose(rows.fold(lambda block: block.total_weight, 64), rows.total_weight)
    assert rows[:0].fold(lambda block: len(block), 64) == 0
