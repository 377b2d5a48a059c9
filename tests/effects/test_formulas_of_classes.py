"""formula= of a softmax regression: against the design matrix by hand, other frames, and other models."""

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianGLM, BayesianSoftmaxRegression, EvidenceSearch
from sgevidence.effects import Coding

pytest.importorskip("formulae")
FORMULA = "kind ~ x * g + h"


def frame_of(seed, n=90):
    rng = np.random.default_rng([62, seed])
    frame = pd.DataFrame(
        {"x": rng.normal(5, 2, n), "g": rng.choice(["a", "b", "c"], n), "h": rng.gamma(2.0, 1.0, n)}
    )
    scores = np.column_stack([0 * frame["x"], 0.5 * (frame["x"] - 5) + (frame["g"] == "b"), frame["h"] - 2])
    kinds = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    return frame.assign(kind=np.array(["low", "mid", "top"])[kinds])


def fit(frame, formula=FORMULA, **how):
    return BayesianSoftmaxRegression(formula=formula, random_state=0, **how).fit(frame)


def within(a, b, more=1e-3):
    return (
        abs(a.log_evidence_ - b.log_evidence_) < 4 * np.hypot(a.log_evidence_std_, b.log_evidence_std_) + more
    )


def design(frame):
    """x, h, contrasts of which two levels differ by N(0, 1), and their products with x, centred."""
    x, h = ((v - v.mean()) / v.std() for v in (frame["x"].to_numpy(), frame["h"].to_numpy()))
    H = np.linalg.qr(np.column_stack([np.ones(3), np.eye(3)[:, 1:]]))[0][:, 1:]
    C = np.sqrt(0.5) * H[np.searchsorted(["a", "b", "c"], frame["g"])]
    P = C * x[:, None]
    return np.column_stack([x, h, C - C.mean(axis=0), P - P.mean(axis=0)])


def check_design(seed):
    frame = frame_of(seed)
    X, y = design(frame), frame["kind"]
    units = BayesianSoftmaxRegression(random_state=0).fit(X, y).units_
    units = units._replace(center=np.zeros(6), scale=np.ones(6))
    by_hand = BayesianSoftmaxRegression(units=units, random_state=1).fit(X, y)
    model = fit(frame)
    assert within(model, by_hand) and model.log_evidence_std_ < 0.05
    assert np.abs(model.predict_proba(frame) - by_hand.predict_proba(X)).max() < 0.03


def test_a_formula_is_its_design_matrix():
    check_design(1)


def test_contrasts_of_another_scale_are_caught(install_broken):
    install_broken(Coding, "encoded_alone", "... * self.ratios", "... * self.ratios * 2.0")
    with pytest.raises(AssertionError):
        check_design(1)


def test_two_classes_are_a_bernoulli_with_smaller_scales():
    frame = frame_of(3)
    frame = frame[frame["kind"] != "top"]
    half = np.sqrt(0.5)
    scales = dict(coef_scale=half, effect_scale=half, intercept_scale=2.5 * half)
    sums = "kind ~ x + g + h"  # of products the scales are multiplied
    logistic = BayesianGLM("bernoulli", formula=sums, random_state=0).fit(frame)
    assert within(fit(frame, sums, **scales), logistic, 0.01)


def test_columns_alone_are_the_model_without_a_formula():
    frame = frame_of(4)
    plain = BayesianSoftmaxRegression(random_state=0).fit(frame[["x", "h"]], frame["kind"])
    assert abs(fit(frame, "kind ~ h + x").log_evidence_ - plain.log_evidence_) < 0.05
    assert fit(frame, "kind ~ x + h").log_evidence_ == plain.log_evidence_
    bare = BayesianSoftmaxRegression(fit_intercept=False, random_state=0).fit(frame[["x"]], frame["kind"])
    assert fit(frame, "kind ~ 0 + x").log_evidence_ == bare.log_evidence_


@pytest.mark.parametrize(
    "formula", [FORMULA, pytest.param("kind ~ bs(x, df=5) + poly(h, 2)", marks=pytest.mark.slow)]
)
def test_nothing_depends_on_orders_units_and_names(formula):
    frame = frame_of(5)
    model = fit(frame, formula)
    others = [
        frame.sample(frac=1, random_state=1)[frame.columns[::-1]],
        frame.assign(
            g=frame["g"].map({"a": "z", "b": "1", "c": "k k"}),
            kind=frame["kind"].map({"low": 3, "mid": 1, "top": 2}),
            x=1e3 * frame["x"] - 4e4,
        ),
    ]
    for other in others:
        assert within(fit(other, formula), model)


def test_a_stream_is_a_fit_and_predicts_frames():
    frame = frame_of(6, 120)
    whole = fit(frame)
    stream = BayesianSoftmaxRegression(formula=FORMULA, units=whole.units_, random_state=0)
    for k in range(0, 120, 30):
        stream.partial_fit(frame[k : k + 30], classes=["low", "mid", "top"])
    assert within(stream, whole, 0.3)  # means of contrasts are those of the first rows
    p = stream.predict_proba(frame.drop(columns="kind"))
    assert np.allclose(p.sum(axis=1), 1) and np.abs(p - whole.predict_proba(frame)).max() < 0.1
    assert whole.score(frame) == np.mean(whole.predict(frame) == frame["kind"]) > 0.45
    with pytest.raises(ValueError, match="level 'q'"):
        whole.predict(frame[:2].assign(g="q"))


def test_effects_are_those_of_each_class():
    frame = frame_of(7, 400)
    model = fit(frame)
    effects = model.effects_
    assert list(effects.columns[:3]) == ["class", "term", "level"] and len(effects) == 3 * 6
    assert np.abs(effects.groupby(["class", "term"])["mean"].sum()).max() < 1e-9
    own = effects[effects["term"] == "g"].set_index(["class", "level"])["mean"]
    difference = (own["mid", "b"] - own["low", "b"]) - (own["mid", "a"] - own["low", "a"])
    assert abs(difference - 1.0) < 0.8
    assert "fixed_effects[mid, g[b]]" in model.summary().index
    search = EvidenceSearch(model, {"formula": ["kind ~ 1", "kind ~ x", FORMULA]}).fit(frame)
    assert search.best_params_["formula"] == FORMULA


@pytest.mark.parametrize("right", ["x + (1 | g)", "s(x)", "(x || g)"])
def test_effects_whose_scale_is_inferred_are_refused(right):
    with pytest.raises(ValueError, match=r"BayesianSoftmaxRegression has no .* bs"):
        fit(frame_of(8), f"kind ~ {right}")
    with pytest.raises(ValueError, match="offset"):
        fit(frame_of(8), "kind ~ x + offset(h)")
