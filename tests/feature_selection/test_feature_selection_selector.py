"""The selector as scikit-learn's users meet it: streams, names, groups, pipelines, pickles, predictions."""

import copy
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.special
import scipy.stats
from mutants import broken
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sgevidence.feature_selection._average as _average
from sgevidence import (
    BayesianGLM,
    BayesianLinearRegression,
    EvidenceFeatureSelector,
    EvidenceWarning,
    compare,
)
from sgevidence.samplers import Exact


@pytest.fixture
def rows():
    rng = np.random.default_rng(20261126)
    X = rng.standard_normal((90, 5))
    return X, X @ [1.0, 0.0, -0.5, 0.2, 0.0] + 0.7 * rng.standard_normal(90) + 2.0


def answers(selector):
    return np.r_[
        selector.log_evidence_, selector.inclusion_probabilities_, selector.coef_, selector.intercept_
    ]


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_a_stream_equals_one_fit(rows, offset):
    X, y = rows[0] + offset, rows[1]
    given = EvidenceFeatureSelector(units=EvidenceFeatureSelector().fit(X[::2], y[::2]).units_)
    stream, buffer = clone(given), np.empty((30, 5))
    for start in (0, 1, 30, 60):  # chunks of one row and of many, in a buffer that is filled again
        stop = {0: 1, 1: 30}.get(start, start + 30)
        part = buffer[: stop - start]
        part[:] = X[start:stop]
        stream.partial_fit(part, y[start:stop])
    whole = given.fit(X, y)
    np.testing.assert_allclose(answers(stream), answers(whole), rtol=1e-14, atol=1e-8)
    assert stream.n_samples_seen_ == 90 and stream.data_fingerprint_ == whole.data_fingerprint_


@pytest.mark.parametrize("first", [1, 2, 9])
def test_a_small_first_call_is_held(rows, first):
    """Units are those of the held rows and of the call that ends the holding."""
    X, y = rows[0] * [1.0, 1e3, 1.0, 1e-3, 1.0] + 1e4, 1e4 + rows[1]
    stream, buffer = EvidenceFeatureSelector(), np.empty((first, 5))
    buffer[:] = X[:first]
    stream.partial_fit(buffer, y[:first])
    buffer[:] = np.nan  # the caller uses it again
    assert stream.n_samples_seen_ == first and not hasattr(stream, "log_evidence_")
    for ask in (lambda: stream.log_evidence_, lambda: stream.predict(X), lambda: stream.transform(X)):
        with pytest.raises(NotFittedError, match=f"holds {first} rows"):
            ask()
    stream = pickle.loads(pickle.dumps(stream)).partial_fit(X[first:40], y[first:40])
    once = EvidenceFeatureSelector().partial_fit(X[:40], y[:40])
    np.testing.assert_array_equal(answers(stream), answers(once))
    assert stream.data_fingerprint_ == once.data_fingerprint_ and stream.n_samples_seen_ == 40
    with pytest.raises(ValueError, match="fewer than two distinct"):
        EvidenceFeatureSelector().fit(X[:first], np.full(first, 3.0))


def test_a_constant_y_is_held_until_it_varies(rows):
    X, y = rows
    stream = EvidenceFeatureSelector().partial_fit(X[:20], np.full(20, y[0]))
    assert not hasattr(stream, "log_evidence_")
    whole = EvidenceFeatureSelector().fit(X, np.r_[np.full(20, y[0]), y[20:]])
    np.testing.assert_array_equal(answers(stream.partial_fit(X[20:], y[20:])), answers(whole))


def test_a_late_column_gets_its_unit_when_it_varies(rows):
    X, y = rows
    X = X * 1e3
    X[:30, 1] = 5.0
    stream = EvidenceFeatureSelector().partial_fit(X[:30], y[:30])
    assert stream.units_.scale[1] == 1.0 and stream.units_.waits.tolist() == [False, True] + [False] * 3
    stream.partial_fit(X[30:], y[30:])
    assert stream.units_.scale[1] == pytest.approx(X[:, 1].std()) and not stream.units_.waits.any()
    given = EvidenceFeatureSelector(units=stream.units_).fit(X, y)
    np.testing.assert_allclose(answers(stream), answers(given), rtol=1e-9)


