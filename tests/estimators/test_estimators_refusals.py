"""Refusals that no other test asks for: each in the words of what was given."""

import pickle

import numpy as np
import pandas as pd
import pytest

from sgevidence import (
    BayesianAutoregression,
    BayesianGLM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    ImpossibleRowsError,
    Smooth,
)
from sgevidence.history import Rows
from sgevidence.models import PiecewiseExponential

RNG = np.random.default_rng(20261129)
N = 60
x, z, t = RNG.normal(size=N), RNG.normal(size=N), RNG.exponential(size=N)
X, counts, classes = x[:, None], RNG.poisson(2.0, N), RNG.integers(0, 3, N)
event = (RNG.random(N) < 0.7).astype(int)
FRAME = pd.DataFrame({"x": x, "z": z, "t": t, "y": counts, "e": event})


def poisson(**parameters):
    return BayesianGLM(family="poisson", random_state=0, **parameters)


def units_of_classes():
    return BayesianSoftmaxRegression().fit(X, classes).units_


REFUSED = {
    "a family of numbers": (
        lambda: BayesianGLM(formula="log(t) ~ x", family="gaussian").fit(FRAME, event=event),
        "makes numbers of y, which has bounds",
    ),
    "three classes": (
        lambda: BayesianGLM(family="bernoulli").partial_fit(X, event, classes=[0, 1, 2]),
        "two classes, not",
    ),
    "no y": (lambda: BayesianLinearRegression(terms=[Smooth(0)]).fit(X, None), "y to be passed"),
    "formula and terms": (
        lambda: poisson(formula="y ~ x", terms=[Smooth("x")]).fit(FRAME),
        "terms= are given",
    ),
    "an intercept": (lambda: poisson(formula="y ~ x", fit_intercept=False).fit(FRAME), "write 0 \\+"),
    "a missing time": (
        lambda: BayesianGLM(family="weibull", formula="Surv(t, e) ~ x").fit(
            FRAME.replace({"t": {t[3]: np.nan}})
        ),
        "'t' contains NaN",
    ),
    "two starts": (
        lambda: BayesianGLM(family="weibull", formula="Surv(z, t, e) ~ x").fit(
            FRAME.assign(z=0.0, t=t + 0.1), entry=np.zeros(N)
        ),
        "the formula has a start",
    ),
    "a time of zero": (
        lambda: BayesianGLM(family="weibull").fit(X, t).predict_hazard(X, [0.0, 1.0]),
        "positive numbers",
    ),
    "a tiny standard error": (
        lambda: BayesianLinearRegression().fit(X, x, known_std=np.r_[1e-200, np.ones(N - 1)]),
        "known_std of row 0",
    ),
    "units of other classes": (
        lambda: BayesianSoftmaxRegression(units=units_of_classes()).fit(X, RNG.integers(0, 4, N)),
        "not of the 4 classes",
    ),
    "units of another kind": (
        lambda: BayesianLinearRegression(units=units_of_classes()).fit(X, x),
        "those of a model of classes",
    ),
    "units of no series": (
        lambda: BayesianAutoregression(1, units=units_of_classes()).fit(x),
        "not those of an autoregression",
    ),
}


@pytest.mark.parametrize(("call", "words"), REFUSED.values(), ids=REFUSED)
def test_value_errors(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_an_offset_of_a_formula_needs_names():
    with pytest.raises(TypeError, match="give a data frame"):
        poisson(formula="y ~ x + offset(z)").fit(X, counts)


@pytest.mark.parametrize("terms", [None, [Smooth(0)]])
def test_there_are_no_units_without_standardising(terms):
    model = BayesianLinearRegression(terms=terms, standardize=False).fit(X, x + z)
    with pytest.raises(AttributeError, match="no units_ with standardize=False"):
        model.units_  # noqa: B018


def test_variance_shares_are_of_terms_and_of_counts_without_noise():
    with pytest.raises(AttributeError, match="groups or curves"):
        BayesianLinearRegression().fit(X, x + z).variance_shares(X)
    frame = FRAME.assign(g=np.repeat(list("abcdef"), N // 6))
    shares = poisson(formula="y ~ x + (1 | g)").fit(frame).variance_shares(frame)["share"]
    assert shares.sum() == pytest.approx(1.0) and "noise" not in shares.index


def test_numbers_that_are_all_known_are_scored_as_others_are():
    """No bound is left of which a concordance could be told: R²."""
    model = BayesianGLM(family="gaussian", random_state=0).fit(X, x + 0.1 * z, event=event)
    error = np.mean((x - model.predict(X)) ** 2)
    assert model.score(X, x, event=np.ones(N)) == pytest.approx(1 - error / np.var(x))


def test_breaks_of_a_family_are_taken():
    given = BayesianGLM(family=PiecewiseExponential(breaks=(0.5, 1.0)), random_state=0).fit(X, t)
    named = BayesianGLM(family="piecewise_exponential", breaks=(0.5, 1.0), random_state=0).fit(X, t)
    assert given.log_evidence_ == named.log_evidence_


def test_a_series_without_columns_forgets_their_names():
    model = BayesianAutoregression(1).fit(FRAME[["z"]], x).fit(x)
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == 0


def test_an_error_about_rows_travels_with_its_words():
    rows = Rows.of(np.arange(6.0)[:, None], np.arange(6.0), weight=np.ones(6))
    weight = np.array([0.0, 1, 1, 1, 0, 1, 1, 1])
    found = ImpossibleRowsError(rows.take(np.array([1, 4])), 0).among(rows, weight)
    assert "at rows [2, 6] of those given" in str(found)
    assert str(pickle.loads(pickle.dumps(found))) == str(found)
    together = ImpossibleRowsError(rows[:0], 3)
    assert together.among(rows) is together and "that follow row 3 together" in str(together)
    elsewhere = ImpossibleRowsError(Rows.of(np.array([[9.0]]), np.array([9.0])), 0)
    assert elsewhere.among(rows) is elsewhere


OBJECTS = (
    lambda: BayesianGLM("bernoulli", random_state=0),
    lambda: BayesianSoftmaxRegression(random_state=0),
)


def objects(values):
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


@pytest.mark.parametrize("made", OBJECTS)
@pytest.mark.parametrize("kind", [int, bool, float, np.int64])
def test_labels_among_objects_are_what_they_are(made, kind, rng):
    """A column of pandas that once had missing values keeps Python's numbers."""
    X, y = rng.normal(size=(14, 2)), (np.arange(14) % 3 > 0)
    found, expected = made().fit(X, objects([kind(one) for one in y])), made().fit(X, y.astype(kind))
    assert found.log_evidence_ == expected.log_evidence_
    assert found.classes_.dtype == expected.classes_.dtype
    assert found.score(X, objects([kind(one) for one in y])) == expected.score(X, y.astype(kind))
    assert np.array_equal(found.predict(X), expected.predict(X))


@pytest.mark.parametrize("made", OBJECTS)
@pytest.mark.parametrize(
    "first, words",
    [
        ("a", r"several kinds, 'a' \(str\) and 1 \(int\): make them one, as with y.astype\(str\)"),
        (True, r"several kinds, True \(bool\) and 1 \(int\)"),
        (None, r"missing value, None in row 0"),
        (np.nan, r"missing value, nan in row 0"),
    ],
)
def test_labels_of_several_kinds_and_missing_ones_are_named(made, first, words, rng):
    y = objects([first, 1, *map(int, np.arange(12) % 2)])
    with pytest.raises(ValueError, match=words):
        made().fit(rng.normal(size=(14, 2)), y)
