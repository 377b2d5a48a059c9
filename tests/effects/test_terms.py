"""Terms and formulas given to the estimators."""

import numpy as np
import pandas as pd
import pytest
from effects_by_hand import gaussian_by_hand
from sklearn.base import clone

from sgevidence import (
    BayesianGLM,
    BayesianLinearRegression,
    EvidenceSearch,
    Factor,
    Group,
    Interaction,
    Smooth,
    sub_formulas,
    term_probabilities,
)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n, g = 90, np.repeat(np.arange(9), 10)
    days = np.tile(np.arange(10.0), 9) + 7
    dose = rng.integers(0, 2, n)
    y = (
        20
        + 3 * rng.standard_normal(9)[g]
        + (1 + 0.5 * rng.standard_normal(9))[g] * days
        + rng.standard_normal(n)
    )
    found = {
        "days": days,
        "subject": np.array([f"s{k}" for k in g]),
        "dose": dose,
        "arm": np.where(dose == 1, "drug", "control"),
        "site": rng.choice(["north", "south", "west"], n),
        "z": rng.gamma(2.0, 1.0, n),
        "y": y,
    }
    return pd.DataFrame(found)


def fitted(frame, terms, columns, estimator=None, y="y", **parameters):
    estimator = BayesianLinearRegression(random_state=0) if estimator is None else estimator
    model = clone(estimator).set_params(terms=terms, **parameters)
    return model.fit(frame[columns], frame[y])


@pytest.mark.parametrize("slopes_only", [False, True])
def test_the_evidence_of_groups_is_that_of_dense_covariances(frame, slopes_only):
    """Columns and y are brought to their units by hand."""
    part = frame.iloc[::4]
    term = Group("subject", by="days", intercept=False) if slopes_only else Group("subject")
    model = fitted(part, [term], ["days", "subject"])
    x, y = ((part[name] - part[name].mean()) / part[name].std(ddof=0) for name in ("days", "y"))
    code = pd.factorize(part["subject"], sort=True)[0]
    X = np.column_stack([x, np.ones(len(x)), x if slopes_only else np.ones(len(x)), code])
    reference, error = gaussian_by_hand(model._model.layout, X, y.to_numpy())
    reference -= len(y) * np.log(part["y"].std(ddof=0))
    assert abs(model.log_evidence_ - reference) < 4 * np.hypot(error, model.log_evidence_std_)


@pytest.mark.parametrize("estimator", [BayesianLinearRegression(), BayesianGLM("bernoulli", random_state=0)])
def test_a_factor_of_two_levels_is_its_0_1_column(frame, estimator):
    y = "y" if isinstance(estimator, BayesianLinearRegression) else "dose"
    second = frame["z"] > 1.5
    both = frame.assign(a=second.astype(int), b=np.where(second, "yes", "no"))
    column = fitted(both, None, ["days", "a"], estimator, y)
    factor = fitted(both, [Factor("b")], ["days", "b"], estimator, y)
    assert factor.log_evidence_ == pytest.approx(column.log_evidence_, abs=1e-8)
    effects = factor.effects_["mean"].to_numpy()
    assert effects.sum() == pytest.approx(0, abs=1e-9)
    assert effects[1] - effects[0] == pytest.approx(column.coef_[1], abs=0.2 * column.coef_std_[1])


def test_the_order_of_levels_is_nothing(frame):
    one = fitted(frame, [Factor("site")], ["days", "site"])
    other = fitted(frame, [Factor("site", categories=["west", "north", "south"])], ["days", "site"])
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-8)


TERMS = [
    Group("subject", by="days"),
    Interaction("days", "z"),
    Interaction("z", Factor("site")),
    Smooth("z", n_basis=6),
]


