"""What is drawn: the artists have the estimators' numbers."""

import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from estimator_cases import data, estimator
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import sgevidence
from sgevidence import (
    SGAIS,
    BayesianGLM,
    BayesianHMM,
    BayesianLinearRegression,
    EvidenceFeatureSelector,
    EvidenceModelAverager,
    Factor,
    Group,
    Smooth,
    compare,
)
from sgevidence.displays import (
    CoefficientsDisplay,
    ComparisonDisplay,
    EffectsDisplay,
    EvidenceDisplay,
    InclusionProbabilitiesDisplay,
    MixtureDisplay,
    ModelProbabilitiesDisplay,
    PredictiveCheckDisplay,
    RunDisplay,
    SmoothDisplay,
    StatesDisplay,
    SurpriseDisplay,
    SurvivalDisplay,
    WeightsDisplay,
)
from sgevidence.model_selection import probability_interval

OUT_OF_RACE_NATS = 20.0  # behind the best: further down nothing is drawn


@pytest.fixture(scope="module")
def averager():
    """Two mixtures of two clusters, in calls that the estimators cut at 100 rows."""
    X, _ = data("gmm", n=120)
    annealing = SGAIS(30, max_particles=30, proposal=None)
    models = [(f"K={K}", estimator("gmm", n_components=K, sampler=annealing)) for K in (1, 2)]
    found = EvidenceModelAverager(models, random_state=0)
    for start in range(0, 120, 30):
        found.partial_fit(X[start : start + 30])
    return found


@pytest.fixture(scope="module")
def linear():
    return estimator("linear").fit(*data("linear"))


@pytest.fixture(scope="module")
def with_terms():
    """Groups whose numbers are their effects, and the curve x² less its mean."""
    rng = np.random.default_rng(0)
    group, x = rng.integers(0, 6, 300), rng.uniform(10, 14, 300)
    y = 2.0 * group + (x - 12) ** 2 + 0.1 * rng.standard_normal(300)
    model = BayesianLinearRegression(terms=[Group(1), Smooth(0), Factor(2)], random_state=0)
    return model.fit(np.column_stack([x, group, rng.integers(0, 2, 300)]), y)


def test_levels_are_sorted_by_their_effects(with_terms):
    display = EffectsDisplay.from_estimator(with_terms, term="1 | 1")
    assert [float(label.get_text()) for label in display.ax_.get_yticklabels()] == [5, 4, 3, 2, 1, 0]
    assert np.ptp(display.draws.mean(axis=0)) == pytest.approx(10, abs=0.1)
    every = EffectsDisplay.from_estimator(with_terms)
    assert every.draws.shape[1] == 8 and {one.partition(":")[0] for one in every.levels} == {"1 | 1", "2"}
    with pytest.raises(ValueError, match="no term 'x'"):
        EffectsDisplay.from_estimator(with_terms, term="x")


def test_a_curve_stands_on_the_axis_of_the_data(with_terms, linear):
    display = SmoothDisplay.from_estimator(with_terms)
    mean, truth = display.draws.mean(axis=0), (display.x - 12) ** 2
    assert display.x[0] == pytest.approx(10, abs=0.1) and display.x[-1] == pytest.approx(14, abs=0.1)
    assert np.std(mean - truth) < 0.05
    with pytest.raises(ValueError, match="no curve"):
        SmoothDisplay.from_estimator(linear)
    two = SmoothDisplay(x=display.x, draws=display.draws, column="age | yes").plot()
    assert two.ax_.get_xlabel() == "age" and "age | yes" in two.ax_.get_ylabel()


def test_shares_of_the_variance(with_terms):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(10, 14, 3000), rng.integers(0, 6, 3000), rng.integers(0, 2, 3000)])
    shares = with_terms.variance_shares(X)
    found = dict(zip(shares.index, shares["share"]))
    total = 4 * 35 / 12 + 16 * 4 / 45 + 0.01
    assert found["1 | 1"] == pytest.approx(4 * 35 / 12 / total, rel=0.05)
    assert found["s(0)"] == pytest.approx(16 * 4 / 45 / total, rel=0.1)
    assert found["noise"] == pytest.approx(0.01 / total, rel=0.2) and found["2"] < 0.001


