"""Linear coordinates: they precondition a kernel and change nothing else."""

import numpy as np
import pytest
from gaussian_target import N_SIGMA, M, check_normal

from sgevidence.kernels import Coordinates, hmc, sghmc

D = 4


def precision(rng):
    """Correlated, with widths from 0.1 to 10."""
    Q = np.linalg.qr(rng.standard_normal((D, D)))[0]
    return Q @ np.diag(10.0 ** np.linspace(-2, 2, D)) @ Q.T


def check_covariance(x, P, inflation=1.0):
    """x ~ N(0, inflation · P⁻¹): standardised by a factor of P, the columns are independent."""
    z = x @ np.linalg.cholesky(P)
    check_normal(z, inflation)
    correlation = np.corrcoef(z.T)[np.triu_indices(D, 1)]
    assert np.all(np.abs(correlation) * np.sqrt(len(x)) < N_SIGMA)


def check_preconditioned_sghmc(coordinates, P, rng):
    """In φ all curvatures are one, so the known inflation holds in every direction of θ."""
    eta, alpha = 0.2, 0.2
    start = coordinates.whiten(rng.standard_normal((M, D)))
    grad = coordinates.gradient(lambda theta: -theta @ P)
    phi, info = sghmc(start, grad, rng, eta=eta, alpha=alpha, n_steps=150)
    assert info.n_refused == 0
    check_covariance(coordinates.unwhiten(phi), P, 1 / (1 - eta / (2 * (2 - alpha))))


def test_factors(rng):
    P = precision(rng)
    C = np.linalg.inv(P)
    for coordinates in (Coordinates.from_precision(P), Coordinates.from_covariance(C)):
        np.testing.assert_allclose(coordinates.L @ coordinates.L.T, C, rtol=1e-8, atol=1e-10)
        np.testing.assert_array_equal(np.triu(coordinates.L, 1), 0.0)


def test_whiten_and_unwhiten_are_inverse(rng):
    coordinates, theta = Coordinates.from_precision(precision(rng)), rng.standard_normal((7, D))
    np.testing.assert_allclose(coordinates.unwhiten(coordinates.whiten(theta)), theta, rtol=1e-10)
    np.testing.assert_allclose(coordinates.unwhiten(theta)[0], coordinates.L @ theta[0], rtol=1e-12)


def test_gradient_against_finite_differences(rng):
    """∇_φ log p(Lφ), of a function that is not quadratic."""
    coordinates, phi, h = Coordinates.from_precision(precision(rng)), rng.standard_normal((5, D)), 1e-6

    def log_p(theta):
        return np.sum(np.sin(theta) + 0.1 * theta, axis=1)

    def in_phi(phi):
        return log_p(phi @ coordinates.L.T)

    exact = coordinates.gradient(lambda theta: np.cos(theta) + 0.1)(phi)
    numeric = np.stack([(in_phi(phi + h * e) - in_phi(phi - h * e)) / (2 * h) for e in np.eye(D)], axis=1)
    np.testing.assert_allclose(exact, numeric, rtol=1e-6, atol=1e-6)


def test_preconditioned_sghmc(rng):
    P = precision(rng)
    check_preconditioned_sghmc(Coordinates.from_precision(P), P, rng)


def test_broken_chain_rule_is_caught(rng, install_broken):
    P = precision(rng)
    right = "grad(self.unwhiten(phi)) @ self.L"
    install_broken(Coordinates, "gradient", right, f"{right}.T")
    with pytest.raises(AssertionError):
        check_preconditioned_sghmc(Coordinates.from_precision(P), P, rng)


def test_wrong_preconditioner_leaves_hmc_exact(rng):
    """Coordinates change the speed, not the target."""
    P = precision(rng)
    L = Coordinates.from_precision(P).L
    coordinates = Coordinates.from_covariance(L @ np.diag([0.4, 2.0, 1.0, 0.7]) @ L.T)
    phi = coordinates.whiten(rng.standard_normal((M, D)))

    def target(phi):
        theta = coordinates.unwhiten(phi)
        value = -0.5 * np.sum(theta @ P * theta, axis=1)
        return value, coordinates.gradient(lambda theta: -theta @ P)(phi)

    for _ in range(60):
        phi, info = hmc(phi, target, rng, eps=0.5 * rng.uniform(0.5, 1.2, M), L=4)
    assert info.acceptance > 0.5
    check_covariance(coordinates.unwhiten(phi), P)


@pytest.mark.parametrize("make", [Coordinates.from_covariance, Coordinates.from_precision])
def test_not_positive_definite(make):
    with pytest.raises(np.linalg.LinAlgError):
        make(np.diag([1.0, -1.0]))
