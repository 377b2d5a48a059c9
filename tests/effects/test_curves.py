"""Curves of levels, cyclic curves, bases and knots against covariances, integrals and invariances."""

import numpy as np
import pandas as pd
import pytest
from effects_by_hand import gaussian_by_hand
from scipy.interpolate import BSpline as Piecewise
from scipy.interpolate import CubicSpline

from sgevidence import (
    BayesianGLM,
    BayesianLinearRegression,
    BSpline,
    Factor,
    Interaction,
    Smooth,
    sub_formulas,
)
from sgevidence.displays import SmoothDisplay
from sgevidence.effects import Cycle
from sgevidence.effects._curves import Curve
from sgevidence.exceptions import EvidenceWarning
from sgevidence.history import Rows


def frame_of(seed=0, n=90):
    rng = np.random.default_rng(seed)
    x, g, who = rng.gamma(3.0, 2.0, n) + 40, rng.choice(list("abc"), n), rng.integers(0, 5, n)
    month = rng.integers(1, 13, n)
    mean = np.sin(x) * (g == "b") + 0.3 * x + np.cos(2 * np.pi * month / 12) + 0.4 * who
    y = mean + 0.5 * rng.standard_normal(n)
    found = {"x": x, "g": g, "who": who, "month": month, "y": y, "c": rng.poisson(np.exp(0.2 * (mean - 12)))}
    return pd.DataFrame(found)


def fit(formula, frame, **parameters):
    return BayesianLinearRegression(formula=formula, random_state=0, **parameters).fit(frame)


# -- evidence -----------------------------------------------------------------------------------------------


def check_evidence(formula, seed=0):
    """Against covariances of all rows, averaged over the prior of the standard deviations."""
    frame = frame_of(seed, 36)
    model = fit(formula, frame)
    read = model._read.read(frame)
    rows = model._units.rows(Rows.of(read, frame["y"].to_numpy()))
    expected, error = gaussian_by_hand(model._model.layout, rows.X, rows.y)
    expected -= len(frame) * np.log(model.units_.y_scale)
    assert abs(model.log_evidence_ - expected) < 4 * np.hypot(error, model.log_evidence_std_) < 0.3


BY_LEVEL = 'y ~ s(x, by=g, k=6) + s(month, bs="cc", period=12, k=5)'


@pytest.mark.parametrize(
    "formula", [BY_LEVEL, 'y ~ x + (1 | who) + s(month, bs="cc", period=12, by=who, k=5)']
)
def test_the_evidence_is_that_of_dense_covariances(formula):
    check_evidence(formula)


def signed_curves(signs):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": rng.uniform(0, 6, 150), "g": rng.choice(list("abc"), 150)})
    sign = frame["g"].map(dict(zip("abc", signs)))
    return frame.assign(y=sign * np.sin(2 * frame["x"]) + 0.4 * rng.standard_normal(150))


@pytest.mark.slow
def test_levels_with_the_same_curve_have_more_evidence_for_one_curve():
    one, three = signed_curves([1.0, 1.0, 1.0]), signed_curves([1.0, -1.0, 0.0])
    gain = [
        fit("y ~ s(x, by=g)", f).log_evidence_ - fit("y ~ g * x + s(x)", f).log_evidence_
        for f in (one, three)
    ]
    assert gain[0] < -5 and gain[1] > 20


# -- bases ---------------------------------------------------------------------------------------------------


def check_cycle():
    """Many harmonics are the periodic smoothing spline, whose covariance is a Bernoulli polynomial."""
    x = np.random.default_rng(0).uniform(-30, 30, 40)
    Z = Cycle(0.0, 7.0, 400).columns(x)
    d = np.mod(np.subtract.outer(x, x) / 7.0, 1.0)
    bernoulli = d**4 - 2 * d**3 + d**2 - 1 / 30
    np.testing.assert_allclose(Z @ Z.T, -30 * bernoulli, atol=1e-6)


def test_a_cyclic_curve_is_a_periodic_smoothing_spline():
    check_cycle()