def test_a_stream_that_leaves_its_units_is_told(rows):
    X, y = rows
    stream = EvidenceFeatureSelector().partial_fit(X, y)
    with pytest.warns(EvidenceWarning, match="left the units.*column 2"):
        stream.partial_fit(np.tile(X + np.array([0, 0, 300, 0, 0]), (3, 1)), np.tile(y, 3))
    assert any("left the units" in words for words in stream.warnings_)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EvidenceWarning)
        stream.partial_fit(X + np.array([0, 0, 300, 0, 0]), y)  # once
    y = y.copy()
    y[7] = 1e6
    with pytest.warns(EvidenceWarning, match="made by few rows"):
        EvidenceFeatureSelector().fit(X, y)


def test_what_is_stated_beside_standardize(rows):
    X, y = rows
    units = BayesianLinearRegression().fit(X, y).units_
    given, own = EvidenceFeatureSelector(units=units).fit(X, y), EvidenceFeatureSelector().fit(X, y)
    np.testing.assert_allclose(answers(given), answers(own), rtol=1e-9)
    with pytest.raises(ValueError, match="leave out one"):
        EvidenceFeatureSelector(units=units, standardize=False).fit(X, y)
    with pytest.raises(ValueError, match="no use for units"):
        EvidenceFeatureSelector(units=units, coef_prior="g").fit(X, y)
    counts = EvidenceFeatureSelector(estimator=BayesianGLM("poisson"), random_state=0)
    counts.fit(X[:, :2], np.arange(90) % 3)
    assert BayesianGLM("poisson", units=counts.units_, random_state=0).fit(X[:, :2], np.arange(90) % 3)
    with pytest.raises(ValueError, match="no use for standardize"):
        clone(counts).set_params(standardize=False).fit(X[:, :2], np.arange(90) % 3)


def test_subsets_are_weighed_when_asked_for(rows, monkeypatch):
    def refuse(*args):
        raise AssertionError("weighed in a stream")

    monkeypatch.setattr("sgevidence.feature_selection._answers.posterior", refuse)
    selector = EvidenceFeatureSelector().fit(*rows).partial_fit(*rows)
    with pytest.raises(AssertionError, match="in a stream"):
        selector.log_evidence_  # noqa: B018
    monkeypatch.undo()
    before = selector.log_evidence_
    assert selector.partial_fit(*rows).log_evidence_ != before


def test_one_subset_predicts_as_the_regression(rows):
    X, y = rows
    selector = EvidenceFeatureSelector(always=range(5)).fit(X, y)
    sampler = Exact(n_particles=40_000)
    model = BayesianLinearRegression(sampler=sampler, random_state=0).fit(X, y)
    far = X[:5] + 3.0
    for mine, other in zip(selector.predict(far, return_std=True), model.predict(far, return_std=True)):
        np.testing.assert_allclose(mine, other, rtol=0.01, atol=0.02)
    np.testing.assert_allclose(selector.coef_, model.coef_, atol=0.003)
    np.testing.assert_allclose(selector.coef_std_, model.coef_std_, rtol=0.03)
    assert selector.intercept_ == pytest.approx(model.intercept_, abs=0.003)
    assert selector.noise_std_ == pytest.approx(model.noise_std_, rel=0.003)


def test_predictions_are_averages_over_subsets(rows):
    X, y = rows
    selector = EvidenceFeatureSelector(noise_std=0.7, coef_scale=2.0, standardize=False).fit(X, y)
    mean, second = np.zeros(4), np.zeros(4)
    new = X[:4] * 2 + 1
    for row in selector.models_.itertuples():
        Phi, phi = (np.column_stack([Z[:, list(row.columns)], np.ones(len(Z))]) for Z in (X, new))
        prior = np.diag([0.25] * len(row.columns) + [1.0])
        covariance = np.linalg.inv(prior + Phi.T @ Phi / 0.49)
        one = phi @ covariance @ Phi.T @ y / 0.49
        variance = 0.49 + np.sum((phi @ covariance) * phi, axis=1)
        mean += row.probability * one
        second += row.probability * (variance + one**2)
    found = selector.predict(new, return_std=True)
    np.testing.assert_allclose(found, (mean, np.sqrt(second - mean**2)), atol=1e-6)


def test_predictions_without_the_subsets_disagreement_are_seen(rows, monkeypatch):
    wrong = broken(
        _average.average,
        "square += (deviation * weight[:, None]).T @ deviation",
        "square += 0 * deviation.T @ deviation",
    )
    monkeypatch.setattr("sgevidence.feature_selection._posterior.average", wrong)
    with pytest.raises(AssertionError):
        test_predictions_are_averages_over_subsets(rows)


