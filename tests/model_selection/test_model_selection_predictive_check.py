"""Predictive checks: misfits are found, true models are not doubted, and all rows come from one θ."""

import numpy as np
import pytest
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sgevidence import (
    SGAIS,
    BayesianAutoregression,
    BayesianCategoricalMixture,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianModel,
    BayesianSoftmaxRegression,
    EvidenceFeatureSelector,
    EvidenceModelAverager,
    EvidenceSearch,
    Group,
    compare,
    predictive_check,
)
from sgevidence.model_selection import PredictiveCheck, _predictive_check, replicated_check
from sgevidence.model_selection._discrepancies import (
    RowsAndTheta,
    association,
    autocorrelation,
    calibration,
    correlations,
    dispersion,
)
from sgevidence.model_selection._predictive_check import Replicator
from sgevidence.models import FAMILIES, GLMModel
from sgevidence.samplers import Exact

FAST = SGAIS(40, max_particles=40, mode_search=None)
SCALES = dict(coef_scale=0.7, intercept_scale=0.7)


def true_rows(kind, seed):
    """Rows of a model drawn from its prior, and the fit."""
    rng = np.random.default_rng([seed, 7])
    n = int(rng.integers(30, 90))
    X, w, known = rng.standard_normal((n, 2)), 0.7 * rng.standard_normal(3), {}
    if kind == "linear":
        y = X @ w[:2] + w[2] + rng.standard_t(3) * rng.standard_normal(n)
        return BayesianLinearRegression(sampler=Exact(), random_state=seed, **SCALES).fit(X, y), X, y, known
    if kind == "softmax":
        W = 0.7 * rng.standard_normal((3, 3))
        y = np.argmax(np.column_stack([X, np.ones(n)]) @ W + rng.gumbel(size=(n, 3)), axis=1)
        return BayesianSoftmaxRegression(random_state=seed, **SCALES).fit(X, y), X, y, known
    if kind == "mixture":
        variance = 1 / rng.gamma(1.0, size=(2, 2))
        means = 2 * np.sqrt(variance) * rng.standard_normal((2, 2))
        label = rng.choice(2, size=n, p=rng.dirichlet([1, 1]))
        X = means[label] + np.sqrt(variance[label]) * rng.standard_normal((n, 2))
        return BayesianGMM(2, random_state=seed).fit(X), X, None, known
    model = GLMModel(2, family := FAMILIES[kind], **SCALES)
    if family.known == "trials":
        known = {"trials": rng.integers(1, 12, n)}
    y = model.sample_rows(model.sample_prior(rng, 1), np.column_stack([X, *known.values()]), rng)
    fit = BayesianGLM(kind, sampler=None if family.is_log_concave else FAST, random_state=seed, **SCALES)
    return fit.fit(X, y.astype(float), **known), X, y.astype(float), known


def alarms(kind, seeds):
    """How many checks of true models find a misfit, and the p-values."""
    checks = []
    for seed in seeds:
        fit, X, y, known = true_rows(kind, seed)
        checks.append(predictive_check(fit, X, y, n_draws=300, random_state=seed, **known))
    return sum(bool(check.misfits) for check in checks), np.concatenate(
        [check.table["p"] for check in checks]
    )


@pytest.mark.parametrize("kind", ["linear", pytest.param("poisson", marks=pytest.mark.slow)])
def test_true_models_are_not_doubted(kind):
    """At most 5 % of p-values below 5 %, and of checks with a misfit: two of six have 3 %."""
    found, p = alarms(kind, range(6))
    assert found <= 1 and np.mean(p < 0.05) < 0.08 and np.mean(p > 0.5) > 0.4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sgevidence.EvidenceWarning")
@pytest.mark.parametrize("kind", ["softmax", "mixture", "negative_binomial"])
def test_true_models_of_other_families_are_not_doubted(kind):
    found, p = alarms(kind, range(5))
    assert found <= 1 and np.mean(p < 0.05) < 0.08 and np.mean(p > 0.5) > 0.4