@pytest.mark.parametrize(
    "term", [Smooth("x", 8, basis="bs"), Smooth("x", 8, basis="cr"), Smooth("x", basis="cr", knots=[3, 9])]
)
def test_departures_have_the_curvature_of_their_effects(term):
    rng = np.random.default_rng(1)
    x = rng.gamma(2.0, 2.0, 200)
    curve = Curve.of(x, np.ones(200), term, (0.0, 1.0))
    u = rng.standard_normal(curve.n_effects)
    f = Piecewise(curve.splines.knots, curve.from_basis @ u, 3)
    points = np.linspace(x.min(), x.max(), 400_001)
    curvature = np.mean(f.derivative(2)(points) ** 2) * np.ptp(x)
    assert curvature == pytest.approx(u @ u, rel=1e-3)
    assert curve.n_effects == (2 if term.knots is not None else 6)
    Z = curve.columns(x)
    assert np.abs(Z.T @ np.column_stack([np.ones(200), x])).max() < 1e-8 * 200 * x.max()
    assert np.mean(np.sum(Z**2, axis=1)) == pytest.approx(1.0)
    if term.basis == "cr":
        knots = np.unique(curve.splines.knots)
        natural = CubicSpline(knots, rng.standard_normal(len(knots)), bc_type="natural")(x)
        columns = np.column_stack([np.ones(200), x, Z])
        assert np.abs(natural - columns @ np.linalg.lstsq(columns, natural)[0]).max() < 1e-8


def test_knots_are_in_the_unit_of_the_column():
    frame = frame_of()
    moved = frame.assign(x=100 * frame["x"] - 7)
    for formula in (
        'y ~ s(x, bs="cr", knots=c(43, 46))',
        'y ~ s(x, bs="bs", knots=c(43, 46))',
        "y ~ bs(x, knots=c(43, 46))",
    ):
        other = formula.replace("43, 46", "4293, 4593")
        assert fit(other, moved).log_evidence_ == pytest.approx(fit(formula, frame).log_evidence_, abs=0.02)
    given = BayesianLinearRegression(terms=[BSpline("x", knots=[46, 43])], random_state=0).fit(
        frame[["x"]], frame["y"]
    )
    assert given.log_evidence_ == pytest.approx(fit("y ~ bs(x, knots=c(43, 46))", frame).log_evidence_)


# -- invariances, streams, predictions -----------------------------------------------------------------------

