"""Kaplan and Meier's estimate against published tables, and the picture beside predictions."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sgevidence import SGAIS, BayesianGLM
from sgevidence.displays import SurvivalDisplay

#: Remission in weeks under 6-mercaptopurine, 9 relapses and 12 censored (Freireich et al. 1963).
WEEKS = np.array([6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], dtype=float)
RELAPSED = np.arange(21) < 9
FEW = SGAIS(n_particles=30, max_particles=30)
#: S and its standard error (Kalbfleisch and Prentice 2002, section 1.4, and most textbooks since).
TABLE = {
    6: (0.857, 0.0764),
    7: (0.807, 0.0869),
    10: (0.753, 0.0963),
    13: (0.690, 0.1068),
    16: (0.627, 0.1141),
    22: (0.538, 0.1282),
    23: (0.448, 0.1346),
}


def test_remission_of_leukaemia():
    model = BayesianGLM("weibull", sampler=FEW, random_state=0).fit(np.zeros((21, 1)), WEEKS, event=RELAPSED)
    (found,) = SurvivalDisplay.from_estimator(model, np.zeros((21, 1)), WEEKS, event=RELAPSED).observed
    assert found.times.tolist() == [0, *TABLE]
    S, error = np.array(list(TABLE.values())).T
    np.testing.assert_allclose(found.survival[1:], S, atol=6e-4)
    half = (np.log(-np.log(found.low[1:])) - np.log(-np.log(found.high[1:]))) / 2  # error / (S |log S|)
    np.testing.assert_allclose(half / norm.isf(0.05) * S * -np.log(S), error, atol=4e-4)


def test_lines_are_means_over_groups():
    X = np.random.default_rng(0).standard_normal((42, 2))
    t, event = np.r_[WEEKS, WEEKS / 3], np.r_[RELAPSED, RELAPSED]
    groups = np.repeat(["b", "a"], 21)
    model = BayesianGLM("weibull", sampler=FEW, random_state=0).fit(X, t, event=event)
    display = SurvivalDisplay.from_estimator(model, X, t, event=event, groups=groups)
    assert display.names == ["a", "b"]
    lines = {line.get_label(): line for line in display.ax_.lines}
    at, drawn = lines["b"].get_data()
    np.testing.assert_allclose(drawn, model.predict_survival(X[:21], at).mean(axis=0))
    steps = display.ax_.lines[3].get_ydata()
    assert steps[:-1] == pytest.approx([1.0, *(S for S, _ in TABLE.values())], abs=6e-4)
    scaled = make_pipeline(StandardScaler(), BayesianGLM("weibull", sampler=FEW, random_state=0))
    scaled.fit(10 * X, t, bayesianglm__event=event)
    same = SurvivalDisplay.from_estimator(scaled, 10 * X, t, event=event, groups=groups)
    np.testing.assert_allclose(same.survival, display.survival, atol=0.02)
    with pytest.raises(TypeError, match="predicts no survival"):
        SurvivalDisplay.from_estimator(BayesianGLM("gamma", sampler=FEW).fit(X, t), X, t)


def test_columns_by_name_and_events_that_are_none():
    frame = pd.DataFrame({"x": np.arange(21.0), "relapse": RELAPSED, "sex": [1, 0, 0] * 7})
    model = BayesianGLM("weibull", columns=["x"], sampler=FEW, random_state=0)
    model.fit(frame, WEEKS, event="relapse")
    named = SurvivalDisplay.from_estimator(model, frame, WEEKS, event="relapse", groups="sex")
    given = SurvivalDisplay.from_estimator(model, frame, WEEKS, event=frame["relapse"], groups=frame["sex"])
    assert named.names == given.names == ["0", "1"]
    for one, other in zip(named.observed, given.observed):
        np.testing.assert_array_equal(one.survival, other.survival)
    with pytest.raises(ValueError, match="give status == 2"):  # all would be events
        SurvivalDisplay.from_estimator(model, frame, WEEKS, event=1 + np.asarray(RELAPSED, dtype=int))


def test_events_are_those_of_the_formula():
    frame = pd.DataFrame({"x": np.arange(21.0), "weeks": WEEKS, "relapse": RELAPSED})
    model = BayesianGLM("weibull", formula="Surv(weeks, relapse) ~ x", sampler=FEW, random_state=0).fit(frame)
    (right,) = SurvivalDisplay.from_estimator(model, frame).observed
    assert right.times[1:].tolist() == list(TABLE)
    (same,) = SurvivalDisplay.from_estimator(model, frame, frame["weeks"]).observed
    np.testing.assert_array_equal(same.survival, right.survival)


def test_models_of_events_ask_for_those_of_the_rows():
    X = np.arange(21.0)[:, None]
    model = BayesianGLM("weibull", sampler=FEW, random_state=0).fit(X, WEEKS, event=RELAPSED)
    with pytest.raises(ValueError, match="has learnt from rows with an event"):
        SurvivalDisplay.from_estimator(model, X, WEEKS)
    upper = np.where(RELAPSED, WEEKS, np.inf)
    (found,) = SurvivalDisplay.from_estimator(model, X, np.column_stack([WEEKS, upper])).observed
    assert found.times[1:].tolist() == list(TABLE)
    with pytest.raises(ValueError, match="exact or censored on the right"):
        SurvivalDisplay.from_estimator(model, X, np.column_stack([WEEKS, np.add(WEEKS, 1)]))
