"""noise= and zeros=: predictors of σ and of the share of zeros, against quadrature and other models."""

import re

import numpy as np
import pandas as pd
import pytest
from effects_by_hand import half_t, over_prior
from scipy import stats
from scipy.special import expit, logit, logsumexp
from scipy.stats import norm

from sgevidence import BayesianGLM, BayesianLinearRegression, EvidenceSearch, prior_sensitivity
from sgevidence.effects import Smooth, _answer
from sgevidence.effects._curves import Curve
from sgevidence.models import Predicted

pytest.importorskip("formulae")


def frame_of(seed, n=40):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"x": rng.normal(50, 10, n), "g": rng.choice(["a", "b", "c"], n), "h": rng.gamma(2.0, 1.0, n)}
    )
    noise = np.exp(0.5 * (frame["g"] == "b") + 0.2 * frame["h"])
    frame["y"] = 0.05 * frame["x"] + noise * rng.standard_normal(n)
    frame["k"] = rng.poisson(np.exp(0.4 * frame["h"])) * (rng.random(n) > expit(frame["h"] - 2.0))
    return frame


def standard(values):
    return (values - np.mean(values)) / np.std(values)


def noise_by_hand(frame, columns, n_in_curve=0, log2_points=14):
    """Evidence of y ~ x over the prior of σ and c, columns in units of the prior; w and b in closed form.

    The last columns are those of a curve, whose scale τ is the last dimension.
    """
    x, y = standard(frame["x"].to_numpy()), standard(frame["y"].to_numpy())
    Phi = np.column_stack([x, np.ones(len(x))])
    pairs = (Phi[:, :, None] * Phi[:, None]).reshape(-1, 4)

    def log_likelihood(z):
        c = z[:, 1 : 1 + columns.shape[1]].copy()
        if n_in_curve:
            c[:, -n_in_curve:] *= half_t(z[:, -1:])
        # beyond, a density is nothing
        sigma = np.clip(half_t(z[:, :1]), 1e-4, 1e4) * np.exp(np.clip(c @ columns.T, -9, 9))
        C = np.eye(2) + (sigma**-2 @ pairs).reshape(-1, 2, 2)
        m = np.linalg.solve(C, ((y / sigma**2) @ Phi)[..., None])[..., 0]
        squares = np.sum(((y - m @ Phi.T) / sigma) ** 2, axis=1) + np.sum(m**2, axis=1)
        log_det = np.log(np.linalg.det(C)) + 2 * np.sum(np.log(sigma), axis=1)
        return -0.5 * (squares + log_det + len(y) * np.log(2 * np.pi))

    value, error = over_prior(log_likelihood, 1 + columns.shape[1] + (n_in_curve > 0), log2_points)
    return value - len(y) * np.log(np.std(frame["y"])), error


def contrasts_of(levels):
    """Orthonormal contrasts, of which two levels differ by N(0, 1), centred over the rows."""
    names = sorted(set(levels))
    H = np.linalg.qr(np.column_stack([np.ones(len(names)), np.eye(len(names))[:, 1:]]))[0][:, 1:]
    Z = np.sqrt(0.5) * H[[names.index(level) for level in levels]]
    return Z - Z.mean(axis=0)


COLUMNS = {
    "~ h": lambda frame: standard(frame["h"].to_numpy())[:, None],
    "~ g": lambda frame: contrasts_of(frame["g"]),
    "~ h + g": lambda frame: np.column_stack([standard(frame["h"].to_numpy()), contrasts_of(frame["g"])]),
}


def check_noise(noise, seed):
    frame = frame_of(seed)
    expected, error = noise_by_hand(frame, COLUMNS[noise](frame))
    for model in (BayesianLinearRegression, lambda **how: BayesianGLM("gaussian", **how)):
        found = model(formula="y ~ x", noise=noise, random_state=seed).fit(frame)
        assert abs(found.log_evidence_ - expected) < 4 * np.hypot(error, found.log_evidence_std_) + 1e-3 < 0.3


