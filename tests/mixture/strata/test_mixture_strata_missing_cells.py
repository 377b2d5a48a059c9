"""Cells that are missing: integrated out, they leave what the model says of the others."""

import numpy as np
import pandas as pd
import pytest
from enumeration import enumerated
from mixture_kinds import SphericalMixture
from scipy import stats
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils import get_tags

from sgevidence import BayesianGMM, BayesianLinearRegression, load, predictive_check, save
from sgevidence.history import Rows
from sgevidence.mixture.components import DiagonalGaussian, SphericalGaussian
from sgevidence.mixture.models import MixtureModel
from sgevidence.mixture.strata import MixtureEvidence
from sgevidence.models import value_and_grad

PRIOR = dict(weight_concentration=0.8, mean_scale=1.5, variance_prior=(1.5, 0.7))
BOTH = pytest.mark.parametrize("cls", [MixtureModel, SphericalMixture])


def few(n=5, seed=0):
    rng = np.random.default_rng([20261127, seed])
    return np.r_[rng.normal(-1, 0.5, (2, 2)), rng.normal(1.5, 0.5, (n - 2, 2))]


def integrated(model, X, row, column):
    """log ∫ p(X) dx of one cell, by the trapezoidal rule in asinh x, which halves its error at each step."""
    u = np.linspace(-13.0, 13.0, 105)
    values = []
    for x in np.sinh(u):
        X[row, column] = x
        values.append(enumerated(model, Rows.of(X)))
    return logsumexp(np.array(values) + np.log(np.cosh(u))) + np.log(u[1] - u[0])


def check_oracle(cls, rng):
    model, X = cls(2, 2, **PRIOR), few()
    expected = integrated(model, X.copy(), 1, 0)
    X[1, 0] = np.nan
    assert enumerated(model, Rows.of(X)) == pytest.approx(expected, abs=1e-6)
    found = MixtureEvidence(2).run(model, Rows.of(X), rng)
    assert abs(found.log_evidence - expected) < 4.5 * found.log_evidence_std + 1e-5
    assert found.log_evidence_std < 0.1


@pytest.mark.usefixtures("never_summed")
@BOTH
def test_a_missing_cell_is_integrated_out(cls, rng):
    check_oracle(cls, rng)


@pytest.mark.usefixtures("never_summed")
@pytest.mark.parametrize(
    "owner, name, right, wrong",
    [
        (DiagonalGaussian, "features", "[there]", "[there | True]"),
        (DiagonalGaussian, "coefficients", "of_cells - self.cell_units", "-of_cells - self.cell_units"),
        (DiagonalGaussian, "_posterior", "T[..., q + p : -1]", "1.0 + T[..., q + p : -1]"),
    ],
)
def test_broken_cells_are_seen(owner, name, right, wrong, rng, install_broken):
    install_broken(owner, name, right, wrong)
    with pytest.raises(AssertionError):
        check_oracle(MixtureModel, rng)


@pytest.mark.parametrize("family", [DiagonalGaussian, SphericalGaussian])
def test_the_family_is_the_mixture_of_one_component(family, rng):
    """Two implementations: sums of features in double precision, and sums of cells without rounding."""
    X = rng.normal(3, 2, (30, 4))
    X[rng.random(X.shape) < 0.3] = np.nan
    units = (0.3, -1.0, 2.0, 0.0)
    cls = {DiagonalGaussian: MixtureModel, SphericalGaussian: SphericalMixture}[family]
    model = cls(1, 4, cell_log_units=units, **PRIOR)
    one = model.family.at(X)
    exact = model.exact_log_evidence(Rows.of(X))
    assert float(one.log_evidence(one.features(X).sum(axis=0))) == pytest.approx(exact, abs=1e-9)
    plain = cls(1, 4, **PRIOR).exact_log_evidence(Rows.of(X))
    assert exact - plain == pytest.approx(np.isnan(X).sum(axis=0) @ units, abs=1e-9)
    # columns of diagonal components are models of their own, of the cells that they have
    if family is DiagonalGaussian:
        alone = [
            MixtureModel(1, 1, **PRIOR).exact_log_evidence(Rows.of(x[~np.isnan(x)][:, None])) for x in X.T
        ]
        assert plain == pytest.approx(sum(alone), abs=1e-9)
    # whole rows first, then gaps: sums of both kinds add up
    whole, rest = Rows.of(np.nan_to_num(X[:9], nan=1.0)), Rows.of(X[9:])
    both = model.posterior(model.sums(whole).plus(model.sums(rest))).log_evidence
    assert both == pytest.approx(model.exact_log_evidence(whole.join(rest)), abs=1e-9)


def by_hand(model, theta, X):
    """log p(x_r | θ) from scipy's densities of the cells that are there."""
    named = model.parameters(theta[None])
    out = []
    for x in X:
        there = ~np.isnan(x)
        sd = np.sqrt(model.family.column_variances(named["covariances"]))[0][:, there]
        of_cells = stats.norm.logpdf(x[there], named["means"][0][:, there], sd).sum(axis=1)
        units = np.array(model.cell_log_units)[~there].sum()
        out.append(logsumexp(np.log(named["weights"][0]) + of_cells) + units)
    return np.array(out)


