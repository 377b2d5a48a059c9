"""Single precision is used where its error is far below the Monte Carlo error, and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest

from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import Evaluation, LinearModel, SoftmaxModel, working_precision


def problem(kind, n, rng, shift=0.0):
    X = rng.standard_normal((n, 2)) + shift
    if kind == "mixture":
        return MixtureModel(3, 2), Rows.of(X)
    return SoftmaxModel(2, 3), Rows.of(X, rng.integers(3, size=n))


@pytest.mark.parametrize("kind", ["softmax", "mixture"])
def test_single_precision_is_off_by_far_less_than_a_tenth_of_a_nat(kind, rng):
    model, rows = problem(kind, 2000, rng)
    theta = model.sample_prior(rng, 50)
    single = model.sum_log_likelihood(theta, rows), model.grad_log_joint(theta, rows)
    model = model.in_double_precision()
    double = model.sum_log_likelihood(theta, rows), model.grad_log_joint(theta, rows)
    assert np.any(single[0] != double[0])  # it was used at all
    # differences between particles are what weights are made of
    error = single[0] - double[0]
    assert np.std(error) < 0.02 * (1 + np.std(double[0]) / 1e4)
    np.testing.assert_allclose(single[1], double[1], rtol=1e-3, atol=1e-4 * np.abs(double[1]).max())


def posterior_cloud(kind, n, weight, rng, M=100):
    """A model, n rows of one weight drawn from it, and θ about a posterior's width from the truth."""
    if kind == "mixture":
        model = MixtureModel(3, 2)
        mu, s = rng.uniform(-2, 2, (3, 2)), rng.uniform(0.5, 1.0, (3, 2))
        z = rng.integers(3, size=n)
        truth = np.concatenate([np.zeros(3), mu.ravel(), 2 * np.log(s).ravel()])
        X, y = mu[z] + s[z] * rng.standard_normal((n, 2)), None
    else:
        X = rng.standard_normal((n, 6)) if kind == "softmax" else np.eye(6)[rng.integers(6, size=n)]
        model = SoftmaxModel(6, 4)
        truth = rng.standard_normal(model.n_params)
        y = model.sample_rows(truth, X, rng)
    width = 1 / np.sqrt(n * weight)
    return model, Rows.of(X, y, np.full(n, weight)), truth + width * rng.standard_normal((M, len(truth)))


def errors(kind, n, weight, rng, **evaluation):
    model, rows, theta = posterior_cloud(kind, n, weight, rng)
    single = replace(model.evaluation, **evaluation)
    return single.sum_log_likelihood(model, theta, rows) - Evaluation().sum_log_likelihood(model, theta, rows)


def check_small(error):
    """All particles are off by the same 0.003 nats at most: log Z is; weights, by 0.015 from each other."""
    assert abs(np.mean(error)) < 0.003 + 4 * np.std(error) / len(error) ** 0.5, f"log Z is off by {error}"
    assert np.std(error) < 0.015, f"weights are noise: {np.std(error)}"


@pytest.mark.parametrize("kind", ["softmax", "mixture", "softmax of dummies"])
@pytest.mark.parametrize("weight", [0.1, 1.0, 30.0, 3000.0])
def test_single_precision_whatever_the_weights(kind, weight, rng):
    """Rows may be few where their weight is not: a reservoir stands for all that were seen."""
    check_small(errors(kind, 6000, weight, rng))


@pytest.mark.parametrize("kind", ["softmax", "mixture", "softmax of dummies"])
def test_single_precision_by_number_of_rows_is_caught(kind, rng, install_broken):
    install_broken(Evaluation, "single_below", "rows.total_weight", "len(rows)")
    with pytest.raises(AssertionError, match=r"log Z is off|weights are noise"):
        check_small(errors(kind, 6000, 3000.0, rng))


def test_single_precision_rounds_parameters_once(rng):
    """The rounding of θ is the same in both sums of the softmax, and cancels: 10⁻⁸ a row is left."""
    spread = [np.std(errors("softmax", 10_000, 100.0, rng, single_precision_total=np.inf)) for _ in range(6)]
    error = np.mean(np.square(spread)) ** 0.5  # 0.0097 over eight sets of rows, and 0.026 if rounded twice
    assert error < 0.015, f"weights are noise: {error}"


@pytest.mark.parametrize(
    "kind, n, shift, weight",
    [
        ("mixture", 1000, 0.0, 300.0),
        ("softmax", 1000, 0.0, 300.0),
        ("mixture", 40, 0.0, 1.0),
        ("softmax", 40, 0.0, 1.0),
        ("mixture", 200, 1e4, 1.0),
    ],
)
def test_double_precision_without_single_precision_where_it_matters(kind, n, shift, weight, rng):
    """Much weight, few rows, and terms too large for it."""
    model, rows = problem(kind, n, rng, shift)
    rows = rows.scaled(weight)
    theta = model.sample_prior(rng, 5)
    value = model.sum_log_likelihood(theta, rows)
    model = model.in_double_precision()
    np.testing.assert_array_equal(model.sum_log_likelihood(theta, rows), value)


def test_linear_model_is_in_double_precision_whatever_single_precision_allows():
    assert LinearModel(2).evaluation == Evaluation() and Evaluation().single_precision_total == 0


def test_double_precision_only_changes_that():
    model = SoftmaxModel(2, 3)
    object.__setattr__(model, "evaluation", Evaluation(block_rows=100, single_precision_total=2e6))
    double = model.in_double_precision()
    assert double == model and double.evaluation == Evaluation(block_rows=100)
    assert model.evaluation.single_precision_total == 2e6


@pytest.mark.parametrize(
    "largest, n, dtype",
    [
        (1.0, 1000, "f4"),
        (1990.0, 1000, "f4"),
        (2010.0, 1000, "f8"),
        (np.nan, 1000, "f8"),
        (1.0, 64, "f8"),
        (1.0, 100_001, "f8"),
    ],
)
def test_working_precision(largest, n, dtype):
    """Too large a term, none at all, few rows and many are cases for double."""
    below = Evaluation(single_precision_total=2e6).single_below(Rows.of(np.zeros((n, 0))))
    assert working_precision(np.array([largest, 0.1]), np.ones(2), below) == np.dtype(dtype)
