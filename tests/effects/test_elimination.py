"""Sums over levels as one product of matrices, and factors of small matrices, against numpy's of each."""

import numpy as np
import pytest

from sgevidence import BayesianLinearRegression, Group
from sgevidence.effects import _closed_form
from sgevidence.effects._closed_form import Elimination
from sgevidence.effects._gaussian import backward, cholesky, forward, inverse


def positive(rng, q, *shape):
    root = rng.standard_normal((q, q, *shape))
    return np.einsum("ik...,jk...->ij...", root, root) + np.eye(q).reshape(q, q, *[1] * len(shape))


def check_elimination(q, share, rng):
    B = rng.standard_normal((9, q, 30)) * (rng.random((9, 1, 30)) < share)
    K = positive(rng, q, 4, 9)
    found = Elimination(B)
    assert bool(found.sparse) == (share < 0.5)
    np.testing.assert_allclose(found(K), np.einsum("lai,abml,lbj->mij", B, K, B), atol=1e-10)


@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("share", [0.08, 1.0])
def test_what_levels_take_is_the_sum_over_them(q, share, rng, monkeypatch):
    monkeypatch.setattr(_closed_form, "MAX_PAIR_NUMBERS", 1500)  # several blocks
    check_elimination(q, share, rng)


@pytest.mark.parametrize("q", [1, 2, 3, 4])
def test_small_matrices_are_those_of_numpy(q, rng):
    A, b = positive(rng, q, 5), rng.standard_normal((q, 5))
    L, each = cholesky(A), np.moveaxis(A, 2, 0)
    np.testing.assert_allclose(np.moveaxis(L, 2, 0), np.linalg.cholesky(each), atol=1e-10)
    np.testing.assert_allclose(np.moveaxis(inverse(L), 2, 0), np.linalg.inv(each), atol=1e-10)
    solution = np.linalg.solve(each, b.T[..., None])[..., 0].T
    np.testing.assert_allclose(backward(L, forward(L, b)), solution, atol=1e-10)


def test_crossed_levels_are_sparse_or_dense_with_the_same_answer(monkeypatch):
    """40 × 30 levels, most of which never meet, on both ways; crossed factors in either order."""
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 40, 150), rng.integers(0, 30, 150)
    y = rng.standard_normal(40)[a] + rng.standard_normal(30)[b] + rng.standard_normal(150)
    X = np.column_stack([rng.standard_normal(150), a, b])

    def evidence():
        model = BayesianLinearRegression(terms=[Group(1), Group(2)], random_state=0).fit(X, y)
        return model.log_evidence_

    sparse = evidence()
    monkeypatch.setattr(_closed_form, "MAX_SPARSE_SHARE", 0.0)
    assert evidence() == pytest.approx(sparse, abs=1e-7)
