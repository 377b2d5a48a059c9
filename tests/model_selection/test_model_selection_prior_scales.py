"""Which priors are varied, against fits with the other prior, and which are said not to be."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sgevidence import (
    BayesianCategoricalMixture,
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianModel,
    EvidenceWarning,
    Factor,
    Group,
    Interaction,
    Smooth,
    prior_sensitivity,
    reweight_prior,
)

HALF = 0.5**0.5


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(587)
    code, x = rng.integers(0, 4, 24), rng.standard_normal(24)
    y = rng.standard_normal(4)[code] + x + rng.standard_normal(24)
    return pd.DataFrame({"x": x, "g": list(map("abcd".__getitem__, code)), "y": y})


@pytest.mark.parametrize(
    "terms, name, other",
    [
        ([Factor("g")], "effect_scale", [Factor("g", scale=3 * HALF)]),
        ([Factor("g", scale=0.4)], "scale of g", [Factor("g", scale=1.2)]),
        pytest.param([Group("g")], "effect_scale", [Group("g", scale=3.0)], marks=pytest.mark.slow),
        ([Group("g", scale=0.5)], "scale of 1 | g", [Group("g", scale=1.5)]),
        pytest.param([Smooth("x")], "effect_scale", [Smooth("x", scale=3.0)], marks=pytest.mark.slow),
        pytest.param(
            [Smooth("x", scale=2.0), Group("g")],
            "scale of s(x)",
            [Smooth("x", scale=6.0), Group("g")],
            marks=pytest.mark.slow,
        ),
        (
            [Factor("g", scale=0.4), Interaction("x", Factor("g", scale=0.3))],
            "scale of x:g",
            [Factor("g", scale=0.4), Interaction("x", Factor("g", scale=0.9))],
        ),
    ],
)
def test_scales_of_terms_are_varied(rows, terms, name, other):
    X = rows[["x"]] if isinstance(terms[0], Smooth) and len(terms) == 1 else rows[["x", "g"]]
    table = prior_sensitivity(BayesianLinearRegression(terms=terms, random_state=0), X, rows["y"])
    found = dict(zip(table.index, table["log_evidence"]))
    expected = BayesianLinearRegression(terms=other, random_state=0).fit(X, rows["y"]).log_evidence_
    assert found[f"{name} * 3"] == pytest.approx(expected, abs=1e-8) != found["as given"]
    assert f"{name} / 3" in found


@pytest.mark.slow
def test_formulas_have_their_terms_varied(rows):
    model = BayesianGLM("gaussian", formula="y ~ x + g + (1 + x | g)", random_state=0)
    with pytest.raises(ValueError):
        model.fit(rows.drop(columns="g"))
    model.set_params(formula="y ~ x + (1 + x | g)")
    table = prior_sensitivity(model, rows)
    assert "effect_scale * 3" in table.index and "noise_std" in table.not_varied
    assert "correlations of a level's effects" in table.not_varied
    assert repr(table).splitlines()[-1].startswith("not varied: ")
    wide = BayesianGLM("gaussian", formula=model.formula, effect_scale=3.0, random_state=0).fit(rows)
    found = dict(zip(table.index, table["log_evidence"]))
    assert found["effect_scale * 3"] == pytest.approx(wide.log_evidence_)


def test_jzs_priors_are_varied_where_a_term_has_a_scale(rows):
    X, y = rows[["x", "g"]], rows["y"]
    model = BayesianLinearRegression(terms=[Group("g", scale=0.5)], prior="jzs", random_state=0)
    table = prior_sensitivity(model, X, y)
    assert table.index == ["as given", "scale of 1 | g / 3", "scale of 1 | g * 3"]
    assert any("jzs" in name for name in table.not_varied)
    expected = BayesianLinearRegression(terms=[Group("g", scale=1.5)], prior="jzs", random_state=0).fit(X, y)
    assert table["log_evidence"][2] == pytest.approx(expected.log_evidence_, abs=1e-6)
    with pytest.raises(TypeError, match="no parameters that state prior scales"):
        prior_sensitivity(BayesianLinearRegression(terms=[Group("g")], prior="jzs"), X, y)


@pytest.mark.slow
def test_scales_of_named_priors_are_varied_about_their_own_place():
    import autograd.numpy as anp

    def normal(p, X, y):
        return -0.5 * (y - p["m"] * p["w"]) ** 2 / p["s"] ** 2 - anp.log(p["s"]) - 0.5 * np.log(2 * np.pi)

    y = np.random.default_rng(5870).normal(5, 2, 30)
    priors = {"m": stats.norm(4, 2), "s": stats.gamma(2, scale=1.5), "w": stats.uniform(0.5, 1)}
    table = prior_sensitivity(BayesianModel(normal, priors, random_state=0), np.zeros((30, 1)), y)
    assert table.index[1:] == [f"scale of {name} {by} 3" for name in "ms" for by in "/*"]
    assert table.not_varied == ("w",)
    for k, other in ((2, {"m": stats.norm(4, 6)}), (3, {"s": stats.gamma(2, scale=0.5)})):
        again = BayesianModel(normal, priors | other, random_state=0).fit(np.zeros((30, 1)), y)
        spread = np.hypot(again.log_evidence_std_, table["log_evidence_std"][k])
        assert abs(table["log_evidence"][k] - again.log_evidence_) < 4 * spread + 1e-6


def test_priors_without_a_scale_are_named(rows):
    X = rows[["x", "y"]].to_numpy()
    assert prior_sensitivity(BayesianGMM(2, random_state=0), X).not_varied == ("weight_concentration",)
    with pytest.raises(TypeError, match="no parameters that state prior scales"):
        prior_sensitivity(BayesianCategoricalMixture(2, random_state=0), np.round(X))
    levels = np.digitize(rows["y"], [-1, 1])
    ordinal = prior_sensitivity(BayesianGLM("ordinal", random_state=0), rows[["x"]], levels)
    assert ordinal.not_varied == ("thresholds",)
    assert not any("intercept_scale" in name for name in ordinal.index)
    counts = prior_sensitivity(BayesianGLM("negative_binomial", random_state=0), rows[["x"]], levels)
    assert counts.not_varied == ("dispersion",)
    assert prior_sensitivity(BayesianLinearRegression(), rows[["x"]], rows["y"]).not_varied == ()


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_reliable_answers_under_wider_priors_are_right(family):
    """Fresh rows against fits with the other prior: none beyond four errors and .08."""
    n_reliable, wrong = 0, []
    for seed in range(25):
        rng = np.random.default_rng([5871, seed])
        n, p = int(rng.choice([15, 30, 60])), int(rng.integers(1, 4))
        X = rng.standard_normal((n, p))
        eta = X @ rng.standard_normal(p) * rng.choice([0.3, 1.0]) + rng.standard_normal(n)
        y = eta if family == "gaussian" else (eta > np.median(eta)) * 1
        model = BayesianGLM(family, random_state=seed).fit(X, y)
        for scale in (1.3, 1.5, 2.0, 3.0):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EvidenceWarning)
                found = reweight_prior(model, coef_scale=scale)
                again = BayesianGLM(family, coef_scale=scale, random_state=seed + 1).fit(X, y)
            if found.is_reliable:
                n_reliable += 1
                gap = abs(found.log_evidence - again.log_evidence_)
                if gap > 0.08 or gap > 4 * np.hypot(found.log_evidence_std, again.log_evidence_std_) + 0.01:
                    wrong.append((seed, scale, gap))
    assert n_reliable > 10 and not wrong