@BOTH
def test_densities_gradients_and_curvature(cls, rng):
    X = rng.normal(0.5, 2, (25, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[4] = np.nan
    model = cls(3, 3, cell_log_units=(0.1, -0.4, 1.0), **PRIOR)
    theta, rows = model.sample_prior(rng, 4), Rows(X, None, rng.gamma(2.0, size=25))
    expected = np.array([by_hand(model, one, X) for one in theta])
    np.testing.assert_allclose(model.log_likelihood(theta, rows), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.sum_log_likelihood(theta, rows), expected @ rows.weight, rtol=1e-9)
    value, grad = model.value_and_grad_log_joint(theta, rows)
    plain = value_and_grad(lambda t: model.log_likelihood(t, rows) @ rows.weight + model.log_prior(t), theta)
    np.testing.assert_allclose(value, plain[0], rtol=1e-9)
    np.testing.assert_allclose(grad, plain[1], rtol=1e-7, atol=1e-8)
    value, grad, H = model.derivatives(theta[0], rows)
    value_2, grad_2, H_2 = model.evaluation.derivatives(model, theta[0], rows)
    np.testing.assert_allclose(value, value_2, rtol=1e-9)
    np.testing.assert_allclose(grad, grad_2, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(H, H_2, rtol=1e-4, atol=1e-4 * np.abs(H_2).max())


# -- the estimator -----------------------------------------------------------------------------------------


def flowers(share=0.15, seed=0):
    X = load_iris().data.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return pd.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "petal width"])


@pytest.mark.parametrize("kind", ["diag", "spherical"])
def test_units_and_streams_of_one_component(kind):
    X = flowers()
    model = BayesianGMM(covariance_type=kind, random_state=0).fit(X)
    scale = np.array([1.0, 10.0, 0.1, 1e3])
    if kind == "spherical":
        scale = np.full(4, 7.0)
    moved = clone(model).fit(X * scale + 5 * scale)
    n_cells = (~np.isnan(X.to_numpy())).sum(axis=0)
    assert moved.log_evidence_ == pytest.approx(model.log_evidence_ - n_cells @ np.log(scale), abs=1e-6)
    stream = clone(model).set_params(units=model.units_)
    for start in range(0, 150, 30):
        stream.partial_fit(X[start : start + 30])
    assert stream.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-9)
    path = stream.evidence_path_
    assert path["log_evidence"][-1] == pytest.approx(model.log_evidence_, abs=1e-9)


@pytest.mark.slow
def test_groups_of_rows_with_gaps(tmp_path):
    X = flowers()
    model = BayesianGMM(3, random_state=0).fit(X)
    one, again = (BayesianGMM().fit(given) for given in (X, X.astype(object).where(X.notna(), None)))
    assert one.log_evidence_ == again.log_evidence_
    stream = BayesianGMM(3, random_state=1, units=model.units_)
    for start in range(0, 150, 50):
        stream.partial_fit(X.sample(frac=1, random_state=0)[start : start + 50])
    error = np.hypot(stream.log_evidence_std_, model.log_evidence_std_) + 0.05
    assert abs(stream.log_evidence_ - model.log_evidence_) < 4 * error
    labels, species = model.predict(X), load_iris().target
    agree = np.array([[np.sum((labels == k) & (species == s)) for s in range(3)] for k in range(3)])
    assert agree.max(axis=1).sum() > 130
    proba, scores = model.predict_proba(X), model.score_samples(X)
    assert np.isfinite(scores).all() and np.allclose(proba.sum(axis=1), 1)
    nothing = np.full((1, 4), np.nan)
    np.testing.assert_allclose(model.predict_proba(nothing)[0], model.weights_, rtol=1e-6)
    assert model.score_samples(nothing)[0] == pytest.approx(0.0, abs=1e-9)
    assert not np.isnan(model.sample(20)[0]).any()
    save(model, tmp_path / "model.sge")
    np.testing.assert_array_equal(load(tmp_path / "model.sge").score_samples(X), scores)


def test_who_takes_gaps_says_so():
    X = flowers()
    for kind in ("diag", "spherical", "full"):
        model = BayesianGMM(2, covariance_type=kind, random_state=0)
        assert get_tags(model).input_tags.allow_nan == (kind != "full")
    with pytest.raises(ValueError, match="X contains NaN in row 1 of column 'sepal length'"):
        model.fit(X.assign(**{"sepal length": [5.0, np.nan] + [5.1] * 148}))
    with pytest.raises(ValueError, match="X contains NaN"):
        BayesianLinearRegression().fit(X, np.arange(150.0))
    diagonal = BayesianGMM(random_state=0)
    with pytest.raises(ValueError, match="X contains infinity in row 3 of column 'petal width'"):
        diagonal.fit(X.assign(**{"petal width": [np.nan, 1, 2, np.inf] + [5.1] * 146}))
    with pytest.raises(ValueError, match="petal width has no value in the rows of the first call"):
        diagonal.fit(X.assign(**{"petal width": np.nan}))


def test_rows_that_are_replicated_have_the_same_gaps():
    X = flowers()
    model = BayesianGMM(2, random_state=0).fit(X)
    gaps = np.isnan(X.to_numpy())
    found = model._replicated(model.particles_[0], X.to_numpy(), np.random.default_rng(0))
    np.testing.assert_array_equal(np.isnan(found), gaps)
    assert predictive_check(model, X) is not None
