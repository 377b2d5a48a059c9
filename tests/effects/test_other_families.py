"""Counts and classes with effects: quadrature by level and Gaussians given the hyperparameters."""

import numpy as np
import pytest
from effects_by_hand import over_prior, simulated
from scipy.special import gammaln, logsumexp
from scipy.stats import norm

from sgevidence import BayesianGLM, Group
from sgevidence.effects import Block, EffectsModel, Layout, effects_answer
from sgevidence.effects._answer import Levelwise
from sgevidence.effects._conditional import conditional_answer
from sgevidence.history import Rows
from sgevidence.models import FAMILIES, Bernoulli, Poisson


def grouped(family, tau, n_levels, n_rows, seed):
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(n_levels), n_rows)
    eta = -0.5 + tau * rng.standard_normal(n_levels)[g]
    y = family.simulate(eta, rng).astype(float)
    X = np.column_stack([np.ones(len(g)), np.ones(len(g)), g])
    return EffectsModel(0, family, layout=Layout(np.array([2.0]), (Block(n_levels, 1),))), Rows.of(X, y)


def by_grids(model, rows):
    """Nested quadrature over the intercept, τ and each effect, on even grids."""
    z, b, v = np.linspace(-5, 4, 61), np.linspace(-2.5, 2.5, 161), np.linspace(-6, 6, 161)
    tau = model.layout.blocks[0].deviations(z[:, None])[:, 0]
    levels, values = rows.X[:, 2].astype(int), np.unique(rows.y)
    counts = np.array([np.bincount(levels[rows.y == y], minlength=levels.max() + 1) for y in values])
    patterns, times = np.unique(counts, axis=1, return_counts=True)  # levels with the same rows
    found = np.empty((len(z), len(b)))
    for k in range(len(b)):
        eta = np.minimum(2.0 * b[k] + tau[:, None] * v, 50.0).ravel()
        ell = np.array([model.family.log_density(eta, np.full(len(eta), y)) for y in values])
        ell = (patterns.T @ ell).reshape(-1, len(z), len(v)) + norm.logpdf(v)
        found[:, k] = times @ (logsumexp(ell, axis=2) + np.log(v[1] - v[0]))
    joint = found + norm.logpdf(b) + norm.logpdf(z)[:, None]
    return logsumexp(joint) + np.log((z[1] - z[0]) * (b[1] - b[0]))


@pytest.mark.parametrize("family, tau", [(Bernoulli(), 0.0), (Bernoulli(), 1.2), (Poisson(), 0.5)], ids=str)
def test_one_factor_against_nested_quadrature(family, tau):
    model, rows = grouped(family, tau, 12, 4, seed=int(10 * tau))
    reference = by_grids(model, rows)
    for answer in (effects_answer, lambda m, r, *a: conditional_answer(m, m.ordered(r), *a)):
        found = answer(model, rows, np.random.default_rng(2), 50)
        assert found.log_evidence_std < 0.05
        assert abs(found.log_evidence - reference) < 4 * found.log_evidence_std


def test_errors_of_quadrature_do_not_grow_with_the_levels():
    """Levels without any count are skewed: 15 nodes, which were the most once, lose a hundredth of a nat."""
    model, rows = grouped(Poisson(), 2.0, 300, 3, seed=8)
    x, v = np.array([[-0.25, 1.1]]), np.linspace(-8, 8, 4001)
    tau = model.layout.blocks[0].deviations(x[:, 1:])[0, 0]
    sums, total = (
        np.bincount(rows.X[:, 2].astype(int), rows.y)[:, None],
        -0.5 * np.sum(x**2) - np.log(2 * np.pi),
    )
    eta = 2 * x[0, 0] + tau * v
    levels = logsumexp(sums * eta - 3 * np.exp(eta) + norm.logpdf(v), axis=1) + np.log(v[1] - v[0])
    reference = total + levels.sum() - np.sum(gammaln(rows.y + 1))
    assert abs(Levelwise(model, model.ordered(rows)).log_density(x)[0] - reference) < 0.004


def prior_evidence(model, rows, log2_points):
    def log_likelihood(theta):
        return model.log_likelihood(theta, rows).sum(axis=1)

    return over_prior(log_likelihood, model.n_params, log2_points)


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("crossed", "curve and groups")]


@pytest.mark.parametrize("kind", ["intercepts", "correlated", "curve", *SLOW])
def test_terms_against_the_mean_over_the_prior(kind):
    model, rows = simulated(kind, Bernoulli(), seed=4, n=16)
    found = effects_answer(model, rows, np.random.default_rng(0), 100)
    reference, error = prior_evidence(model, rows, 12)
    assert found.log_evidence_std < 0.05 and error < 0.2
    assert abs(found.log_evidence - reference) < 4 * np.hypot(found.log_evidence_std, error)


