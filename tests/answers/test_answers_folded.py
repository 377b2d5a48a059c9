"""Posteriors from sums over parts, against a quadrature and the answer of the rows at hand."""

import numpy as np
import pytest
from folded_rows import folded
from scipy.special import gammaln

from sgevidence.answers import FoldsDoNotSuffice, folded_answer, one_mode_answer
from sgevidence.history import Memory, Rows
from sgevidence.models import GLMModel, SoftmaxModel


def answer(model, rows, seed, size=1500):
    return folded_answer(model, rows, Memory.empty(size), np.random.default_rng(seed), 100)


def test_one_rate_has_the_evidence_of_a_quadrature():
    rng = np.random.default_rng(1)
    y, weight = rng.poisson(3.0, 5000).astype(float), rng.integers(1, 4, 5000).astype(float)
    model, rows = GLMModel(n_features=0), Rows.of(np.zeros((5000, 0)), y, weight)
    centre = np.log(np.average(y, weights=weight))
    b = centre + np.linspace(-0.15, 0.15, 4001)
    log_joint = weight @ y * b - weight.sum() * np.exp(b) - weight @ gammaln(y + 1) - 0.5 * b**2
    log_Z = log_joint.max() + np.log(np.sum(np.exp(log_joint - log_joint.max())) * (b[1] - b[0]))
    log_Z -= 0.5 * np.log(2 * np.pi)
    z = []
    for seed in range(5):
        parts = folded(rows, seed)
        found, memory = answer(model, parts, seed)
        z.append((found.log_evidence - log_Z) / max(found.log_evidence_std, 1e-6))
        assert parts.parts.n_folds <= 5
        assert memory.n_rows == 5000 and memory.n == weight.sum()
    assert np.max(np.abs(z)) < 4.5


def few_of_a_class(rng, n=3000):
    """Five rows alone have the last column, which makes their class: no Gaussian, and no sample has them."""
    X = np.column_stack([rng.standard_normal((n, 2)), np.zeros(n)])
    y = np.argmax(X[:, :2] @ rng.standard_normal((2, 3)) + rng.gumbel(size=(n, 3)), axis=1)
    where = rng.choice(n, 5, replace=False)
    X[where, 2], y[where] = 2.0, 0
    return Rows.of(X, y)


def test_rows_that_a_sample_would_miss_are_asked_for():
    rows = few_of_a_class(np.random.default_rng(2))
    model = SoftmaxModel(n_features=3, n_classes=3, coef_scale=3.0)
    whole = one_mode_answer(model, rows, np.random.default_rng(0), 100)
    for seed in range(2):
        found, memory = answer(model, folded(rows, seed), seed)
        bar = np.hypot(whole.log_evidence_std, found.log_evidence_std)
        assert abs(found.log_evidence - whole.log_evidence) < 4 * bar and bar < 0.1
        assert memory.high_leverage is not None and np.sum(memory.high_leverage.X[:, 2] > 0) == 5


def test_columns_beyond_double_precision_are_refused_in_words():
    rng = np.random.default_rng(3)
    X = 1e9 + rng.standard_normal((3000, 1))
    rows = Rows.of(X, rng.poisson(1.0, 3000).astype(float))
    with pytest.raises(FoldsDoNotSuffice, match="centre"):
        answer(GLMModel(n_features=1), folded(rows, 0), 0)
