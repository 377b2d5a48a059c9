"""The summary of a model with factors has a row for each level, as ``effects_`` has."""

import numpy as np
import pytest

from sgevidence import BayesianGLM, BayesianLinearRegression, Factor, Group


def test_levels_are_in_the_summary_by_name(rng):
    pd = pytest.importorskip("pandas")
    spray, plot = np.repeat(["A", "B", "C"], 20), np.tile(["p", "q", "r", "s"], 15)
    counts = rng.poisson(np.repeat([2.0, 5.0, 9.0], 20))
    X = pd.DataFrame({"spray": spray, "plot": plot})
    model = BayesianGLM("poisson", terms=[Factor("spray"), Group("plot")], random_state=0).fit(X, counts)
    frame, effects = model.summary().to_frame(), model.effects_
    names = ["spray[A]", "spray[B]", "spray[C]"]
    assert set(names) <= set(frame.index) and not any("fixed_effects" in name for name in frame.index)
    np.testing.assert_allclose(frame.loc[names, "mean"], effects.loc[names, "mean"], atol=1e-9)
    np.testing.assert_allclose(frame.loc[names, "sd"], effects.loc[names, "sd"], atol=1e-9)
    assert frame.loc[names, "mean"].sum() == pytest.approx(0.0, abs=1e-9)
    assert frame.loc["spray[A]", "5%"] < frame.loc["spray[A]", "mean"] < frame.loc["spray[A]", "95%"]


FORMULAS = [
    "size ~ kind + sex",
    "size ~ kind * x + sex",
    "size ~ kind * sex + x * z + (1 + x | plot)",
]


@pytest.fixture(scope="module")
def uneven():
    """Levels with names of several words and of numbers, none with as many rows as another."""
    pd, rng, n = pytest.importorskip("pandas"), np.random.default_rng(3), 80
    kind = rng.choice(["red fox", "hare"], n, p=[0.8, 0.2])
    X = {"kind": kind, "sex": rng.choice(["f", "m", "?"], n, p=[0.6, 0.3, 0.1])}
    X |= {"x": 50 + 3 * rng.standard_normal(n), "z": rng.exponential(size=n), "plot": rng.integers(0, 6, n)}
    size = 100 + 8 * (kind == "hare") + 2 * X["x"] + rng.standard_normal(n)
    return pd.DataFrame(X | {"size": size, "count": rng.poisson(np.exp(0.2 * X["z"]))})


def added_up(model, frame):
    """The linear predictor of rows from the intercept, coefficients and effects that are printed."""
    names = model.feature_names_in_[model.columns_]
    eta = model.intercept_ + frame[list(names)].to_numpy() @ model.coef_
    for label, (_, level, mean, _) in model.effects_.iterrows():
        if "|" in label:
            slope = frame["x"] - frame["x"].mean() if label.startswith("x |") else 1.0
            eta = eta + mean * slope * (frame["plot"] == level)
            continue
        product = mean
        for part in label.split(":"):
            name, _, level = part.removesuffix("]").partition("[")
            product = product * ((frame[name] == level) if level else frame[name] - frame[name].mean())
        eta = eta + product
    return eta


@pytest.mark.parametrize(
    "prior, formula",
    [
        *(("normal", formula) for formula in FORMULAS),
        ("jzs", FORMULAS[2]),
        *(pytest.param("jzs", formula, marks=pytest.mark.slow) for formula in FORMULAS[:2]),
    ],
)
def test_what_is_printed_adds_up_to_the_predictions(uneven, formula, prior):
    model = BayesianLinearRegression(formula=formula, prior=prior, random_state=0).fit(uneven)
    np.testing.assert_allclose(added_up(model, uneven), model.predict(uneven), rtol=1e-9)


def test_counts_add_up_and_so_do_thresholds(uneven):
    model = BayesianGLM("poisson", formula=FORMULAS[0].replace("size", "count"), random_state=0).fit(uneven)
    eta = model._model.linear_predictor(model.particles_, model._validate_X(uneven))
    np.testing.assert_allclose(added_up(model, uneven), model.particle_weights_ @ eta, rtol=1e-9)
    levels = np.minimum(uneven["count"], 3)
    model = BayesianGLM("ordinal", terms=[Factor("kind")], random_state=0).fit(uneven[["kind"]], levels)
    named, rows = model.posterior_samples(), uneven[["kind"]]
    effect = named["fixed_effects"][:, model.effects_["level"].tolist().index("hare")]
    below = 1 / (1 + np.exp(effect[:, None] - named["thresholds"]))
    found = model.predict_proba(rows[rows["kind"] == "hare"][:1])[0].cumsum()[:-1]
    np.testing.assert_allclose(below.mean(axis=0), found, atol=0.02)


def test_products_have_the_names_of_levels(uneven):
    model = BayesianLinearRegression(formula=FORMULAS[2], random_state=0).fit(uneven)
    names, effects = set(model.summary().index), model.effects_
    assert {"kind[red fox]:sex[m]", "kind[hare]:sex[?]", "x:z", "sex[f]"} <= names
    assert not any("fixed_effects" in name for name in names)
    assert effects.loc["kind[hare]:sex[m]", "level"] == "hare:m" and effects.loc["1 | plot[3]", "level"] == 3
    assert model.posterior_samples()["fixed_effects"].shape[1] == 2 + 3 + 6 + 1
    products = effects[effects["term"] == "kind:sex"]["mean"]
    assert products.to_numpy().reshape(2, 3).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)


def test_ordered_levels_stand_in_the_summary_with_the_numbers_of_effects(rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": rng.normal(size=60), "site": rng.choice(["x", "y"], 60)})
    frame["dose"] = pd.Categorical(
        rng.choice(["low", "mid", "high"], 60), ["low", "mid", "high"], ordered=True
    )
    frame["y"] = frame["a"] + frame["dose"].cat.codes + rng.normal(size=60)
    for formula in ("y ~ a + mo(dose)", "y ~ mo(dose) + site + (1 | site)"):
        model = BayesianLinearRegression(formula=formula, random_state=0).fit(frame)
        shown, known = model.summary().to_frame(), model.effects_
        for name in ("mo(dose)[mid]", "mo(dose)[high]"):
            assert shown.loc[name, "mean"] == pytest.approx(known.loc[name, "mean"], rel=1e-9)
            assert shown.loc[name, "sd"] == pytest.approx(known.loc[name, "sd"], rel=1e-9)
        assert not any(name.startswith("1 | site[") for name in shown.index)  # many: they are in effects_