SAME = {
    "rows": lambda f: f.sample(frac=1, random_state=1),
    "levels": lambda f: f.assign(g=f["g"].map({"a": "z", "b": "ö", "c": "k"}), who=9 - f["who"]),
    "units": lambda f: f.assign(x=5e3 - 7 * f["x"]),
    "months": lambda f: f.assign(month=(5 - f["month"]) % 12),
}
FORMULAS = [
    'y ~ s(month, bs="cc", period=12) + g',
    pytest.param("y ~ s(x, by=g)", marks=pytest.mark.slow),
    pytest.param("y ~ s(x) + s(x, by=g)", marks=pytest.mark.slow),
    pytest.param('y ~ s(x, bs="cr") + s(month, period=12, by=g)', marks=pytest.mark.slow),
    pytest.param("y ~ (1 | who) + s(x, by=who, k=6)", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_orders_units_and_origins_are_nothing(formula):
    frame = frame_of()
    one = fit(formula, frame)
    for same in SAME.values():
        other = fit(formula, same(frame))
        error = np.hypot(one.log_evidence_std_, other.log_evidence_std_)
        assert abs(one.log_evidence_ - other.log_evidence_) < 1e-3 + 4 * error
        assert error < 0.06


@pytest.mark.slow
def test_the_order_of_terms_is_nothing():
    frame = frame_of()
    one, other = (
        fit(f, frame)
        for f in ("y ~ s(x, by=g) + s(month, period=12)", "y ~ s(month, period=12) + x:g + g + s(x, by=g)")
    )
    assert abs(one.log_evidence_ - other.log_evidence_) < 1e-3 + 4 * np.hypot(
        one.log_evidence_std_, other.log_evidence_std_
    )


def test_a_stream_of_cyclic_curves_is_exact_and_learns_levels():
    frame = frame_of().sort_values("who")
    formula = "y ~ (1 | who) + s(month, period=12, by=who, k=6)"
    whole = fit(formula, frame)
    part = BayesianLinearRegression(formula=formula, random_state=0, units=whole.units_)
    for start in range(0, 90, 30):
        rows = frame.iloc[start : start + 30]
        part.partial_fit(rows[["month", "who"]], rows["y"])
    assert part.log_evidence_ == pytest.approx(whole.log_evidence_, abs=4 * whole.log_evidence_std_)
    new = frame[["month", "who"]][:2].assign(who=99)
    assert (part.predict(new, return_std=True)[1] > part.predict(frame[:2], return_std=True)[1]).all()


@pytest.mark.slow
def test_a_stream_of_curves_of_levels_is_near_the_fit():
    frame = frame_of(2, 180)
    whole = fit("y ~ s(x, by=g)", frame)
    part = BayesianLinearRegression(formula="y ~ s(x, by=g)", random_state=0, units=whole.units_)
    for start in range(0, 180, 60):
        rows = frame.iloc[start : start + 60]
        part.partial_fit(rows[["x", "g"]], rows["y"])
    assert part.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1.0)  # knots by the first rows


def test_curves_are_predicted_and_drawn():
    frame = frame_of(3, 150)
    model = fit("y ~ s(x, by=g) + s(month, period=12)", frame)
    assert np.corrcoef(model.predict(frame), frame["y"])[0, 1] > 0.8
    assert set(model.effects_["term"]) == {"g", "x:g"}
    rows = pd.DataFrame({"x": [41.0, 44.0, 47.0], "g": "b", "month": 1})
    drawn = SmoothDisplay.from_estimator(model, column="x | b")
    shown = np.interp(rows["x"], drawn.x, drawn.draws.mean(axis=0))
    assert np.allclose(np.diff(shown), np.diff(model.predict(rows)), atol=0.15)
    cycle = SmoothDisplay.from_estimator(model, column="month")
    assert np.allclose(cycle.draws[:, 0], cycle.draws[:, -1]) and np.ptp(cycle.x) == pytest.approx(12)
    assert np.allclose(model.predict(rows), model.predict(rows.assign(month=13)))
    group = fit("y ~ (1 | who) + s(x, by=who, k=6)", frame)
    lines = [SmoothDisplay.from_estimator(group, column=f"x | {who}").draws.mean(axis=0) for who in range(2)]
    steps = [np.diff(group.predict(pd.DataFrame({"x": [42.0, 46.0], "who": who}))) for who in range(2)]
    assert np.allclose(
        np.ravel(steps), [np.diff(np.interp([42, 46], drawn.x, line))[0] for line in lines], atol=0.2
    )


def test_other_families_have_them():
    frame = frame_of()
    flat = BayesianGLM("poisson", formula="c ~ x", random_state=0).fit(frame)
    model = BayesianGLM("poisson", formula="c ~ x + s(month, period=12, k=6)", random_state=0).fit(frame)
    assert model.log_evidence_ > flat.log_evidence_ and model.log_evidence_std_ < 0.03
    by_level = BayesianGLM("poisson", formula="c ~ s(x, by=g, k=5)", random_state=0).fit(frame)
    assert by_level.log_evidence_std_ < 0.05


def test_a_formula_brings_the_lines_of_its_levels():
    frame = frame_of()
    by_formula = fit("y ~ s(x, by=g, k=6)", frame)
    terms = [Smooth("x", 6, by="g"), Factor("g"), Interaction("x", Factor("g"))]
    by_terms = BayesianLinearRegression(terms=terms, random_state=0).fit(frame[["x", "g"]], frame["y"])
    assert by_formula.log_evidence_ == pytest.approx(by_terms.log_evidence_, abs=1e-8)
    for formula in (
        "y ~ x * g + s(x, by=g, k=6)",
        "y ~ s(x, by=g, k=6) + g:x",
        'y ~ T(g, "b") + s(x, by=g, k=6)',
    ):
        assert fit(formula, frame).log_evidence_ == pytest.approx(by_formula.log_evidence_, abs=0.02)
    group = fit("y ~ (1 + x | who) + s(x, by=who, k=6)", frame)
    assert fit("y ~ (1 | who) + s(x, by=who, k=6)", frame).log_evidence_ == pytest.approx(
        group.log_evidence_, abs=1e-8
    )
    assert sub_formulas("y ~ g*x + s(x, by=g)")[-1] == "y ~ g + x + g:x + s(x, by=g)"
    assert len(sub_formulas("y ~ g*x + s(x, by=g)")) == 6
    assert len(sub_formulas("y ~ g + month + s(month, period=12)")) == 8


def test_a_curve_that_asks_for_more_splines_is_doubted():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.uniform(0, 1, 300)})
    frame["y"] = np.sin(30 * frame["x"]) + 0.5 * rng.standard_normal(300)
    with pytest.warns(
        EvidenceWarning, match=r"residuals of neighbouring values of x are alike: .* give k=20"
    ):
        few = fit("y ~ s(x, k=10)", frame)
    with pytest.warns(EvidenceWarning, match=r"s\(x\) is as rough as its splines allow: .* give k=40"):
        fit("y ~ s(x)", frame)
    many = fit("y ~ s(x, k=40)", frame)
    assert many.log_evidence_ > few.log_evidence_ + 50 and not many.warnings_
    for y in (frame["x"], np.sin(4 * frame["x"])):
        assert not fit("y ~ s(x)", frame.assign(y=y + 0.5 * rng.standard_normal(300))).warnings_
    weeks = frame.assign(week=7 * frame["x"], y=np.sign(np.sin(40 * np.pi * frame["x"])))
    with pytest.warns(EvidenceWarning, match=r"neighbouring values of week"):
        fit("y ~ s(week, period=7, k=6)", weeks)
    counts = frame.assign(c=rng.poisson(np.exp(1 + np.sin(40 * frame["x"]))))
    with pytest.warns(EvidenceWarning, match="give k=20"):
        BayesianGLM("poisson", formula="c ~ s(x, k=10)", random_state=0).fit(counts)
    with pytest.warns(EvidenceWarning, match="more knots"):
        fit('y ~ s(x, bs="bs", knots=c(0.5))', frame)


