"""Every subset has the evidence of the regression with its columns: held against many-digit closed forms."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from mutants import broken

from sgevidence import BayesianLinearRegression, EvidenceFeatureSelector, EvidenceWarning
from sgevidence.feature_selection import _moments, _posterior, _subsets
from sgevidence.samplers import Exact

#: Nothing here is tuned to a seed: any other will do.
SEED = 20261125


def problem(n, p, seed, offset=0.0, units=1.0):
    """X (n, p), of which about half matter, and y."""
    rng = np.random.default_rng([SEED, seed])
    Z = rng.standard_normal((n, p))
    y = Z @ (rng.standard_normal(p) * (rng.random(p) < 0.5)) + 0.5 * rng.standard_normal(n) + 1.0
    return Z * units + offset, y


def one_by_one(X, y, weight=None, **params):
    """Log evidence of every subset by its columns."""
    p = X.shape[1]
    model = EvidenceFeatureSelector(always=range(p), **params).fit(X, y, weight)
    subsets = [some for k in range(p + 1) for some in combinations(range(p), k)]
    exact = {some: _posterior.exact_log_evidence(model._sums, model._model, list(some)) for some in subsets}
    return {some: value - model._log_units for some, value in exact.items()}


def errors(selector, exact):
    """Largest differences of log evidences, and of inclusion probabilities."""
    table = selector.models_
    difference = [abs(row.log_evidence - exact[row.columns]) for row in table.itertuples()]
    p = selector.n_features_in_
    joint = np.array([exact[some] for some in exact]) + [
        _posterior.log_size_prior(selector.size_prior, p)[len(some)] for some in exact
    ]
    total = np.logaddexp.reduce(joint)
    inclusion = [sum(np.exp(j - total) for j, s in zip(joint, exact) if k in s) for k in range(p)]
    return (
        max(difference),
        np.abs(inclusion - selector.inclusion_probabilities_).max(),
        abs(total - selector.log_evidence_),
    )


CASES = {
    "plain": (60, {}, {}),
    "uniform": (40, {}, {"size_prior": "uniform"}),
    "inverse gamma": (40, {}, {"noise_prior": (2.0, 0.5), "coef_scale": 3.0}),
    "known noise": (30, {}, {"noise_std": 0.6}),
    "no intercept": (40, {"offset": 3.0}, {"fit_intercept": False}),
    "far": (50, {"offset": 1e9}, {"intercept_scale": 1e9}),
    "far, near prior": (50, {"offset": -1e12}, {}),
    "far without intercept": (40, {"offset": 1e7}, {"fit_intercept": False}),
    "units": (50, {"units": np.array([1e-9, 1.0, 1e6, 1e12]), "offset": 1e3}, {}),
    "fewer rows than columns": (3, {}, {}),
    "one row": (1, {}, {}),
    "in units of the data": (
        50,
        {"units": np.array([1e-9, 1.0, 1e6, 1e12]), "offset": 1e3},
        {"standardize": True},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_all_subsets_equal_the_regressions(name):
    n, data, params = CASES[name]
    X, y = problem(n, 4, 1, **data)
    params = {"standardize": False} | params
    selector = EvidenceFeatureSelector(**params).fit(X, y)
    np.testing.assert_allclose(errors(selector, one_by_one(X, y, **params)), 0.0, atol=1e-6)
    assert selector.log_evidence_std_ == 0.0 and not selector.warnings_


def test_eight_columns():
    X, y = problem(80, 8, 2)
    selector = EvidenceFeatureSelector().fit(X, y)
    np.testing.assert_allclose(errors(selector, one_by_one(X, y)), 0.0, atol=1e-6)


def test_the_best_subset_is_the_regression_with_its_columns():
    X, y = problem(50, 4, 3)
    best = EvidenceFeatureSelector().fit(X, y).models_.iloc[0]
    model = BayesianLinearRegression(columns=list(best["columns"]), sampler=Exact()).fit(X, y)
    assert model.log_evidence_ == pytest.approx(best["log_evidence"], abs=1e-8)


@pytest.mark.parametrize("kind", ["duplicate", "constant", "sum", "scaled duplicate"])
def test_columns_that_say_nothing_new(kind):
    X, y = problem(40, 4, 4)
    X[:, 3] = {
        "duplicate": X[:, 0],
        "constant": 7.0,
        "sum": X[:, 0] + X[:, 1],
        "scaled duplicate": X[:, 0] * 3e5,
    }[kind]
    selector = EvidenceFeatureSelector().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EvidenceWarning)
        warnings.filterwarnings("ignore", "columns .* do not vary", EvidenceWarning)
        found = errors(selector, one_by_one(X, y))
    np.testing.assert_allclose(found, 0.0, atol=1e-6)


def test_y_on_a_plane_is_exact_or_said():
    X, _ = problem(30, 4, 5)
    y = X @ [1.0, -2.0, 0.0, 0.5]
    selector = EvidenceFeatureSelector().fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = errors(selector, one_by_one(X, y))
    assert caught or max(found) < 1e-6


def test_beyond_what_can_be_recomputed_is_said(monkeypatch):
    monkeypatch.setattr(_posterior, "MAX_RECOMPUTED_SUBSETS", 0)
    X, _ = problem(30, 4, 5)
    with pytest.warns(EvidenceWarning, match="rounding"):
        EvidenceFeatureSelector().fit(X, X @ [1.0, -2.0, 0.0, 0.5]).get_support()


def test_weights_are_repetitions():
    X, y = problem(30, 4, 6)
    weight = np.random.default_rng([SEED, 7]).integers(0, 4, 30)
    one = EvidenceFeatureSelector().fit(X, y, weight)
    other = EvidenceFeatureSelector().fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-9)
    weight = weight + 0.25
    one = EvidenceFeatureSelector().fit(X, y, weight)
    np.testing.assert_allclose(errors(one, one_by_one(X, y, weight)), 0.0, atol=1e-6)


# -- chains -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_error_of_chains_is_no_chance_of_four_numbers(monkeypatch):
    """Where nearly all steps were in the other chain's subsets, the halves agreed to 1e-7 nats, by chance."""
    z = []
    for seed in range(12):
        rng = np.random.default_rng([seed, 48])
        X = rng.standard_normal((40, 9))
        y = 0.35 * X @ rng.standard_normal(9) + rng.standard_normal(40)
        exact = EvidenceFeatureSelector(standardize=False).fit(X, y).log_evidence_
        with monkeypatch.context() as patch:
            found = by_chains(patch, X, y, standardize=False)
            z.append((found.log_evidence_ - exact) / found.log_evidence_std_)
    assert np.abs(z).max() < 5 and np.sqrt(np.mean(np.square(z))) < 2


