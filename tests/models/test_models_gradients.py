"""What every model shares: the fused primitives against the plain autograd form, and the sums on them."""

from dataclasses import replace

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import hessian
from autograd.test_util import check_grads
from plain_priors import plain_log_prior

from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, Model, SoftmaxModel, value_and_grad

pytestmark = pytest.mark.usefixtures("double_precision")

MODELS = {
    "linear": LinearModel(3, noise_std=0.7),
    "linear, unknown noise": LinearModel(3, coef_scale=2.0, intercept_scale=0.5, noise_prior=(2.5, 1.5)),
    "linear, no intercept": LinearModel(3, fit_intercept=False),
    "linear, both": LinearModel(3, fit_intercept=False, noise_std=1.3),
    "softmax": SoftmaxModel(3, 4, coef_scale=0.5, intercept_scale=2.0),
    "softmax, two classes": SoftmaxModel(3, 2, fit_intercept=False),
    **{f"mixture, K={K}": MixtureModel(K, 3, 0.5 + K / 2, 1.5, (2.5, 1.5)) for K in (1, 2, 3, 4)},
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def problem(model, n=150, M=5, offset=0.0, seed=0):
    """A cloud from the prior, moved to where the likelihood is not saturated, and rows around ``offset``."""
    rng = np.random.default_rng(seed)
    X = offset + rng.standard_normal((n, 3))
    theta = model.sample_prior(rng, M)
    y = None
    if isinstance(model, MixtureModel):
        theta[:, model.n_components : model.n_components * 4] += offset
    elif isinstance(model, SoftmaxModel):
        y = rng.integers(model.n_classes, size=n)
        theta /= 1 + offset
    else:
        y = rng.standard_normal(n)
    return theta, Rows.of(X, y, rng.gamma(2.0, size=n))


def plain_log_joint(model, theta, rows):
    return anp.dot(model.log_likelihood(theta, rows), rows.weight) + plain_log_prior(model, theta)


def assert_close(a, b, rtol=1e-10):
    """Equal to ``rtol`` of each particle's largest entry."""
    scale = np.abs(b).max(axis=-1, keepdims=True) if np.ndim(b) > 1 else np.abs(b)
    assert np.all(np.abs(a - b) <= rtol * np.maximum(scale, 1.0))


@every_model
@pytest.mark.parametrize("offset", [0.0, 100.0], ids=["centred", "mean 100"])
@pytest.mark.parametrize("block_elements", [10**9, 1], ids=["one block", "three blocks"])
def test_fused_equals_plain_autograd(model, offset, block_elements, monkeypatch):
    # blocks have at least 64 rows
    monkeypatch.setattr(type(model), "evaluation", replace(model.evaluation, block_elements=block_elements))
    # and in these all particles, or one by one
    monkeypatch.setattr("sgevidence.models._evaluation.IN_CACHE", block_elements)
    theta, rows = problem(model, offset=offset)
    value, grad = value_and_grad(lambda t: plain_log_joint(model, t, rows), theta)
    assert_close(model.log_joint(theta, rows), value)
    assert_close(model.sum_log_likelihood(theta, rows), value - model.log_prior(theta))
    fused_value, fused_grad = model.value_and_grad_log_joint(theta, rows)
    assert_close(fused_value, value)
    assert_close(fused_grad, grad)
    assert np.array_equal(model.grad_log_joint(theta, rows), fused_grad)


@every_model
def test_gradient_equals_central_differences(model):
    theta, rows = problem(model, n=40)
    direction = np.random.default_rng(1).standard_normal(theta.shape)
    h = 1e-5 * direction
    slope = (model.log_joint(theta + h, rows) - model.log_joint(theta - h, rows)) / 2e-5
    assert_close(np.sum(model.grad_log_joint(theta, rows) * direction, axis=1), slope, 1e-6)


@every_model
def test_autograd_check_grads(model):
    """Each particle's own output gradient reaches its own row: cotangents here are not all one."""
    theta, rows = problem(model, n=20, M=3)
    check_grads(lambda t: model._block_log_likelihood(t, rows, []), modes=["rev"], order=1)(theta)
    check_grads(model.log_prior, modes=["rev"], order=1)(theta)


@every_model
def test_mean_hessian_equals_autograd_hessian(model):
    theta, rows = problem(model, n=40, M=3)
    one = hessian(lambda t: plain_log_joint(model, t[None], rows)[0])
    H = np.mean([one(t) for t in theta], axis=0)
    assert np.abs(model.mean_hessian_log_joint(theta, rows) - H).max() < 1e-7 * np.abs(H).max()


@every_model
def test_integer_weights_are_repeated_rows(model):
    theta, rows = problem(model, n=30)
    counts = np.random.default_rng(2).integers(4, size=30)
    repeated = Rows.of(rows.X, rows.y).take(np.repeat(np.arange(30), counts))
    weighted = Rows(rows.X, rows.y, counts.astype(float))
    assert_close(model.log_joint(theta, weighted), model.log_joint(theta, repeated))
    assert_close(model.grad_log_joint(theta, weighted), model.grad_log_joint(theta, repeated))


@every_model
def test_fractional_weights_scale(model):
    theta, rows = problem(model)
    assert_close(
        model.sum_log_likelihood(theta, rows.scaled(0.3)), 0.3 * model.sum_log_likelihood(theta, rows)
    )


@every_model
def test_without_rows_the_joint_is_the_prior(model):
    theta, rows = problem(model)
    value, grad = model.value_and_grad_log_joint(theta, rows[:0])
    prior, prior_grad = value_and_grad(lambda t: plain_log_prior(model, t), theta)
    assert_close(value, prior)
    assert_close(grad, prior_grad)


@every_model
def test_a_failed_particle_gets_minus_infinity_and_harms_no_other(model):
    theta, rows = problem(model)
    broken = theta.copy()
    broken[2] = np.nan
    others = [0, 1, 3, 4]
    for log_density in (
        model.sum_log_likelihood,
        model.log_joint,
        lambda *a: model.value_and_grad_log_joint(*a)[0],
    ):
        value = log_density(broken, rows)
        assert value[2] == -np.inf
        assert_close(value[others], log_density(theta, rows)[others])
    assert_close(model.grad_log_joint(broken, rows)[others], model.grad_log_joint(theta, rows)[others])


CENTRAL_BOX = 0.05, 0.95
SMALL = {
    "linear": LinearModel(2, coef_scale=2.0, intercept_scale=0.5, noise_prior=(2.5, 1.5)),
    "softmax": SoftmaxModel(1, 2, coef_scale=0.5, intercept_scale=2.0),
    **{f"mixture, a={a}": MixtureModel(2, 1, a, 1.5, (2.5, 1.5)) for a in (0.5, 1.0, 3.0)},
}


def box_z_score(model, log_prior, n=40_000):
    """Largest error, in standard errors, of the mass and mean of the prior reweighted to uniform on a box.

    Both are known, so they come out right only if ``sample_prior`` draws from ``log_prior`` and that
    density is normalised.
    """
    rng = np.random.default_rng(3)
    low, high = np.quantile(model.sample_prior(rng, 2000), CENTRAL_BOX, axis=0)
    theta = model.sample_prior(rng, n)
    t = (2 * theta - low - high) / (high - low)  # the box is [−1, 1]^d
    density_ratio = np.exp(-log_prior(theta)) / np.prod(high - low)
    terms = (
        np.column_stack([np.ones(n), t])
        * np.where(np.all(np.abs(t) < 1, axis=1), density_ratio, 0.0)[:, None]
    )
    exact = np.r_[1.0, np.zeros(model.n_params)]
    return np.max(np.abs(terms.mean(axis=0) - exact) / (terms.std(axis=0) / np.sqrt(n)))


@pytest.mark.parametrize("model", SMALL.values(), ids=SMALL)
def test_sample_prior_draws_from_log_prior(model):
    assert box_z_score(model, model.log_prior) < 4


@pytest.mark.parametrize("name", [name for name in SMALL if name != "softmax"])
def test_that_test_sees_a_missing_jacobian(name):
    model = SMALL[name]
    assert box_z_score(model, lambda theta: model.log_prior(theta) - theta[:, -1]) > 8


def test_what_a_model_must_say_is_named():
    with pytest.raises(TypeError, match=r"abstract .*log_likelihood.*log_prior.*n_params.*sample_prior"):
        Model()


def test_what_a_model_need_not_say_is_refused_by_name_or_has_no_effect():
    class Bare(Model):
        n_params = 1

        def sample_prior(self, rng, size):
            return rng.standard_normal((size, 1))

        def log_prior(self, theta):
            return -0.5 * theta[:, 0] ** 2 - 0.5 * np.log(2 * np.pi)

        def log_likelihood(self, theta, rows):
            return theta * rows.X[:, 0]

    model, rng, rows = Bare(), np.random.default_rng(0), Rows.of(np.ones((3, 1)))
    theta, W = model.sample_prior(rng, 4), np.full(4, 0.25)
    assert model.slots is None and model.slot_reference(theta) is None
    assert model.canonicalize(theta) is theta and model.is_canonical(theta, None).all()
    assert model.parameters(theta)["theta"] is theta
    assert model.starts(rows, 7, rng).shape == (7, 1)
    for refused, message in {
        lambda: model.sample_rows(theta, rows.X, rng): "cannot simulate: Bare does not define sample_rows",
        lambda: model.exact_log_evidence(rows): "no closed form for .*Bare",
        lambda: model.exact_posterior(rows, rng, 2): "no closed form for .*Bare",
        lambda: model.expected_score(theta, W, rows.X): "Bare does not define an expected score: give y",
    }.items():
        with pytest.raises(ValueError, match=message):
            refused()
