"""B-splines as terms: other bases of the same space, factors of intervals, and what no unit changes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import BSpline as Piecewise
from sklearn.preprocessing import SplineTransformer

from sgevidence import (
    BayesianGLM,
    BayesianLinearRegression,
    BSpline,
    EvidenceWarning,
    Factor,
    Group,
    Smooth,
    load,
    save,
)
from sgevidence.displays import SmoothDisplay


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(7)
    x = 300 + 10 * rng.exponential(size=70)
    y = np.sin(x / 5) + 0.4 * rng.standard_normal(70)
    k = rng.poisson(np.exp(0.5 * np.sin(x / 5)))
    return pd.DataFrame({"x": x, "g": rng.choice(list("abc"), 70), "y": y, "k": k})


def by_hand(frame, df, degree, scale=1.0):
    """Log evidence with known σ = ½: the covariance of the rows, basis functions one by one."""
    x, y = frame["x"].to_numpy(), frame["y"].to_numpy()
    shares = np.arange(1, df - degree + 1) / (df - degree + 1)
    inner = np.quantile(x, shares, method="averaged_inverted_cdf")
    t = np.r_[[x.min()] * (degree + 1), inner, [x.max()] * (degree + 1)]
    B = np.column_stack([Piecewise(t, one, degree)(np.minimum(x, x.max() - 1e-9)) for one in np.eye(df + 1)])
    B = B - B.mean(axis=0)
    K = B @ (np.eye(df + 1) - 1 / (df + 1)) @ B.T  # coefficients are exchangeable, and their mean is nothing
    K = scale**2 * K / np.mean(np.diag(K))
    S, e = K + 1.0 + (0.5 / y.std()) ** 2 * np.eye(len(y)), (y - y.mean()) / y.std()
    log_det = np.linalg.slogdet(2 * np.pi * S)[1]
    return -0.5 * (e @ np.linalg.solve(S, e) + log_det) - len(y) * np.log(y.std())


@pytest.mark.parametrize("df, degree, scale", [(3, 3, 1.0), (6, 3, 0.7), (5, 1, 2.0), (4, 0, 1.0)])
def test_the_evidence_is_that_of_a_dense_covariance(frame, df, degree, scale):
    term = BSpline("x", df=df, degree=degree, scale=scale)
    model = BayesianLinearRegression(terms=[term], noise_std=0.5).fit(frame[["x"]], frame["y"])
    known = by_hand(frame, df, degree, scale)
    assert model.log_evidence_ == pytest.approx(known, abs=1e-6)


def test_a_polynomial_is_its_powers(frame):
    """The JZS prior has no basis: B-splines without knots are x, x² and x³."""
    u = frame["x"] - frame["x"].mean()
    powers = frame.assign(u=u, u2=u**2, u3=u**3)
    one, other = (
        BayesianLinearRegression(formula=formula, prior="jzs").fit(powers)
        for formula in ("y ~ bs(x)", "y ~ u + u2 + u3")
    )
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-6)


def test_steps_are_a_factor_of_intervals(frame):
    term = BSpline("x", df=3, degree=0)
    ends = np.quantile(frame["x"], [0.25, 0.5, 0.75], method="averaged_inverted_cdf")
    cut = frame.assign(part=np.searchsorted(ends, frame["x"], side="right"))
    curve = BayesianGLM("poisson", terms=[term], random_state=0).fit(frame[["x"]], frame["k"])
    scale = 1 / np.sqrt(1 - np.sum(cut["part"].value_counts(normalize=True) ** 2))
    factor = BayesianGLM("poisson", terms=[Factor("part", scale=scale)], random_state=0)
    factor.fit(cut[["part"]], frame["k"])
    assert curve.log_evidence_ == pytest.approx(factor.log_evidence_, abs=0.05)


@pytest.mark.parametrize("formula", ["y ~ bs(x, df=5)", "y ~ bs(x, df=4, degree=2) + x + (1 + x | g)"])
@pytest.mark.parametrize("unit, origin", [(1000.0, -7.0), (-0.01, 4.0)])
def test_no_unit_and_no_direction_counts(frame, formula, unit, origin):
    model = BayesianLinearRegression(formula=formula, random_state=0).fit(frame)
    moved = frame.assign(x=unit * frame["x"] + origin, y=60 * frame["y"] - 9)
    other = BayesianLinearRegression(formula=formula, random_state=0).fit(moved)
    error = 4 * np.hypot(model.log_evidence_std_, other.log_evidence_std_)  # slopes of a group turn, too
    assert abs(other.log_evidence_ + 70 * np.log(60) - model.log_evidence_) < max(1e-6, error * (unit < 0))
    assert np.allclose(other.predict(moved), 60 * model.predict(frame) - 9, atol=3.0)


def test_weights_are_rows(frame):
    weight = np.arange(70) % 3 + 1
    model = BayesianLinearRegression(terms=[BSpline("x", df=5)])
    twice = frame.loc[frame.index.repeat(weight)]
    heavy = model.fit(frame[["x"]], frame["y"], sample_weight=weight).log_evidence_
    assert heavy == pytest.approx(model.fit(twice[["x"]], twice["y"]).log_evidence_, abs=1e-8)


def test_beyond_the_range_the_end_value_stays_and_is_said(frame):
    model = BayesianLinearRegression(formula="y ~ bs(x, df=5)").fit(frame)
    rows = pd.DataFrame({"x": [frame["x"].max(), frame["x"].max() + 50, 0.0, frame["x"].min()]})
    with pytest.warns(EvidenceWarning, match="end value in 2 of these rows"):
        high, beyond, below, low = model.predict(rows)
    assert high == pytest.approx(beyond) and low == pytest.approx(below) and high != pytest.approx(low)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame)


def test_a_curve_of_inferred_flexibility_is_loaded(frame, tmp_path):
    model = BayesianLinearRegression(formula="y ~ s(x, k=6)").fit(frame)
    save(model, tmp_path / "m.zip")
    assert np.array_equal(load(tmp_path / "m.zip").predict(frame), model.predict(frame))


def test_a_stream_is_saved_and_drawn(frame, tmp_path):
    ends = [frame["x"].idxmin(), frame["x"].idxmax()]
    rows = pd.concat([frame.loc[ends], frame.drop(index=ends)])
    model = BayesianGLM("poisson", formula="k ~ bs(x, df=4) + (1 | g)", random_state=0)
    model.partial_fit(rows[:40])
    save(model, tmp_path / "m.zip")
    again = load(tmp_path / "m.zip").partial_fit(rows[40:])
    assert again.n_samples_seen_ == 70 and again.log_evidence_ == model.partial_fit(rows[40:]).log_evidence_
    assert "bs(x, df=4)[5]" in again.summary().index
    display = SmoothDisplay.from_estimator(again)
    eta = model.posterior_samples()["intercept"].mean() + display.draws.mean(axis=0)
    assert display.x[[0, -1]] == pytest.approx([frame["x"].min(), frame["x"].max()])
    assert 0.2 < np.corrcoef(eta, np.sin(display.x / 5))[0, 1]


@pytest.mark.parametrize(
    "term, words",
    [
        (BSpline("x", df=2), "df must be"),
        (BSpline("x", df=2.5), "df must be"),
        (BSpline("x", degree=-1), "degree must be"),
        (BSpline("g"), "not of numbers"),
        (BSpline("x", scale=0.0), "positive"),
    ],
)
def test_curves_that_cannot_be_are_refused(frame, term, words):
    with pytest.raises(ValueError, match=words):
        BayesianLinearRegression(terms=[term, Group("g")]).fit(frame[["x", "g"]], frame["y"])


@pytest.mark.parametrize("formula", ["y ~ bs(x, knots=3)", "y ~ g:bs(x)", "y ~ (bs(x) | g)"])
def test_formulas_that_say_more_are_refused(frame, formula):
    with pytest.raises(ValueError, match=r"bs\(x|two columns"):
        BayesianLinearRegression(formula=formula).fit(frame)


def test_curves_are_in_the_space_of_scikit_learn(frame):
    """With the line beyond the ends, which a curve of inferred flexibility has."""
    inner = [306.0, 312.0, 320.0]
    model = BayesianLinearRegression(terms=[Smooth("x", basis="bs", knots=inner)]).fit(
        frame[["x"]], frame["y"]
    )
    knots = np.r_[frame["x"].min(), inner, frame["x"].max()][:, None]
    theirs = SplineTransformer(degree=3, knots=knots, extrapolation="linear").fit(frame[["x"]].to_numpy())
    at = np.r_[frame["x"], np.linspace(290, 400, 40)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        curve = model.predict(pd.DataFrame({"x": at}))
    basis = theirs.transform(at[:, None])
    np.testing.assert_allclose(basis @ np.linalg.lstsq(basis, curve, rcond=None)[0], curve, atol=1e-8)
    assert np.linalg.matrix_rank(basis) == len(inner) + 4 < len(at)
