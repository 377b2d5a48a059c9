"""Evidence under other priors: by fits, and by weights of draws at hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from estimator_cases import slope_model
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sgevidence import (
    BayesianGLM,
    BayesianGMM,
    BayesianHMM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceWarning,
    prior_sensitivity,
    reweight_prior,
)
from sgevidence.samplers import Exact, Laplace

EXACT = Exact(4000)


def diabetes(p=3):
    X, y = load_diabetes(return_X_y=True)
    return X[:, :p], y


def line(**params):
    return BayesianLinearRegression(**{"standardize": True, "sampler": EXACT, "random_state": 0} | params)


def check_reweighted(est, X, y, **prior):
    """Against a fit whose evidence is exact."""
    found = reweight_prior(est.fit(X, y), **prior)
    again = clone(est).set_params(**prior).fit(X, y)
    assert found.is_reliable and 0 < found.log_evidence_std < 0.1
    assert abs(found.log_evidence - again.log_evidence_) < 4 * found.log_evidence_std
    assert found.weights.sum() == pytest.approx(1.0)


PRIORS = [dict(coef_scale=0.5), dict(coef_scale=3.0, intercept_scale=0.3), dict(noise_scale=0.4)]


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_draws_of_a_regression_are_reweighted(prior):
    check_reweighted(line(), *diabetes(), **prior)


@pytest.mark.parametrize("prior", [dict(mean_scale=3.0), dict(variance_prior=(2.0, 1.5))], ids=str)
def test_draws_of_a_mixture_are_reweighted(prior):
    check_reweighted(
        BayesianGMM(standardize=True, sampler=EXACT, random_state=0), diabetes()[0], None, **prior
    )


def test_far_columns_have_coordinates_that_depend_on_the_prior():
    rng = np.random.default_rng(0)
    X = 1e7 + rng.standard_normal((60, 1))
    y = rng.poisson(2.0, 60)
    fit = BayesianGLM(intercept_scale=2.0, sampler=Laplace(), random_state=0, standardize=False).fit(X, y)
    assert hasattr(fit._model, "to_plain")
    found = reweight_prior(fit, intercept_scale=3.0)
    again = BayesianGLM(intercept_scale=3.0, sampler=Laplace(), random_state=0, standardize=False).fit(X, y)
    assert abs(found.log_evidence - again.log_evidence_) < 0.02 + 4 * found.log_evidence_std


def test_units_are_held_fixed_and_an_offset_is_known():
    """The prior of a default fit is in units of its rows; None is the scale that was used."""
    rng = np.random.default_rng(1)
    X, exposure = rng.standard_normal((80, 2)) * [1e3, 1.0] + [0.0, 290.0], rng.normal(5.0, 1.0, 80)
    y = rng.poisson(np.exp(0.4e-3 * X[:, 0] + exposure - 5))
    fit = BayesianGLM(random_state=0).fit(X, y, offset=exposure)
    found = reweight_prior(fit, coef_scale=1.5)
    again = BayesianGLM(random_state=0, coef_scale=1.5).fit(X, y, offset=exposure)
    assert abs(found.log_evidence - again.log_evidence_) < 0.02 + 4 * found.log_evidence_std
    table = prior_sensitivity(BayesianGLM(random_state=0), X, y)
    for sign, scale in (("/", 2.5 / 3), ("*", 7.5)):
        stated = BayesianGLM(random_state=0, intercept_scale=scale).fit(X, y)
        known = table["log_evidence"][table.index.index(f"intercept_scale {sign} 3")]
        assert abs(known - stated.log_evidence_) < 0.05


def test_draws_that_do_not_cover_are_not_believed():
    fit = line().fit(*diabetes())
    with pytest.warns(EvidenceWarning, match="draws count under coef_scale=0.01, too few"):
        assert not reweight_prior(fit, coef_scale=0.01).is_reliable
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reweight_prior(fit, coef_scale=0.9).is_reliable


def test_the_table_has_the_evidence_of_each_prior():
    X, y = diabetes()
    table = prior_sensitivity(line(), X, y, factor=3)
    assert table.index[:3] == ["as given", "coef_scale / 3", "coef_scale * 3"]
    expected = [
        line(**{name: scale}).fit(X, y).log_evidence_
        for name in ("coef_scale", "intercept_scale", "noise_scale")
        for scale in (1 / 3, 3.0)
    ]
    np.testing.assert_allclose(table["log_evidence"][1:], expected)
    np.testing.assert_allclose(table["difference"], table["log_evidence"] - table["log_evidence"][0])
    assert table["coef[x2]"][0] == pytest.approx(line().fit(X, y).coef_[2])
    assert np.all(np.isnan(table["ess"]))  # exact ones are computed anew
    lines = repr(table).splitlines()
    assert len(lines) == 8 and max(map(len, lines)) <= 80


def test_the_table_reweights_where_an_evidence_has_an_error():
    X, y = load_iris(return_X_y=True)
    est, stated = BayesianSoftmaxRegression(random_state=0), {"coef_scale": 1.0, "intercept_scale": 2.5}
    table = prior_sensitivity(est, X[::3, :2], y[::3], factor=1.5)
    reweighted = ~np.isnan(table["ess"])
    assert reweighted.any() and max(map(len, repr(table).splitlines())) <= 80
    for k in np.flatnonzero(reweighted):
        name, sign, _ = table.index[k].split()
        scale = stated[name] * (1.5 if sign == "*" else 1 / 1.5)
        other = clone(est).set_params(**{name: scale}).fit(X[::3, :2], y[::3])
        error = np.hypot(table["log_evidence_std"][k], other.log_evidence_std_)
        assert abs(table["log_evidence"][k] - other.log_evidence_) < 4 * error
        mean, std = other.coef_[0, 0], other.coef_std_[0, 0]
        assert abs(table["coef[0, x0]"][k] - mean) < 0.5 * std


def test_hidden_states_are_fitted_again():
    """Each sequence counts, and no draws stand for another prior."""
    X = np.random.default_rng(0).poisson(np.repeat([3.0, 9.0, 3.0], 8)).reshape(-1, 1).astype(float)
    est = BayesianHMM(2, random_state=0)
    table = prior_sensitivity(est, X, lengths=[8, 16])
    again = clone(est).set_params(mean_scale=6.0).fit(X, lengths=[8, 16])
    assert np.isnan(table["ess"]).all() and table["log_evidence"][2] == again.log_evidence_
    with pytest.raises(TypeError, match="hidden states are not reweighted"):
        reweight_prior(again, mean_scale=2.0)


@pytest.mark.parametrize(
    "formula", ["y ~ x + kind", pytest.param("y ~ x + (1 | kind)", marks=pytest.mark.slow)]
)
def test_factors_and_groups_are_fitted_again(formula):
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"x": rng.standard_normal(60), "kind": np.tile(["a", "b", "c"], 20)})
    y, exposure = rng.poisson(np.exp(1.0 + 0.5 * X["x"])), np.full(60, 0.1)
    est = BayesianGLM(formula=formula, random_state=0)
    table = prior_sensitivity(est, X, y, offset=exposure)
    for k, scale in ((1, 1 / 3), (2, 3.0)):
        again = clone(est).set_params(coef_scale=scale).fit(X, y, offset=exposure)
        error = np.hypot(table["log_evidence_std"][k], again.log_evidence_std_)
        assert abs(table["log_evidence"][k] - again.log_evidence_) <= 4 * error
    with pytest.raises(TypeError, match="are not reweighted"):
        reweight_prior(est.fit(X, y, offset=exposure), coef_scale=3.0)


def test_a_pipeline_is_that_of_its_last_step():
    X, y = diabetes()
    scaler = StandardScaler()
    found, expected = (
        prior_sensitivity(make_pipeline(scaler, line()), X, y),
        prior_sensitivity(line(), scaler.fit_transform(X), y),
    )
    np.testing.assert_array_equal(found["log_evidence"], expected["log_evidence"])


def test_scales_that_are_in_force():
    X, y = diabetes()
    table = prior_sensitivity(line(noise_std=60.0, fit_intercept=False), X, y)
    assert table.index[1:] == ["coef_scale / 3", "coef_scale * 3"]
    table = prior_sensitivity(line(noise_prior=(1.0, 1.0)), X, y, factor=2)
    assert table.index[-2:] == ["noise_prior / 2", "noise_prior * 2"]
    wider = line(noise_prior=(1.0, 4.0)).fit(X, y)
    assert table["log_evidence"][-1] == pytest.approx(wider.log_evidence_)
    table = prior_sensitivity(BayesianGMM(sampler=Exact(), standardize=True), X)
    assert table.index[1:3] == ["mean_scale / 3", "mean_scale * 3"]


def test_what_has_no_scales_is_refused():
    X, y = diabetes()
    own = slope_model()
    with pytest.raises(TypeError, match="no parameters that state prior scales"):
        prior_sensitivity(own, X, y)
    with pytest.raises(TypeError, match=r"Exact is no model of this library.*best_estimator_"):
        prior_sensitivity(EXACT, X, y)
    with pytest.raises(TypeError, match="no fitted estimator"):
        reweight_prior(line())
    fitted = line().fit(X, y)
    for wrong in ("fit_intercept", "mean_scale"):
        with pytest.raises(ValueError, match="do not state a prior"):
            reweight_prior(fitted, **{wrong: 1.0})