def visits(n=400, seed=0):
    """Counts as those of visits to a doctor: a variance of seven means, a third of zeros."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 1))
    rate = np.exp(1.0 + 0.2 * X[:, 0])
    return X, rng.negative_binomial(0.6, 0.6 / (0.6 + rate)).astype(float)


def test_overdispersed_counts_are_found():
    X, y = visits()
    check = predictive_check(
        BayesianGLM("poisson", random_state=0).fit(X, y), X, y, n_draws=300, random_state=0
    )
    assert {"variance", "zeros", "dispersion", "maximum"} == set(check.misfits)
    assert "zeros (observed 0." in check.doubt and "does not reproduce" in repr(check)
    assert max(map(len, repr(check).splitlines())) <= 80 and "misfit" in check._repr_html_()
    wide = BayesianGLM("negative_binomial", sampler=FAST, random_state=0).fit(X, y)
    fits = predictive_check(wide, X, y, n_draws=300, random_state=0)
    assert fits.misfits == [] and fits.doubt is None and "misfit" not in repr(fits)
    again = predictive_check(wide, X, y, n_draws=300, random_state=0)
    assert np.array_equal(again.replicated, fits.replicated)


@pytest.mark.parametrize("standardize", [False, True])
def test_a_series_is_found(standardize):
    rng = np.random.default_rng(1)
    X, e = rng.standard_normal((200, 1)), np.zeros(200)
    for t in range(1, 200):
        e[t] = 0.5 * e[t - 1] + rng.standard_normal()
    y = 3 + 5 * X[:, 0] + e
    fit = BayesianLinearRegression(standardize=standardize, sampler=Exact(), random_state=0).fit(X, y)
    check = predictive_check(fit, X, y, n_draws=300, random_state=0)
    assert check.misfits == ["autocorrelation"] and "a series" in check.doubt
    assert check.table["observed"][5] == pytest.approx(np.corrcoef(e[1:], e[:-1])[0, 1], abs=0.03)
    by_y = np.argsort(y)
    assert "autocorrelation" not in predictive_check(fit, X[by_y], y[by_y], n_draws=300).table.index
    asked = predictive_check(fit, X[by_y], y[by_y], statistics=["autocorrelation"], n_draws=300)
    assert asked.table.index == ["autocorrelation"]
    shuffled = rng.permutation(200)
    assert predictive_check(fit, X[shuffled], y[shuffled], n_draws=300, random_state=0).misfits == []


def test_rows_that_take_turns_are_not_called_alike():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 1)), np.tile([-1.0, 1.0], 60) + 0.3 * rng.standard_normal(120)
    check = predictive_check(BayesianLinearRegression(random_state=0).fit(X, y), X, y, random_state=0)
    assert "rows beside each other are unlike" in check.doubt


def mean_of_replicates():
    """Its variance under one θ for all rows: σ²/n and the posterior's of the line at the mean of X."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 1)) + 1.0
    y = X[:, 0] + rng.standard_normal(400)
    fit = BayesianLinearRegression(1.0, sampler=Exact(), random_state=0).fit(X, y)
    Phi = np.column_stack([X, np.ones(400)])
    covariance = np.linalg.inv(Phi.T @ Phi + np.eye(2))
    at = Phi.mean(axis=0)
    exact = 1 / 400 + at @ covariance @ at
    check = predictive_check(fit, X, y, statistics=["mean"], n_draws=1000, random_state=0)
    assert abs(check.replicated.var() / exact - 1) < 5 * np.sqrt(2 / 1000)


def test_all_rows_of_a_replicate_come_from_one_draw():
    mean_of_replicates()


@pytest.mark.slow
def test_rows_from_draws_of_their_own_are_seen(monkeypatch):
    def by_rows(self, theta, rng):
        return self.model.sample_y(np.asarray(self.X), random_state=rng.integers(2**31))[:, 0]

    monkeypatch.setattr(Replicator, "replicate", by_rows)
    with pytest.raises(AssertionError):
        mean_of_replicates()


def test_p_values_by_hand():
    replicated = np.arange(99.0)[:, None] * [1.0, 1.0, 0.0, np.nan]
    observed = np.tile([97.0, 300.0, 0.0, 1.0], (99, 1))
    check = PredictiveCheck.of(
        observed, replicated + 0.0, ["high", "beyond", "tied", "unknown"], [0.05, 0.95]
    )
    assert check.table["p"].tolist() == pytest.approx([2 * 3 / 100, 2 / 100, 1.0, 1.0])
    assert check.misfits == []  # 2/100 is above 5 %/4
    with pytest.raises(ValueError, match="'a' of the observed rows"):
        PredictiveCheck.of(np.full((9, 1), np.nan), np.zeros((9, 1)), ["a"], [0.05, 0.95])


def test_statistics_by_hand():
    rows = RowsAndTheta(np.array([1.0, 3.0, 2.0, 6.0]), True, np.ones(4), np.full(4, 2.0))
    e = np.array([0.0, 1.0, 0.5, 2.5])
    c = e - e.mean()
    assert dispersion(rows) == pytest.approx(np.mean(e**2))
    assert autocorrelation(rows) == pytest.approx(np.sum(c[1:] * c[:-1]) / np.sum(c**2))
    assert autocorrelation(RowsAndTheta(np.ones(4))) == 0.0
    X = np.random.default_rng(0).standard_normal((20, 3))
    assert correlations(X) == pytest.approx(np.corrcoef(X.T))
    P = np.tile([0.7, 0.3], (40, 1))
    y = (np.arange(40) % 10 < 3).astype(int)  # groups of four rows: 3, 0, 1, 2, 0 of each twenty
    gaps = np.array([3, 0, 1, 2, 0]) - 1.2
    assert calibration(RowsAndTheta(y, True, P)) == pytest.approx(2 * np.sum(gaps**2))


