"""The table of a posterior: right numbers under right names, in the data's units and in eighty columns."""

import sys

import numpy as np
import pytest
from estimator_cases import KINDS, data, estimator
from scipy import stats

from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianModel,
    BayesianSoftmaxRegression,
    EvidenceFeatureSelector,
    EvidenceModelAverager,
)
from sgevidence.estimators import weighted_quantiles
from sgevidence.estimators._reporting import effective_draws, merged_weights
from sgevidence.samplers import Exact
from sgevidence.tables import to_digits

FAST = SGAIS(30, max_particles=30)


def conjugate(seed, **params):
    """Known noise: the posterior of w, b is Gaussian, by hand."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 2)) * [1.0, 3.0]
    y = X @ [0.5, -0.2] + 1.0 + 0.7 * rng.standard_normal(40)
    Phi = np.column_stack([X, np.ones(40)])
    covariance = np.linalg.inv(Phi.T @ Phi / 0.49 + np.eye(3))
    fit = BayesianLinearRegression(0.7, random_state=seed, standardize=False, **params).fit(X, y)
    return fit, covariance @ Phi.T @ y / 0.49, np.sqrt(np.diag(covariance))


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_moments_and_intervals_are_those_of_the_posterior(level):
    """Errors, in their standard errors, over seeds: mean of z² near one, for means; quantiles near theirs."""
    z, q = [], stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    for seed in range(8):
        fit, mean, sd = conjugate(seed, sampler=Exact())
        table = fit.summary(level)
        assert table.index == ["coef[x0]", "coef[x1]", "intercept"]
        assert np.array_equal(table["mean"][:2], fit.coef_)
        z.append((table["mean"] - mean) / (sd / np.sqrt(table["ess"])))
        low, high = (table[name] for name in table.columns[2:4])
        for found, k in ((low, 0), (high, 1)):
            density = stats.norm.pdf(q[k])
            error = sd * np.sqrt((1 - level) / 2 * (1 + level) / 2 / table["ess"]) / density
            assert np.all(abs(found - mean - q[k] * sd) < 4.5 * error)
    assert 0.4 < np.mean(np.square(z)) < 1.9


def test_weights_and_copies_count():
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((500, 1))
    copies = np.repeat(theta[:50], 10, axis=0)  # fifty draws, each ten times
    assert merged_weights(copies, np.full(500, 1 / 500)).max() == pytest.approx(1 / 50)
    single = merged_weights(copies, np.full(500, 1 / 500))
    assert effective_draws(copies[:, 0] - copies.mean(), single) == pytest.approx(50)
    W = np.exp(-theta[:, 0])
    W /= W.sum()
    assert effective_draws(theta[:, 0] - W @ theta[:, 0], W) < 300
    few = weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([0.2, 0.4, 0.4]), [0.2, 0.6, 0.9])
    assert few.tolist() == pytest.approx([1.0, 2.0, 3.0])
    assert effective_draws(np.zeros(4), np.full(4, 0.25)) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_every_estimator_has_a_summary_within_eighty_columns(kind, monkeypatch):
    fit = estimator(kind).fit(*data(kind))
    table, draws = fit.summary(), fit.posterior_samples()
    assert len(table) == sum(np.prod(values.shape[1:], dtype=int) for values in draws.values())
    assert max(map(len, repr(table).splitlines())) <= 80
    assert table._repr_html_().count("<tr>") == len(table) + 1
    frame = table.to_frame()
    assert frame.index.tolist() == table.index and frame["5%"].le(frame["95%"]).all()
    with pytest.raises(ValueError, match="level"):
        fit.summary(level=5)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert repr(fit.summary()) == repr(table)


def test_names_are_those_of_columns_classes_and_priors():
    import pandas as pd

    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.standard_normal((60, 3)), columns=["a", "b", "intercept"])
    y = np.where(X["a"] > 0, "yes", "no")
    found = BayesianSoftmaxRegression(columns=["intercept", "a"], random_state=0).fit(X, y).summary()
    expected = ["coef[no, intercept]", "coef[no, a]", "intercept[no]"]
    assert found.index == expected + [
        name.replace("no,", "yes,").replace("[no]", "[yes]") for name in expected
    ]
    counts = BayesianGLM("negative_binomial", columns=[], sampler=FAST, random_state=0).fit(
        X, rng.poisson(3.0, 60)
    )
    assert counts.summary().index == ["intercept", "dispersion"]
    own = BayesianModel(
        lambda p, X, y: -0.5 * (y - p["coef"] @ X.T) ** 2 - 0.5 * np.log(2 * np.pi),
        {"coef": (stats.norm(), 3)},
        sampler=SGAIS(30, max_particles=30, mode_search=None),
        random_state=0,
    )
    assert own.fit(X, X["a"]).summary().index == ["coef[0]", "coef[1]", "coef[2]"]


def test_units_are_those_of_the_data():
    """A column and y in other units: the same table, up to the units."""
    rng = np.random.default_rng(2)
    x, noise = rng.standard_normal((50, 1)), rng.standard_normal(50)
    y = 2 * x[:, 0] + noise
    one, other = (
        BayesianLinearRegression(standardize=True, sampler=Exact(), random_state=0).fit(*rows).summary()
        for rows in ((x, y), (x * 1e-3 + 7, y * 1e4))
    )
    assert other["mean"][0] == pytest.approx(1e7 * one["mean"][0], rel=2e-3)
    assert other["sd"][[0, 2]] == pytest.approx(one["sd"][[0, 2]] * [1e7, 1e4], rel=0.05)


def test_components_that_are_not_told_apart_are_said():
    apart = BayesianGMM(2, random_state=0).fit(data("gmm")[0]).summary()
    alone = BayesianGMM(1, random_state=0).fit(data("gmm")[0]).summary()
    (weight,) = [line for line in repr(alone).splitlines() if line.startswith("weights[0]")]
    assert weight.split()[:3] == ["weights[0]", "1", "0"]  # up to rounding
    assert apart.notes == [] and apart.index[:2] == ["weights[0]", "means[0, x0]"]
    one_group = np.random.default_rng(0).standard_normal((60, 1))
    (note,) = BayesianGMM(2, random_state=0).fit(one_group).summary().notes
    assert "components 0 and 1" in note


def test_an_average_has_a_point_at_zero_for_models_without_the_column():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 2))
    y = 0.3 * X[:, 0] + rng.standard_normal(60)
    models = [(str(k), BayesianLinearRegression(columns=k, sampler=Exact())) for k in ([], [0], [1], [0, 1])]
    averager = EvidenceModelAverager(models, random_state=0).fit(X, y)
    table, exact = averager.summary(), EvidenceFeatureSelector(size_prior="uniform").fit(X, y)
    assert table.models["weight"].tolist() == sorted(averager.weights_, reverse=True)
    at = [table.parameters.index.index(f"coef[x{j}]") for j in (0, 1)]
    assert table.parameters["inclusion"][at] == pytest.approx(exact.inclusion_probabilities_, abs=1e-6)
    assert table.parameters["mean"][at] == pytest.approx(exact.coef_, abs=0.02)
    assert table.parameters["sd"][at] == pytest.approx(exact.coef_std_, rel=0.1)
    assert max(map(len, repr(table).splitlines())) <= 80 and table._repr_html_().count("<table>") == 2
    selected = exact.summary()
    assert selected.index == ["coef[x0]", "coef[x1]"]
    assert np.array_equal(selected["inclusion"], exact.inclusion_probabilities_)


def test_models_of_different_kinds_share_no_parameters():
    X, y = data("glm")
    models = [(family, BayesianGLM(family, sampler=FAST)) for family in ("poisson", "gaussian")]
    table = EvidenceModelAverager(models, random_state=0).fit(X, y).summary()
    assert table.parameters is None and "poisson" in repr(table)
    mixtures = EvidenceModelAverager([("one", estimator("gmm"))], random_state=0).fit(data("gmm")[0])
    assert mixtures.summary().parameters is None


def test_full_components_have_standard_deviations_and_a_matrix_of_correlations():
    pandas = pytest.importorskip("pandas")
    names = ["length", "width", "depth"]
    rng = np.random.default_rng(4)
    covariance = np.array([[4.0, 0.8, 0.0], [0.8, 1.0, -0.2], [0.0, -0.2, 0.25]])
    X = pandas.DataFrame(rng.multivariate_normal([0, 0, 0], covariance, size=400), columns=names)
    model = BayesianGMM(1, covariance_type="full", random_state=0).fit(X)
    table = model.summary()
    assert table.index == ["weights[0]", *(f"{kind}[0, {n}]" for kind in ("means", "stds") for n in names)]
    draws = np.sqrt(np.diagonal(model.posterior_samples()["covariances"][:, 0], axis1=1, axis2=2))
    np.testing.assert_allclose(table["mean"][4:], draws.mean(axis=0), rtol=1e-3)
    np.testing.assert_allclose(table["sd"][4:], draws.std(axis=0), rtol=1e-2)
    (matrix,) = table.notes
    lines = [line.split() for line in matrix.splitlines()]
    stds = np.sqrt(np.diag(model.covariances_[0]))
    R = model.covariances_[0] / np.outer(stds, stds)
    assert lines[0][-3:] == ["0", "1", "2"] and lines[1] == ["1", "length"]
    assert lines[2] == ["2", "width", f"{R[1, 0]:.2f}"]
    assert lines[3] == ["3", "depth", f"{R[2, 0]:.2f}", f"{R[2, 1]:.2f}"]
    assert "<pre>correlations" in table._repr_html_() and max(map(len, repr(table).splitlines())) <= 80
    diagonal = BayesianGMM(1, random_state=0).fit(X).summary()
    assert diagonal.index == table.index and diagonal.notes == []


def test_the_heading_says_whose_coefficients_they_are_and_that_there_are_no_rows():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 1))
    y = np.where(X[:, 0] + rng.logistic(size=60) > 0, "sick", "healthy")
    table = BayesianGLM("bernoulli", random_state=0).fit(X, y).summary()
    assert "coefficients: of class sick, against healthy" in table.heading.splitlines()
    assert table["mean"][0] > 0
    assert "of class" not in BayesianSoftmaxRegression(random_state=0).fit(X, y).summary().heading
    sampler = SGAIS(30, max_particles=30, mode_search=None)
    of_parameters = BayesianModel(lambda p: -0.5 * p["a"][:, 0] ** 2, {"a": stats.norm()}, sampler=sampler)
    assert of_parameters.fit().summary().heading.startswith("BayesianModel, no rows, log evidence")


@pytest.mark.parametrize(
    "value, sd, text",
    [
        (123.456, 1.23, "123.5"),
        (-0.3, 62.0, "0"),
        (0.0012345, 0.00012, "0.00123"),
        (1.2346e-9, 1.0e-11, "1.235e-09"),
        (2.0e12, 1e10, "2.000e+12"),
        (np.inf, 1.0, "inf"),
        (0.5, 0.0, "0.5"),
        (0.5, np.nan, "0.5"),
    ],
)
def test_numbers_end_at_the_second_digit_of_their_standard_deviation(value, sd, text):
    assert to_digits(value, sd) == text