def test_far_columns_predict_as_near_ones(rows):
    X, y = rows
    y = y - y.mean()
    stated = EvidenceFeatureSelector(intercept_scale=1e10, standardize=False)
    near, far = clone(stated).fit(X, y), clone(stated).fit(X + 2.0**27, y)
    for one, other in zip(near.predict(X, return_std=True), far.predict(X + 2.0**27, return_std=True)):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_names_groups_and_always():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X, y = (X - X.mean()) / X.std(), (y - y.mean()) / y.std()
    selector = EvidenceFeatureSelector(always=["bmi"], groups=[["s1", "s2"], ["s3", "s4"]]).fit(X, y)
    p = dict(zip(X.columns, selector.inclusion_probabilities_))
    assert p["bmi"] == 1.0 and p["s1"] == p["s2"] and p["s3"] == p["s4"]
    for columns in selector.models_["columns"]:
        assert "bmi" in columns and ("s1" in columns) == ("s2" in columns)
    kept = selector.set_output(transform="pandas").transform(X)
    assert list(kept.columns) == list(selector.get_feature_names_out()) and "bmi" in kept
    best = selector.models_.iloc[0]
    model = BayesianLinearRegression(columns=list(best["columns"]), sampler=Exact()).fit(X, y)
    assert model.log_evidence_ == pytest.approx(best["log_evidence"], abs=1e-8)
    assert len(compare({"average": selector, "best": model})) == 2


def test_the_null_model_is_among_them():
    rng = np.random.default_rng(20261127)
    X, y = rng.standard_normal((200, 4)), rng.standard_normal(200)
    selector = EvidenceFeatureSelector().fit(X, y)
    table = selector.models_
    assert table.index[0] == "null" and table["columns"].iloc[0] == ()
    head, null, _ = (line.split() for line in repr(table.head(2)).splitlines())
    assert head == "log evidence ± error probability Bayes factor".split()
    log_Z, p = table["log_evidence"].iloc[0], table["probability"].iloc[0]
    assert null == ["null", f"{log_Z:.2f}", "±", "0", f"{p:.3f}", "1"]
    assert "size" in repr(table[["size"]]) and table.head(2)._repr_html_().count("<tr>") == 3
    assert len(selector.models_) == 16 and selector.models_["probability"].sum() == pytest.approx(1.0)
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(X).shape == (200, 0)


def test_pipelines_copies_and_pickles(rows):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), EvidenceFeatureSelector(), LinearRegression()).fit(X, y)
    assert pipeline.score(X, y) > 0.6
    selector = clone(EvidenceFeatureSelector(size_prior="uniform")).fit(X, y)
    branch, again = copy.copy(selector), pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(answers(again), answers(selector))
    branch.partial_fit(X, y)
    assert branch.log_evidence_ != selector.log_evidence_
    assert selector.n_samples_seen_ == 90


@pytest.mark.parametrize(
    "params, words",
    [
        (dict(always=[0], groups=[[0, 1]]), "two of always and groups"),
        (dict(groups=[[]]), "no columns"),
        (dict(always=["age"]), "names"),
        (dict(noise_std=1.0, noise_scale=2.0), "only one"),
        (dict(size_prior="poisson"), "size_prior"),
    ],
)
def test_bad_parameters_are_refused(rows, params, words):
    with pytest.raises(ValueError, match=words):
        EvidenceFeatureSelector(**params).fit(*rows)


def test_a_failed_call_changes_nothing(rows):
    X, y = rows
    selector = EvidenceFeatureSelector().fit(X, y)
    before = selector.log_evidence_
    with pytest.raises(ValueError, match="NaN"):
        selector.partial_fit(X, np.where(np.arange(90) == 3, np.nan, y))
    with pytest.raises(ValueError, match="coef_scale was"):
        selector.set_params(coef_scale=2.0).partial_fit(X, y)
    assert selector.log_evidence_ == before and selector.n_samples_seen_ == 90
    with pytest.raises(AttributeError, match="before it is fitted"):
        EvidenceFeatureSelector().coef_  # noqa: B018


def test_without_pandas_there_is_a_table(rows, monkeypatch):
    monkeypatch.setattr("sgevidence.model_selection._compare.find_spec", lambda name: None)
    table = EvidenceFeatureSelector().fit(*rows).models_
    assert not isinstance(table, pd.DataFrame) and len(table) == 32
    assert isinstance(repr(table), str) and isinstance(table["columns"][0], tuple)