@pytest.mark.parametrize("noise", COLUMNS)
@pytest.mark.parametrize("seed", [11, pytest.param(12, marks=pytest.mark.slow)])
def test_evidence_of_a_noise_that_depends_on_columns(noise, seed):
    check_noise(noise, seed)


def check_curve(seed, n, k):
    frame, rng = frame_of(seed, n), np.random.default_rng([seed, 1])
    frame["y"] = 0.05 * frame["x"] + np.exp(np.sin(2 * frame["h"])) * rng.standard_normal(n)
    h = standard(frame["h"].to_numpy())
    Z = Curve.of(h, np.ones(n), Smooth("h", n_basis=k), (0.0, 1.0)).columns(h)
    expected, error = noise_by_hand(frame, np.column_stack([h, Z]), Z.shape[1])
    found = BayesianLinearRegression(formula="y ~ x", noise=f"~ s(h, k={k})", random_state=seed).fit(frame)
    assert abs(found.log_evidence_ - expected) < 4 * np.hypot(error, found.log_evidence_std_) < 0.25


@pytest.mark.slow
def test_evidence_of_a_curve_of_the_noise():
    check_curve(51, 30, 5)


def test_a_sum_over_scales_with_another_prior_is_caught(install_broken):
    """Half as wide; without one the sum has no end."""
    install_broken(_answer, "over_scale", "-0.5 * z**2", "-2.0 * z**2")
    with pytest.raises(AssertionError):
        check_curve(51, 30, 5)


@pytest.mark.slow
def test_draws_of_a_curve_of_the_noise():
    rng = np.random.default_rng(53)
    frame = pd.DataFrame({"x": rng.uniform(0, 1, 300), "z": rng.standard_normal(300)})
    truth = np.exp(np.sin(6 * frame["x"]))
    frame["y"] = frame["z"] + truth * rng.standard_normal(300)
    model = BayesianLinearRegression(formula="y ~ z", noise="~ s(x, k=8)", random_state=0).fit(frame)
    std = model.predict(frame, return_std=True)[1]
    assert (
        np.corrcoef(np.log(std), np.log(truth))[0, 1] > 0.95 and "noise_stds[s(x)]" in model.summary().index
    )
    assert np.all(abs(model.sample_y(frame[:30], 2000, random_state=1).std(axis=1) / std[:30] - 1) < 0.2)
    assert "τ half-t(3, 1)" in str(model.summary())
    plain = fit(frame, "y ~ z", noise="~ x").log_evidence_
    assert model.log_evidence_ > plain + 10
    again = [fit(frame, "y ~ z", noise=noise) for noise in ("~ s(x, k=8, bs='cr')", "~ s(x, k=8, period=1)")]
    assert min(one.log_evidence_ for one in again) > plain + 10


def test_a_wrong_link_is_caught(install_broken):
    install_broken(Predicted, "law_of_rows", "own[place] * anp.exp(...)", "own[place] * anp.exp(2 * (...))")
    with pytest.raises(AssertionError):
        check_noise("~ h", 11)


def test_a_predictor_without_an_effect_is_the_plain_model():
    """With a prior scale of nearly zero, by the engine that a predictor has; and without a column."""
    frame = frame_of(3, 60).assign(who=np.arange(60) % 6)
    for family in ("gaussian", "student_t"):
        plain, none, same = (
            BayesianGLM(family, formula="y ~ x", random_state=0, **how).fit(frame)
            for how in ({}, {"noise": "~ C(who)", "effect_scale": 1e-5}, {"noise": "~ 1"})
        )
        error = 4 * np.hypot(plain.log_evidence_std_, none.log_evidence_std_) + 1e-3
        assert abs(none.log_evidence_ - plain.log_evidence_) < error
        assert same.log_evidence_ == plain.log_evidence_


