"""A formula names its y: another y is refused wherever the frame holds that column."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from sgevidence import (
    BayesianGLM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceModelAverager,
    EvidenceSearch,
    RowSource,
    predictive_check,
    prior_sensitivity,
    sub_formulas,
)

N = 60
OTHER = (
    r"y is not the column 'a y' that the formula .* names: give fit\(frame\), or drop 'a y' from the frame"
)
FORMULA = "`a y` ~ x"


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(20)
    x = rng.standard_normal(N)
    return pd.DataFrame({"x": x, "a y": x + rng.standard_normal(N), "k": rng.integers(0, 2, N)})


def of_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def of_arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


FORMATS = [lambda frame: frame, of_polars, of_arrow]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "other",
    [
        np.log1p,
        np.random.default_rng(0).permutation,
        lambda y: y + 1e-4,
        lambda y: y[::-1],
        lambda y: np.where(np.arange(N) == 7, 0.0, y),
        lambda y: pd.Series(y * 2, name="log y"),
        lambda y: (y * 3)[:, None],
        lambda y: (y > 0).astype(int),
    ],
)
def test_another_y_is_refused(frame, form, other):
    rows, y = form(frame), other(frame["a y"].abs().to_numpy())
    with pytest.raises(ValueError, match=OTHER):
        BayesianLinearRegression(formula=FORMULA).fit(rows, y)


def test_wherever_y_is_given(frame):
    y = frame["k"] * 1.0
    model = BayesianLinearRegression(formula=FORMULA, random_state=0)
    averager = EvidenceModelAverager([("one", model), ("two", model)])
    fitted, average = (one.fit(frame, frame["a y"]) for one in (model, averager))
    started = BayesianLinearRegression(formula=FORMULA).partial_fit(frame[:30])
    calls = [
        lambda: model.fit(frame, y),
        lambda: BayesianLinearRegression(formula=FORMULA).partial_fit(frame, y),
        lambda: started.partial_fit(frame[30:], y[30:]),
        lambda: fitted.score(frame, y),
        lambda: fitted.score_samples(frame, y),
        lambda: fitted.log_predictive(frame, y),
        lambda: predictive_check(fitted, frame, y),
        lambda: prior_sensitivity(model, frame, y),
        lambda: averager.fit(frame, y),
        lambda: average.score(frame, y),
        lambda: average.score_samples(frame, y),
        lambda: EvidenceSearch(model, {"coef_scale": [0.5, 1.0]}).fit(frame, y),
        lambda: EvidenceSearch(BayesianLinearRegression(), {"formula": [FORMULA, "`a y` ~ 1"]}).fit(frame, y),
        lambda: BayesianGLM("bernoulli", formula="k ~ x").fit(frame.assign(**{"a y": y}), 1 - frame["k"]),
        lambda: BayesianGLM("poisson", formula="k ~ x").fit(frame, frame["k"] + 1, offset=0.0),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="y is not the column"):
            call()


def test_a_file_whose_target_is_another_column(frame, tmp_path):
    pytest.importorskip("pyarrow")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    rows = RowSource(tmp_path / "rows.csv", target="k")
    with pytest.raises(ValueError, match=OTHER):
        BayesianLinearRegression(formula=FORMULA).fit(rows)
    rows = RowSource(tmp_path / "rows.csv", target="a y")
    found = BayesianLinearRegression(formula=FORMULA).fit(rows)
    assert found.log_evidence_ == pytest.approx(
        BayesianLinearRegression(formula=FORMULA).fit(frame).log_evidence_
    )


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "same",
    [
        lambda y: y,
        lambda y: y.astype(np.float32),
        lambda y: y.astype(object),
        lambda y: list(y),
        lambda y: pd.Series(y, index=np.arange(N)[::-1]),
        lambda y: y[:, None][:, 0],
    ],
)
def test_the_same_y_of_another_type_is_no_other(frame, form, same):
    y = frame["a y"].to_numpy()
    expected = BayesianLinearRegression(formula=FORMULA).fit(frame)
    found = BayesianLinearRegression(formula=FORMULA).fit(form(frame), same(y))
    assert found.log_evidence_ == pytest.approx(expected.log_evidence_, abs=1e-4)
    assert found.score(frame) == pytest.approx(found.score(frame, y))


@pytest.mark.parametrize("kind", [bool, float, "Int64", "category", str, np.int8])
def test_classes_of_another_type_are_no_other(frame, kind):
    plain = BayesianGLM("bernoulli", formula="k ~ x", random_state=0).fit(frame)
    typed = frame.assign(k=frame["k"].astype(kind))
    found = BayesianGLM("bernoulli", formula="k ~ x", random_state=0).fit(typed, frame["k"])
    assert found.log_evidence_ == plain.log_evidence_
    with pytest.raises(ValueError, match="y is not the column 'k'"):
        BayesianGLM("bernoulli", formula="k ~ x").fit(typed, 1 - frame["k"])


@pytest.mark.parametrize("form", FORMATS)
def test_a_frame_without_the_column_takes_any_y(frame, form):
    y = np.random.default_rng(3).permutation(frame["a y"])
    found = BayesianLinearRegression(formula=FORMULA).fit(form(frame[["x"]]), y)
    expected = BayesianLinearRegression().fit(frame[["x"]], y)
    assert found.log_evidence_ == pytest.approx(expected.log_evidence_)


def test_formulas_of_several_responses_are_not_compared(frame):
    model = BayesianLinearRegression()
    with pytest.raises(ValueError, match="cannot be compared"):
        EvidenceSearch(model, {"formula": ["`a y` ~ x", "k ~ x"]}).fit(frame)


@pytest.mark.parametrize(
    "kind, right",
    [
        ("numbers", "a * town"),
        ("numbers", "a + (1 | town)"),
        ("labels", "a + b"),
        ("labels", "bs(a, df=5) + town"),
        ("counts", "a + offset(b)"),
        ("counts", "a"),
    ],
)
def test_a_formula_without_a_left_side_is_of_the_y_that_is_given(right, kind, rng):
    """Evidence, predictions and streams are those of the formula with y in the frame."""
    frame = pd.DataFrame(
        {"a": rng.normal(size=40), "b": rng.normal(size=40), "town": rng.choice([*"xyz"], 40)}
    )
    y = {"numbers": rng.normal(size=40), "labels": rng.choice([*"rst"], 40), "counts": rng.poisson(3.0, 40)}[
        kind
    ]
    makers = {"numbers": BayesianLinearRegression, "labels": BayesianSoftmaxRegression, "counts": BayesianGLM}
    family = {"family": "poisson"} if kind == "counts" else {}
    given = makers[kind](formula=f"~ {right}", random_state=0, **family).fit(frame, y)
    named = makers[kind](formula=f"y ~ {right}", random_state=0, **family).fit(frame.assign(y=y))
    assert given.log_evidence_ == named.log_evidence_
    assert given.predict(frame).tolist() == named.predict(frame).tolist()
    assert given.score(frame, y) == named.score(frame, y)
    assert sub_formulas(f"~ {right}") == [one.removeprefix("y ") for one in sub_formulas(f"y ~ {right}")]
    with pytest.raises(ValueError, match="has no response: write y ~ …, or ~ … and give y"):
        given.fit(frame.assign(y=y))


def test_the_noise_of_a_formula_without_a_left_side_has_a_formula_too(rng):
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "y"])
    X, y = frame[["a", "b"]], frame["y"]
    given = BayesianLinearRegression(formula="~ .", noise="~ b", random_state=0).fit(X, y)
    named = BayesianLinearRegression(formula="y ~ .", noise="~ b", random_state=0).fit(frame)
    assert given.log_evidence_ == named.log_evidence_


@pytest.mark.parametrize("form", FORMATS)
def test_rows_are_scored_by_the_y_of_the_formula(frame, form):
    """A frame without that column has the score that the model expects."""
    rows, alone = form(frame), form(frame[["x"]])
    line = BayesianLinearRegression(formula=FORMULA, random_state=0).fit(rows)
    average = EvidenceModelAverager([line, clone(line).set_params(formula="`a y` ~ 1")], random_state=0)
    for model in (line, average.fit(rows)):
        given = model.score_samples(rows, frame["a y"])
        np.testing.assert_array_equal(model.score_samples(rows), given)
        assert np.ptp(model.score_samples(alone)) < 0.5 < np.ptp(given)
    of_classes = BayesianSoftmaxRegression(formula="k ~ x", random_state=0).fit(rows)
    chance = of_classes.predict_proba(rows)[np.arange(N), frame["k"]]
    np.testing.assert_allclose(np.exp(of_classes.score_samples(rows)), chance)


def test_times_are_scored_by_surv(frame):
    times = frame.assign(t=np.exp(frame["a y"]), dead=frame["k"])
    model = BayesianGLM("weibull", formula="Surv(t, dead) ~ x", random_state=0).fit(times)
    given = model.score_samples(times[["x"]], times["t"], event=times["dead"])
    np.testing.assert_allclose(model.score_samples(times), given)