def test_units_and_origins_of_columns_and_y_are_nothing(frame):
    columns = ["days", "z", "subject", "site"]
    model = fitted(frame, TERMS, columns)
    other = frame.assign(days=24 * frame["days"] - 4000, z=0.01 * frame["z"] + 9, y=1000 * frame["y"] + 5)
    moved = fitted(other, TERMS, columns)
    assert moved.log_evidence_ + len(frame) * np.log(1000) == pytest.approx(model.log_evidence_, abs=1e-6)
    assert moved.coef_[0] == pytest.approx(model.coef_[0] * 1000 / 24, rel=1e-6)
    stds = [m.posterior_samples()["effect_stds"].mean(axis=0) for m in (model, moved)]
    assert stds[1][:2] == pytest.approx(stds[0][:2] * [1000, 1000 / 24], rel=1e-6)


def test_a_stream_is_exact(frame):
    whole = fitted(frame, [Group("subject", by="days")], ["days", "subject"])
    part = clone(whole).set_params(units=whole.units_)
    for start in range(3):
        rows = frame.iloc[start::3]
        part.partial_fit(rows[["days", "subject"]], rows["y"])
    assert part.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)


def test_a_stream_may_begin_with_a_single_level(frame):
    whole = fitted(frame, [Group("subject", by="days")], ["days", "subject"])
    part = clone(whole).set_params(units=whole.units_)
    for subject in frame["subject"].unique():
        rows = frame[frame["subject"] == subject]
        part.partial_fit(rows[["days", "subject"]], rows["y"])
    assert part.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)


def test_a_stream_learns_new_levels(frame):
    whole = fitted(frame, [Group("subject", by="days")], ["days", "subject"])
    part = clone(whole).set_params(units=whole.units_)
    for start in range(0, 90, 30):  # three subjects at a time
        rows = frame.iloc[start : start + 30]
        part.partial_fit(rows[["days", "subject"]], rows["y"])
    assert part.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)
    assert list(part.effects_["level"]) == list(whole.effects_["level"])


def test_predictions_of_known_and_new_levels(frame):
    model = fitted(frame, [Group("subject")], ["days", "subject"])
    rows = frame[["days", "subject"]].iloc[[0, 0, 0]].assign(subject=["s0", "new", "other"])
    mean, std = model.predict(rows, return_std=True)
    assert std[1] > 1.5 * std[0]
    between = model.posterior_samples()["effect_stds"].mean()
    assert std[1] == pytest.approx(np.hypot(between, model.noise_std_), rel=0.3)
    effect = model.effects_.loc["1 | subject[s0]", "mean"]
    assert mean[0] - mean[1] == pytest.approx(effect, abs=0.5)
    assert model.score_samples(rows, frame["y"][:3]).shape == (3,)
    assert model.sample_y(rows, 2, random_state=0).shape == (3, 2)


def test_a_new_level_of_a_factor_is_refused_by_name(frame):
    model = fitted(frame, [Factor("site")], ["days", "site"])
    with pytest.raises(ValueError, match="'east'"):
        model.predict(frame[["days", "site"]].assign(site="east"))


def test_an_array_has_columns_by_number(frame):
    code = pd.factorize(frame["subject"])[0]
    X = np.column_stack([frame["days"], code])
    model = BayesianLinearRegression(terms=[Group(1)], random_state=0).fit(X, frame["y"])
    named = fitted(frame, [Group("subject")], ["days", "subject"])
    assert model.log_evidence_ == pytest.approx(named.log_evidence_, abs=1e-8)


def test_offsets_and_weights(frame):
    """An offset is y moved; a weight of two is a row twice."""
    X, y = frame[["subject"]], frame["y"].to_numpy() / 5 - 6
    offset = 0.1 * frame["days"].to_numpy()
    model = BayesianGLM("gaussian", terms=[Group("subject")], standardize=False)
    moved = clone(model).fit(X, y - offset)
    assert clone(model).fit(X, y, offset=offset).log_evidence_ == pytest.approx(moved.log_evidence_, abs=1e-8)
    counts = frame["dose"]
    model = BayesianGLM("poisson", terms=[Group("subject")], random_state=0, standardize=False)
    heavy = clone(model).fit(X, counts, sample_weight=np.where(np.arange(90) < 20, 2.0, 1.0))
    twice = clone(model).fit(pd.concat([X, X[:20]]), np.r_[counts, counts[:20]])
    assert heavy.log_evidence_ == pytest.approx(twice.log_evidence_, abs=0.1)