def test_a_group_beside_a_noise_by_quadrature():
    """y ~ 1 + (1 | who) with noise ~ h: covariances of all rows over the prior of τ, σ and c."""
    frame = frame_of(5, 36).assign(who=np.arange(36) % 6)
    y, h = standard(frame["y"].to_numpy()), standard(frame["h"].to_numpy())
    same = frame["who"].to_numpy()[:, None] == frame["who"].to_numpy()

    def log_likelihood(z):
        sigma = half_t(z[:, 1:2]) * np.exp(z[:, 2:] * h)
        S = half_t(z[:, 0])[:, None, None] ** 2 * same + 1.0 + sigma[:, :, None] ** 2 * np.eye(len(y))
        L = np.linalg.cholesky(S)
        e = np.linalg.solve(L, np.broadcast_to(y[:, None], (len(z), len(y), 1)))[..., 0]
        log_det = np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
        return -0.5 * np.sum(e**2, axis=1) - log_det - 0.5 * len(y) * np.log(2 * np.pi)

    expected, error = over_prior(log_likelihood, 3, 12)
    expected -= len(y) * np.log(np.std(frame["y"]))
    found = BayesianLinearRegression(formula="y ~ 1 + (1 | who)", noise="~ h", random_state=0).fit(frame)
    assert abs(found.log_evidence_ - expected) < 4 * np.hypot(error, found.log_evidence_std_) + 1e-3 < 0.2


@pytest.mark.parametrize("family", ["zero_inflated_poisson", "hurdle_poisson"])
def test_evidence_of_a_share_of_zeros(family):
    """k ~ 1 with zeros ~ h by a grid over the intercept, π and c."""
    frame = frame_of(7, 60)
    k, h = frame["k"].to_numpy(), standard(frame["h"].to_numpy())
    b0 = np.log((k.sum() + 0.5) / len(k))
    z = np.linspace(-3.5, 3.5, 71)
    log_w = norm.logpdf(z) + np.log(z[1] - z[0])
    near = np.linspace(-0.1, 0.7, 41)  # prior standard deviations of the intercept, far from both ends
    log_near = norm.logpdf(near) + np.log(near[1] - near[0])
    law = stats.poisson(np.exp(b0 + 2.5 * near)[:, None])
    share = expit(logit(norm.cdf(z))[:, None, None] + z[:, None] * h)  # (π, c, n)
    if family == "zero_inflated_poisson":
        zero = np.logaddexp(np.log(share), np.log1p(-share) + law.logpmf(0)[:, None, None])
        rest = np.log1p(-share) + law.logpmf(k)[:, None, None]
    else:
        zero = np.log(share) + np.zeros((41, 1, 1, 1))
        rest = np.log1p(-share) + (law.logpmf(k) - law.logsf(0))[:, None, None]
    joint = np.where(k == 0, zero, rest).sum(axis=-1)
    weights = log_near[:, None, None] + log_w[:, None] + log_w
    expected = logsumexp(joint + weights)
    assert all(logsumexp((joint + weights)[end]) < expected - 12 for end in (0, -1))
    found = BayesianGLM(family, formula="k ~ 1", zeros="~ h", random_state=0).fit(frame)
    assert abs(found.log_evidence_ - expected) < 4 * found.log_evidence_std_ + 0.01 < 0.1
    assert (found.posterior_samples()["zeros"][:, 0] * np.std(frame["h"])).std() < 1.0


def fit(frame, formula="y ~ x", **how):
    return BayesianLinearRegression(formula=formula, random_state=0, **how).fit(frame)


@pytest.mark.parametrize(
    "noise",
    [
        "~ poly(h, 2) + g",
        "~ log(h) + I(h**2)",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("~ g * h", "~ bs(h, df=5)")),
    ],
)
def test_nothing_depends_on_units_orders_and_names(noise):
    frame = frame_of(21, 70)
    model = fit(frame, noise=noise)
    words = re.sub(r"\bh\b", "`länge in m`", noise)
    scaled = "log" not in noise and "I(" not in noise
    others = [
        (frame.sample(frac=1, random_state=1), noise, 0.0),
        (frame[list(frame.columns[::-1])], noise, 0.0),
        (frame.assign(g=frame["g"].map({"a": "z", "b": "1", "c": "k k"})), noise, 0.0),
        (frame.assign(y=1000 * frame["y"] + 7), noise, -len(frame) * np.log(1000)),
        (frame.rename(columns={"h": "länge in m"}), words, 0.0),
    ]
    if scaled:
        others.append((frame.assign(h=1e3 * frame["h"] + 5e4), noise, 0.0))
    if "+" in noise:
        left, right = noise[2:].split(" + ")
        others.append((frame, f"~ {right} + {left}", 0.0))
    for other, text, more in others:
        found = fit(other, noise=text)
        error = 4 * np.hypot(model.log_evidence_std_, found.log_evidence_std_) + 1e-3
        assert abs(found.log_evidence_ - more - model.log_evidence_) < error


