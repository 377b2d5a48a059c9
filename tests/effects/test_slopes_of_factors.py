"""Effects of a factor that differ from group to group, against dense covariances and nested quadrature."""

import numpy as np
import pandas as pd
import pytest
from effects_by_hand import half_t, over_prior
from scipy.special import expit, logsumexp, roots_hermitenorm
from scipy.stats import norm

from sgevidence import BayesianGLM, BayesianLinearRegression, Factor, Group, Interaction

pytest.importorskip("formulae")
K = 3
H = np.linalg.qr(np.column_stack([np.ones(K), np.eye(K)[:, 1:]]))[0][:, 1:]  # of no order of the levels


def rows(n_groups=7, times=2, seed=6003):
    """Conditions of which each group has some, unevenly."""
    rng = np.random.default_rng(seed)
    g, c = (np.repeat(a.ravel(), times) for a in np.indices((n_groups, K)))
    kept = rng.permutation(len(g))[: len(g) - 5]
    g, c = g[kept], c[kept]
    u = rng.standard_normal((n_groups, K)) * [1.0, 0.4, 1.3]
    x = rng.normal(100, 3, len(g))
    eta = u[g, c] + rng.standard_normal(n_groups)[g] + 0.2 * (x - 100)
    frame = pd.DataFrame({"g": g, "c": np.array(["low", "mid", "top"])[c], "x": x})
    return frame.assign(y=eta + 0.5 * rng.standard_normal(len(g)), k=rng.binomial(1, expit(eta)))


