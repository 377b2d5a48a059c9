"""Coordinates of unit width: the curvature of a Gaussian, and averages that do not tell the labels apart."""

from types import SimpleNamespace

import numpy as np
import pytest
from path_problem import MODELS, data

from sgevidence.models import LinearModel
from sgevidence.targets import Likelihood, Target, _target, curvature_coordinates

pytestmark = pytest.mark.usefixtures("double_precision")


def precision(coordinates):
    return np.linalg.inv(coordinates.L @ coordinates.L.T)


def test_of_a_gaussian_it_is_the_precision(rng):
    """ΦᵀΦ/σ² + S⁻², wherever the cloud is."""
    model, rows = LinearModel(2, noise_std=0.5), data(MODELS["linear"], 100, rng)
    Phi = np.column_stack([rows.X, np.ones(100)])
    coordinates = curvature_coordinates(
        Target(model, Likelihood(rows)), rng.normal(size=(20, 3)), np.full(20, 1 / 20)
    )
    np.testing.assert_allclose(precision(coordinates), Phi.T @ Phi / 0.25 + np.eye(3), rtol=1e-8)


SLOTS, A, B = np.array([[0, 3], [4, 1], [2, 5]]), np.array([[2.0, 0.5], [0.5, 1.0]]), 0.3 * np.eye(2)


def check_slots(rng):
    """Scores of covariance A within a component and B between them have that curvature, in any labelling."""
    K, flat, M = 3, SLOTS.ravel(), 100_000
    P = np.empty((6, 6))
    P[np.ix_(flat, flat)] = np.kron(np.eye(K), A) + np.kron(np.ones((K, K)), B)
    scores = rng.standard_normal((M, 6)) @ np.linalg.cholesky(P).T
    target = SimpleNamespace(value_and_grad=lambda theta: (None, scores))
    found = _target._mean_curvature_over_slots(target, SLOTS, np.zeros((M, 6)), np.full(M, 1 / M))
    np.testing.assert_allclose(found, P, atol=0.06, err_msg="curvature off")


def test_over_labellings_it_is_that_of_the_scores(rng):
    check_slots(rng)


def test_labels_make_no_difference(rng):
    """The same cloud under other labels has the same coordinates: else moves across them are biased."""
    model, rows = MODELS["mixture"], data(MODELS["mixture"], 200, rng)
    target, theta = Target(model, Likelihood(rows)), model.sample_prior(rng, 300)
    W = rng.dirichlet(np.ones(300))
    order = np.empty(model.n_params, dtype=int)
    order[model.slots.ravel()] = model.slots[::-1].ravel()
    P = precision(curvature_coordinates(target, theta, W))
    np.testing.assert_allclose(P, precision(curvature_coordinates(target, theta[:, order], W)), rtol=1e-6)
    np.testing.assert_allclose(P, P[np.ix_(order, order)], rtol=1e-6)


@pytest.mark.parametrize("M", [30, 20_000])
def test_second_moment_is_shrunk_by_what_it_cannot_know(rng, M):
    """E[g gᵀ]; half of d/ESS goes to the diagonal, so that it is positive definite with a few draws."""
    P = np.array([[2.0, 1.2], [1.2, 1.0]])
    g = rng.standard_normal((M, 2)) @ np.linalg.cholesky(P).T
    found = _target._second_moment(g, np.full(M, 1 / M))
    assert np.linalg.eigvalsh(found)[0] > 0
    raw, shrinkage = g.T @ g / M, 2 / M / 2
    np.testing.assert_allclose(np.diag(found), np.diag(raw), rtol=1e-6)
    assert found[0, 1] == pytest.approx((1 - shrinkage) * raw[0, 1])


def test_where_the_curvature_is_not_positive_the_scores_are_taken(rng):
    """In a funnel, say: of points on a saddle."""
    g = rng.standard_normal((500, 2))

    class Saddle:
        model = SimpleNamespace(slots=None)

        def mean_curvature(self, theta):
            return np.diag([1.0, -1.0])

        def value_and_grad(self, theta):
            return None, g

    W = np.full(500, 1 / 500)
    found = precision(curvature_coordinates(Saddle(), np.zeros((500, 2)), W))
    np.testing.assert_allclose(found, _target._second_moment(g, W), rtol=1e-8)