@pytest.mark.parametrize("family", ["binomial", "negative_binomial", "gamma", "student_t"])
def test_other_families_against_the_mean_over_the_prior(family):
    rng = np.random.default_rng(5)
    g = np.repeat(np.arange(5), 4)
    eta = 0.5 * rng.standard_normal(5)[g]
    trials = np.full(20, 6.0)
    more, y = (
        [],
        {
            "binomial": lambda: rng.binomial(6, 1 / (1 + np.exp(-eta))),
            "negative_binomial": lambda: rng.poisson(np.exp(1 + eta) * rng.gamma(2, 0.5, 20)),
            "gamma": lambda: np.exp(eta) * rng.gamma(2, 0.5, 20),
            "student_t": lambda: eta + 0.5 * rng.standard_t(4, 20),
        }[family](),
    )
    more = [trials] if family == "binomial" else []
    X = np.column_stack([np.ones(20), np.ones(20), g, *more])
    model = EffectsModel(0, FAMILIES[family], layout=Layout(np.array([1.5]), (Block(5, 1),)))
    rows = Rows.of(X, y.astype(float))
    found = effects_answer(model, rows, np.random.default_rng(0), 100)
    reference, error = prior_evidence(model, rows, 12)
    assert abs(found.log_evidence - reference) < 4 * np.hypot(found.log_evidence_std, error)


def test_draws_are_those_of_the_posterior():
    """Means of the effects against the weighted prior."""
    model, rows = grouped(Bernoulli(), 1.5, 4, 6, seed=3)
    theta = effects_answer(model, rows, np.random.default_rng(0), 2000).theta
    prior = model.sample_prior(np.random.default_rng(1), 200_000)
    w = np.exp(model.log_likelihood(prior, rows).sum(axis=1))
    eta = [model.linear_predictor(points, rows.X[::6]) for points in (theta, prior)]
    for draws, points in zip(eta[0].T, eta[1].T):
        order = np.argsort(points)
        quartiles = points[order][np.searchsorted(np.cumsum(w[order]) / w.sum(), [0.1, 0.5, 0.9])]
        assert np.allclose([np.mean(draws < q) for q in quartiles], [0.1, 0.5, 0.9], atol=0.05)


def test_an_answer_that_cannot_be_trusted_is_none(monkeypatch):
    import sgevidence.effects._integral as trust

    model, rows = grouped(Bernoulli(), 0.5, 6, 3, seed=1)
    monkeypatch.setattr(trust, "MIN_EFFECTIVE_POINTS", 1e9)
    assert effects_answer(model, rows, np.random.default_rng(0), 10) is None


@pytest.mark.slow
def test_errors_are_as_large_as_they_say():
    """z of fits against nested quadrature, from no differences between levels to large ones."""
    z = []
    for seed in range(24):
        model, rows = grouped(Bernoulli(), (0.0, 0.2, 1.0, 2.0)[seed % 4], 40, 4, seed=100 + seed)
        found = effects_answer(model, rows, np.random.default_rng(seed), 10)
        z.append((found.log_evidence - by_grids(model, rows)) / found.log_evidence_std)
    assert np.abs(z).max() < 3.5 and np.std(z) < 1.5 and abs(np.mean(z)) < 0.7


def many_levels(n_levels=120, n_rows=3):
    rng = np.random.default_rng(0)
    g = np.tile(np.arange(n_levels), n_rows)
    y = rng.random(len(g)) < 1 / (1 + np.exp(0.3 - rng.standard_normal(n_levels)[g]))
    return g[:, None], y.astype(int)


def test_many_levels_leave_no_quadratic_while_all_rows_are_kept():
    model = BayesianGLM("bernoulli", terms=[Group(0)], random_state=0).fit(*many_levels())
    assert model._stream.state.memory.anchor is None


@pytest.mark.slow
def test_a_stream_of_many_levels_agrees_with_all_rows():
    X, y = many_levels()
    whole = BayesianGLM("bernoulli", terms=[Group(0)], random_state=0).fit(X, y)
    part = BayesianGLM("bernoulli", terms=[Group(0)], random_state=0, units=whole.units_)
    for rows in np.array_split(np.arange(len(y)), 3):
        part.partial_fit(X[rows], y[rows])
    std = np.hypot(whole.log_evidence_std_, part.log_evidence_std_)
    assert abs(part.log_evidence_ - whole.log_evidence_) < 4 * std < 0.2