def hyperparameters(z, correlated):
    """Factor of the covariance of (level, contrasts), (M, 3, 3), of τ of a level and of a difference."""
    level, difference = half_t(z[:, 0]), half_t(z[:, 1])
    r = np.zeros((len(z), 2))
    if correlated:  # in all directions alike, |ρ|² = 1 − √(1 − u): density ∝ 1 − |ρ|², as LKJ(2) of two
        size = np.sqrt(1 - np.sqrt(1 - norm.cdf(z[:, 2])))
        angle = 2 * np.pi * norm.cdf(z[:, 3])
        r = size[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    L = np.zeros((len(z), 3, 3))
    L[:, 0, 0] = level * np.sqrt(1 - np.sum(r**2, axis=1))
    L[:, 0, 1:], L[:, 1, 1], L[:, 2, 2] = level[:, None] * r, difference * 0.5**0.5, difference * 0.5**0.5
    return L


def columns(frame):
    code = np.searchsorted(["low", "mid", "top"], frame["c"])
    return np.column_stack([np.ones(len(frame)), H[code]])


@pytest.mark.parametrize("correlated", [True, False])
def test_gaussian_y_against_dense_covariances(correlated):
    frame = rows()
    formula = "y ~ x + c + (1 + c | g)" if correlated else "y ~ x + c + (1 + c || g)"
    model = BayesianLinearRegression(formula=formula, random_state=0).fit(frame)
    units, W, g = model.units_, columns(frame), frame["g"].to_numpy()
    y = (frame["y"].to_numpy() - units.y_center) / units.y_scale
    x = (frame["x"].to_numpy() - frame["x"].mean()) / frame["x"].std(ddof=0)
    C = (W[:, 1:] - W[:, 1:].mean(axis=0)) * 0.5**0.5
    fixed = np.column_stack([np.ones(len(y)), x, C])

    def log_likelihood(z):
        A = W @ hyperparameters(z, correlated)
        S = A @ A.swapaxes(1, 2) * (g[:, None] == g) + fixed @ fixed.T
        S = S + half_t(z[:, -1])[:, None, None] ** 2 * np.eye(len(y))
        L = np.linalg.cholesky(S)
        e = np.linalg.solve(L, np.broadcast_to(y[:, None], (len(z), len(y), 1)))[..., 0]
        log_det = np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
        return -0.5 * np.sum(e**2, axis=1) - log_det - 0.5 * len(y) * np.log(2 * np.pi)

    expected, std = over_prior(log_likelihood, 5, 11)
    expected -= len(y) * np.log(units.y_scale)
    assert std < 0.03 and model.log_evidence_std_ < 0.05
    assert abs(model.log_evidence_ - expected) < 4 * np.hypot(std, model.log_evidence_std_)


@pytest.mark.slow
@pytest.mark.parametrize("correlated", [True, False])
def test_classes_against_nested_quadrature(correlated):
    """Three effects of a level by 9³ nodes, all the rest over the prior."""
    frame = rows(6, 3, 6004)
    bar = "|" if correlated else "||"
    model = BayesianGLM("bernoulli", formula=f"k ~ c + (1 + c {bar} g)", random_state=0).fit(frame)
    W, code = columns(frame), np.searchsorted(["low", "mid", "top"], frame["c"])
    mean = W[:, 1:].mean(axis=0)
    one, weights = roots_hermitenorm(9)
    nodes = np.array(np.meshgrid(one, one, one)).reshape(3, -1)
    log_w = np.log(np.prod(np.meshgrid(weights, weights, weights), axis=0).ravel() / (2 * np.pi) ** 1.5)
    cells = np.zeros((6, K, 2))
    np.add.at(cells, (frame["g"], code, frame["k"]), 1)
    b0 = model._units.intercept_center
    levels = np.column_stack([np.ones(K), H])

    def log_likelihood(z):
        u = np.einsum("kq,mqr,rs->mks", levels, hyperparameters(z, correlated), nodes)
        b = b0 + 2.5 * z[:, 4, None] + 0.5**0.5 * z[:, 5:7] @ (H - mean).T
        eta = u + b[:, :, None]
        ell = np.einsum("gkv,vmks->mgs", cells, np.array([-np.logaddexp(0, eta), -np.logaddexp(0, -eta)]))
        return logsumexp(ell + log_w, axis=2).sum(axis=1)

    expected, std = over_prior(log_likelihood, 7, 11)
    assert std < 0.05
    assert abs(model.log_evidence_ - expected) < 3 * np.hypot(std, model.log_evidence_std_)


def test_two_levels_are_the_slope_of_their_column():
    frame = rows()
    frame = frame[frame["c"] != "mid"].assign(e=lambda f: (f["c"] == "top") * 1.0)
    for bar, how in (("|", {}), ("||", {"correlated": False})):
        models = [
            BayesianLinearRegression(terms=[Group("g", by="e", origin=0.5, **how)], random_state=0).fit(
                frame[["e", "g"]], frame["y"]
            ),
            BayesianLinearRegression(formula=f"y ~ c + (1 + c {bar} g)", random_state=0).fit(frame),
        ]
        std = np.hypot(*(model.log_evidence_std_ for model in models))
        assert abs(models[0].log_evidence_ - models[1].log_evidence_) < 4 * std + 1e-3


#: Formulas and the terms that say the same.
SAME = {
    "(1 + c | g)": [Group("g", by=Factor("c"))],
    "(c | g)": [Group("g", by="c")],
    "(c || g)": [Group("g", by="c", correlated=False)],
    "(x + c | g)": [Group("g", by=["x", "c"])],
    "(x + c || g)": [Group("g", by=["x", "c"], correlated=False, origin=0)],
    "(0 + c | g)": [Group("g", by="c", intercept=False)],
    "(0 + c || g)": [Group("g", by="c", intercept=False, correlated=False)],
    "(1 | g) + (0 + c | g)": [Group("g"), Group("g", by="c", intercept=False)],
    "(0 + x | g)": [Group("g", by="x", intercept=False, correlated=False, origin=0)],
    "(1 + x | g) + (0 + d | g)": [Group("g", by="d", intercept=False, correlated=False), Group("g", by="x")],
    "(c + d | g)": [Group("g", by=["c", "d"])],
    "(1 + c:h | g)": [Group("g", by=Interaction(Factor("c"), Factor("h")))],
    "(1 + c | g/h)": [Group("g", by="c"), Group(("g", "h"), by="c")],
}


#: Each part of a formula is in one of these; two fits of any of the other formulas take seconds.
SHORT = {"(c || g)", "(0 + c || g)", "(1 + x | g) + (0 + d | g)"}


@pytest.mark.parametrize(
    "right", [pytest.param(right, marks=[pytest.mark.slow] * (right not in SHORT)) for right in SAME]
)
def test_a_formula_is_its_terms(right):
    frame = rows().assign(h=lambda f: np.arange(len(f)) % 2)
    frame["h"] = frame["h"].map({0: "no", 1: "yes"})
    frame["d"] = frame["h"] if right == "(c + d | g)" else (frame["h"] == "yes") - 0.5
    formula = BayesianLinearRegression(formula=f"y ~ x + {right}", random_state=0)
    named = [name for name in ("x", "d") if name in right or name == "x"]
    numbers = [name for name in named if frame[name].dtype.kind == "f"]
    terms = BayesianLinearRegression(terms=SAME[right], columns=numbers, random_state=0)
    formula.fit(frame), terms.fit(frame[["x", "d", "c", "h", "g"]], frame["y"])
    std = np.hypot(formula.log_evidence_std_, terms.log_evidence_std_)
    assert abs(formula.log_evidence_ - terms.log_evidence_) < 4 * std + 1e-6
    for model, X in ((formula, frame), (terms, frame[["x", "d", "c", "h", "g"]])):
        assert np.isfinite(model.predict(X)).all() and "effect_stds" in str(model.summary())
        assert len(model.effects_) == len(terms.effects_)


@pytest.mark.parametrize(
    "right",
    [
        "(c || g)",
        *(pytest.param(r, marks=pytest.mark.slow) for r in ("(1 + c | g)", "(0 + c | g)", "(1 + x + c | g)")),
    ],
)
def test_orders_of_levels_and_rows_do_not_count(right):
    frame = rows()
    others = [
        frame.sample(frac=1, random_state=2),
        frame.assign(c=frame["c"].map({"low": "z", "mid": "a", "top": "k"})),
        frame.assign(g=9 - frame["g"], x=frame["x"] * (1.0 if "|| g" in right else 12.0) + 3.0),
        frame[frame.columns[::-1]],
    ]
    models = [
        BayesianLinearRegression(formula=f"y ~ x + c + {right}", random_state=0).fit(one)
        for one in [frame, *others]
    ]
    for model in models[1:]:
        std = np.hypot(model.log_evidence_std_, models[0].log_evidence_std_)
        assert abs(model.log_evidence_ - models[0].log_evidence_) < 4 * std + 1e-3


def test_effects_of_levels_sum_to_zero_and_are_near_the_truth():
    rng = np.random.default_rng(6005)
    g, c = (a.ravel() for a in np.indices((30, 3, 8))[:2])
    truth = rng.standard_normal((30, 3)) * 2
    truth -= truth.mean(axis=1, keepdims=True)
    frame = pd.DataFrame(
        {"g": g, "c": np.array(list("abc"))[c], "y": truth[g, c] + 0.3 * rng.standard_normal(720)}
    )
    model = BayesianLinearRegression(formula="y ~ c + (1 + c | g)", random_state=0).fit(frame)
    effects = model.effects_
    own = effects[effects["term"] == "c | g"]
    assert list(own["level"][:3]) == ["0:a", "0:b", "0:c"]
    found = own["mean"].to_numpy().reshape(30, 3)
    assert np.abs(found.sum(axis=1)).max() < 1e-9
    assert np.abs(found - (truth - truth.mean(axis=0))).max() < 0.4
    stds = model.summary().to_frame().loc["effect_stds[c | g]"]
    assert stds["5%"] < np.sqrt(2) * 2 * 1.1 < stds["95%"] * 1.2  # of the difference between two levels
    new = model.predict(frame[:3].assign(g=99), return_std=True)
    assert np.all(new[1] > 1.5) and np.ptp(new[0]) < 2.0


def test_a_stream_in_calls_of_thirty_rows():
    frame = rows(10, 3, 6006)
    for formula in ("y ~ x + c + (1 + c | g)", "log(y + 20) ~ poly(x, 2) + (x || g)"):
        whole = BayesianLinearRegression(formula=formula, random_state=0).fit(frame)
        stream = BayesianLinearRegression(formula=formula, units=whole.units_, random_state=0)
        if "poly" in formula:  # whose statistics are those of the first rows
            stream = BayesianLinearRegression(formula=formula, random_state=0)
        for k in range(0, len(frame), 30):
            stream.partial_fit(frame[k : k + 30])
        within = 4 * np.hypot(stream.log_evidence_std_, whole.log_evidence_std_) + (
            1.5 if "poly" in formula else 0.3
        )
        assert abs(stream.log_evidence_ - whole.log_evidence_) < within  # means are of the first rows


@pytest.mark.parametrize(
    "right, words",
    [
        ("(1 + s(x) | g)", "slopes of a group"),
        ("(1 + c:x | g)", r"I\(a \* b\)"),
        ("(0 + c + h | g)", "more than one factor"),
        ("(1 + c | g) + (1 + x | g)", "in two parts"),
        ("(1 + offset(x) | g)", "offset"),
    ],
)
def test_what_has_no_meaning_is_refused(right, words):
    frame = rows().assign(h=lambda f: f["c"])
    with pytest.raises(ValueError, match=words):
        BayesianLinearRegression(formula=f"y ~ {right}").fit(frame)
