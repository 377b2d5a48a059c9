"""The softmax model: a distribution over classes, the stated prior, draws with the stated frequencies."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sgevidence.history import Rows
from sgevidence.models import SoftmaxModel

MODEL = SoftmaxModel(2, 3, coef_scale=0.5, intercept_scale=2.0)


@pytest.mark.parametrize("scale", [1.0, 1e3], ids=["moderate", "huge logits"])
def test_probabilities_sum_to_one_and_are_the_softmax(scale):
    rng = np.random.default_rng(0)
    theta, X = scale * MODEL.sample_prior(rng, 4), rng.standard_normal((7, 2))
    p = np.stack([np.exp(MODEL.log_likelihood(theta, Rows.of(X, np.full(7, k)))) for k in range(3)])
    np.testing.assert_allclose(p.sum(axis=0), 1.0, rtol=1e-12)
    W = theta[1].reshape(3, 3)
    logits = W[:, :2] @ X[5] + W[:, 2]
    np.testing.assert_allclose(
        p[:, 1, 5], np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    )


def test_prior_is_an_independent_gaussian():
    theta = MODEL.sample_prior(np.random.default_rng(1), 5000)
    scales = np.tile([0.5, 0.5, 2.0], 3)
    np.testing.assert_allclose(MODEL.log_prior(theta), stats.norm.logpdf(theta, 0, scales).sum(axis=1))
    assert min(stats.kstest(x, "norm").pvalue for x in (theta / scales).T) > 1e-3
    assert stats.kstest(theta[:, 2] / 0.5, "norm").pvalue < 1e-6  # the intercept has its own scale


@pytest.mark.parametrize("per_row", [False, True], ids=["one theta", "one theta a row"])
def test_sample_rows_has_the_stated_frequencies(per_row):
    """χ² of class counts in groups of rows that share θ and x."""
    rng, groups, n = np.random.default_rng(2), 5, 2000
    cloud = MODEL.sample_prior(rng, groups if per_row else 1)
    X = rng.standard_normal((groups, 2))
    theta = np.repeat(cloud, n, axis=0) if per_row else cloud[0]
    y = MODEL.sample_rows(theta, np.repeat(X, n, axis=0), rng).reshape(groups, n)
    log_P = MODEL.log_probabilities(cloud, X)
    for g in range(groups):
        expected = n * np.exp(log_P[:, g if per_row else 0, g])
        assert stats.chisquare(np.bincount(y[g], minlength=3), expected).pvalue > 1e-3


def test_parameters_are_one_row_a_class():
    named = SoftmaxModel(2, 2).parameters(np.arange(6.0)[None])
    assert {k: v.tolist() for k, v in named.items()} == {"coef": [[[0, 1], [3, 4]]], "intercept": [[2, 5]]}
    assert set(SoftmaxModel(2, 2, fit_intercept=False).parameters(np.zeros((1, 4)))) == {"coef"}


def test_expected_score_is_minus_the_entropy_of_the_averaged_prediction():
    """However many blocks it takes, and where a class is all but impossible."""
    rng = np.random.default_rng(4)
    X, theta, W = rng.standard_normal((200, 2)), MODEL.sample_prior(rng, 30), rng.dirichlet(np.ones(30))
    X[0] *= 1e3
    p = np.einsum("m,kmn->kn", W, np.exp(MODEL.log_probabilities(theta, X)))
    expected = -stats.entropy(p, axis=0)
    np.testing.assert_allclose(MODEL.expected_score(theta, W, X), expected, rtol=1e-12, atol=1e-14)
    small_blocks = SoftmaxModel(2, MODEL.n_classes)
    object.__setattr__(small_blocks, "evaluation", replace(MODEL.evaluation, block_elements=1))
    np.testing.assert_allclose(small_blocks.expected_score(theta, W, X), expected, rtol=1e-12, atol=1e-14)