def fake(log_Z, std=0.1, path=()):
    n, z, s = (np.array(column, dtype=float) for column in zip(*path)) if path else (np.zeros(0),) * 3
    return SimpleNamespace(
        log_evidence_=log_Z,
        log_evidence_std_=std,
        evidence_path_=dict(n_samples=n, log_evidence=z, log_evidence_std=s),
    )


def regression_of_times():
    X, t = np.repeat([[0.0], [1.0]], 6, axis=0), np.arange(1.0, 13.0)
    return BayesianGLM("exponential", random_state=0).fit(X, t), X, t


def band(ax, k=0):
    """Vertices of the k-th band."""
    return ax.collections[k].get_paths()[0].vertices


def test_every_display_has_a_name_of_its_own_and_an_axis(averager, linear, with_terms):
    X, _ = data("gmm", n=120)
    drawn = [
        EvidenceDisplay.from_estimator(linear),
        ComparisonDisplay.from_estimators(averager),
        ModelProbabilitiesDisplay.from_estimator(averager),
        RunDisplay.from_estimator(linear),
        SurpriseDisplay.from_estimator(linear),
        MixtureDisplay.from_estimator(averager.named_estimators_["K=2"], X),
        CoefficientsDisplay.from_estimator(linear),
        WeightsDisplay.from_estimator(averager),
        StatesDisplay.from_estimator(BayesianHMM(random_state=0).fit(X[:, :1]), X[:, :1]),
        SurvivalDisplay.from_estimator(*regression_of_times()),
        PredictiveCheckDisplay.from_estimator(linear, *data("linear"), random_state=0, n_draws=300),
        InclusionProbabilitiesDisplay.from_estimator(EvidenceFeatureSelector().fit(*data("linear"))),
        EffectsDisplay.from_estimator(with_terms),
        SmoothDisplay.from_estimator(with_terms),
    ]
    assert {type(d).__name__ for d in drawn} | {"BayesFactorDisplay"} == set(sgevidence.displays.__all__)
    for display in drawn:
        every = display.axes_ if hasattr(display, "axes_") else [display.ax_]
        assert all(ax.figure is display.figure_ for ax in every)
        assert all(ax.get_ylabel() or ax.get_yticklabels() for ax in every) and every[-1].get_xlabel()


def test_displays_draw_on_given_axes(averager, linear):
    X, _ = data("gmm", n=120)
    _, (left, right, *three) = plt.subplots(5)
    n = len(plt.get_fignums())
    assert EvidenceDisplay.from_estimator(linear, ax=left).ax_ is left
    assert MixtureDisplay.from_estimator(averager.estimators_[1], X, ax=right).ax_ is right
    assert RunDisplay.from_estimator(linear, axes=three).axes_.tolist() == three
    assert len(plt.get_fignums()) == n
    with pytest.raises(ValueError, match="three axes, got 2"):
        RunDisplay.from_estimator(linear, axes=three[:2])