def test_known_and_conjugate_noise(frame):
    """Other priors of σ, of subjects that do not differ, against the closed form of a model without terms."""
    x = frame[["days"]]
    frame = frame.assign(y=frame["days"] + np.random.default_rng(1).standard_normal(90))
    for noise in ({"noise_std": 3.0}, {"noise_prior": (2.0, 1.0)}, {"noise_scale": 0.3}):
        plain = BayesianLinearRegression(**noise).fit(x, frame["y"])
        nearly = fitted(frame, [Group("subject", scale=1e-6)], ["days", "subject"], **noise)
        assert abs(nearly.log_evidence_ - plain.log_evidence_) < 0.05


def test_many_levels_are_drawn_one_point_at_a_time(frame, monkeypatch):
    """From 10⁵ levels a batch has one point, and there are fewer points than draws."""
    frame = frame.assign(y=frame["days"] + np.random.default_rng(1).standard_normal(90))
    every = fitted(frame, [Group("subject")], ["days", "subject"])
    monkeypatch.setattr("sgevidence.effects._closed_form.BATCH_OF_LEVELS", 1)
    single = fitted(frame, [Group("subject")], ["days", "subject"])
    assert single.log_evidence_ == pytest.approx(every.log_evidence_, abs=1e-8)
    spread = every.particles_.std(axis=0) * len(every.particles_) ** -0.5
    assert single.particles_.shape == every.particles_.shape
    assert np.all(np.abs(single.particles_.mean(axis=0) - every.particles_.mean(axis=0)) < 6 * spread)


@pytest.mark.parametrize(
    "formula, terms, columns",
    [
        ("y ~ days + (1 | subject)", [Group("subject")], ["days", "subject"]),
        ("y ~ days + (1 + days | subject)", [Group("subject", by="days")], ["days", "subject"]),
        (
            "y ~ (0 + days | subject)",
            [Group("subject", by="days", intercept=False, origin=0)],
            ["days", "subject"],
        ),
        (
            "y ~ (1 | subject) + (0 + days | subject)",
            [Group("subject", by="days", correlated=False, origin=0)],
            ["days", "subject"],
        ),
        ("y ~ days * site", [Factor("site"), Interaction("days", Factor("site"))], ["days", "site"]),
        ("y ~ s(z, k=6)", [Smooth("z", n_basis=6)], ["z"]),
        ("y ~ (1 | site/arm)", [Group("site"), Group(("site", "arm"))], ["site", "arm"]),
    ],
)
def test_a_formula_is_its_terms(frame, formula, terms, columns):
    by_formula = BayesianLinearRegression(formula=formula, random_state=0).fit(frame)
    by_terms = fitted(frame, terms, columns)
    assert by_formula.log_evidence_ == pytest.approx(by_terms.log_evidence_, abs=1e-8)
    assert sorted(by_formula.feature_names_in_) == sorted(columns)
    rows = frame.drop(columns="y")[:5]
    assert np.allclose(by_formula.predict(rows), by_terms.predict(rows[columns]))


