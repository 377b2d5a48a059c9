"""Estimators of different rows become one, with the digits of an estimator of all rows."""

import zlib

import numpy as np
import pandas as pd
import pytest
from estimator_cases import data, estimator
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    EvidenceModelAverager,
    EvidenceWarning,
    compare,
    merge,
)
from sgevidence.rows import joined_fingerprint as joined
from sgevidence.samplers import Exact

LINEAR = [dict(), dict(noise_std=0.7), dict(noise_prior=(2.0, 1.0), fit_intercept=False), dict(columns=[1])]
STATED = dict(standardize=False)


def rows(rng, n=60, far=0.0):
    """Repeated values, a far column, weights with zeros among them."""
    X = np.column_stack([rng.integers(0, 3, n), far + rng.standard_normal(n)])
    y = X @ [1.0, 2.0] + rng.standard_normal(n)
    return X, y, rng.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("params, far", zip(LINEAR, [1e9, 0.0, 0.0, 1e9]), ids=str)
def test_merged_regressions_have_the_evidence_of_one(params, far, rng):
    X, y, w = rows(rng, far=far)
    parts = [slice(0, 1), slice(1, 7), slice(7, 60)]
    one = BayesianLinearRegression(**params, **STATED)
    models = [clone(one).fit(X[p], y[p], w[p] + (p.start == 0)) for p in parts]
    w[0] += 1
    whole = one.fit(X, y, w)
    for order in (models[::-1], models):
        merged = merge(*order)
        assert merged.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-10)
        assert merged.log_evidence_std_ == 0.0
        assert merged.n_samples_seen_ == whole.n_samples_seen_
    assert merge(*models).data_fingerprint_ == whole.data_fingerprint_  # in order
    error = whole.coef_std_ * np.sqrt(2 / len(whole.particles_))
    assert np.all(abs(merged.coef_ - whole.coef_) < 5 * error)


def test_merged_components_have_the_evidence_of_one(rng):
    X, _, _ = rows(rng, far=1e6)
    one = BayesianGMM(1, standardize=False)
    merged, whole = merge(clone(one).fit(X[:20]), clone(one).fit(X[20:])), one.fit(X)
    assert merged.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-10)
    assert merged.data_fingerprint_ == whole.data_fingerprint_
    assert "0.500" in str(compare({"merged": merged, "whole": whole}))


def test_a_merged_stream_goes_on_and_its_parts_are_as_they_were(rng):
    X, y, _ = rows(rng)
    a = BayesianLinearRegression(random_state=0).partial_fit(X[:20], y[:20])
    b = BayesianLinearRegression(random_state=1, units=a.units_).partial_fit(X[20:40], y[20:40])
    before = a.log_evidence_, b.log_evidence_, a.n_samples_seen_
    merged = merge(a, b).partial_fit(X[40:], y[40:])
    whole = BayesianLinearRegression(units=a.units_).fit(X, y)
    assert merged.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-10)
    assert (a.log_evidence_, b.log_evidence_, a.n_samples_seen_) == before
    assert merged.evidence_path_["n_samples"].tolist() == [20, 40, 60]
    np.testing.assert_allclose(np.sum(merged.evidence_path_["log_predictive"]), merged.log_evidence_)
    assert merge(a).log_evidence_ == a.log_evidence_


def test_log_predictive_of_the_others_is_that_given_the_first(rng):
    X, y, _ = rows(rng)
    a = BayesianLinearRegression(noise_std=1.0).fit(X[:30], y[:30])
    b = BayesianLinearRegression(noise_std=1.0).fit(X[30:], y[30:])
    gained = merge(a, b).evidence_path_["log_predictive"][-1]
    assert gained == pytest.approx(a.partial_fit(X[30:], y[30:]).evidence_path_["log_predictive"][-1])


@pytest.mark.parametrize(
    "params, words",
    [
        (dict(coef_scale=2.0), "differ in coef_scale: 1.0 and 2.0"),
        (dict(noise_std=2.0), "differ in noise_std: None and 2.0"),
        (dict(columns=[0]), r"differ in columns: None and \(0,\)"),
        (dict(fit_intercept=False), "differ in fit_intercept"),
        (dict(sampler=SGAIS(n_particles=200)), "differ in sampler__n_particles: 100 and 200"),
    ],
    ids=str,
)
def test_other_parameters_are_refused_by_name(params, words, rng):
    X, y, _ = rows(rng)
    a, b = BayesianLinearRegression().fit(X, y), BayesianLinearRegression(**params).fit(X, y)
    for pair in ((a, b), (b, a)):
        with pytest.raises(ValueError, match=words if pair[0] is a else "differ in"):
            merge(*pair)


def test_other_columns_are_refused_by_name(rng):
    X, y, _ = rows(rng)
    a = BayesianLinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="n_features_in_ is 2 and 1"):
        merge(a, BayesianLinearRegression().fit(X[:, :1], y))
    frames = [pd.DataFrame(X, columns=names) for names in (["a", "b"], ["b", "a"])]
    named = [BayesianLinearRegression().fit(frame, y) for frame in frames]
    with pytest.raises(ValueError, match=r"feature_names_in_ is \['a' 'b'\] and \['b' 'a'\]"):
        merge(*named)
    with pytest.raises(ValueError, match=r"feature_names_in_ is None and"):
        merge(a, named[0])