def test_matplotlib_is_asked_for_when_something_is_drawn(linear, monkeypatch):
    """That the package does without: ``test_import_is_silent``."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (EvidenceDisplay.from_estimator, RunDisplay.from_estimator):
        with pytest.raises(ImportError, match=r"Display needs matplotlib: pip install matplotlib"):
            draw(linear)


def test_evidence_and_its_band(linear):
    pipeline = make_pipeline("passthrough", estimator("linear")).fit(*data("linear"))
    ax = EvidenceDisplay.from_estimator(pipeline, name="mine", n_std=3, color="red").ax_
    path, line = pipeline[-1].evidence_path_, ax.lines[0]
    np.testing.assert_array_equal(line.get_xdata(), [0, *path["n_samples"]])
    np.testing.assert_array_equal(line.get_ydata(), [0, *path["log_evidence"]])
    assert (line.get_label(), line.get_color()) == ("mine", "red")
    half = np.ptp(band(ax)[band(ax)[:, 0] == 90, 1])
    assert half == pytest.approx(2 * 3 * path["log_evidence_std"][-1])


def test_relative_evidence_has_the_error_of_the_difference():
    good = [(10, -5.0, 0.3), (20, -10.0, 0.3), (30, -12.0, 0.3)]
    poor = [(10, -4.0, 0.4), (20, -11.0, 0.4), (25, -9.0, 0.1), (30, -112.0, 0.4)]
    models = {"poor": fake(-112.0, 0.4, poor), "good": fake(-12.0, 0.3, good)}
    ax = EvidenceDisplay.from_estimators(models, relative=True, n_std=1).ax_
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [0, 10, 20, 30])  # 25 is only in one of them
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0, 1, -1, -100])
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [0, 0, 0, 0])
    assert np.ptp(band(ax, 0)[band(ax, 0)[:, 0] == 10, 1]) == pytest.approx(2 * 0.5)
    assert np.ptp(band(ax, 1)[:, 1]) == 0
    assert ax.get_ylim()[0] == -OUT_OF_RACE_NATS and "minus that of good" in ax.get_ylabel()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["poor (−100.0)", "good"]
    assert ax.get_legend().get_title().get_text() == "model (nats at the end)"
    absolute = EvidenceDisplay.from_estimators(models).ax_
    assert absolute.lines[0].get_ydata()[-1] == -112 and absolute.get_ylim()[0] < -112


def test_an_averagers_models_are_drawn_where_they_have_seen_the_same_rows(averager):
    """A call that is cut inside takes its pieces in an order of each model's own."""
    assert 100 in averager.estimators_[0].evidence_path_["n_samples"]
    for line in EvidenceDisplay.from_estimators(averager, relative=True).ax_.lines:
        assert line.get_xdata().tolist() == [0, 30, 60, 90, 120]


def test_errors_that_cannot_be_seen_are_said():
    for std, words in ((0.001, "± 2 standard errors, thinner than the lines"), (3.0, "± 2 standard errors")):
        models = {"a": fake(-12.0, std, [(10, -5.0, std)]), "b": fake(-14.0, std, [(10, -14.0, std)])}
        label = EvidenceDisplay.from_estimators(models).ax_.get_ylabel()
        assert label.splitlines() == ["log evidence (nats)", words]
        shorter = "shorter than the marks" in ComparisonDisplay.from_estimators(models).ax_.get_xlabel()
        assert shorter == (std == 0.001)


def test_lines_differ_without_colour():
    models = {str(k): fake(-k, path=[(10, -k, 0.1)]) for k in range(35)}
    lines = EvidenceDisplay.from_estimators(models).ax_.lines
    assert len({(line.get_color(), line._unscaled_dash_pattern) for line in lines}) == 35


def test_comparison_has_the_table_on_it():
    models = {"a": fake(-10.0, 0.3), "b": fake(-12.0, 0.4), "c": fake(-1000.0)}
    display = ComparisonDisplay.from_estimators(models, n_std=1)
    ax, table = display.ax_, compare(models)
    assert [t.get_text() for t in ax.get_yticklabels()] == list(table.index) == ["a", "b", "c"]
    points, bars = ax.containers[0][0], ax.containers[0][2][0].get_segments()
    np.testing.assert_array_equal(points.get_xdata(), [0, -2])
    np.testing.assert_allclose(bars[1][:, 0], [-2.5, -1.5])
    assert ax.get_xlim()[0] > -OUT_OF_RACE_NATS and "−990.0" in {t.get_text() for t in ax.texts}
    right = [t.get_text() for t in ax.child_axes[0].get_yticklabels()]
    p, low, high = (table[k].iloc[0] for k in ("probability", "probability_low", "probability_high"))
    assert right[0] == f"{p:.2f} ({low:.2f} to {high:.2f})" and right[2] == "< 0.005"
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the best on top
    everyone_far = ComparisonDisplay.from_estimators({"a": fake(0.0), "b": fake(-50.0)}).ax_
    assert everyone_far.get_xlim()[0] < -0.9


@pytest.mark.parametrize("stacked", [False, True])
def test_probabilities_along_the_rows(averager, stacked):
    ax = ModelProbabilitiesDisplay.from_estimator(averager, stacked=stacked).ax_
    path = averager.weights_path_
    if stacked:
        top = band(ax, 1)
        np.testing.assert_allclose(top[:, 1].max(), 1.0)
    else:
        for line, weights in zip(ax.lines, path["weights"].T):
            np.testing.assert_array_equal(line.get_xydata(), np.column_stack([path["n_samples"], weights]))
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["K=1", "K=2"]


