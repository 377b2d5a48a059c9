"""The mixture's own Hessian against autograd's of the plain form, far rows, blocks, and mutants."""

from dataclasses import replace

import numpy as np
import pytest
from autograd import hessian
from autograd import numpy as anp

from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel

pytestmark = pytest.mark.usefixtures("double_precision")


def problem(K=3, p=2, n=60, seed=0):
    rng = np.random.default_rng(seed)
    model = MixtureModel(K, p, weight_concentration=1.3, mean_scale=0.7, variance_prior=(2.5, 1.5))
    rows = Rows(rng.normal(1.0, 2.0, (n, p)), None, rng.gamma(2.0, size=n))
    return model, model.sample_prior(rng, 1)[0], rows


def check(K=3, p=2):
    model, theta, rows = problem(K, p)

    def plain(t):
        return anp.dot(model.log_likelihood(t[None], rows)[0], rows.weight)

    value, g, H = model.derivatives(theta, rows)
    expected = hessian(plain)(theta)
    np.testing.assert_allclose(value, plain(theta), rtol=1e-12)
    np.testing.assert_allclose(H, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())
    _, slope, _ = model.evaluation.derivatives(model, theta, rows)
    np.testing.assert_allclose(g, slope, rtol=1e-9, atol=1e-11 * np.abs(slope).max())


@pytest.mark.parametrize("K, p", [(1, 1), (1, 3), (2, 1), (3, 2), (4, 3)])
def test_equals_autograd(K, p):
    check(K, p)


class OfTenRows(MixtureModel):
    evaluation = replace(MixtureModel.evaluation, block_elements=150)


def test_blocks_add_up():
    model, theta, rows = problem()
    whole = model.derivatives(theta, rows)
    for a, b in zip(OfTenRows(model.n_components, model.n_features).derivatives(theta, rows), whole):
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
