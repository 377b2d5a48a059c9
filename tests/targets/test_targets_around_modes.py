"""Coordinates around modes, against Dirichlet densities."""

from math import lgamma

import numpy as np
import pytest
from scipy.special import gammaln

from sgevidence.targets._around_modes import AroundMode, SeenByRows, Sticks


def test_totals_of_log_gammas_are_as_in_the_prior():
    rng = np.random.default_rng(6)
    seen = SeenByRows(((np.array([0, 2]), 0.7), (np.array([1, 3, 5]), 2.0)), 6)
    theta = rng.standard_normal((5, 6))
    x = seen.of(theta)
    again = seen.theta(x, rng)
    assert x.shape == (5, 4) and np.allclose(seen.of(again), x) and np.allclose(again[:, 4], theta[:, 4])
    for indices, c in seen.groups:  # log-gammas less their total have a Dirichlet density
        alone, z, L = (
            SeenByRows(((np.arange(len(indices)), c),), len(indices)),
            theta[:, indices],
            len(indices),
        )
        log_pi = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
        log_gammas = np.sum(c * z - np.exp(z), axis=1) - L * lgamma(c)
        dirichlet = lgamma(L * c) - L * lgamma(c) + c * log_pi.sum(axis=1)
        assert np.allclose(log_gammas - alone.log_density_of_totals(z), dirichlet)


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


def test_draws_have_their_density():
    """The mean of g/f over draws of f is one for any density g; here another Gaussian of the same kind."""
    rng = np.random.default_rng(8)
    seen = SeenByRows(((np.array([0, 2]), 1.0), (np.array([1, 4, 5]), 0.5)), 6)
    A = rng.standard_normal((6, 6))
    P = np.diag([9.0, 30.0, 5.0, 20.0, 8.0, 2.0]) + 0.5 * A @ A.T
    f, g = (AroundMode(seen, a, B) for a, B in ((np.zeros(6), P), (0.1 * A[0], 1.3 * P)))
    x = f.draws(3000, rng)
    w = np.exp(g.log_density(x) - f.log_density(x))
    assert abs(np.mean(w) - 1.0) < 4.0 * np.std(w) / len(w) ** 0.5 < 0.1