@pytest.mark.parametrize(
    "formula, words",
    [
        ("y ~ s(x, by=month)", "write C.month. . s.x, by=month. for a factor, .1 . month."),
        ("y ~ s(x, by=2)", "by must be the name of a column"),
        ("y ~ s(x, by=nobody)", "no column 'nobody'"),
        ('y ~ s(month, bs="cc")', "period=12 for months"),
        ('y ~ s(month, bs="cr", period=12)', "period=12 for months"),
        ("y ~ s(month, period=-12)", "period must be a positive number"),
        ("y ~ s(month, period=g)", "period must be a number"),
        ('y ~ s(g, bs="re")', r"bs must be one of 'ps', 'bs', 'cr', 'cc': for effects .* write \(1 \| g\)"),
        ('y ~ s(x, bs="xx")', "bs must be one of"),
        ("y ~ s(x, knots=c(42, 44))", "knots are those of basis='bs' and 'cr'"),
        ("y ~ bs(x, knots=c(42, g))", "knots must be numbers"),
        ("y ~ bs(x, knots=c(42, 42))", "different finite numbers"),
        ("y ~ bs(x, knots=c(1, 42))", "knots lie between"),
        ("y ~ bs(x, df=4, knots=c(42, 43))", "df and knots are given"),
        ("y ~ s(x, m=2)", r"s\(\) has the options k and by and bs and period and knots, and not m"),
    ],
)
def test_curves_that_cannot_be_are_refused(formula, words):
    with pytest.raises(ValueError, match=words):
        fit(formula, frame_of())


@pytest.mark.parametrize(
    "term, words",
    [
        (Smooth("x", basis="tp"), "basis must be"),
        (Smooth("x", by=["g"]), "by must be a column"),
        (Smooth("x", period="year"), "period must be a positive number"),
        (Smooth("x", basis="cr", knots="many"), "different finite numbers"),
    ],
)
def test_terms_that_cannot_be_are_refused(term, words):
    with pytest.raises((ValueError, TypeError), match=words):
        BayesianLinearRegression(terms=[term]).fit(frame_of()[["x", "g"]], frame_of()["y"])
