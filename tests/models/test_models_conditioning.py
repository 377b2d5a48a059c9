"""Columns that plain sums cannot resolve are seen, and ordinary ones are left in peace."""

import warnings

import numpy as np
import pytest

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceWarning,
)
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel, condition
from sgevidence.samplers import AIS, Exact


def test_the_condition_is_that_of_the_precision_matrix(rng):
    X, w = rng.normal(size=(50, 3)) * [1.0, 10.0, 100.0] + 5.0, rng.uniform(0.5, 2.0, 50)
    model = LinearModel(3, coef_scale=2.0, intercept_scale=0.5)
    Phi = np.column_stack([X, np.ones(50)]) * model.scales
    expected = np.linalg.cond(np.eye(4) + (Phi.T * w) @ Phi)
    assert condition(model, Rows.of(X, X[:, 0], w)) == pytest.approx(expected, rel=1e-8)
    assert condition(MixtureModel(2, 3), Rows.of(X)) == 1.0
    few = Rows.of(X[:2], X[:2, 0])
    assert condition(model, few) == pytest.approx(1 + np.linalg.norm(Phi[:2], 2) ** 2)


FAR = {
    "offset": lambda X: X + 1e8,
    "timestamps": lambda X: np.c_[1.7e18 + 3e13 * np.sort(X[:, 0]), X],
    "constant": lambda X: np.c_[np.full(len(X), 1e9), X],
    "too large": lambda X: 1e200 * X,
}


@pytest.mark.parametrize("far", FAR.values(), ids=FAR)
def test_far_columns_are_seen(rng, far):
    X = far(rng.normal(size=(100, 2)))
    for model in (LinearModel(X.shape[1]), SoftmaxModel(X.shape[1], 2)):
        assert "StandardScaler" in model.unresolved(Rows.of(X, np.zeros(100)))


def test_ordinary_columns_are_not(rng):
    for scale, shift, coef_scale in ((1.0, 0.0, 1.0), (1e3, 0.0, 1.0), (1.0, 1e4, 1.0), (1.0, 0.0, 1e5)):
        X = scale * rng.normal(size=(200, 5)) + shift
        assert LinearModel(5, coef_scale=coef_scale).unresolved(Rows.of(X, X[:, 0])) is None


@pytest.mark.parametrize(
    "make",
    [BayesianLinearRegression, BayesianSoftmaxRegression, BayesianGLM],
    ids=["linear", "softmax", "glm"],
)
@pytest.mark.parametrize(
    "sampler", [AIS(20), SGAIS(20, max_particles=20, proposal=None)], ids=["AIS", "SGAIS"]
)
def test_whoever_sums_plainly_warns(rng, make, sampler):
    X, y = rng.normal(size=(30, 2)) + 1e8, rng.integers(0, 2, 30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            make(sampler=sampler, random_state=0, standardize=False).fit(X, y)
        except (ValueError, ArithmeticError):  # in words as well
            return
    said = [w for w in caught if "StandardScaler" in str(w.message)]
    assert len(said) == 1 and said[0].category is EvidenceWarning and said[0].filename == __file__


def test_closed_forms_do_not(rng):
    X, y = rng.normal(size=(30, 2)) + 1e8, rng.normal(size=30)
    for sampler in (None, Exact()):
        assert (
            BayesianLinearRegression(sampler=sampler, random_state=0, standardize=False).fit(X, y).warnings_
            == []
        )
