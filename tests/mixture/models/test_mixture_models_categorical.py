"""Latent classes: the fused sum against the plain one, gradients, prior, and one class in closed form."""

from dataclasses import replace

import autograd.numpy as anp
import numpy as np
import pytest

from sgevidence.history import Rows
from sgevidence.mixture.models import CategoricalMixtureModel
from sgevidence.models import value_and_grad

pytestmark = pytest.mark.usefixtures("double_precision")

MODEL = CategoricalMixtureModel(3, (2, 3, 1, 4), weight_concentration=0.7, category_concentration=0.5)


def table(rng, n=30, n_levels=MODEL.n_levels, missing=True):
    """Weighted rows, some of whose values are missing."""
    X = np.column_stack([rng.integers(-1 if missing and L > 2 else 0, L, size=n) for L in n_levels])
    return Rows.of(X, weight=rng.integers(1, 4, size=n))


def one_by_one(model, rows):
    """log p of the rows of one class, each given those before it: (N_l + c) / (N + L c) in each column."""
    c, total = model.category_concentration, 0.0
    for j, L in enumerate(model.n_levels):
        counts = np.full(L, c)
        for value in np.repeat(rows.X[:, j], rows.weight.astype(int)).astype(int):
            if value >= 0:
                total += np.log(counts[value] / counts.sum())
                counts[value] += 1
    return total


def test_the_fused_sum_is_the_plain_one(rng):
    theta, rows = MODEL.sample_prior(rng, 5), table(rng)
    plain = MODEL.log_likelihood(theta, rows) @ rows.weight
    np.testing.assert_allclose(MODEL.sum_log_likelihood(theta, rows), plain, rtol=1e-12)


def test_the_likelihood_is_a_product_over_columns(rng):
    theta, X = MODEL.sample_prior(rng, 2), np.array([[1, 2, 0, -1]])
    named = MODEL.parameters(theta)
    phi = named["category_probabilities"]
    expected = np.sum(named["weights"] * phi[:, :, 1] * phi[:, :, 2 + 2] * phi[:, :, 5], axis=1)
    np.testing.assert_allclose(np.exp(MODEL.log_likelihood(theta, Rows.of(X))[:, 0]), expected, rtol=1e-12)


def test_gradients_are_those_of_the_plain_form(rng):
    theta, rows = MODEL.sample_prior(rng, 5), table(rng)

    def plain(t):
        return anp.dot(MODEL.log_likelihood(t, rows), rows.weight) + MODEL.log_prior(t)

    value, grad = value_and_grad(plain, theta)
    fused_value, fused_grad = MODEL.value_and_grad_log_joint(theta, rows)
    np.testing.assert_allclose(fused_value, value, rtol=1e-12)
    np.testing.assert_allclose(fused_grad, grad, rtol=1e-10, atol=1e-10)


def test_single_precision_is_near(rng):
    theta, rows = MODEL.sample_prior(rng, 5), table(rng, n=500)
    single = MODEL.sum_log_likelihood(theta, rows)
    np.testing.assert_allclose(single, MODEL.in_double_precision().sum_log_likelihood(theta, rows), atol=0.01)


def test_the_prior_is_dirichlet_and_normalised(rng):
    """Means and variances of Dirichlet(c, …, c); and p(θ) is the density of the draws: E[q/p] = 1."""
    theta = MODEL.sample_prior(rng, 40_000)
    phi = MODEL.parameters(theta)["category_probabilities"][:, 0, 2:5]
    np.testing.assert_allclose(phi.mean(axis=0), 1 / 3, atol=0.01)
    np.testing.assert_allclose(phi.var(axis=0), (1 / 3) * (2 / 3) / (3 * 0.5 + 1), atol=0.005)
    small = CategoricalMixtureModel(1, (2,), 1.0, 0.5)
    u = small.sample_prior(rng, 40_000)
    log_q = -0.5 * np.sum((u + 1.0) ** 2 / 0.25 + np.log(2 * np.pi * 0.25), axis=1)
    assert np.exp(log_q - small.log_prior(u)).mean() == pytest.approx(1.0, abs=0.1)


def test_one_class_is_a_closed_form(rng):
    model, rows = replace(MODEL, n_components=1), table(rng)
    expected = one_by_one(model, rows)
    assert model.exact_log_evidence(rows) == pytest.approx(expected, abs=1e-10)
    wrong = replace(model, category_concentration=1.0)
    assert abs(wrong.exact_log_evidence(rows) - expected) > 0.1


def test_sums_add_up(rng):
    model, rows = replace(MODEL, n_components=1), table(rng)
    sums = model.sums(rows[:10]).plus(model.sums(rows[10:]))
    assert model.posterior(sums).log_evidence == model.exact_log_evidence(rows)
    assert sums.total_weight == rows.total_weight
    with pytest.raises(ValueError, match="n_components=1"):
        MODEL.sums(rows)


def test_draws_of_one_class_are_of_its_posterior(rng):
    """Each column is Dirichlet(c + n): mean and variance of its first level."""
    model, rows = replace(MODEL, n_components=1), table(rng)
    theta = model.exact_posterior(rows, rng, 20_000)
    phi = model.parameters(theta)["category_probabilities"][:, 0, 2]
    n = np.array([rows.weight[rows.X[:, 1] == code].sum() for code in range(3)]) + 0.5
    mean = n[0] / n.sum()
    assert phi.mean() == pytest.approx(mean, abs=0.003)
    assert phi.var() == pytest.approx(mean * (1 - mean) / (n.sum() + 1), rel=0.1)


def test_relabelling_changes_nothing(rng):
    theta, rows = MODEL.sample_prior(rng, 20), table(rng)
    moved = MODEL.canonicalize(theta)
    np.testing.assert_allclose(
        MODEL.log_joint(moved, rows), MODEL.log_joint(theta, rows), rtol=1e-12, err_msg="labels"
    )


def test_simulated_rows_have_the_probabilities_of_the_model(rng):
    theta = MODEL.sample_prior(rng, 1)
    X, labels = MODEL.sample_rows(theta, 50_000, rng)
    named = MODEL.parameters(theta)
    np.testing.assert_allclose(np.bincount(labels, minlength=3) / 50_000, named["weights"][0], atol=0.01)
    expected = named["weights"][0] @ named["category_probabilities"][0, :, 5 + 1 :]
    np.testing.assert_allclose(np.bincount(X[:, 3], minlength=4) / 50_000, expected, atol=0.01)


def test_starts_are_finite_and_near_the_rows(rng):
    theta = MODEL.starts(table(rng), 40, rng)
    assert theta.shape == (40, MODEL.n_params) and np.all(np.isfinite(theta))