def by_chains(monkeypatch, X, y, **params):
    monkeypatch.setattr(_posterior, "MAX_ENUMERATED_GROUPS", 0)
    return EvidenceFeatureSelector(random_state=SEED % 2**31, **params).fit(X, y)


def test_chains_find_what_is_enumerated(monkeypatch):
    X, y = problem(40, 7, 8)
    X[:, 6] = X[:, 0] + 0.1 * X[:, 6]  # two that stand for each other
    params = dict(groups=[[1, 2]], always=[3])
    whole = EvidenceFeatureSelector(**params).fit(X, y)
    expected = whole.inclusion_probabilities_, whole.log_evidence_, whole.predict(X[:5], return_std=True)
    chains = by_chains(monkeypatch, X, y, **params)
    assert np.abs(chains.inclusion_probabilities_ - expected[0]).max() < 0.02
    assert abs(chains.log_evidence_ - expected[1]) < min(0.02, 4 * chains.log_evidence_std_)
    np.testing.assert_allclose(chains.predict(X[:5], return_std=True), expected[2], atol=0.01)
    exact = dict(zip(whole.models_["columns"], whole.models_["log_evidence"]))
    for row in chains.models_.itertuples():
        assert row.log_evidence == pytest.approx(exact[row.columns], abs=1e-7)


def stationary(step, X, y):
    """Largest error of inclusion probabilities along a long chain of one kind of move."""
    selector = EvidenceFeatureSelector().fit(X, y)
    groups = [[j] for j in range(X.shape[1])]
    moments = _moments.Moments.of(selector._sums, selector._model)
    prior = _posterior.log_size_prior("beta-binomial", len(groups))
    neighbours = _posterior.Neighbours(moments, [], groups, prior, _posterior.NoiseGrid.covering)
    chain = _subsets.Chain(neighbours, 0, np.random.default_rng(SEED))
    seen = []
    for _ in range(6000):
        step(chain)
        seen.append(chain.state)
    share = _subsets.members(seen, len(groups)).mean(axis=0)
    return np.abs(share - selector.inclusion_probabilities_).max()


def weak(seed):
    """Columns of which none is certain."""
    rng = np.random.default_rng([SEED, seed])
    X = rng.standard_normal((30, 4))
    return X, X @ [0.35, 0.3, 0.25, 0.0] + rng.standard_normal(30)


def test_a_flip_leaves_the_posterior_as_it_is():
    assert stationary(_subsets.Chain._flip, *weak(9)) < 0.05


def test_a_flip_without_its_acceptance_is_seen():
    wrong = broken(_subsets.Chain._flip, "np.logaddexp.reduce(rates) - np.logaddexp.reduce(back)", "np.inf")
    assert max(stationary(wrong, *weak(seed)) for seed in range(3)) > 0.05


@pytest.mark.slow
def test_sixty_columns_and_seeds_agree():
    rng = np.random.default_rng([SEED, 10])
    X, true = rng.standard_normal((400, 60)), rng.choice(60, 5, replace=False)
    y = X[:, true] @ np.array([0.5, -0.4, 0.35, 0.6, 0.4]) + rng.standard_normal(400)
    found = [EvidenceFeatureSelector(random_state=seed).fit(X, y) for seed in range(3)]
    assert set(true) <= set(found[0].get_support(indices=True))
    assert np.ptp([one.inclusion_probabilities_ for one in found], axis=0).max() < 0.02
