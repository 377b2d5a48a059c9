"""Coordinates around modes, against Dirichlet densities."""

from math import lgamma

import numpy as np
from mixture_kinds import SphericalMixture

from sgevidence.answers._folded_modes import AroundMode, SeenByRows
from sgevidence.mixture.models import MixtureModel


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


def test_draws_have_their_density():
    """The mean of g/f over draws of f is one for any density g; here another of the same kind."""
    rng, model = np.random.default_rng(8), SphericalMixture(2, 2)
    seen = SeenByRows(model.log_gammas, model.n_params)
    A = rng.standard_normal((8, 8))
    P = np.diag([9.0, 30.0, 5.0, 20.0, 8.0, 12.0, 4.0, 30.0]) + 0.3 * A @ A.T
    modes = ((np.zeros(8), P), (0.1 * A[0], 1.3 * P))
    f, g = (AroundMode(model, seen, a, B) for a, B in modes)
    assert len(f.variances) == 2 and len(f.sticks) == 1
    x = f.draws(3000, rng)
    w = np.exp(g.log_density(x) - f.log_density(x))
    assert abs(np.mean(w) - 1.0) < 4.0 * np.std(w) / len(w) ** 0.5 < 0.2


def test_densities_far_out_are_zero_and_not_unknown():
    model = MixtureModel(1, 1)
    seen = SeenByRows(model.log_gammas, model.n_params)
    mode = AroundMode(model, seen, np.zeros(3), np.diag([1.0, 5.0, 7.0]))
    far = np.array([[0.0, -2000.0], [0.0, 2000.0], [1e200, 0.0], [3.0, 0.0]])
    log_f = mode.log_density(far)
    assert np.all(log_f[:3] < -1e2) and np.all(np.isfinite(log_f[3:]))