def test_predictions_draws_and_names():
    frame = frame_of(30, 400)
    model = fit(frame, noise="~ g + h")
    named = model.posterior_samples()
    assert named["coef"].shape[1] == 1 and named["noise"].shape[1] == 4
    assert {"noise[h]", "noise[g[a]]", "noise[g[c]]"} <= set(model.summary().index)
    # truth: log σ has 0.2 h, and 0.5 more at b than at the others
    c = named["noise"].mean(axis=0)
    assert abs(c[0] - 0.2) < 0.1 and abs(c[2] - c[1] - 0.5) < 0.3
    mean, std = model.predict(frame, return_std=True)
    truth = np.exp(0.5 * (frame["g"] == "b") + 0.2 * frame["h"])
    assert np.corrcoef(std, truth)[0, 1] > 0.95 and abs(np.mean(std / truth) - 1) < 0.15
    draws = model.sample_y(frame[:40], 2000, random_state=1)
    assert np.all(abs(draws.std(axis=1) / std[:40] - 1) < 0.2)
    by_hand = norm(mean[:40], std[:40]).logpdf(frame["y"][:40])
    assert np.allclose(model.score_samples(frame[:40], frame["y"][:40]), by_hand, atol=0.1)
    grouped = frame.assign(who=np.arange(len(frame)) % 8)
    shares = fit(grouped, "y ~ x + (1 | who)", noise="~ g + h").variance_shares(grouped)
    noise = np.mean(truth**2)
    assert abs(shares.loc["noise", "share"] - noise / (noise + 0.25)) < 0.1


def test_streams_searches_and_copies(tmp_path):
    import joblib

    frame = frame_of(31, 120)
    whole = fit(frame, noise="~ g")
    stream = BayesianLinearRegression(formula="y ~ x", noise="~ g", units=whole.units_, random_state=0)
    for start in range(0, 120, 30):
        stream.partial_fit(frame[start : start + 30])
    # means of contrasts are those of the first rows
    assert abs(stream.log_evidence_ - whole.log_evidence_) < 4 * stream.log_evidence_std_ + 0.3
    joblib.dump(whole, tmp_path / "model")
    again = joblib.load(tmp_path / "model")
    assert np.array_equal(again.predict(frame), whole.predict(frame))
    again.set_params(noise=None).fit(frame)
    assert again.log_evidence_ == fit(frame).log_evidence_  # nothing of the predictor is left
    choices = {"noise": [None, "~ 1", "~ h", "~ g + h"]}
    search = EvidenceSearch(BayesianLinearRegression(formula="y ~ x", random_state=0), choices).fit(frame)
    values = dict(zip(map(str, search.comparison_["noise"]), search.comparison_["log_evidence"]))
    assert values["None"] == values["~ 1"] and search.best_params_["noise"] in ("~ h", "~ g + h")


REFUSED = [
    (dict(noise="~ g", noise_std=1.0), "known has no predictor"),
    (dict(noise="g"), "nothing on its left"),
    (dict(noise="y ~ g"), "nothing on its left"),
    (dict(noise="~ g", standardize=False), "standardize=True"),
    (dict(noise="~ g", prior="jzs"), "no JZS prior"),
    (dict(noise="~ (1 | g)"), "bs"),
    (dict(noise="~ s(h)"), "k=10"),
    (dict(noise="~ s(h, k=6, by=g)"), "bs"),
    (dict(noise="~ s(h, k=6) + s(x, k=6)"), "one curve"),
    (dict(noise="~ mo(h)"), "bs"),
    (dict(noise="~ y"), "on the right"),
    (dict(noise="~ 0 + h"), "level of its own"),
    (dict(noise="~ zz"), "no column 'zz'"),
]