@pytest.mark.parametrize(
    "formula, words",
    [
        ("y ~ gamma(days)", "none of the functions"),
        ("days", "no response"),
        ("y ~ (days - 1 | subject)", r"1 or 0 first, as in \(1 \+ x \| g\)"),
        ("y ~ nothing", "'nothing'"),
        ("y ~ (days", "cannot be read"),
        ("y ~ days**2", "no power"),
        ("y ~ days + (1 | y)", "on the right"),
        ("y ~ site + C(site)", "in two terms"),
        ("y ~ days | subject", "from '|' on: effects of a group"),
        ("y ~ days % site", "from '%' on$"),
        ("y[yes] ~ days", "no level to choose"),
        ("y ~ s(z, k=8.9)", "s\\(z, k=8.9\\): k must be a whole number"),
        ("y ~ bs(z, df=days)", "bs\\(z, df=days\\): df must be a whole number"),
        ("y ~ bs(z, df=2)", "bs\\(z, df=2\\): df must be a whole number from 3 on"),
        ("y ~ days + (1 | nothing)", "no column 'nothing', .*'days'"),
        ("y ~ s(nothing)", "no column 'nothing', .*'days'"),
    ],
)
def test_a_formula_that_says_nothing_is_refused(frame, formula, words):
    with pytest.raises(ValueError, match=words):
        BayesianLinearRegression(formula=formula).fit(frame)


@pytest.mark.parametrize(
    "formula, right_sides",
    [
        ("y ~ a + s(z, k=6)", ["1", "a", "s(z, k=6)", "a + s(z, k=6)"]),
        ("y ~ 0 + a:b", ["0", "0 + a:b"]),
        ("y ~ (1 + x | g)", ["1", "(1 | g)", "(1 + x | g)"]),
        ("y ~ (0 + x | g) + (1 | g)", ["1", "(1 | g)", "(0 + x | g) + (1 | g)"]),
        ("y ~ x + (1 + x | g)", ["1", "(1 | g)", "x", "x + (1 | g)", "x + (1 + x | g)"]),
        ("y ~ x + s(x)", ["1", "x", "x + s(x)"]),
        ("y ~ (1 | g / h)", ["1", "(1 | g:h)", "(1 | g)", "(1 | g) + (1 | g:h)"]),
    ],
)
def test_formulas_within_one(formula, right_sides):
    assert [text.removeprefix("y ~ ") for text in sub_formulas(formula)] == right_sides


def test_an_interaction_comes_with_its_main_effects():
    found = sub_formulas("y ~ a * b + c")
    assert len(found) == 2 * 5 and all("a:b" not in text or "a + b" in text for text in found)
    with pytest.raises(ValueError, match="more than 4096 formulas"):
        sub_formulas("y ~ " + " + ".join(f"x{k}" for k in range(13)))


@pytest.mark.parametrize("kind", [object, "Int64", "boolean", float])
def test_numbers_of_any_type_are_numbers(frame, kind):
    """Objects that are numbers are no levels: they come from tables with missing cells."""
    typed = frame.assign(dose=frame["dose"].astype(kind))
    one, other = (BayesianLinearRegression(formula="y ~ dose").fit(f) for f in (typed, frame))
    assert one.log_evidence_ == other.log_evidence_ and one.coef_.shape == (1,)
    assert set(one.posterior_samples()) == {"coef", "intercept", "noise_std"}


def test_dates_are_no_levels_unless_somebody_says_so(frame):
    dated = frame.assign(when=pd.date_range("2020-01-01", periods=len(frame)) - pd.Timestamp("2020-01-01"))
    with pytest.raises(TypeError, match="dates or durations"):
        BayesianLinearRegression(formula="y ~ when").fit(dated)


def test_columns_of_a_formula_come_in_any_order(frame):
    model = BayesianLinearRegression(formula="y ~ days + (1 | subject)", random_state=0).fit(frame)
    rows = frame[["subject", "days"]][:3]
    assert np.array_equal(model.predict(rows), model.predict(rows[["days", "subject"]]))


