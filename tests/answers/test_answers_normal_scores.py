"""Normal scores, against Dirichlet and inverse gamma densities."""

import numpy as np
import pytest
from scipy.special import gammaln

from sgevidence.answers._normal_scores import Sticks, Variance


@pytest.mark.parametrize(
    "shapes",
    [[0.5, 3.0, 200.0], [0.5, 0.5, 0.5], [5e3, 1e6, 3.0, 7e4], [1e-3, 1e4], [1e4, 1e-3], [4e8, 0.5, 1e7]],
)
def test_sticks_make_a_dirichlet_density_standard_normal(shapes):
    rng, s = np.random.default_rng(7), np.array(shapes)
    sticks, p = Sticks(s), s / s.sum()
    curvature = s.sum() * (np.diag(p) - np.outer(p, p))[:-1, :-1]
    assert np.allclose(sticks.slope.T @ sticks.slope, curvature, rtol=1e-6)
    assert np.allclose(Sticks.of_curvature(np.log(p), curvature).shapes, s)
    y = 1.5 * rng.standard_normal((40, len(s) - 1))
    x = sticks.x(y)
    z = np.column_stack([x, np.zeros(40)])
    log_p = z - np.logaddexp.reduce(z, axis=1)[:, None]
    dirichlet = log_p @ s + gammaln(s.sum()) - gammaln(s).sum()
    normal = -0.5 * np.sum(y**2 + np.log(2 * np.pi), axis=1)
    assert np.allclose(sticks.y(x), y, atol=1e-3) and np.all(np.isfinite(x))
    assert np.allclose(sticks.log_slope(x, sticks.y(x)) + normal, dirichlet, atol=1e-2)


@pytest.mark.parametrize("curvature, n_means", [(5.3, 1), (0.9, 1), (1e9, 2), (3.0, 4)])
def test_inverse_gamma_variances_are_standard_normal(curvature, n_means):
    """Their log density, with Gaussian means at the mode, has this mode and curvature in λ = log σ²."""
    rng, mode = np.random.default_rng(9), -1.3
    variance = Variance.of_curvature(mode, curvature, n_means)
    s, rate = curvature - n_means / 2, curvature * np.exp(mode)
    y = 1.5 * rng.standard_normal(200)
    log_scale = variance.log_scale(y)
    assert np.allclose(variance.y(log_scale), y, atol=1e-8)
    inverse_gamma = s * np.log(rate) - gammaln(s) - s * log_scale - rate * np.exp(-log_scale)
    normal = -0.5 * y**2 - 0.5 * np.log(2 * np.pi)
    assert np.allclose(variance.log_slope(log_scale, y) + normal, inverse_gamma, atol=1e-4)
    assert Variance.of_curvature(mode, n_means / 2, n_means) is None
