"""Where levels of groups are measured, and the prior scale of effects that a formula's user can set."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from effects_by_hand import gaussian_by_hand

from sgevidence import (
    BayesianGLM,
    BayesianLinearRegression,
    EvidenceWarning,
    Factor,
    Group,
    Interaction,
    Smooth,
)
from sgevidence.effects import BSpline

CONFLICT = "effects of {}(:x)? are .* times their prior scale; .*raise effect_scale"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(585)
    code = rng.integers(0, 5, 40)
    year = rng.integers(1990, 2000, 40) + 0.0
    y = 3 + rng.standard_normal(5)[code] * (year - 1988) + rng.standard_normal(40)
    return pd.DataFrame({"year": year, "dose": rng.gamma(2, size=40), "g": code, "y": y})


def fit(rows, *terms, columns=("year", "g"), **parameters):
    model = BayesianLinearRegression(terms=list(terms), random_state=0, **parameters)
    return model.fit(rows[list(columns)], rows["y"])


@pytest.mark.parametrize(
    "correlated, origin",
    [
        (False, None),
        (True, 1988.5),
        *(pytest.param(c, x, marks=pytest.mark.slow) for c in (True, False) for x in (1990, 2030.0)),
    ],
)
def test_levels_are_measured_where_they_are_asked_for(rows, origin, correlated):
    """Against dense covariances of columns that were made by hand."""
    part = rows.iloc[::2]
    model = fit(part, Group("g", by="year", correlated=correlated, origin=origin))
    mean, sd = part["year"].mean(), part["year"].std(ddof=0)
    x, z = (part["year"] - mean) / sd, (part["year"] - (mean if origin is None else origin)) / sd
    y, unit = (part["y"] - part["y"].mean()) / part["y"].std(ddof=0), part["y"].std(ddof=0)
    code = pd.factorize(part["g"], sort=True)[0]
    X = np.column_stack([x, np.ones(len(x)), np.ones(len(x)), z, code])
    reference, error = gaussian_by_hand(model._model.layout, X, y.to_numpy(), 13)
    gap = model.log_evidence_ - (reference - len(y) * np.log(unit))
    assert error < 0.1 and abs(gap) < 4 * np.hypot(error, model.log_evidence_std_) + 0.03


@pytest.mark.parametrize("origin, expected", [(None, 2.83), (0, -0.59)])
def test_the_question_of_lme4_is_at_day_zero(origin, expected):
    drivers = pd.read_csv(Path(__file__).parents[2] / "examples" / "data" / "sleepstudy.csv")
    found = [
        BayesianLinearRegression(
            terms=[Group("subject", by="days", correlated=correlated, origin=origin)], random_state=0
        )
        .fit(drivers[["days", "subject"]], drivers["reaction"])
        .log_evidence_
        for correlated in (True, False)
    ]
    assert found[0] - found[1] == pytest.approx(expected, abs=0.05)


def test_the_default_is_the_mean_and_numbers_as_given_have_zero(rows):
    mean = rows["year"].mean()
    one, other = (fit(rows, Group("g", by="year", origin=o)) for o in (None, mean))
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-6)
    moved = rows.assign(year=rows["year"] - mean)
    one, other = (fit(moved, Group("g", by="year", origin=o), standardize=False) for o in (None, 0))
    assert one.log_evidence_ == other.log_evidence_


def test_origins_do_not_depend_on_units_streams_or_families(rows):
    moved = rows.assign(year=(rows["year"] - 1900) * 365)
    one, other = (
        fit(rows, Group("g", by="year", origin=1995)),
        fit(moved, Group("g", by="year", origin=95 * 365)),
    )
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-6)
    assert one.effects_["sd"].iloc[1] == pytest.approx(other.effects_["sd"].iloc[1] * 365, rel=1e-6)
    stream = BayesianLinearRegression(terms=[Group("g", by="year", origin=1995)], units=one.units_)
    for part in (rows[:20], rows[20:]):
        stream.partial_fit(part[["year", "g"]], part["y"])
    assert stream.log_evidence_ == pytest.approx(one.log_evidence_, abs=0.02)
    two = Group("g", by=["year", "dose"], origin=(1990, 0), correlated=False)
    frame = rows[["year", "dose", "g"]]
    linear = BayesianLinearRegression(terms=[two], random_state=0).fit(frame, rows["y"])
    glm = BayesianGLM("gaussian", terms=[two], random_state=0).fit(frame, rows["y"])
    assert linear.log_evidence_ == pytest.approx(glm.log_evidence_, abs=0.05)
    assert "1990" in repr(two) and two.name == "1 + year + dose | g"


@pytest.mark.parametrize("origin", ["0", np.nan, np.inf, True, (0, 0), [], [None], np.array([1.0, 2.0]), {}])
def test_origins_that_cannot_be_are_refused(rows, origin):
    with pytest.raises(ValueError, match="origin"):
        fit(rows, Group("g", by="year", origin=origin))


def test_origins_need_slopes(rows):
    with pytest.raises(ValueError, match="origin=0 must be one value for each of the columns by=None"):
        fit(rows, Group("g", origin=0))


@pytest.mark.parametrize(
    "unscaled, scaled",
    [
        (Factor("g"), Factor("g", scale=3 * 0.5**0.5)),
        (Group("g"), Group("g", scale=3.0)),
        pytest.param(Group("g", by="year"), Group("g", by="year", scale=3.0), marks=pytest.mark.slow),
        (Smooth("year"), Smooth("year", scale=3.0)),
        (BSpline("year"), BSpline("year", scale=3.0)),
        (Interaction("year", Factor("g")), Interaction("year", Factor("g", scale=3 * 0.5**0.5))),
    ],
)
def test_effect_scale_is_that_of_terms_without_their_own(rows, unscaled, scaled):
    columns = ("year",) if isinstance(unscaled, Smooth | BSpline) else ("year", "g")
    by_parameter = fit(rows, unscaled, columns=columns, effect_scale=3.0)
    by_term, default = (fit(rows, term, columns=columns) for term in (scaled, unscaled))
    own = fit(rows, scaled, columns=columns, effect_scale=7.0)
    assert by_parameter.log_evidence_ == by_term.log_evidence_ == own.log_evidence_ != default.log_evidence_
    assert default.log_evidence_ == fit(rows, unscaled, columns=columns, effect_scale=1.0).log_evidence_


def test_a_formula_has_effect_scale(rows):
    by_terms = fit(rows, Group("g", scale=2.0), Smooth("dose", scale=2.0), columns=("dose", "g"))
    model = BayesianLinearRegression(formula="y ~ s(dose) + (1 | g)", effect_scale=2.0, random_state=0)
    found = model.fit(rows)
    gap = abs(found.log_evidence_ - by_terms.log_evidence_)
    assert gap < 4 * np.hypot(found.log_evidence_std_, by_terms.log_evidence_std_) + 1e-6
    assert "half-t(3, 2)" in repr(found.summary())
    with pytest.raises(ValueError, match="leave out effect_scale"):
        BayesianLinearRegression(formula="y ~ C(g)", effect_scale=2.0, prior="jzs").fit(rows)
    for wrong in (0, -1, "x", None):
        with pytest.raises(ValueError, match="effect_scale"):
            BayesianLinearRegression(effect_scale=wrong).fit(rows[["year"]], rows["y"])


@pytest.mark.parametrize("n_levels", [2, 3, 6])
@pytest.mark.parametrize("how", ["terms", "formula", "stream", "standardize"])
def test_contrasts_that_contradict_their_prior_warn(n_levels, how):
    """As the column of a coefficient does."""
    rng = np.random.default_rng([6, n_levels])
    code = np.arange(240) % n_levels
    eta = rng.permutation(np.linspace(-5, 5, n_levels))[code]
    frame = pd.DataFrame({"f": np.array(list("abcdef"))[code], "y": rng.poisson(np.exp(1 + eta))})
    model = BayesianGLM("poisson", formula="y ~ f", random_state=0)
    if how == "terms":
        model.set_params(formula=None, terms=[Factor("f")])
    elif how == "standardize":
        model.set_params(standardize=False)
    with pytest.warns(EvidenceWarning, match=CONFLICT.format("f")):
        if how == "stream":
            model.partial_fit(frame[:120]).partial_fit(frame[120:])
        else:
            model.fit(frame[["f"]], frame["y"])
    assert sum("effects of f" in words for words in model.warnings_) == 1
    wide = BayesianGLM("poisson", formula="y ~ f", effect_scale=4.0, random_state=0).fit(frame)
    assert not wide.warnings_ and wide.log_evidence_ > model.log_evidence_


def test_beside_groups_and_in_products_contrasts_warn_too():
    rng = np.random.default_rng(66)
    code, g, x = np.arange(200) % 3, np.arange(200) % 7, rng.standard_normal(200)
    eta = np.array([-4.0, 0.0, 4.0])[code]
    frame = pd.DataFrame({"f": list(map("abc".__getitem__, code)), "g": g, "x": x})
    of_products = rng.poisson(np.exp(np.clip(eta * x, -9, 9)))
    for right, y in (("f + (1 | g)", rng.poisson(np.exp(1 + eta))), ("f:x", of_products)):
        with pytest.warns(EvidenceWarning, match=CONFLICT.format("f")):
            BayesianGLM("poisson", formula=f"y ~ {right}", random_state=0).fit(frame.assign(y=y))


@pytest.mark.slow
def test_contrasts_of_the_prior_do_not_warn():
    """At most one of a thousand fits to data of the prior may."""
    n_warned = 0
    for seed in range(200):
        rng = np.random.default_rng([660, seed])
        code = rng.integers(0, 4, 100)
        a = 0.5**0.5 * rng.standard_normal(4)
        frame = pd.DataFrame(
            {"f": list(map("abcd".__getitem__, code)), "y": rng.poisson(np.exp(1 + a[code]))}
        )
        model = BayesianGLM("poisson", formula="y ~ f", random_state=0).fit(frame)
        n_warned += any("effects of f" in words for words in model.warnings_)
    assert n_warned <= 2


def test_an_origin_is_in_units(rows):
    moved = rows.assign(year=(rows["year"] - 1900) * 365)
    one = fit(rows, Group("g", by="year", origin=1995))
    other = fit(moved, Group("g", by="year", origin=95 * 365))
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-6)
