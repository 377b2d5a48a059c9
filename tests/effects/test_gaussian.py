"""Gaussian y with effects: the evidence against dense covariances over the prior of the hyperparameters."""

import numpy as np
import pytest
from effects_by_hand import gaussian_by_hand, simulated
from scipy.stats import invgamma, norm

from sgevidence.effects import Block, EffectsModel, Layout
from sgevidence.history import Rows
from sgevidence.models import Gaussian, RootInverseGamma

KINDS = ["intercepts", "slopes", "correlated", "crossed", "crossed slopes", "curve", "curve and groups"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_evidence_is_that_of_dense_covariances(kind, global_seed=3):
    model, rows = simulated(kind, Gaussian(), global_seed, n=24)
    posterior = model.posterior(model.sums(rows))
    reference, error = gaussian_by_hand(model.layout, rows.X, rows.y)
    assert posterior.log_evidence_std < 0.02 and error < 0.2
    assert abs(posterior.log_evidence - reference) < 4 * np.hypot(posterior.log_evidence_std, error)


def nearly_a_level_a_row(n, n_twice, seed):
    """Model and rows of levels of one row, but for some of two: next to no noise fits all others."""
    rng = np.random.default_rng([20261128, seed])
    code = np.r_[np.arange(n - n_twice), np.arange(n_twice)]
    x, one = rng.standard_normal(n), np.ones(n)
    layout = Layout(np.array([1.0, 2.0]), (Block(n - n_twice, 1),))
    y = x + rng.standard_normal(n - n_twice)[code] + rng.standard_normal(n)
    return EffectsModel(1, Gaussian(), layout=layout), Rows.of(np.column_stack([x, one, one, code]), y)


def check_a_level_a_row(n, n_twice, seed):
    model, rows = nearly_a_level_a_row(n, n_twice, seed)
    found = model.posterior(model.sums(rows))
    reference, error = gaussian_by_hand(model.layout, rows.X, rows.y, 11)
    assert found.log_evidence_std < 0.05 and error < 0.05
    assert abs(found.log_evidence - reference) < 4 * np.hypot(found.log_evidence_std, error)


@pytest.mark.parametrize(
    "n, n_twice", [(12, 0), (25, 1), (25, 3), pytest.param(60, 2, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_levels_of_one_row_each(n, n_twice, seed):
    check_a_level_a_row(n, n_twice, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_evidence_to_a_hundredth(kind):
    for seed in range(2):
        model, rows = simulated(kind, Gaussian(), 10 + seed, n=16)
        found = model.posterior(model.sums(rows))
        reference, error = gaussian_by_hand(model.layout, rows.X, rows.y, 12)
        assert abs(found.log_evidence - reference) < 4 * np.hypot(found.log_evidence_std, error)


def test_a_wrong_correlation_would_be_seen():
    """Independent effects give these rows another evidence, by more than the tolerance."""
    layout = Layout(np.ones(2), (Block(12, 2, correlated=True),))
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal(120), np.repeat(np.arange(12), 10)
    u = rng.standard_normal(12)
    y = u[g] * (1 + x) + 0.3 * rng.standard_normal(120)
    X = np.column_stack([x, np.ones(120), np.ones(120), x, g])
    wrong = layout._replace(blocks=(layout.blocks[0]._replace(correlated=False),))
    right, other = (evidence(EffectsModel(1, Gaussian(), layout=one), X, y) for one in (layout, wrong))
    assert right > other + 1


def evidence(model, X, y):
    return model.posterior(model.sums(Rows.of(X, y))).log_evidence


def test_any_cutting_of_the_rows_gives_the_same_answer():
    model, rows = simulated("crossed slopes", Gaussian(), 5, n=60)
    whole = model.posterior(model.sums(rows)).log_evidence
    parts = model.sums(rows[:7]).plus(model.sums(rows[7:31])).plus(model.sums(rows[31:]))
    assert model.posterior(parts).log_evidence == pytest.approx(whole, abs=1e-6)


def test_a_weight_of_two_is_a_row_twice():
    model, rows = simulated("correlated", Gaussian(), 6)
    heavy = Rows(rows.X, rows.y, np.where(np.arange(len(rows)) < 9, 2.0, 1.0))
    twice = rows.join(rows[:9])
    assert evidence_of(model, heavy) == pytest.approx(evidence_of(model, twice), abs=1e-6)


def evidence_of(model, rows):
    return model.posterior(model.sums(rows)).log_evidence


def test_draws_have_the_posterior_of_a_known_case():
    """Many rows of few levels: the effects are the means of the levels."""
    rng = np.random.default_rng(1)
    g, u = np.repeat(np.arange(4), 500), np.array([-1.0, 0.0, 0.5, 2.0])
    y = u[g] + 0.5 * rng.standard_normal(2000)
    X = np.column_stack([np.ones(2000), np.ones(2000), g])
    model = EffectsModel(0, Gaussian(), layout=Layout(np.ones(1), (Block(4, 1),)))
    theta = model.posterior(model.sums(Rows.of(X, y))).sample(rng, 1000)
    at_levels = np.column_stack([np.ones(4), np.ones(4), np.arange(4)])
    eta = model.linear_predictor(theta, at_levels)
    means = np.array([y[g == k].mean() for k in range(4)])
    assert np.allclose(eta.mean(axis=0), means, atol=0.01)
    assert np.allclose(eta.std(axis=0), 0.5 / np.sqrt(500), rtol=0.1)


@pytest.mark.slow
def test_levels_without_differences_lose():
    """Most data sets without differences prefer the model without the term."""
    lost = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        g, y = np.repeat(np.arange(18), 10), rng.standard_normal(180)
        X = np.column_stack([np.ones(180), np.ones(180), g])
        groups = EffectsModel(0, Gaussian(), layout=Layout(np.ones(1), (Block(18, 1),)))
        none = EffectsModel(0, Gaussian(), layout=Layout(np.ones(1), ()))
        lost += evidence(groups, X, y) < evidence(none, X[:, :1], y)
    assert lost >= 13


def test_a_level_without_rows_changes_nothing():
    model, rows = simulated("intercepts", Gaussian(), 8)
    more = model.layout._replace(blocks=(Block(9, 1),))
    wider = EffectsModel(1, Gaussian(), layout=more)
    assert evidence_of(wider, rows) == pytest.approx(evidence_of(model, rows), abs=1e-9)


def check_noise_prior():
    """Density and quantiles of σ, whose square has scipy's inverse gamma distribution."""
    prior, sigma = RootInverseGamma(2.5, 0.7), np.geomspace(0.05, 20.0, 50)
    expected = invgamma.logpdf(sigma**2, 2.5, scale=0.7) + np.log(2 * sigma)
    np.testing.assert_allclose(RootInverseGamma.logpdf(prior, sigma), expected, atol=1e-10)
    z = np.linspace(-5, 5, 21)
    quantiles = invgamma.ppf(norm.cdf(z), 2.5, scale=0.7)
    np.testing.assert_allclose(prior.from_normal(z) ** 2, quantiles, rtol=1e-6)


def test_the_prior_of_the_noise_is_that_of_its_square():
    check_noise_prior()