@pytest.mark.parametrize(
    "method, label",
    [("bma", "model probability"), ("dynamic", "model probability"), ("stacking", "stacking weight")],
)
def test_weights_of_stacking_are_not_called_probabilities(method, label):
    X, _ = data("gmm", n=60)
    averager = EvidenceModelAverager([("one", estimator("gmm", n_components=1))], method=method).fit(X)
    assert ModelProbabilitiesDisplay.from_estimator(averager).ax_.get_ylabel() == label


def test_run_shows_the_path(linear):
    axes, path = RunDisplay.from_estimator(linear).axes_, linear.evidence_path_
    for ax, name in zip(axes, ("n_annealing_steps", "ess", "n_moves")):
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), path[name])
        assert ax.get_ylim()[0] == 0 and ax.get_ylim()[1] >= path[name].max()
    np.testing.assert_array_equal(axes[1].lines[1].get_ydata(), path["n_particles"])


def test_surprise_is_the_growth_of_the_evidence(averager):
    model = averager.estimators_[0]
    display = SurpriseDisplay.from_estimator(model, change_points=[60])
    path = model.evidence_path_
    np.testing.assert_allclose(
        display.log_predictive * np.diff([0, *path["n_samples"]]), path["log_predictive"]
    )
    np.testing.assert_array_equal(display.ax_.patches[0].get_data().edges, [0, *path["n_samples"]])
    assert display.ax_.lines[0].get_xdata() == [60, 60]
    thinned = fake(-9.0, path=[(10, -4.0, 0.1), (30, -9.0, 0.1)])
    np.testing.assert_allclose(SurpriseDisplay.from_estimator(thinned).log_predictive, [-0.4, -0.25])


def test_change_points_come_from_whoever_has_them(linear):
    monitor = SimpleNamespace(change_points_=np.array([20, 40]))
    assert SurpriseDisplay.from_estimator(linear, change_points=monitor).change_points.tolist() == [20, 40]
    itself = fake(-4.0, path=[(10, -4.0, 0.1)])
    itself.change_points_ = [5]
    assert SurpriseDisplay.from_estimator(itself).change_points.tolist() == [5]
    assert len(SurpriseDisplay.from_estimator(linear).change_points) == 0


def test_a_monitor_and_its_series():
    """A monitor has the log predictive of each step of the stream, of one row or more."""
    rows = np.arange(30.0)
    path = {"n_samples": np.array([10, 12, 30]), "log_predictive": np.array([-10.0, -4.0, -9.0])}
    monitor = SimpleNamespace(log_predictive_path_=path, change_points_=[22, 25])
    display = SurpriseDisplay.from_estimator(monitor, series=rows)
    data = display.ax_.patches[0].get_data()
    np.testing.assert_array_equal(data.edges, [0, 10, 12, 30])
    np.testing.assert_array_equal(data.values, [-1.0, -2.0, -0.5])
    np.testing.assert_array_equal(display.ax_series_.lines[0].get_ydata(), rows)
    assert len(display.ax_.lines) == 2 and len(display.ax_series_.lines) == 3
    assert len(display.ax_series_.get_legend().get_texts()) == 1
    _, pair = plt.subplots(2)
    assert display.plot(pair).ax_ is pair[1] and display.ax_series_ is pair[0]


