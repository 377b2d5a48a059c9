"""Single precision is used where its error is far below the Monte Carlo error, and nowhere else."""

import numpy as np
import pytest

from sgevidence.history import Rows
from sgevidence.models import LinearModel, MixtureModel, SoftmaxModel
from sgevidence.models._evaluation import Evaluation, working_precision


def problem(kind, n, rng, shift=0.0):
    X = rng.standard_normal((n, 2)) + shift
    if kind == "mixture":
        return MixtureModel(3, 2), Rows.of(X)
    return SoftmaxModel(2, 3), Rows.of(X, rng.integers(3, size=n))


@pytest.mark.parametrize("kind", ["softmax", "mixture"])
def test_single_precision_is_off_by_far_less_than_a_tenth_of_a_nat(kind, rng):
    model, rows = problem(kind, 20_000, rng)
    theta = model.sample_prior(rng, 50)
    single = model.sum_log_likelihood(theta, rows), model.grad_log_joint(theta, rows)
    model = model.in_double_precision()
    double = model.sum_log_likelihood(theta, rows), model.grad_log_joint(theta, rows)
    assert np.any(single[0] != double[0])  # it was used at all
    # differences between particles are what weights are made of
    error = single[0] - double[0]
    assert np.std(error) < 0.02 * (1 + np.std(double[0]) / 1e4)
    np.testing.assert_allclose(single[1], double[1], rtol=1e-3, atol=1e-4 * np.abs(double[1]).max())


@pytest.mark.parametrize(
    "kind, n, shift",
    [("mixture", 30_000, 0.0), ("mixture", 40, 0.0), ("softmax", 40, 0.0), ("mixture", 200, 1e4)],
)
def test_double_precision_without_single_precision_where_it_matters(kind, n, shift, rng):
    """Many rows, few rows, and terms too large for it."""
    model, rows = problem(kind, n, rng, shift)
    theta = model.sample_prior(rng, 5)
    value = model.sum_log_likelihood(theta, rows)
    model = model.in_double_precision()
    np.testing.assert_array_equal(model.sum_log_likelihood(theta, rows), value)


def test_linear_model_is_in_double_precision_whatever_single_precision_allows():
    assert LinearModel(2).evaluation == Evaluation() and Evaluation().single_precision_rows == 0


def test_double_precision_only_changes_that():
    model = SoftmaxModel(2, 3)
    object.__setattr__(model, "evaluation", Evaluation(block_rows=100, single_precision_rows=2000))
    double = model.in_double_precision()
    assert double == model and double.evaluation == Evaluation(block_rows=100)
    assert model.evaluation.single_precision_rows == 2000


@pytest.mark.parametrize(
    "largest, n, dtype",
    [(1.0, 1000, "f4"), (1e4, 1000, "f8"), (np.nan, 1000, "f8"), (1.0, 64, "f8"), (1.0, 2001, "f8")],
)
def test_working_precision(largest, n, dtype):
    """Too large a term, none at all, few rows and many are cases for double."""
    below = Evaluation(single_precision_rows=2000).single_below(range(n))
    assert working_precision(np.array([largest, 0.1]), np.ones(2), below) == np.dtype(dtype)