def test_classes_that_are_not_calibrated_are_found():
    """Labels of a line that is steeper than a narrow prior lets it be."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 1))
    y = np.where(3 * X[:, 0] + rng.logistic(size=300) > 0, "yes", "no")
    narrow, wide = (BayesianGLM("bernoulli", coef_scale=s, random_state=0).fit(X, y) for s in (0.03, 3.0))
    assert "calibration" in predictive_check(narrow, X, y, n_draws=300, random_state=0).misfits
    check = predictive_check(wide, X, y, n_draws=300, random_state=0)
    assert check.misfits == [] and check.table.index == ["share of yes", "calibration", "autocorrelation"]
    own = {"yes": lambda y: np.mean(y == "yes")}
    found = predictive_check(wide, X, y, statistics=own, n_draws=50, random_state=0)
    assert found.table["observed"][0] == np.mean(y == "yes")


def test_weights_repeat_rows_and_offsets_and_trials_belong_to_them():
    rng = np.random.default_rng(4)
    X, weight = rng.standard_normal((40, 1)), rng.integers(0, 4, 40)
    hours, trials = rng.uniform(1, 9, 40), rng.integers(1, 9, 40)
    counts, wins = rng.poisson(hours), rng.binomial(trials, 0.4)
    for family, y, known in (
        ("poisson", counts, {"offset": np.log(hours)}),
        ("binomial", wins, {"trials": trials}),
    ):
        fit = BayesianGLM(family, random_state=0).fit(X, y, sample_weight=weight, **known)
        found = predictive_check(fit, X, y, sample_weight=weight, n_draws=300, random_state=0, **known)
        copies = {name: np.repeat(value, weight) for name, value in known.items()}
        names = found.table.index
        rows = np.repeat(X, weight, axis=0), np.repeat(y, weight)
        again = predictive_check(fit, *rows, statistics=names, n_draws=300, random_state=0, **copies)
        assert np.array_equal(found.replicated, again.replicated) and "autocorrelation" not in names
        assert np.array_equal(found.table["observed"], again.table["observed"])
        if family == "poisson":
            wrong = known | {"offset": np.log(hours)[::-1]}
            assert predictive_check(fit, X, y, n_draws=300, random_state=0, **wrong).misfits
    with pytest.raises(ValueError, match="whole numbers"):
        predictive_check(fit, X, wins, sample_weight=np.full(40, 0.5), trials=trials)
    with pytest.raises(ValueError, match="trials"):
        predictive_check(fit, X, wins)


def line_sampler(p, X, rng):
    return p["w"] * X[:, 0] + rng.standard_normal(len(X))


def test_models_of_ones_own():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 1))
    y = X[:, 0] + rng.standard_normal(60)

    def model(**functions):
        def log_likelihood(p, X, y):
            return -0.5 * (y - p["w"] * X[:, 0]) ** 2 - 0.5 * np.log(2 * np.pi)

        return BayesianModel(
            log_likelihood, {"w": stats.norm()}, sampler=FAST, random_state=0, **functions
        ).fit(X, y)

    names = ["mean", "variance", "skewness", "minimum", "maximum", "autocorrelation"]
    mean = {"mean": lambda p, X: p["w"] * X[:, 0]}
    for functions in ({}, mean):
        check = predictive_check(
            model(sample_rows=line_sampler, **functions), X, y, n_draws=300, random_state=0
        )
        assert check.table.index == names and check.misfits == []
    with pytest.raises(TypeError, match="sample_rows="):
        predictive_check(model(), X, y)
    with pytest.raises(TypeError, match="give y"):
        predictive_check(model(sample_rows=line_sampler), X)
    with pytest.raises(TypeError, match="depend on those before"):
        predictive_check(BayesianAutoregression().fit(y), y)


def test_an_average_a_pipeline_and_a_search_are_looked_through():
    X, y = visits(200)
    pipeline = make_pipeline(StandardScaler(), BayesianGLM("poisson", random_state=0))
    same = BayesianGLM("poisson", random_state=0).fit(StandardScaler().fit_transform(X), y)
    found = predictive_check(pipeline.fit(X, y), X, y, n_draws=300, random_state=0)
    again = predictive_check(same, StandardScaler().fit_transform(X), y, n_draws=300, random_state=0)
    assert np.array_equal(found.replicated, again.replicated)
    models = [("poisson", pipeline), ("null", BayesianGLM("poisson", columns=[]))]
    averager = EvidenceModelAverager(models, random_state=0).fit(X, y)
    table = compare(averager, check=dict(X=X, y=y, n_draws=300))
    assert "None of the models fits" in repr(table) and all("zeros" in words for words in table["misfit"])
    assert "zeros" in predictive_check(averager, X, y, n_draws=300, random_state=0).misfits
    search = EvidenceSearch(BayesianGLM(random_state=0), {"columns": [[], [0]]}).fit(X, y)
    assert "zeros" in predictive_check(search, X, y, n_draws=300, random_state=0).misfits
    with pytest.raises(ValueError, match="does not keep its models"):
        compare(search, check=(X, y))
    with pytest.raises(TypeError, match="no estimator of this library"):
        predictive_check(EvidenceFeatureSelector().fit(X, y), X, y)


def test_only_some_of_the_models_fit():
    X, y = visits(200)
    fits = {
        name: BayesianGLM(name, sampler=FAST, random_state=0).fit(X, y)
        for name in ("poisson", "negative_binomial")
    }
    table = compare(fits, check=dict(X=X, y=y, n_draws=300))
    text = repr(table)
    assert text.count("misfit") == 3 and "None of the models" not in text  # one cell, and what it means
    assert max(map(len, text.splitlines())) <= 80 and "misfit" not in compare(fits).columns


def test_categories_of_two_classes_are_not_those_of_one():
    rng = np.random.default_rng(8)
    label = rng.random(200) < 0.4
    X = (rng.random((200, 3)) < np.where(label, 0.9, 0.1)[:, None]).astype(object)
    X[rng.random(X.shape) < 0.1] = None
    one, two = (BayesianCategoricalMixture(K, missing="ignore", random_state=0).fit(X) for K in (1, 2))
    found = predictive_check(one, X, n_draws=300, random_state=0)
    assert len(found.misfits) >= 3 and found.table.index[0] == "association[x0, x1]"
    assert predictive_check(two, X, n_draws=300, random_state=0).misfits == []
    a, b = rng.integers(0, 3, (2, 50))
    V = stats.contingency.association(stats.contingency.crosstab(a, b).count)
    assert association(np.append(a, -1), np.append(b, 1)) == pytest.approx(V)


def test_draws_and_statistics_that_cannot_answer_are_refused():
    X, y = visits(60)
    fit = BayesianGLM("poisson", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="280 can"):
        predictive_check(fit, X, y, n_draws=100)
    with pytest.raises(ValueError, match="'kurtosis' is neither"):
        predictive_check(fit, X, y, statistics=["kurtosis"])
    with pytest.raises(ValueError, match="one number"):
        predictive_check(fit, X, y, statistics=[np.sort])
    with pytest.raises(ValueError, match="no statistic"):
        predictive_check(fit, X, y, statistics=[])
    with pytest.raises(TypeError, match="no trials"):
        linear = BayesianLinearRegression(sampler=Exact()).fit(X, y)
        predictive_check(linear, X, y, trials=1)
    assert _predictive_check._enough(None, 91) == 80 * 91


def test_rows_that_another_program_replicated():
    _, y = visits(300)
    replicated = np.random.default_rng(6).poisson(y.mean(), size=(400, 300))
    check = replicated_check(y, replicated)
    assert {"variance", "zeros", "maximum"} == set(check.misfits) and "dispersion" not in check.table.index
    with pytest.raises(ValueError, match=r"\(n_draws, 300\)"):
        replicated_check(y, replicated[:, :10])
    with pytest.raises(ValueError, match="n_draws=20"):
        replicated_check(y, replicated[:20])


@pytest.mark.slow
def test_means_of_groups_are_looked_at():
    rng = np.random.default_rng(0)
    g = rng.integers(0, 8, 160)
    X = np.column_stack([rng.standard_normal(160), g])
    y = X[:, 0] + 2 * rng.standard_normal(8)[g] + rng.standard_normal(160)
    without = BayesianLinearRegression(columns=[0], random_state=0).fit(X, y)
    with_groups = BayesianLinearRegression(terms=[Group(1)], random_state=0).fit(X, y)
    assert "sd of group means" in predictive_check(without, X, y, by=1, random_state=0).misfits
    found = predictive_check(with_groups, X, y, by=1, random_state=0)
    assert not found.misfits and "mean[3.0]" in found.table.index
    many = predictive_check(with_groups, X, y, by=np.arange(160) // 4, random_state=0)
    assert "lowest group mean" in many.table.index
    weighted = predictive_check(with_groups, X, y, by=1, sample_weight=np.arange(160) % 2, random_state=0)
    assert not weighted.misfits
    with pytest.raises(ValueError, match="one label for each of 160 rows"):
        predictive_check(with_groups, X, y, by=g[:5])