def test_ellipses_are_the_components(averager):
    model, (X, _) = averager.named_estimators_["K=2"], data("gmm", n=120)
    ax = MixtureDisplay.from_estimator(model, X, columns=(1, 0)).ax_
    for k in range(2):
        for patch, n_std in zip(ax.patches[2 * k : 2 * k + 2], (1, 2)):
            np.testing.assert_allclose(patch.center, model.means_[k, ::-1])
            np.testing.assert_allclose(
                (patch.width, patch.height), 2 * n_std * np.sqrt(model.covariances_[k, ::-1])
            )
        np.testing.assert_array_equal(ax.collections[k].get_offsets(), X[model.predict(X) == k][:, ::-1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "x0")
    assert ax.get_legend().get_texts()[0].get_text() == f"component 0: {model.weights_[0]:.0%}"
    for wrong in ((0, 0), (0, 2)):
        with pytest.raises(ValueError, match="columns must be two of the 2 columns"):
            MixtureDisplay.from_estimator(model, X, columns=wrong)


@pytest.mark.parametrize("kind", ["linear", "softmax"])
def test_coefficients_and_their_intervals(kind):
    model = estimator(kind).fit(*data(kind))
    ax = CoefficientsDisplay.from_estimator(model).ax_
    draws = model.posterior_samples()["coef"].reshape(-1, 1 if kind == "linear" else 3, 2)
    assert len(ax.lines) == 1 + draws.shape[1]  # the first is at zero
    for k in range(draws.shape[1]):
        np.testing.assert_allclose(ax.lines[k + 1].get_xdata(), draws[:, k].mean(axis=0))
        for collection, bounds in zip(ax.collections[2 * k : 2 * k + 2], ([0.05, 0.95], [0.25, 0.75])):
            ends = np.array(collection.get_segments())[:, :, 0].T
            np.testing.assert_allclose(ends, np.quantile(draws[:, k], bounds, axis=0))
    classes = [] if kind == "linear" else ["0", "1", "2"]
    legend = ax.get_legend()
    assert [t.get_text() for t in legend.get_texts()] == classes if classes else legend is None


def test_coefficients_have_the_names_that_a_pipeline_gives_and_their_class():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.standard_normal((80, 3)), columns=["age", "dose", "weight"])
    y = np.where(X["dose"] + rng.logistic(size=80) > 0, "sick", "healthy")
    chosen = ColumnTransformer([("scaled", StandardScaler(), ["weight", "dose"])])
    model = BayesianGLM("bernoulli", columns=[1], random_state=0)
    ax = CoefficientsDisplay.from_estimator(make_pipeline(chosen, model).fit(X, y)).ax_
    assert [t.get_text() for t in ax.get_yticklabels()] == ["scaled__dose"]
    assert ax.get_xlabel().startswith("coefficient of class sick (")
    selector = make_pipeline(chosen, EvidenceFeatureSelector()).fit(X, X["dose"] + rng.standard_normal(80))
    names = [
        t.get_text() for t in InclusionProbabilitiesDisplay.from_estimator(selector).ax_.get_yticklabels()
    ]
    assert names == ["scaled__weight", "scaled__dose"]
    unnamed = make_pipeline(FunctionTransformer(np.asarray), model).fit(X, y)
    assert CoefficientsDisplay.from_estimator(unnamed).ax_.get_yticklabels()[0].get_text() == "x1"


def test_coefficients_need_coefficients(averager):
    with pytest.raises(ValueError, match="BayesianGMM has no coefficients"):
        CoefficientsDisplay.from_estimator(averager.estimators_[0])


def test_weights_of_models_and_of_components(averager, linear):
    ax = WeightsDisplay.from_estimator(averager).ax_
    np.testing.assert_array_equal([bar.get_width() for bar in ax.patches], averager.weights_)
    bounds = np.array(ax.collections[0].get_segments())[:, :, 0].T
    expected = probability_interval(averager.log_evidences_, averager.log_evidences_std_)
    np.testing.assert_allclose(bounds, expected)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["K=1", "K=2"]
    mixture = averager.named_estimators_["K=2"]
    ax = WeightsDisplay.from_estimator(mixture).ax_
    np.testing.assert_array_equal([bar.get_width() for bar in ax.patches], mixture.weights_)
    bounds = np.array(ax.collections[0].get_segments())[:, :, 0].T
    np.testing.assert_allclose(
        bounds, np.quantile(mixture.posterior_samples()["weights"], [0.05, 0.95], axis=0)
    )
    with pytest.raises(ValueError, match="BayesianLinearRegression has no weights"):
        WeightsDisplay.from_estimator(linear)


def test_inclusion_probabilities_are_bars():
    X, y = data("linear")
    selector = EvidenceFeatureSelector().fit(np.column_stack([X, X[::-1]]), y)
    display = InclusionProbabilitiesDisplay.from_estimator(make_pipeline("passthrough", selector))
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_array_equal(widths, selector.inclusion_probabilities_)
    filled = [bar.get_facecolor()[:3] != (1.0, 1.0, 1.0) for bar in display.ax_.patches]
    assert filled == selector.get_support().tolist() == [True, True, False, False]
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["x0", "x1", "x2", "x3"]
    with pytest.raises(NotFittedError):
        InclusionProbabilitiesDisplay.from_estimator(EvidenceFeatureSelector())


