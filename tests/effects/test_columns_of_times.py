"""Columns that say when a time ended are no predictors, and no formula within another loses them."""

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianGLM, EvidenceSearch, compare, predictive_check, sub_formulas

pytest.importorskip("formulae")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(20261128)
    x, z = rng.standard_normal((2, 60))
    time, end = np.exp(1 + x) * rng.exponential(size=60), rng.uniform(1, 9, 60)
    start = 0.1 * rng.random(60)
    times = {"start": start, "time": np.minimum(time, end) + start, "dead": time < end}
    return pd.DataFrame({"x": x, "z": z} | times)


def fitted(frame, formula, **known):
    return BayesianGLM("weibull", formula=formula, random_state=0).fit(frame, **known)


def check_dot(frame):
    one = fitted(frame, "Surv(start, time, dead) ~ x + z")
    dot = fitted(frame, "Surv(start, time, dead) ~ .")
    assert one.log_evidence_ == dot.log_evidence_
    assert np.array_equal(one.predict(frame), dot.predict(frame))


def check_dot_beside_names(frame):
    one = fitted(frame, "time ~ x + z", event="dead", entry="start")
    dot = fitted(frame, "time ~ .", event="dead", entry="start")
    assert (
        one.log_evidence_ == dot.log_evidence_ == fitted(frame, "Surv(start, time, dead) ~ .").log_evidence_
    )
    assert np.array_equal(one.predict(frame), dot.predict(frame))


def test_a_dot_leaves_out_the_columns_of_times(frame):
    check_dot(frame)
    check_dot_beside_names(frame)


def test_a_column_that_the_formula_names_itself_stays(frame):
    model = fitted(frame, "time ~ x + start", event="dead", entry="start")
    assert model.coef_names_ == ["x", "start"] if hasattr(model, "coef_names_") else len(model.coef_) == 2
    assert np.isfinite(model.predict(frame)).all()


def test_formulas_within_one_of_times_have_its_events(frame):
    formulas = sub_formulas("Surv(start, time, dead) ~ x + z")
    assert formulas == [f"Surv(start, time, dead) ~ {right}" for right in ("1", "x", "z", "x + z")]
    search = EvidenceSearch(BayesianGLM("weibull", random_state=0), {"formula": formulas}).fit(frame)
    best = search.best_params_["formula"]
    assert best == "Surv(start, time, dead) ~ x"
    one = fitted(frame, "time ~ x", event="dead", entry="start")
    assert search.best_score_ == pytest.approx(one.log_evidence_, abs=0.03)  # the search's tolerance


@pytest.mark.parametrize(
    "formula, known",
    [
        ("Surv(time, dead) ~ x", {}),
        ("time ~ x", {"event": "dead"}),
        ("time ~ x", {"event": "column"}),
        ("Surv(start, time, dead) ~ x", {}),
    ],
)
def test_rows_with_bounds_have_no_replicates(frame, formula, known):
    """Censored times that are taken for exact ones made a model that fits look like one that does not."""
    known = {name: frame["dead"] if value == "column" else value for name, value in known.items()}
    model = fitted(frame, formula, **known)
    for y in (None, frame["time"]):
        with pytest.raises(TypeError, match="censored times and late entries have no replicates"):
            predictive_check(model, frame, y, **known)
    if known:
        with pytest.raises(ValueError, match="give those of these rows"):
            predictive_check(model, frame, frame["time"])
    table = compare([model, fitted(frame, formula.replace("~ x", "~ z"), **known)])
    assert set(table["warnings"]) == {""}


def test_a_check_of_a_frame_finds_the_y_of_the_formula(frame):
    model = BayesianGLM("weibull", formula="time ~ x", random_state=0).fit(frame)
    whole, alone = (predictive_check(model, frame, y, random_state=0) for y in (frame["time"], None))
    assert str(whole) == str(alone)
    misfits = [compare([model], check=rows)["misfit"].tolist() for rows in (frame, (frame, frame["time"]))]
    assert misfits[0] == misfits[1]