def test_no_warning_in_the_ordinary_case(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EvidenceFeatureSelector().fit(*rows).predict(rows[0], return_std=True)


@pytest.mark.parametrize("value", [0.0, -3.3, 2.0, 1e6])
@pytest.mark.parametrize("coef_prior, words", [("independent", "prior and data"), ("g", "y is constant")])
def test_a_constant_y_is_no_answer_in_silence(rng, value, coef_prior, words):
    """Rounding, or nothing, decides: the linear regression says so, too."""
    selector = EvidenceFeatureSelector(coef_prior=coef_prior, standardize=False)
    selector.fit(rng.standard_normal((30, 3)), np.full(30, value))
    with pytest.warns(EvidenceWarning, match=words):
        selector.log_evidence_  # noqa: B018


@pytest.mark.parametrize("factor", [1e-90, 1e-200, 1e-300, 1e-310])
def test_a_column_in_a_tiny_unit_has_no_say(rng, factor):
    """Its coefficient's prior does not reach: the evidence is that of the other columns."""
    X = rng.standard_normal((40, 3))
    y = X[:, 0] + rng.standard_normal(40)
    model = EvidenceFeatureSelector(size_prior="uniform", standardize=False)
    others = clone(model).fit(X[:, [0, 2]], y)
    tiny = clone(model).fit(X * [1.0, factor, 1.0], y)
    assert tiny.log_evidence_ == pytest.approx(others.log_evidence_, abs=1e-9)
    expected = [*others.inclusion_probabilities_, 0.5]
    np.testing.assert_allclose(tiny.inclusion_probabilities_[[0, 2, 1]], expected, atol=1e-9)
    scale_free = clone(model).set_params(coef_prior="g")
    scaled = clone(scale_free).fit(X * [1.0, factor, 1.0], y)
    assert scaled.log_evidence_ == pytest.approx(scale_free.fit(X, y).log_evidence_, abs=1e-6)


@pytest.mark.parametrize("estimator", [None, BayesianGLM("poisson")], ids=["linear", "poisson"])
def test_a_column_that_does_not_vary_is_said(rng, estimator):
    """Its evidence is that of the subset without it; a group with a column that varies is not meant."""
    X = rng.standard_normal((30, 4))
    X[:, [1, 3]] = 2.0
    y = rng.poisson(2.0, 30)
    selector = EvidenceFeatureSelector(estimator, groups=[[2, 3]], random_state=0).fit(X, y)
    assert any("columns [1] do not vary" in words for words in selector.warnings_)
    free = EvidenceFeatureSelector(estimator, always=[1], groups=[[2, 3]], random_state=0).fit(X, y)
    assert not any("do not vary" in words for words in free.warnings_)
    if estimator is None:
        plain = EvidenceFeatureSelector(standardize=False).fit(X, y)
        assert not any("do not vary" in words for words in plain.warnings_)


def test_a_report_says_probabilities_and_priors_of_subsets(rows):
    """The paper's report of compare, with the prior probability of a subset among all of them."""
    X, y = rows
    for params, words in (({}, r"N\(0, 1²\)"), ({"coef_prior": "g"}, "g-prior")):
        selector = EvidenceFeatureSelector(**params).fit(X, y)
        listed, text = selector.models_, selector.models_.report()
        ranked = listed.sort_values("log_evidence", ascending=False)
        best, second = ranked.iloc[0], ranked.iloc[1]
        factor = np.exp(best["log_evidence"] - second["log_evidence"])
        assert f"{factor:.3g} times" in " ".join(text.split()) and re.search(words, text), text
        k = len(listed["columns"].iloc[0])
        prior = 1 / (6 * scipy.special.comb(5, k))  # uniform over sizes, and over subsets of a size
        assert f"its prior probability was {prior:.3g}" in " ".join(text.split()), text
        assert f"{listed['probability'].iloc[0]:.3f}" in text
        with pytest.raises(ValueError, match="a part of it"):
            listed.head(3).report()


# -- log predictive densities ---------------------------------------------------------------


def check_scores(seed, **params):
    """log p(y | x, rows) is what one more row adds to the log evidence, where units do not move with it."""
    rng = np.random.default_rng([20261128, seed])
    X = rng.standard_normal((25, 4)) @ rng.standard_normal((4, 4)) + [0.0, 3.0, 0.0, 100.0]
    y = 0.8 * X[:, 0] + rng.standard_normal(25) + 2.0
    selector = EvidenceFeatureSelector(standardize=False, intercept_scale=5.0, **params)
    fitted = clone(selector).fit(X[:20], y[:20])
    scores = fitted.score_samples(X[20:], [*y[20:24], 60.0])  # an outlier, too
    for x, value, score in zip(X[20:], [*y[20:24], 60.0], scores):
        after = clone(selector).fit(np.vstack([X[:20], x]), [*y[:20], value]).log_evidence_
        assert score == pytest.approx(after - fitted.log_evidence_, abs=1e-4)


@pytest.mark.parametrize("params", [{}, {"noise_std": 0.7}, {"always": [1], "size_prior": "uniform"}])
def test_scores_are_what_a_row_adds_to_the_log_evidence(params):
    for seed in range(3):
        check_scores(seed, **params)


def test_the_score_of_an_outlier_among_many_rows():
    """The noise under which it is none has 10⁻¹³⁰⁰ of the posterior."""
    rng = np.random.default_rng([20261128, 10])
    X = rng.standard_normal((500, 1))
    y = X[:, 0] + rng.standard_normal(500)
    selector = EvidenceFeatureSelector(standardize=False, intercept_scale=5.0).fit(X, y)
    score = selector.score_samples([X[0], X[0]], [y[0], 1e4])[1]
    again = clone(selector).fit(np.vstack([X, X[0]]), [*y, 1e4]).log_evidence_
    assert score == pytest.approx(again - selector.log_evidence_, rel=1e-5)


def test_scores_in_units_of_the_rows():
    """Densities of y in other units, and of y and columns that the selector standardises."""
    rng = np.random.default_rng([20261128, 7])
    X, noise = rng.standard_normal((40, 3)), rng.standard_normal(40)
    y = X[:, 0] + noise
    plain = EvidenceFeatureSelector().fit(X, y)
    other = EvidenceFeatureSelector().fit(X * 100 + 7, 1000 * y - 5)
    scores = plain.score_samples(X, y)
    np.testing.assert_allclose(
        other.score_samples(X * 100 + 7, 1000 * y - 5), scores - np.log(1000), atol=1e-8
    )
    grid = np.linspace(-30, 30, 6001)
    expected = -0.5 * np.log(2 * np.pi * np.e) - np.log(plain.predict(X, return_std=True)[1])
    np.testing.assert_allclose(plain.score_samples(X), expected)  # of no y
    at = plain.score_samples(np.repeat(X[:1], len(grid), axis=0), grid)
    p = np.exp(at) * (grid[1] - grid[0])
    mean, std = plain.predict(X[:1], return_std=True)
    assert p.sum() == pytest.approx(1, abs=1e-6) and p @ grid == pytest.approx(mean[0], abs=1e-6)
    assert p @ (grid - mean[0]) ** 2 == pytest.approx(std[0] ** 2, rel=1e-4)


@pytest.mark.parametrize("coef_prior", ["g", "hyper-g", "unit-information", "bric"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_scores_under_g_priors(coef_prior, fit_intercept):
    """Each density is normalised, with the mean and the variance that predict gives."""
    rng = np.random.default_rng([20261128, 8])
    X = rng.standard_normal((30, 3)) + 1.0
    y = X[:, 0] + rng.standard_normal(30)
    selector = EvidenceFeatureSelector(coef_prior=coef_prior, fit_intercept=fit_intercept).fit(X, y)
    grid = np.linspace(-60, 60, 2401)
    p = np.exp(selector.score_samples(np.repeat(X[:1], len(grid), axis=0), grid)) * (grid[1] - grid[0])
    mean, std = selector.predict(X[:1], return_std=True)
    assert p.sum() == pytest.approx(1, abs=1e-6) and p @ grid == pytest.approx(mean[0], abs=1e-6)
    assert p @ (grid - mean[0]) ** 2 == pytest.approx(std[0] ** 2, rel=1e-3)


def test_scores_under_a_fixed_g_are_those_of_a_t():
    """One column always in, and g = n: Student's t with the formulas of Zellner's prior."""
    rng = np.random.default_rng([20261128, 9])
    n, x = 20, rng.standard_normal(20) + 3.0
    y = 2.0 + 0.5 * x + rng.standard_normal(n)
    selector = EvidenceFeatureSelector(coef_prior="unit-information", always=[0]).fit(x[:, None], y)
    centred, shrunk = x - x.mean(), n / (1 + n)
    slope = centred @ (y - y.mean()) / (centred @ centred)
    total = np.sum((y - y.mean()) ** 2)
    explained = slope**2 * (centred @ centred) / total
    new = 4.2 - x.mean()
    variance = total * (1 - shrunk * explained) / (n - 1)
    scale = np.sqrt(variance * (1 + 1 / n + shrunk * new**2 / (centred @ centred)))
    expected = scipy.stats.t.logpdf(3.3, n - 1, y.mean() + shrunk * slope * new, scale)
    assert selector.score_samples([[4.2]], [3.3])[0] == pytest.approx(expected, abs=1e-9)
