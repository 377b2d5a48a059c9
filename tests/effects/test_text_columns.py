"""Columns of text that a formula names: levels, or numbers and dates that a reader has left as text."""

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianGLM, BayesianLinearRegression, EvidenceSearch, EvidenceWarning, Factor

pytest.importorskip("formulae")
N = 24


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(580)
    x = rng.standard_normal(N).round(3)
    return pd.DataFrame({"x": x, "y": x + rng.standard_normal(N), "code": np.arange(N) % 6})


def of_polars(frame):
    return pytest.importorskip("polars").DataFrame({name: frame[name].tolist() for name in frame})


def of_arrow(frame):
    return pytest.importorskip("pyarrow").table({name: frame[name].tolist() for name in frame})


FORMATS = [lambda frame: frame, of_polars, of_arrow]


def with_one(values, cell, place=5):
    found = list(values)
    found[place] = cell
    return found


def texts(frame):
    return [str(value) for value in frame["x"]]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "right", ["x", "x + code", "x:code", "x * code", "(1 + x | code)", "code + x:C(code)"]
)
@pytest.mark.parametrize("cell", ["missing", "1,5", "?", "", "NA", "n/a", "1.5 kg", "--", "nan"])
def test_one_cell_of_text_is_refused_by_its_row(frame, form, right, cell):
    rows = frame.assign(x=with_one(texts(frame), cell))
    if cell == "1,5":  # which is a number as others write it
        with pytest.raises(ValueError, match="'x' has numbers as text"):
            BayesianLinearRegression(formula=f"y ~ {right}").fit(form(rows))
        return
    with pytest.raises(ValueError, match=r"column 'x' has .* in row 5, counted from 0, where most look like"):
        BayesianLinearRegression(formula=f"y ~ {right}").fit(form(rows))


