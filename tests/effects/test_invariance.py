"""Orders of rows, columns and levels and names do not count; effects are those that lme4 published."""

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianGLM, BayesianLinearRegression

#: Effects of 18 drivers on day 0 and on the slope, ms, ``ranef(lmer(Reaction ~ Days + (Days | Subject)))``
#: of R's lme4 by restricted maximum likelihood, rounded.
LME4 = {
    308: (2.26, 9.20),
    309: (-40.40, -8.62),
    310: (-38.96, -5.45),
    330: (23.69, -4.81),
    331: (22.26, -3.07),
    332: (9.04, -0.27),
    333: (16.84, -0.22),
    334: (-7.23, 1.07),
    335: (-0.33, -10.75),
    337: (34.89, 8.63),
    349: (-25.21, 1.17),
    350: (-13.07, 6.61),
    351: (4.58, -3.02),
    352: (20.86, 3.54),
    369: (3.28, 0.87),
    370: (-25.61, 4.82),
    371: (0.81, -0.99),
    372: (12.31, 1.28),
}
GAUSSIAN = "y ~ x * f + (1 + x | g) + (1 | h)"


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(77)
    f, g, h = rng.choice(["a", "b", "c"], 60), rng.integers(0, 8, 60), rng.integers(0, 2, 60)
    x = rng.normal(5.0, 2.0, 60)
    y = x + rng.standard_normal(8)[g] + (f == "a") + rng.standard_normal(60)
    return pd.DataFrame({"x": x, "f": f, "g": g, "h": h, "y": y, "k": rng.poisson(1.0, 60)})


def log_evidence(frame):
    return BayesianLinearRegression(formula=GAUSSIAN, random_state=0).fit(frame).log_evidence_


#: Frames that say the same.
OTHER_FRAMES = {
    "rows": lambda frame: frame.sample(frac=1, random_state=1),
    "columns": lambda frame: frame[list(frame.columns[::-1])],
    "names of levels": lambda frame: frame.assign(g=[f"no. {9 - k}" for k in frame["g"]]),
    "first level": lambda frame: frame.assign(f=frame["f"].map({"a": "z", "b": "m", "c": "k"})),
    "bool": lambda frame: frame.assign(h=frame["h"].astype(bool)),
    "floats": lambda frame: frame.assign(g=frame["g"].astype(float)),
    "categories": lambda frame: frame.assign(f=pd.Categorical(frame["f"], ["c", "b", "a"])),
}


def test_levels_without_rows_are_nothing_beside_main_effects(frame):
    declared = frame.assign(f=pd.Categorical(frame["f"], ["unused", "c", "none", "b", "a"]))
    for formula in ("y ~ x + f", "y ~ f", "k ~ x + f"):
        one, other = (BayesianLinearRegression(formula=formula).fit(rows) for rows in (frame, declared))
        assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-8)


@pytest.fixture(scope="module")
def right(frame):
    return log_evidence(frame)


@pytest.mark.parametrize("name", OTHER_FRAMES)
def test_gaussian_evidence_does_not_depend_on_orders_and_names(frame, right, name):
    assert log_evidence(OTHER_FRAMES[name](frame)) == pytest.approx(right, abs=1e-8)


@pytest.mark.parametrize("name", ["rows", "columns", "names of levels", "first level"])
def test_evidence_of_counts_depends_on_orders_and_names_within_its_error(frame, name):
    models = [
        BayesianGLM("poisson", formula="k ~ x + f + (1 | g)", random_state=0).fit(one)
        for one in (frame, OTHER_FRAMES[name](frame))
    ]
    one, other = (model.log_evidence_ for model in models)
    assert abs(one - other) < 4 * np.hypot(*(model.log_evidence_std_ for model in models)) < 0.3


@pytest.mark.parametrize("column", ["f", "g"])
@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, pd.NaT], ids=str)
def test_a_missing_level_is_refused_by_column_and_row(frame, column, missing):
    bad = frame.assign(**{column: frame[column].astype(object)})
    bad.loc[3, column] = missing
    with pytest.raises(ValueError, match=f"column '{column}' has missing values, the first in row 3"):
        log_evidence(bad)


def test_effects_of_drivers_are_those_of_lme4():
    """Means over the posterior of τ are near the predictions at its estimate, and less by a few per cent."""
    drivers = pd.read_csv("examples/data/sleepstudy.csv")
    formula = "reaction ~ days + (1 + days | subject)"
    effects = BayesianLinearRegression(formula=formula, random_state=0).fit(drivers).effects_
    level, slope = (effects[effects["term"] == f"{name} | subject"] for name in ("1", "days"))
    slopes = slope.set_index("level")["mean"].loc[list(LME4)].to_numpy()
    at_zero = level.set_index("level")["mean"].loc[list(LME4)].to_numpy() - drivers["days"].mean() * slopes
    published = np.array(list(LME4.values())).T
    assert np.abs(slopes - published[1]).max() < 0.3 * slope["sd"].mean()
    assert np.abs(at_zero - published[0]).max() < 0.4 * level["sd"].mean()
    assert np.array_equal(np.sign(slopes), np.sign(published[1]))
