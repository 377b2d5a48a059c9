"""The affine map between Gaussians: its image, its Jacobian, and weights that come out exactly even."""

import numpy as np
import pytest

from sgevidence.particles import AffineMap, Weights

dimensions = pytest.mark.parametrize("d", [1, 2, 7])


def precision(rng, d, scale=1.0):
    A = rng.normal(size=(d, 2 * d + 1))
    return scale * (A @ A.T)


def pair(rng, d):
    """Means and precisions of two Gaussians, the second much narrower."""
    return rng.normal(size=d), precision(rng, d), 3 + rng.normal(size=d), precision(rng, d, 20.0)


def log_normal(theta, m, P):
    u = theta - m
    log_det = np.linalg.slogdet(P / (2 * np.pi))[1]
    return 0.5 * log_det - 0.5 * np.sum((u @ P) * u, axis=1)


@dimensions
def test_takes_one_gaussian_to_the_other(rng, d):
    """Mean to mean and A P₁⁻¹ Aᵀ = P₂⁻¹: no draws needed."""
    m1, P1, m2, P2 = pair(rng, d)
    T = AffineMap.between(m1, P1, m2, P2)
    np.testing.assert_allclose(T(m1[None])[0], m2, rtol=1e-12)
    np.testing.assert_allclose(T.A @ np.linalg.inv(P1) @ T.A.T, np.linalg.inv(P2), rtol=1e-8, atol=1e-12)
    theta = rng.normal(size=(6, d))
    np.testing.assert_allclose(T(theta), m2 + (theta - m1) @ T.A.T, rtol=1e-12)


@dimensions
def test_jacobian(rng, d):
    """log_det is that of A, and of the map itself by differences."""
    T = AffineMap.between(*pair(rng, d))
    assert T.log_det == pytest.approx(np.linalg.slogdet(T.A)[1], abs=1e-10)
    theta, h = rng.normal(size=d), 1e-3
    J = (T(theta + h * np.eye(d)) - T(theta - h * np.eye(d))) / (2 * h)
    sign, log_det = np.linalg.slogdet(J)
    assert sign == 1
    assert T.log_det == pytest.approx(log_det, abs=1e-8)


@dimensions
def test_identity(rng, d):
    m, P = rng.normal(size=d), precision(rng, d)
    T, theta = AffineMap.between(m, P, m, P), rng.normal(size=(5, d))
    np.testing.assert_allclose(T(theta), theta, rtol=1e-9)
    assert T.log_det == 0.0


@dimensions
def test_there_and_back(rng, d):
    m1, P1, m2, P2 = pair(rng, d)
    there, back = AffineMap.between(m1, P1, m2, P2), AffineMap.between(m2, P2, m1, P1)
    theta = rng.normal(size=(5, d))
    np.testing.assert_allclose(back(there(theta)), theta, rtol=1e-8, atol=1e-8)
    assert back.log_det == pytest.approx(-there.log_det)


@pytest.mark.parametrize("which", [1, 3])
@pytest.mark.parametrize("eigenvalue", [-1.0, 0.0])
def test_indefinite_precisions_are_refused(rng, which, eigenvalue):
    """There is no Gaussian to go to: the caller anneals instead."""
    arguments = list(pair(rng, 2))
    arguments[which] = np.diag([1.0, eigenvalue])
    with pytest.raises(np.linalg.LinAlgError):
        AffineMap.between(*arguments)


def check_evidence(rng, between=AffineMap.between, d=4, log_Z=-12.5):
    """Z₂ N(m₂, P₂⁻¹) from three draws of N(m₁, P₁⁻¹): every weight is Z₂, so the answer is exact."""
    m1, P1, m2, P2 = pair(rng, d)
    theta = m1 + np.linalg.solve(np.linalg.cholesky(P1).T, rng.normal(size=(d, 3))).T
    T = between(m1, P1, m2, P2)
    weights = Weights(log_Z + log_normal(T(theta), m2, P2) + T.log_det - log_normal(theta, m1, P1))
    assert weights.log_mean == pytest.approx(log_Z, abs=1e-9), "evidence off"
    assert weights.ess == pytest.approx(3, rel=1e-9), "weights uneven"


def test_weights_through_the_map_are_exactly_even(rng):
    check_evidence(rng)