def test_terms_are_as_probable_as_the_formulas_that_have_them(frame):
    model = BayesianLinearRegression(random_state=0)
    formulas = sub_formulas("y ~ days * arm + (1 + days | subject)")
    table = EvidenceSearch(model, {"formula": formulas}).fit(frame, frame["y"]).comparison_
    found = term_probabilities(table)["probability"]
    assert list(found.index) == ["days", "arm", "days:arm", "1 | subject", "days | subject"]
    by_hand = {
        "days:arm": "days:arm",
        "arm": " arm",
        "1 | subject": "subject",
        "days | subject": "(1 + days |",
    }
    for term, text in by_hand.items():
        has = [text in formula for formula in table["formula"]]
        assert found[term] == pytest.approx(table["probability"][has].sum(), abs=1e-12)
    assert found["arm"] >= found["days:arm"] and found["days | subject"] > 0.99
    with pytest.raises(ValueError, match="do not differ in a formula"):
        term_probabilities(table.drop(columns="formula"))


def test_a_term_is_one_in_whichever_way_it_is_written():
    table = pd.DataFrame({"formula": ["y ~ b*a", "y ~ a*b + (1 | g:h)", "y ~ 1 + (1 | h:g)", "y ~ b"]})
    found = term_probabilities(table.assign(probability=[0.1, 0.2, 0.3, 0.4]))
    assert found["probability"].round(9).to_dict() == {"a": 0.3, "b": 0.7, "a:b": 0.3, "1 | g:h": 0.5}
    lines = pd.DataFrame({"formula": ["y ~ x", "y ~ s(x)", "y ~ (1 + x | g)", "y ~ bs(x)"]})
    found = term_probabilities(lines.assign(probability=[0.1, 0.2, 0.3, 0.4]))["probability"]
    assert found["x"] == pytest.approx(0.6) and found["s(x)"] == pytest.approx(0.2)
    with pytest.raises(TypeError, match="comparison must be a table"):
        term_probabilities(BayesianLinearRegression())


def test_formulas_are_a_grid(frame):
    formulas = ["y ~ days", "y ~ days + (1 | subject)", "y ~ days + (1 + days | subject)"]
    model = BayesianLinearRegression(random_state=0)
    search = EvidenceSearch(model, {"formula": formulas}).fit(frame, frame["y"])
    assert search.best_params_ == {"formula": formulas[2]}


@pytest.mark.parametrize(
    "terms, words",
    [
        ([Group("nobody")], "'nobody'"),
        ([Group("subject", intercept=False)], "no effects"),
        ([Smooth("site")], "not of numbers"),
        ([Smooth("dose")], "fewer than three values"),
        ([Smooth("z", n_basis=3)], "n_basis"),
        ([Group("subject", scale=-1.0)], "positive"),
        ([Factor("arm", categories=["drug"])], "'control'"),
        ([Factor("arm", categories=0)], "categories must be"),
        ([Factor("arm", categories="drug")], "categories must be"),
        ([Factor("arm", scale=(1, -1))], "positive"),
        ([Factor("arm", scale=[])], "positive"),
        ([Group("subject", correlated="x")], "correlated must be"),
        ([Group(np.array([1.0, 2.0]))], "name or a number"),
        ([Group("subject", by=-1)], "no column -1"),
        ([Smooth("z", n_basis=(1,))], "n_basis"),
        ([Smooth("z", n_basis=7.5)], "n_basis"),
        ([Smooth("z"), Smooth("z", n_basis=6)], "in two terms"),
    ],
)
def test_terms_that_cannot_be_are_refused(frame, terms, words):
    with pytest.raises((ValueError, TypeError), match=words):
        fitted(frame, terms, sorted({"days", str(terms[0].column)} & set(frame.columns)))


def test_missing_levels_are_refused(frame):
    part = frame.assign(subject=frame["subject"].where(frame["days"] > 8))
    with pytest.raises(ValueError, match="missing"):
        fitted(part, [Group("subject")], ["days", "subject"])


def test_classes_with_groups(frame):
    model = BayesianGLM("bernoulli", formula="arm ~ days + (1 | subject)", random_state=0).fit(frame)
    assert set(model.predict(frame)) <= {"drug", "control"}
    assert model.predict_proba(frame[:4]).shape == (4, 2)
    assert 0 < model.log_evidence_std_ < 0.05
    assert "effect_stds[1 | subject]" in model.summary().to_string()
