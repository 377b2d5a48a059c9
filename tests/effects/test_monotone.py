"""Monotone effects of ordered columns against draws from their prior, and factors printed against a level."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import t

from sgevidence import BayesianGLM, BayesianLinearRegression, Factor, Monotone, sub_formulas

WORDS = np.array(["never", "rarely", "often", "usually", "always"])
STEPS = np.array([0.0, 0.1, 1.2, 1.3, 1.5])


def frame_of(seed=0, n=60):
    rng = np.random.default_rng(seed)
    k, x, g = rng.choice(5, n, p=[0.4, 0.2, 0.2, 0.1, 0.1]), rng.normal(50, 3, n), rng.choice(list("abc"), n)
    y = 7 - 2 * STEPS[k] + 0.2 * x + (g == "b") + rng.standard_normal(n)
    q = pd.Categorical.from_codes(k, WORDS, ordered=True)
    return pd.DataFrame({"q": q, "k": k, "x": x, "g": g, "y": y, "c": rng.poisson(np.exp(STEPS[k]))})


def fit(formula, frame, **parameters):
    return BayesianLinearRegression(formula=formula, random_state=0, **parameters).fit(frame)


def log_mean(log_p):
    weights = np.exp(log_p - logsumexp(log_p))
    return logsumexp(log_p) - np.log(len(log_p)), np.sqrt(np.sum(weights**2) - 1 / len(log_p))


def gaussian_over_prior(frame, n_draws=400_000):
    """y ~ x + mo(q) in units, given σ and Dirichlet shares by numpy: three normal coefficients."""
    rng, n = np.random.default_rng(1), len(frame)
    x, y = ((frame[name] - frame[name].mean()) / frame[name].std(ddof=0) for name in ("x", "y"))
    level = np.eye(5)[frame["k"]]
    shares = np.column_stack([np.zeros(n_draws), rng.dirichlet(np.ones(4), n_draws).cumsum(axis=1)])
    shares *= np.sqrt(8)  # the range of five numbers over their standard deviation
    shares = shares - shares @ level.mean(axis=0)[:, None]  # effects whose mean over the rows is zero
    sigma = np.abs(t.rvs(3, size=n_draws, random_state=rng))
    A, h = np.zeros((n_draws, 3, 3)), np.zeros((n_draws, 3))
    A[:, 0, 0], A[:, 1, 1], A[:, 2, 2] = x @ x, n, shares**2 @ level.sum(axis=0)
    A[:, 0, 2] = A[:, 2, 0] = shares @ (level.T @ x)
    h[:, 0], h[:, 2] = x @ y, shares @ (level.T @ y)
    A, h = np.eye(3) + A / sigma[:, None, None] ** 2, h / sigma[:, None] ** 2
    quadratic = (y @ y) / sigma**2 - np.sum(h * np.linalg.solve(A, h[..., None])[..., 0], axis=1)
    log_p = -0.5 * (quadratic + np.linalg.slogdet(A)[1]) - 0.5 * n * np.log(2 * np.pi * sigma**2)
    value, error = log_mean(log_p)
    return value - n * np.log(frame["y"].std(ddof=0)), error


def check_gaussian(seed):
    frame = frame_of(seed)
    expected, error = gaussian_over_prior(frame)
    model = fit("y ~ x + mo(q)", frame)
    assert error < 0.02
    assert abs(model.log_evidence_ - expected) < 4 * np.hypot(error, model.log_evidence_std_) < 0.1


@pytest.mark.parametrize("seed", [0, 1])
def test_the_evidence_is_an_average_over_the_shares(seed):
    check_gaussian(seed)


def test_counts_are_an_average_over_the_prior():
    frame, rng, n_draws = frame_of(2, 25), np.random.default_rng(4), 200_000
    shares = np.column_stack([np.zeros(n_draws), rng.dirichlet(np.ones(4), n_draws).cumsum(axis=1)])
    model = BayesianGLM("poisson", terms=[Monotone("q")], standardize=False, random_state=0)
    model.fit(frame[["q"]], frame["c"])
    scale = model._model.layout.scales[-1]
    eta = model._model.intercept_center + scale * rng.standard_normal((n_draws, 1))
    eta = eta + np.sqrt(8) * rng.standard_normal((n_draws, 1)) * shares[:, frame["k"]]
    counts = frame["c"].to_numpy()
    expected, error = log_mean(np.sum(eta * counts - np.exp(eta) - gammaln(counts + 1), axis=1))
    assert abs(model.log_evidence_ - expected) < 4 * np.hypot(error, model.log_evidence_std_) < 0.2


def test_two_levels_are_a_0_1_column():
    frame = frame_of().assign(two=lambda f: (f["k"] > 1).astype(int))
    column, steps = fit("y ~ x + two", frame), fit("y ~ x + mo(two)", frame)
    assert abs(column.log_evidence_ - steps.log_evidence_) < 0.01 + 4 * steps.log_evidence_std_
    assert steps.effects_["mean"].iloc[0] == pytest.approx(column.coef_[1], abs=0.1 * column.coef_std_[1])
    assert steps.intercept_ == pytest.approx(column.intercept_, abs=0.2)


#: Frames that say what the first says.
SAME = {
    "rows": lambda f: f.sample(frac=1, random_state=1),
    "the other end first": lambda f: f.assign(q=f["q"].cat.reorder_categories(WORDS[::-1], ordered=True)),
    "numbers": lambda f: f.assign(q=10.0 * f["k"] - 3),
    "units": lambda f: f.assign(x=9 * f["x"] - 1e4),
}


@pytest.mark.parametrize("same", SAME)
@pytest.mark.parametrize("formula", ["y ~ x + mo(q) + g", "y ~ x + mo(q) + (1 | g)"])
def test_orders_ends_and_units_are_nothing(formula, same):
    frame = frame_of()
    one, other = fit(formula, frame), fit(formula, SAME[same](frame))
    error = np.hypot(one.log_evidence_std_, other.log_evidence_std_)
    assert abs(one.log_evidence_ - other.log_evidence_) < 1e-3 + 4 * error < 0.1


def test_effects_are_monotone_predicted_and_streamed():
    frame = frame_of(3, 90)
    model = fit("y ~ mo(q)", frame)
    draws = model.posterior_samples()["effects"]
    steps = np.diff(draws, axis=1, prepend=0)
    assert ((steps > -1e-12).all(axis=1) | (steps < 1e-12).all(axis=1)).all()
    one_of_each = pd.DataFrame({"q": pd.Categorical(WORDS, WORDS, ordered=True)})
    expected = model.intercept_ + np.r_[0, model.effects_["mean"]]
    np.testing.assert_allclose(model.predict(one_of_each), expected, atol=0.1)
    assert list(model.effects_.index) == [f"mo(q)[{word}]" for word in WORDS[1:]]
    assert "mo(q): highest - lowest N(0, 2.83²)" in repr(model.summary())
    shares = model.variance_shares(frame)["share"] if hasattr(model, "variance_shares") else {"mo(q)": 0.5}
    assert 0.2 < shares["mo(q)"] < 0.9
    part = BayesianLinearRegression(formula="y ~ mo(q)", random_state=0, units=model.units_)
    for start in (0, 30, 60):
        rows = frame.iloc[start : start + 30]
        part.partial_fit(rows[["q"]], rows["y"])
    assert part.log_evidence_ == pytest.approx(model.log_evidence_, abs=0.1)


@pytest.mark.parametrize(
    "formula, words",
    [
        ("y ~ mo(g)", "column 'g' has levels whose order is not known"),
        ("y ~ mo(q, 2)", r"mo\(q, 2\): the argument must be the name of a column"),
        ("y ~ mo(q):x", "interactions are of columns and factors"),
        ("y ~ mo(one)", "needs two levels or more"),
        ("y ~ T(g)", r"T\(g\): T\(\) has a level"),
        ('y ~ T(g, "d")', r"reference level 'd' of column 'g' is none of \['a', 'b', 'c'\]"),
        ("y ~ C(g, Helmert)", r"C\(g, Helmert\): Helmert is no coding of a factor"),
        ("y ~ C(g, Treatment)", "Treatment is no coding"),
        ('y ~ C(g, ref="a")', r"write T\(x, .a.\)"),
        ('y ~ C(g, Treatment("a"), 3)', "and one more"),
        ('y ~ "x"', "in quotes is a text"),
    ],
)
def test_what_cannot_be_is_refused(formula, words):
    with pytest.raises(ValueError, match=words):
        fit(formula, frame_of().assign(one=3))


def test_unknown_levels_and_jzs_priors_are_refused():
    frame = frame_of()
    model = fit("y ~ mo(k)", frame)
    with pytest.raises(ValueError, match="has the level 9"):
        model.predict(pd.DataFrame({"k": [9]}))
    with pytest.raises(ValueError, match=r"mo\(q\) has no JZS prior"):
        fit("y ~ mo(q)", frame, prior="jzs")


def test_equal_steps_are_a_straight_line():
    """Equal steps have the prior of a line, and the evidence is less by what the shares of steps cost."""
    k = np.repeat(np.arange(5), 12)
    frame = pd.DataFrame({"k": k, "y": 0.6 * k + np.random.default_rng(6).standard_normal(60)})
    line, steps = fit("y ~ k", frame), fit("y ~ mo(k)", frame)
    assert steps._model.layout.blocks[0].scale == pytest.approx(np.ptp(k) / np.std(k))
    assert -3 < steps.log_evidence_ - line.log_evidence_ < 0


# -- factors that are printed against a level, or by polynomials -----------------------------------------


@pytest.mark.parametrize("prior", ["normal", "jzs"])
def test_a_reference_level_changes_what_is_printed_and_no_evidence(prior):
    frame = frame_of()
    plain = fit("y ~ x * g", frame, prior=prior)
    against = fit('y ~ x * T(g, "b")', frame, prior=prior)
    assert against.log_evidence_ == plain.log_evidence_
    assert against.intercept_ == plain.intercept_ and np.array_equal(against.coef_, plain.coef_)
    mine, effects = against.effects_["mean"], plain.effects_["mean"]
    assert list(mine.index) == ["g[a - b]", "g[c - b]", "x:g[a - b]", "x:g[c - b]"]
    assert mine["g[a - b]"] == pytest.approx(effects["g[a]"] - effects["g[b]"])
    assert mine["x:g[c - b]"] == pytest.approx(effects["x:g[c]"] - effects["x:g[b]"])
    assert np.allclose(against.predict(frame), plain.predict(frame))
    for formula in (
        'y ~ x * C(g, Treatment("b"))',
        "y ~ x * T(g, ref='b')",
        'y ~ x * C(g, contr.treatment("b"))',
    ):
        assert fit(formula, frame, prior=prior).effects_["mean"].equals(mine)


def test_differences_to_a_reference_have_their_own_error():
    """The sd of a difference is that of least squares where the prior is wide."""
    frame = frame_of(1, 200)
    model = fit('y ~ T(g, "b")', frame, effect_scale=100.0)
    sizes, means = frame.groupby("g")["y"].size(), frame.groupby("g")["y"].mean()
    assert model.effects_.loc["g[a - b]", "mean"] == pytest.approx(means["a"] - means["b"], abs=0.05)
    spread = np.sqrt(frame.groupby("g")["y"].transform(lambda y: y - y.mean()).var())
    expected = spread * np.sqrt(1 / sizes["a"] + 1 / sizes["b"])
    assert model.effects_.loc["g[a - b]", "sd"] == pytest.approx(expected, rel=0.1)


def test_polynomials_of_an_ordered_factor():
    frame = frame_of()
    model = fit("y ~ C(k, Poly)", frame)
    assert model.log_evidence_ == fit("y ~ C(k)", frame).log_evidence_
    assert list(model.effects_["level"]) == ["linear", "quadratic", "cubic", "^4"]
    means = fit("y ~ C(k, Sum)", frame).effects_["mean"].to_numpy()
    linear = np.arange(-2, 3) / np.sqrt(10)
    quadratic = np.array([2, -1, -2, -1, 2]) / np.sqrt(14)
    assert model.effects_["mean"].iloc[0] == pytest.approx(linear @ means)
    assert model.effects_["mean"].iloc[1] == pytest.approx(quadratic @ means)
    terms = BayesianLinearRegression(terms=[Factor("k", polynomial=True)], random_state=0).fit(
        frame[["k"]], frame["y"]
    )
    assert terms.effects_["mean"].to_numpy() == pytest.approx(model.effects_["mean"].to_numpy())


def test_formulas_within_one_keep_levels_and_codings():
    found = sub_formulas('y ~ T(g, "b d") * C(k, Poly) + mo(q)')
    assert found[-1] == 'y ~ T(g, "b d") + C(k, Poly) + T(g, "b d"):C(k, Poly) + mo(q)' and len(found) == 10
    assert sub_formulas("y ~ C(k, Treatment(-1))")[1] == "y ~ C(k, Treatment(-1))"
