"""BayesianHMM: evidence, units, sequences, gaps, states, streams, and errors in words."""

import functools

import numpy as np
import pytest
from sklearn.base import clone

from sgevidence import (
    BayesianAutoregression,
    BayesianCategoricalMixture,
    BayesianGMM,
    BayesianHMM,
    EvidenceModelAverager,
    EvidenceSearch,
    EvidenceWarning,
    compare,
    load,
    log_bayes_factor,
    predictive_check,
    save,
)

KINDS = ["gaussian", "full", "spherical", "poisson", "categorical"]


def series(kind="gaussian", n=60, p=2, seed=0):
    """Two regimes, 20 rows each time."""
    rng = np.random.default_rng(seed)
    level = (np.arange(n) // 20 % 2)[:, None]
    if kind == "poisson":
        return rng.poisson(1.0 + 7.0 * level, size=(n, p)).astype(float)
    if kind == "categorical":
        return np.where(rng.random((n, p)) < 0.1 + 0.8 * level, "high", "low")
    return rng.normal(size=(n, p)) + 4.0 * level


def fitted(kind="gaussian", K=2, *, X, lengths=None, **params):
    return BayesianHMM(K, emission=kind, **{"random_state": 0} | params).fit(X, lengths=lengths)


@functools.cache
def known(kind="gaussian", K=2, p=2):
    """A model of the series as it comes, which tests read and none changes."""
    return fitted(kind, K, X=series(kind, p=p))


KINDS_TO_FIND = [pytest.param(kind, marks=[] if kind == "poisson" else [pytest.mark.slow]) for kind in KINDS]


@pytest.mark.parametrize("kind", KINDS_TO_FIND)
def test_two_regimes_are_found(kind):
    X = series(kind)
    one, two = (known(kind, K) for K in (1, 2))
    assert two.log_evidence_ - one.log_evidence_ > 10
    assert one.log_evidence_std_ == 0.0 < two.log_evidence_std_ < 0.035
    z = two.predict(X)
    regime = np.arange(60) // 20 % 2
    assert max(np.mean(z == regime), np.mean(z != regime)) > 0.9
    assert np.all(two.decode(X) == z)
    assert two.predict_proba(X).shape == two.filter(X).shape == (60, 2)
    np.testing.assert_allclose(two.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_allclose(two.filter(X)[-1], two.predict_proba(X)[-1], atol=1e-9)
    assert np.all(np.diag(two.transition_matrix_) > 0.8)
    np.testing.assert_allclose(two.transition_matrix_.sum(axis=1), 1.0)
    assert np.all((two.dwell_times_ > 4) & (two.dwell_times_ < 60))
    assert two.n_states_in_use_proba_.argmax() == 1
    new, states = two.sample(7)
    assert new.shape == (7, 2) and states.shape == (7,)
    assert "transition_matrix[0, 0]" in str(two.summary()) and "lasts (medians, 90 %)" in str(two.summary())


@pytest.mark.parametrize("kind", KINDS[:3])
def test_one_state_is_the_mixture_of_one_component(kind):
    X = series(kind)
    covariance = {"gaussian": "diag"}.get(kind, kind)
    # one prior for both: a mixture with full covariances expects a thin direction by default
    mixture = BayesianGMM(covariance_type=covariance, variance_prior=(1.0, 1.0), random_state=0).fit(X)
    assert known(kind, 1).log_evidence_ == pytest.approx(mixture.log_evidence_, abs=1e-8)


def test_one_state_of_levels_is_one_class():
    X = series("categorical")
    expected = BayesianCategoricalMixture(random_state=0).fit(X).log_evidence_
    assert known("categorical", 1).log_evidence_ == pytest.approx(expected, abs=1e-8)


def test_states_are_in_the_order_of_their_means():
    assert np.all(np.diff(known().means_[:, 0]) > 0)
    assert np.all(np.diff(known("poisson").rates_[:, 0]) > 0)


@pytest.mark.parametrize("kind", ["gaussian", "spherical"])
def test_units_change_nothing(kind):
    X = series(kind)
    one, other = known(kind), fitted(kind, X=100.0 * X - 7.0)
    jacobian = X.size * np.log(100.0)
    assert other.log_evidence_ + jacobian == pytest.approx(one.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(other.means_, 100.0 * one.means_ - 7.0, rtol=1e-6)
    np.testing.assert_allclose(other.score_samples(100.0 * X - 7.0) + 2 * np.log(100.0), one.score_samples(X))


def test_rates_have_the_mean_count_for_a_unit():
    X = series("poisson", p=1)
    mean = (X.sum() + 0.5) / len(X)
    stated = fitted("poisson", X=X, standardize=False, rate_prior=(2.0, 1.0 / mean))
    assert known("poisson", p=1).log_evidence_ == pytest.approx(stated.log_evidence_, abs=1e-8)


@pytest.mark.slow
def test_a_row_of_nan_is_a_step_without_observation():
    X = series()
    gap = X.copy()
    gap[30] = np.nan
    model = fitted(X=gap, standardize=False)
    assert model.score_samples(gap)[30] == 0.0
    assert model.predict(gap)[30] == model.predict(gap)[29]
    start = fitted(X=np.delete(X, 59, axis=0), standardize=False)
    X[59] = np.nan  # at the end a gap says nothing
    error = 5 * np.hypot(start.log_evidence_std_, 0.01)
    assert fitted(X=X, standardize=False).log_evidence_ == pytest.approx(start.log_evidence_, abs=error)
    levels = series("categorical").astype(object)
    levels[5, 0] = levels[9] = None
    assert np.isfinite(fitted("categorical", X=levels).log_evidence_)


@pytest.mark.slow
def test_sequences_share_their_parameters():
    X = series("poisson")
    apart = fitted("poisson", X=X, lengths=[20, 40])
    stream = BayesianHMM(2, emission="poisson", random_state=0, units=apart.units_)
    stream.partial_fit(X[:20]).partial_fit(X[20:30], new_sequence=True).partial_fit(X[30:])
    error = 5 * np.hypot(apart.log_evidence_std_, stream.log_evidence_std_)
    assert stream.log_evidence_ == pytest.approx(apart.log_evidence_, abs=error)
    assert stream.data_fingerprint_ == apart.data_fingerprint_
    scores = apart.score_samples(X, lengths=[20, 40])
    np.testing.assert_allclose(scores[20:], apart.score_samples(X[20:]))


def test_log_predictive_continues_the_last_sequence():
    X = series("poisson", p=1)
    start = fitted("poisson", X=X[:50])
    whole = fitted("poisson", X=X, units=start.units_)
    gain = whole.log_evidence_ - start.log_evidence_
    assert start.log_predictive(X[50:]) == pytest.approx(gain, abs=0.1)


@pytest.mark.slow
def test_condition_on_leaves_rows_out():
    X = series("poisson")
    left = fitted("poisson", X=X, condition_on=3)
    assert left.log_evidence_ == fitted("poisson", X=X[3:]).log_evidence_
    assert left.n_samples_seen_ == 57
    stream = BayesianHMM(2, emission="poisson", condition_on=3, random_state=0, units=left.units_)
    for row in range(0, 60, 2):
        stream.partial_fit(X[row : row + 2])
    error = 5 * np.hypot(left.log_evidence_std_, stream.log_evidence_std_)
    assert stream.log_evidence_ == pytest.approx(left.log_evidence_, abs=error)


@pytest.mark.slow
def test_regimes_or_none_is_a_comparison():
    y = series(p=1)
    search = EvidenceSearch(BayesianHMM(random_state=0), {"n_states": [1, 2, 3]}).fit(y)
    assert search.best_params_["n_states"] == 2
    lag = BayesianAutoregression(1, random_state=0).fit(y[:, 0])
    states = BayesianHMM(2, condition_on=1, random_state=0).fit(y)
    assert states.n_samples_seen_ == lag.n_samples_seen_ == 59
    assert states.log_evidence_ > lag.log_evidence_


@pytest.mark.slow
def test_an_average_of_numbers_of_states():
    y = series("poisson", p=1)
    models = [(str(K), BayesianHMM(K, emission="poisson", random_state=0)) for K in (1, 2)]
    average = EvidenceModelAverager(models).fit(y)
    assert average.weights_[1] > 0.99


@pytest.mark.slow
def test_a_file_and_a_clone_go_on(tmp_path):
    X = series("poisson")
    model = BayesianHMM(2, emission="poisson", random_state=0).partial_fit(X[:30])
    save(model, tmp_path / "states")
    other = load(tmp_path / "states")
    assert other.partial_fit(X[30:]).log_evidence_ == model.partial_fit(X[30:]).log_evidence_
    assert clone(model).get_params() == model.get_params()


@pytest.mark.slow
def test_a_check_of_a_series_sees_what_one_state_does_not_have():
    X = series(p=1)
    found = predictive_check(known(K=1, p=1), X, random_state=0)
    assert any("autocorrelation" in name for name in found.misfits)
    assert predictive_check(known(p=1), X, random_state=0).misfits == []


WRONG = {
    "lengths": (dict(lengths=[10, 20]), series(), "lengths add up to 30, and X has 60 rows"),
    "short": (dict(lengths=[59, 1]), series(), "sequence 1 has 1 row, which says nothing of transitions"),
    "no lengths": (dict(lengths=[30.0, 30.0]), series(), "lengths must be a list of whole numbers"),
    "counts": (
        dict(kind="poisson"),
        series() - 9,
        r"in row 0 of 'column 0', which is no count \(one of 120\)",
    ),
    "fractions": (dict(kind="poisson"), series("poisson") + 0.5, "which is no count"),
    "cells": (dict(), np.where(series() > 5, np.nan, series()), "contains NaN in some columns"),
    "states": (dict(K=7), series(), "summed over up to 6 states"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_refused_in_words(name):
    params, X, words = WRONG[name]
    with pytest.raises(ValueError, match=words):
        fitted(X=X, **params)


LENGTHS_AS_Y = [[30, 30], np.array([60]), (20, 20, 20), 60, "two"]


@pytest.mark.parametrize("y", LENGTHS_AS_Y, ids=repr)
@pytest.mark.parametrize("call", ["fit", "partial_fit", "score"])
def test_lengths_in_the_place_of_y_are_refused(call, y):
    model = known(K=1) if call == "score" else BayesianHMM()
    with pytest.raises(ValueError, match="lengths="):
        getattr(model, call)(series(), y)


def test_a_y_of_one_value_per_row_is_ignored():
    X, expected = series(), known(K=1).log_evidence_
    for y in (np.zeros(60), [2] * 60, np.zeros((60, 1)), None):
        assert BayesianHMM().fit(X, y).log_evidence_ == expected
        assert BayesianHMM().fit(X.tolist(), y).log_evidence_ == expected


@pytest.mark.parametrize("cuts", [[30], [25]], ids=["alike", "unlike"])
@pytest.mark.parametrize("as_lists", [False, True])
def test_a_list_of_sequences_is_refused_in_words(cuts, as_lists):
    parts = np.split(series(), cuts)
    parts = [one.tolist() for one in parts] if as_lists else parts
    with pytest.raises(ValueError, match=r"lengths=\[len\(one\) for one in X\]"):
        BayesianHMM().fit(parts)
    with pytest.raises(ValueError, match="lengths="):
        BayesianHMM().fit([one[:, 0] for one in np.split(series(), [25])])


def test_a_search_that_ends_with_the_most_states_warns():
    X = np.concatenate([np.zeros(4), 9 + np.arange(4)])[:, None]
    with pytest.warns(EvidenceWarning, match="the largest n_states of the grid, 2, has the most evidence"):
        EvidenceSearch(BayesianHMM(random_state=0), {"n_states": [1, 2]}).fit(X)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, "little"])
def test_a_tolerance_is_a_positive_number(tolerance):
    with pytest.raises(ValueError, match="tolerance"):
        BayesianHMM(2, tolerance=tolerance).fit(series())


def test_a_larger_tolerance_costs_less_and_says_so():
    X = series("poisson")
    rough, fine = (fitted("poisson", X=X, tolerance=one) for one in (0.5, 0.021))
    assert 0.02 <= fine.log_evidence_std_ < rough.log_evidence_std_ < 0.5
    assert abs(fine.log_evidence_ - rough.log_evidence_) < 4 * rough.log_evidence_std_


def test_reports_of_another_emission_are_no_attributes():
    model = known("poisson")
    with pytest.raises(AttributeError, match="emission='poisson'"):
        _ = model.means_
    assert not hasattr(BayesianHMM(), "transition_matrix_")


def test_regimes_are_compared_with_independent_rows_and_with_an_autoregression():
    x = series(p=1)
    order = BayesianAutoregression(order=1, max_order=1, random_state=0).fit(x[:, 0])
    models = {"order": order, "states": fitted(X=x, condition_on=1), "rows": BayesianGMM(2).fit(x[1:])}
    difference = models["states"].log_evidence_ - order.log_evidence_
    found = log_bayes_factor(models["states"], order)
    assert found.value == pytest.approx(difference)
    assert len(compare(models)) == 3
    with pytest.raises(ValueError, match="another number of rows"):
        compare({"order": order, "states": known(p=1)})
    with pytest.raises(ValueError, match="other data"):
        compare({"states": fitted(X=x[::-1]), "rows": BayesianGMM(2).fit(x)})


def test_rows_that_come_with_times_are_in_their_order():
    """Shuffled rows are another series, by 50 nats for sunspots; a time left out is a row of nan."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(7)
    level = np.repeat([0.0, 4.0, 0.0], 12)
    days = pd.date_range("2026-01-01", periods=36)
    X = pd.DataFrame({"a": level + rng.normal(size=36)}, index=days)
    model = BayesianHMM(2, random_state=0)
    with pytest.raises(ValueError, match=r"out of order: row 3 .* sort them"):
        model.fit(X.iloc[[0, 1, 5, 2, *range(6, 36)]])
    whole = model.fit(X).log_evidence_
    assert whole == model.fit(X.to_numpy()).log_evidence_
    assert BayesianHMM(2, random_state=0).fit(pd.concat([X, X]), lengths=[36, 36]).n_samples_seen_ == 72
    with pytest.raises(ValueError, match="out of order"):
        model.fit(X).predict(X[::-1])
    with pytest.raises(ValueError, match="before the last of the rows seen"):
        model.partial_fit(X[:5])
    model.partial_fit(X[:5], new_sequence=True)
    gap = X.drop(days[[20, 21]])
    with pytest.warns(EvidenceWarning, match=r"the index lacks times \(2\)"):
        model.fit(gap)
    assert any("lacks times (2)" in words for words in model.warnings_)
    missing = clone(model).fit(gap.asfreq("D"))
    assert missing.log_evidence_ != model.log_evidence_