@pytest.mark.parametrize("cell", ["missing", "7", b"7", (1, 2), pd.Timestamp("2020-01-01"), True])
def test_cells_of_several_types_are_refused(frame, cell):
    numbers = with_one(frame["x"].astype(object), cell)
    if cell is True:
        assert BayesianLinearRegression(formula="y ~ x").fit(frame.assign(x=numbers)).coef_.shape == (1,)
        numbers, cell = with_one(list("ab" * (N // 2)), True), True
    with pytest.raises(ValueError, match=r"column 'x' has .* in row 5, counted from 0, where most are"):
        BayesianLinearRegression(formula="y ~ x").fit(frame.assign(x=numbers))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "written",
    [
        lambda x: [f"{value:.3f}" for value in x],
        lambda x: [f"{value:.3f}".replace(".", ",") for value in x],
        lambda x: [f"{value:.2e}" for value in x],
        lambda x: [f"-{k}" for k in range(N)],
        lambda x: [f"${k}.50" for k in range(N)],
        lambda x: [f"{k} %" for k in range(N)],
        lambda x: [f"2020-01-{k + 1:02d}" for k in range(N)],
        lambda x: [f"{k + 1}.1.2020" for k in range(N)],
        lambda x: [f"2020-01-{k + 1:02d} 12:00:00" for k in range(N)],
        lambda x: [f"{k:02d}:30" for k in range(N)],
        lambda x: [f"{1990 + k}-05" for k in range(N)],
    ],
)
def test_decimals_and_dates_as_text_are_refused_where_they_have_a_level_a_row(frame, form, written):
    rows = form(frame.assign(x=written(frame["x"])))
    for right in ("x", "x:code", "x + (1 | code)"):
        with pytest.raises(
            ValueError, match=r"column 'x' has (numbers|dates) as text, .* in row 0, .*C\(x\)"
        ):
            BayesianLinearRegression(formula=f"y ~ {right}").fit(rows)
    factor = BayesianLinearRegression(formula="y ~ C(x)").fit(rows)
    assert 2 * len(factor.effects_) > N


def test_groups_are_levels_whatever_they_look_like(frame):
    rows = frame.assign(x=[f"2020-01-{k // 2 + 1:02d}" for k in range(N)])
    assert np.isfinite(BayesianLinearRegression(formula="y ~ (1 | x)").fit(rows).log_evidence_)


def test_few_levels_of_decimals_warn(frame):
    dose = [f"{(k % 3) / 2}" for k in range(N)]
    rows = frame.assign(dose=dose)
    with pytest.warns(EvidenceWarning, match="'dose' has numbers as text, .* is a factor of 3 levels"):
        model = BayesianLinearRegression(formula="y ~ dose").fit(rows)
    assert any("as text" in words for words in model.warnings_)
    search = EvidenceSearch(BayesianLinearRegression(), {"formula": ["y ~ 1", "y ~ dose"]})
    with pytest.warns(EvidenceWarning, match="'dose' has numbers as text"):
        assert "warned" in repr(search.fit(rows).comparison_)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "levels",
    [
        lambda k: f"{10_000 + k % 6}",
        lambda k: f"{k:03d}",
        lambda k: "abcdef"[k % 6],
        lambda k: f"s{k % 6}",
        lambda k: "A1" if k % 2 else "2",
        lambda k: ["low", "high", "1"][k % 3],
    ],
)
@pytest.mark.filterwarnings("error::sgevidence.EvidenceWarning")
def test_text_of_digits_and_words_are_levels(frame, form, levels):
    cells = [levels(k) for k in range(N)]
    rows = form(frame.assign(x=cells))
    found = BayesianLinearRegression(formula="y ~ x").fit(rows)
    expected = BayesianLinearRegression(terms=[Factor("x")]).fit(frame.assign(x=cells)[["x"]], frame["y"])
    assert found.log_evidence_ == pytest.approx(expected.log_evidence_)


def test_categories_are_levels_whatever_they_are(frame):
    for cells in (np.arange(N) % 3, [f"{(k % 3) / 2}" for k in range(N)], pd.cut(frame["x"], 3)):
        rows = frame.assign(c=pd.Categorical(cells))
        model = BayesianLinearRegression(formula="y ~ c").fit(rows)
        assert not model.warnings_ and len(model.effects_) == 3


def test_dates_complex_numbers_and_lists(frame):
    dates = [pd.Timestamp("2020-01-01") + pd.Timedelta(days=k) for k in range(N)]
    for values in (
        dates,
        [d.date() for d in dates],
        [d.time() for d in dates],
        pd.period_range("2020", periods=N),
    ):
        for column in (pd.Series(values), pd.Series(list(values), dtype=object)):
            with pytest.raises(TypeError, match="dates or durations"):
                BayesianLinearRegression(formula="y ~ x").fit(frame.assign(x=column))
    with pytest.raises(TypeError, match=r"column 'x' has complex numbers"):
        BayesianLinearRegression(formula="y ~ x").fit(frame.assign(x=frame["x"] * 1j))
    with pytest.raises(TypeError, match=r"column 'x' has a list in row 0"):
        BayesianLinearRegression(formula="y ~ x").fit(frame.assign(x=[[1]] * N))


def test_streams_judge_the_first_rows_and_know_the_rest(frame):
    model = BayesianGLM("gaussian", formula="y ~ x", random_state=0).partial_fit(frame[:12])
    with pytest.raises(ValueError, match=r"column 'x' is not of numbers"):
        model.partial_fit(frame[12:].assign(x=with_one(texts(frame[12:]), "missing")))
    with pytest.raises(ValueError, match=r"column 'x' has 'missing' in row 5"):
        BayesianGLM("gaussian", formula="y ~ x").partial_fit(
            frame.assign(x=with_one(texts(frame), "missing"))
        )


def declared(kind, values, levels):
    if kind == "pandas":
        return pd.Series(pd.Categorical(values, categories=levels))
    polars = pytest.importorskip("polars")
    return polars.Series(values, dtype=polars.Enum(levels))


def table(kind, **columns):
    if kind == "pandas":
        return pd.DataFrame(
            {name: pd.Series(value).reset_index(drop=True) for name, value in columns.items()}
        )
    return pytest.importorskip("polars").DataFrame(columns)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("by_formula", [True, False])
def test_declared_levels_are_known_before_they_come(frame, kind, by_formula):
    levels = ["low", "mid", "high"]
    cells = ["low", "mid"] * (N // 4) + ["high", "mid"] * (N // 4)
    y = frame["y"].to_numpy()
    first, rest, whole = (
        table(kind, dose=declared(kind, cells[part], levels), y=y[part])
        for part in (slice(0, N // 2), slice(N // 2, N), slice(0, N))
    )
    how = {"formula": "y ~ dose"} if by_formula else {"terms": [Factor("dose")], "columns": []}

    def rows(one):
        return (one,) if by_formula else (one[["dose"]] if kind == "pandas" else one.select("dose"), one["y"])

    units = BayesianLinearRegression(**how).fit(*rows(whole)).units_
    stream = BayesianLinearRegression(**how, units=units).partial_fit(*rows(first)).partial_fit(*rows(rest))
    at_once = BayesianLinearRegression(**how, units=units).fit(*rows(whole))
    assert stream.effects_["level"].tolist() == levels
    assert stream.log_evidence_ == pytest.approx(
        at_once.log_evidence_, abs=0.5
    )  # means are of the first rows
    plain = BayesianLinearRegression(**how, units=units).fit(
        *rows(first.with_columns() if kind == "polars" else first)
    )
    few = table(kind, dose=cells[: N // 2], y=y[: N // 2])
    assert BayesianLinearRegression(**how, units=units).fit(*rows(few)).log_evidence_ == pytest.approx(
        plain.log_evidence_, abs=1e-8
    )


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_an_ordinal_response_keeps_its_order(frame, kind):
    levels = ["low", "mid", "high"]
    cells = np.array(levels)[np.clip(np.round(frame["x"] + 1), 0, 2).astype(int)]
    if kind == "pandas":
        answer = pd.Series(pd.Categorical(cells, categories=levels, ordered=True))
    else:
        answer = declared(kind, cells.tolist(), levels)
    rows = table(kind, x=frame["x"].to_numpy(), answer=answer)
    model = BayesianGLM("ordinal", formula="answer ~ x", random_state=0)
    found = model.fit(rows)
    assert found.classes_.tolist() == levels and found.coef_[0] > 0
    assert found.intercept_ == 0.0 and hasattr(found, "intercept_")
    given = BayesianGLM("ordinal", random_state=0).fit(frame[["x"]], np.searchsorted(np.sort(levels), cells))
    assert found.log_evidence_ != given.log_evidence_  # by the alphabet
    assert found.score(rows) > 0.8
    search = EvidenceSearch(BayesianGLM("ordinal", random_state=0), {"formula": ["answer ~ 1", "answer ~ x"]})
    assert search.fit(rows).best_params_ == {"formula": "answer ~ x"}
