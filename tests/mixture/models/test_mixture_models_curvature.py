"""The mixture's own Hessian against autograd's of the plain form, far rows, blocks, and mutants."""

from dataclasses import replace

import numpy as np
import pytest
from autograd import hessian
from autograd import numpy as anp
from mutants import broken
from plain_priors import plain_log_prior

from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.mixture.models import _gaussian as _mixture

pytestmark = pytest.mark.usefixtures("double_precision")


def problem(K=3, p=2, n=60, seed=0):
    rng = np.random.default_rng(seed)
    model = MixtureModel(K, p, weight_concentration=1.3, mean_scale=0.7, variance_prior=(2.5, 1.5))
    rows = Rows(rng.normal(1.0, 2.0, (n, p)), None, rng.gamma(2.0, size=n))
    return model, model.sample_prior(rng, 1)[0], rows


def check(K=3, p=2):
    model, theta, rows = problem(K, p)
    parts = [
        (
            lambda t: anp.dot(model.log_likelihood(t[None], rows)[0], rows.weight),
            model.derivatives(theta, rows),
        ),
        (lambda t: plain_log_prior(model, t[None])[0], model.prior_derivatives(theta)),
    ]
    for plain, (value, _, H) in parts:
        expected = hessian(plain)(theta)
        np.testing.assert_allclose(value, plain(theta), rtol=1e-12)
        np.testing.assert_allclose(H, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())
    for one, other in (
        (model.derivatives(theta, rows), model.evaluation.derivatives(model, theta, rows)),
        (model.prior_derivatives(theta), model.evaluation.prior_derivatives(model, theta)),
    ):
        np.testing.assert_allclose(one[1], other[1], rtol=1e-9, atol=1e-11 * np.abs(other[1]).max())


@pytest.mark.parametrize("K, p", [(1, 1), (1, 3), (2, 1), (3, 2), (4, 3)])
def test_equals_autograd(K, p):
    check(K, p)


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("likelihood_derivatives", "T[:, p + 1 :] + 0.5 * N", "T[:, p + 1 :]"),
        ("likelihood_derivatives", "D[k, j, j + p] -= T[:, 1 : p + 1]", "pass"),
        ("likelihood_derivatives", "T[:, 0] -= n * pi", "pass"),
        ("likelihood_derivatives", "n * (np.diag(pi) - np.outer(pi, pi))", "n * np.diag(pi)"),
        ("likelihood_derivatives", "H[k[:, 0], :, k[:, 0]] += D", "pass"),
        ("likelihood_derivatives", "np.sqrt(block.weight)", "block.weight"),
        ("prior_derivatives", "mu * precision / tau**2", "-mu * precision / tau**2"),
        ("prior_derivatives", "H[k, j + p, k, j + p] = -energy", "H[k, j + p, k, j + p] = energy"),
        ("prior_derivatives", "H[k[:, 0], 0, k[:, 0], 0] = -np.exp(z)", "pass"),
    ],
)
def test_power(name, right, wrong, monkeypatch):
    monkeypatch.setattr(_mixture, name, broken(getattr(_mixture, name), right, wrong))
    with pytest.raises(AssertionError):
        check()


def test_blocks_add_up(monkeypatch):
    model, theta, rows = problem()
    whole = model.derivatives(theta, rows)
    monkeypatch.setattr(
        MixtureModel, "evaluation", replace(MixtureModel.evaluation, block_elements=150)
    )  # ten rows each
    for a, b in zip(model.derivatives(theta, rows), whole):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11 * np.abs(b).max())


def test_no_rows_have_no_derivatives():
    model, theta, rows = problem()
    value, g, H = model.derivatives(theta, rows[:0])
    assert value == 0.0 and not g.any() and not H.any()


def test_a_row_that_one_component_cannot_have_made():
    """1e200 deviations from the first component, one from the second: what it adds is the second's alone."""
    model, theta, _ = problem(2, 1)
    theta[-2:] = 0.0, 400 * np.log(10)  # log variances
    far = Rows.of(np.array([[1e200]]))
    value, g, H = model.derivatives(theta, far)
    assert np.isfinite(value) and np.isfinite(g).all() and np.isfinite(H).all()
    assert np.count_nonzero(H[2]) == 0  # the first mean: no row is its own
    assert H[5, 5] < 0


def test_far_from_zero_nothing_cancels():
    """Rows at a million of spread one: the mean's curvature is the rows' number."""
    model, n = MixtureModel(1, 1), 500
    rows = Rows.of(1e6 + np.random.default_rng(1).standard_normal((n, 1)))
    _, g, H = model.derivatives(np.array([0.0, rows.X.mean(), 0.0]), rows)
    np.testing.assert_allclose(H[1, 1], -n, rtol=1e-12)
    np.testing.assert_allclose([H[1, 2], g[1]], 0.0, atol=1e-6)
    np.testing.assert_allclose(H[2, 2], -0.5 * n * rows.X.var(), rtol=1e-9)
