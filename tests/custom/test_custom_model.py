"""A model of plain functions is the built-in model written again."""

import autograd.numpy as anp
import numpy as np
import pytest

from sgevidence.custom import CustomModel
from sgevidence.history import Rows
from sgevidence.models import LinearModel

pytestmark = pytest.mark.usefixtures("double_precision")

BUILT_IN = LinearModel(2, fit_intercept=False, coef_scale=2.0, noise_std=0.7)


def log_likelihood(theta, X, y):
    return -0.5 * ((y - anp.dot(theta, X.T)) / 0.7) ** 2 - np.log(0.7) - 0.5 * np.log(2 * np.pi)


CUSTOM = CustomModel(
    prior_sampler=lambda rng, size: 2.0 * rng.standard_normal((size, 2)),
    prior_log_density=lambda theta: anp.sum(
        -0.125 * theta**2 - np.log(2.0) - 0.5 * np.log(2 * np.pi), axis=1
    ),
    row_log_likelihood=log_likelihood,
    dimension=2,
)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return Rows.of(rng.standard_normal((150, 2)), rng.standard_normal(150), rng.gamma(2.0, size=150))


def test_custom_model_equals_the_built_in(rows):
    theta = CUSTOM.sample_prior(np.random.default_rng(1), 5)
    np.testing.assert_array_equal(theta, BUILT_IN.sample_prior(np.random.default_rng(1), 5))
    np.testing.assert_allclose(CUSTOM.log_prior(theta), BUILT_IN.log_prior(theta), rtol=1e-12)
    np.testing.assert_allclose(
        CUSTOM.log_likelihood(theta, rows), BUILT_IN.log_likelihood(theta, rows), rtol=1e-12
    )
    for mine, theirs in zip(
        CUSTOM.value_and_grad_log_joint(theta, rows), BUILT_IN.value_and_grad_log_joint(theta, rows)
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10)
    np.testing.assert_allclose(
        CUSTOM.mean_hessian_log_joint(theta, rows), BUILT_IN.mean_hessian_log_joint(theta, rows), rtol=1e-7
    )


def test_an_overflow_costs_only_its_own_particle(rows):
    """∞ − ∞ at one bad row is enough to lose a particle, and the joint agrees."""

    def sometimes_nan(theta, X, y):
        huge = anp.exp(anp.where((theta[:, :1] > 0) & (np.arange(len(y)) == 3), 800.0, 0.0))
        return log_likelihood(theta, X, y) + (huge - 1.0) * (1.0 / huge - 1.0) + (huge - huge)

    model = CustomModel(CUSTOM.prior_sampler, CUSTOM.prior_log_density, sometimes_nan, 2)
    theta = np.array([[-1.0, 0.5], [1.0, 0.5], [-0.2, 0.1]])
    for name in ("sum_log_likelihood", "log_joint"):
        value, expected = getattr(model, name)(theta, rows), getattr(CUSTOM, name)(theta, rows)
        np.testing.assert_array_equal(value, [expected[0], -np.inf, expected[2]])
    assert model.failures.n_failed == 2 and "overflow" in model.failures.example


def test_rows_are_drawn_by_the_given_sampler_or_refused():
    theta, X, rng = np.ones((3, 2)), np.arange(6.0).reshape(3, 2), np.random.default_rng(0)
    model = CustomModel(
        CUSTOM.prior_sampler,
        CUSTOM.prior_log_density,
        log_likelihood,
        2,
        lambda t, X, rng: np.sum(t * X, axis=1),
    )
    np.testing.assert_array_equal(model.sample_rows(theta, X, rng), X.sum(axis=1))
    with pytest.raises(ValueError, match="made without sample_rows"):
        CUSTOM.sample_rows(theta, X, rng)


def test_defaults_of_a_model_without_symmetries():
    theta = np.ones((3, 2))
    assert CUSTOM.slots is None
    assert CUSTOM.canonicalize(theta) is theta
    assert CUSTOM.parameters(theta)["theta"] is theta