@pytest.mark.parametrize("params", LINEAR, ids=str)
def test_parts_are_stated_in_the_units_of_the_first(params, rng):
    """One fit in these units has the evidence of all, in any cut, wherever columns and y lie."""
    X, y, w = rows(rng, n=90, far=1e9)
    X, y = X * [1e-6, 1.0], 1e5 * y - 1e8
    w += 1
    parts = [slice(0, 12), slice(12, 40), slice(40, 90)]
    models = [BayesianLinearRegression(**params).fit(X[p], y[p], w[p]) for p in parts]
    for order in (models, models[::-1]):
        whole = BayesianLinearRegression(**params, units=order[0].units_).fit(X, y, w)
        merged = merge(*order)
        assert merged.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-14, abs=1e-7)
        np.testing.assert_array_equal(merged.units_.scale, order[0].units_.scale)
        error = whole.coef_std_ * np.sqrt(2 / len(whole.particles_))
        assert np.all(abs(merged.coef_ - whole.coef_) < 5 * error)
        more = merged.partial_fit(X[:3], y[:3]).log_evidence_
        assert more == pytest.approx(whole.partial_fit(X[:3], y[:3]).log_evidence_, rel=1e-14, abs=1e-7)
    stated = BayesianLinearRegression(**params, **STATED).fit(X, y)
    with pytest.raises(ValueError, match="differ in standardize"):
        merge(models[0], stated)


@pytest.mark.parametrize("kind", ["diag", "full", "spherical"])
def test_parts_of_a_component_are_stated_in_the_units_of_the_first(kind, rng):
    X = rng.standard_normal((70, 2)) * [1e-3, 5.0] + [0.0, 1e4]
    X[40:] = 2 * X[40:] - X[0]
    one, other = (BayesianGMM(1, covariance_type=kind).fit(part) for part in (X[:30], X[30:]))
    whole = BayesianGMM(1, covariance_type=kind, units=one.units_).fit(X)
    assert merge(one, other).log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-9)


def test_a_column_that_is_constant_in_the_first(rng):
    X, y, _ = rows(rng, n=60)
    X[:20, 0] = 7.0
    a, b = (BayesianLinearRegression().fit(X[p], y[p]) for p in (slice(20), slice(20, 60)))
    merged = merge(a, b)
    assert merged.units_.scale[0] == b.units_.scale[0] and merged.units_.center[0] == 7.0
    whole = BayesianLinearRegression(units=merged.units_).fit(X, y)
    assert merged.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-9)
    X[20:, 0] = 9.0  # two constants
    two = merge(a, BayesianLinearRegression().fit(X[20:], y[20:]))
    assert two.units_.scale[0] == 2.0
    whole = BayesianLinearRegression(units=two.units_).fit(X, y)
    assert two.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-9)
    assert a.units_.scale[0] == 1.0


def test_parts_that_leave_the_units_of_the_first_are_told(rng):
    X, y, _ = rows(rng)
    a = BayesianLinearRegression().fit(X[:20], y[:20])
    with pytest.warns(EvidenceWarning, match="left the units.*column 1"):
        merged = merge(a, BayesianLinearRegression().fit(X[20:] + np.array([0, 900]), y[20:]))
    assert any("left the units" in words for words in merged.warnings_)


def test_what_has_no_sums_is_refused(rng):
    X, y, _ = rows(rng)
    annealed = BayesianLinearRegression(sampler=SGAIS(proposal=None, n_particles=30, max_particles=30))
    poisson = BayesianGLM().fit(X[:, :1] / 2, rng.poisson(1.0, len(X)).astype(float))
    for model in (
        annealed.fit(X[:9], y[:9]),
        poisson,
        estimator("gmm", n_components=2).fit(data("gmm")[0][:4]),
    ):
        with pytest.raises(ValueError, match="only closed forms can be merged: linear"):
            merge(model, model)
    exact = BayesianLinearRegression(sampler=Exact()).fit(X, y)
    with pytest.raises(ValueError, match="Exact keeps no sums"):
        merge(exact, exact)


def test_what_is_no_fitted_pair_is_refused(rng):
    X, y, _ = rows(rng)
    linear = BayesianLinearRegression().fit(X, y)
    with pytest.raises(NotFittedError):
        merge(linear, BayesianLinearRegression())
    for other in (BayesianGMM(1).fit(X), EvidenceModelAverager([("a", BayesianLinearRegression())]), 1):
        with pytest.raises(TypeError, match="of one class"):
            merge(linear, other)


def test_rows_that_count_twice_are_a_warning(rng):
    X, y, _ = rows(rng)
    with pytest.warns(EvidenceWarning, match="each row counts twice"):
        merge(BayesianLinearRegression().fit(X, y), BayesianLinearRegression().fit(X, y))


def test_the_fingerprint_of_two_texts_is_that_of_one(rng):
    for n in (0, 1, 2, 255, 4096, 100_001):
        a, b = rng.bytes(17), rng.bytes(n)
        assert joined(zlib.crc32(a), zlib.crc32(b), n) == zlib.crc32(a + b)