def test_states_of_sequences():
    X = np.repeat(["a", "b", "a", "b"], 8)[:, None]
    model = BayesianHMM(2, emission="categorical", random_state=0).fit(X, lengths=[16, 16])
    _, pair = plt.subplots(2)
    display = StatesDisplay.from_estimator(model, X, lengths=[16, 16], axes=pair)
    assert tuple(display.axes_) == tuple(pair)
    assert display.series.tolist() == np.repeat([0.0, 1.0, 0.0, 1.0], 8).tolist()
    np.testing.assert_allclose(display.probabilities, model.predict_proba(X, lengths=[16, 16]))
    assert display.starts.tolist() == [16]
    assert [text.get_text() for text in display.axes_[1].get_legend().get_texts()] == [
        "state 0: 50%",
        "state 1: 50%",
    ]
    with pytest.raises(ValueError, match="StatesDisplay draws on two axes, got 1"):
        display.plot(plt.gca())
    with pytest.raises(TypeError, match="StatesDisplay draws a fitted estimator with transition_matrix_"):
        StatesDisplay.from_estimator(3, X)


@pytest.mark.parametrize("wrong, got", [([1], "got list: "), ({"a": 1}, "got dict: "), (3, "got int$")])
def test_what_a_display_cannot_draw(wrong, got):
    advice = {EvidenceDisplay: "from_estimators draws several"}
    for display in (
        EvidenceDisplay,
        RunDisplay,
        ModelProbabilitiesDisplay,
        WeightsDisplay,
        CoefficientsDisplay,
        SurpriseDisplay,
        InclusionProbabilitiesDisplay,
    ):
        message = f"{display.__name__} draws a fitted estimator with .*_.*, {got}"
        if got.endswith(" "):
            message += advice.get(display, "give one of them")
        with pytest.raises(TypeError, match=message):
            display.from_estimator(wrong)
    with pytest.raises(TypeError, match=f"MixtureDisplay draws a fitted estimator with means_, {got}"):
        MixtureDisplay.from_estimator(wrong, np.ones((3, 2)))
    with pytest.raises(TypeError, match="EvidenceDisplay draws a fitted estimator with evidence_path_"):
        EvidenceDisplay.from_estimators([3])


def test_observed_statistics_are_drawn_among_those_replicated():
    """In units of half the replicates' interval; beyond six of them there is an arrow."""
    rng = np.random.default_rng(0)
    y, replicated = rng.poisson(3.0, 50) + 20.0, rng.poisson(3.0, size=(400, 50))
    display = PredictiveCheckDisplay.from_predictions(y, replicated, statistics=["mean", "variance"])
    low, middle, high = np.quantile(display.check.replicated, [0.05, 0.5, 0.95], axis=0)
    far, near = display.ax_.lines[-2:]
    assert far.get_marker() == ">" and far.get_xdata()[0] == 6.0
    assert near.get_marker() == "o" and near.get_color() != far.get_color()
    assert near.get_xdata()[0] == pytest.approx((y.var() - middle[1]) / ((high - low)[1] / 2))
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["mean", "variance"]


def test_curves_of_all_levels_stand_in_one_picture(rng):
    pytest.importorskip("formulae")
    x, g = rng.uniform(0, 3, 120), np.resize(list("ab"), 120)
    frame = pd.DataFrame({"x": x, "g": g, "y": np.sin(x) * (g == "a") + 0.1 * rng.normal(size=120)})
    model = BayesianLinearRegression(formula="y ~ s(x, by=g)", random_state=0).fit(frame)
    display = SmoothDisplay.from_estimator(model)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["a", "b"]
    assert (display.column, display.levels) == ("x", ["a", "b"]) and len(display.ax_.lines) == 2
    for level, draws in zip("ab", display.draws):
        one = SmoothDisplay.from_estimator(model, column=f"x | {level}")
        assert np.array_equal(one.draws, draws) and one.ax_.get_legend() is None
    assert np.array_equal(SmoothDisplay.from_estimator(model, column="x").draws, display.draws)