@pytest.mark.parametrize("how, words", REFUSED, ids=lambda one: str(one)[:30])
def test_what_a_predictor_cannot_be_is_said(how, words):
    with pytest.raises(ValueError, match=words):
        BayesianLinearRegression(formula="y ~ x", **how).fit(frame_of(1))


def test_families_without_the_parameter_are_refused():
    frame = frame_of(1)
    with pytest.raises(ValueError, match="gaussian, student_t"):
        BayesianGLM("poisson", formula="k ~ x", noise="~ g").fit(frame)
    with pytest.raises(ValueError, match="zero_inflated_poisson"):
        BayesianGLM("poisson", formula="k ~ x", zeros="~ g").fit(frame)
    with pytest.raises(ValueError, match="y with bounds"):
        BayesianGLM("gaussian", formula="y ~ x", noise="~ g").fit(frame, event=frame["h"] > 1)
    with pytest.raises(ValueError, match="beside the formula"):
        BayesianLinearRegression(noise="~ g").fit(frame[["x"]], frame["y"])


def test_units_are_known_by_name():
    """A formula without a column, and a frame in another order, take the units of their own columns."""
    frame = frame_of(8, 60)
    of_both = fit(frame, "y ~ x + h").units_
    for formula in ("y ~ h", "y ~ h + x"):
        expected = fit(frame, formula).log_evidence_
        assert abs(fit(frame, formula, units=of_both).log_evidence_ - expected) < 1e-8
    turned, own = frame[["h", "x"]], BayesianLinearRegression().fit(frame[["x", "h"]], frame["y"])
    given = BayesianLinearRegression(units=own.units_).fit(turned, frame["y"])
    assert abs(given.log_evidence_ - own.log_evidence_) < 1e-8
    with pytest.raises(ValueError, match="not of \\['k'\\]"):
        fit(frame, "y ~ k", units=of_both)


def test_what_says_the_noise_in_two_ways_is_refused():
    rng = np.random.default_rng(20261128)
    frame = pd.DataFrame({"x": rng.standard_normal(30), "y": rng.standard_normal(30)})
    model = BayesianLinearRegression(formula="y ~ x", noise="~ x")
    with pytest.raises(ValueError, match="leave out noise"):
        model.fit(frame, known_std=np.ones(30))


def test_the_scale_of_levels_of_the_noise_is_told_and_varied():
    rng = np.random.default_rng(20261129)
    frame = pd.DataFrame({"x": rng.standard_normal(60), "g": rng.choice(list("ab"), 60)})
    frame["y"] = frame.x + rng.standard_normal(60) * np.where(frame.g == "a", 1.0, 3.0)
    model = BayesianLinearRegression(formula="y ~ x", noise="~ g * x", random_state=0)
    varied = prior_sensitivity(model, frame)
    assert "effect_scale * 3" in list(varied.index)
    said = " ".join(str(model.fit(frame).summary()).split())  # lines break anywhere
    assert "g contrasts N(0, 0.707²)" in said and "products of these" in said


@pytest.mark.slow
def test_a_curve_without_an_answer_is_annealed_and_tested(monkeypatch):
    frame = frame_of(61, 30)
    how = dict(formula="y ~ x", noise="~ s(h, k=5)", random_state=0)

    def none(*_):
        raise ArithmeticError

    whole = BayesianLinearRegression(**how).fit(frame)
    monkeypatch.setattr(_answer, "conditional_answer", none)
    annealed = BayesianLinearRegression(**how).fit(frame)
    error = np.hypot(annealed.log_evidence_std_, whole.log_evidence_std_)
    assert annealed.warnings_ or abs(annealed.log_evidence_ - whole.log_evidence_) < 4 * error
    assert annealed.diagnostics_["n_replaced"] == 1
