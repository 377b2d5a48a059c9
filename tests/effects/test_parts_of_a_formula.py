"""Which effects of a group are correlated, however its parts are written, and what is refused at once."""

import time

import numpy as np
import pandas as pd
import pytest

from sgevidence import (
    BayesianGLM,
    BayesianLinearRegression,
    EvidenceSearch,
    Group,
    sub_formulas,
    term_probabilities,
)

pytest.importorskip("formulae")
#: Effects in several parts, or on both sides of ||.
APART: dict = {"correlated": False, "origin": 0}
#: A group's name, as a frame has it and as a formula may write it.
NAMES = [
    ("g", ["g", "(g)", "`g`", " g "]),
    ("sub id", ["`sub id`", "(`sub id`)", "((`sub id`))"]),
    ("a.b_1", ["a.b_1"]),
    ("1st", ["`1st`"]),
    ("x|y)", ["`x|y)`"]),
    ("p**q || r", ["`p**q || r`"]),
    ("True", ["`True`"]),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(58)
    code = np.repeat(np.arange(8), 6)
    t = np.tile(np.arange(6.0), 8)
    u = rng.standard_normal((8, 2)) @ [[2.0, 1.5], [0.0, 0.6]]
    y = 10 + u[code, 0] + u[code, 1] * t + 0.5 * rng.standard_normal(48)
    return pd.DataFrame({"t": t, "y": y, "code": code, "half": code % 2})


def evidence(rows, formula):
    return BayesianLinearRegression(formula=formula, random_state=0).fit(rows).log_evidence_


@pytest.mark.parametrize(
    "name, spellings",
    [pytest.param(*one, marks=[pytest.mark.slow] * (one[0] not in ("g", "p**q || r"))) for one in NAMES],
)
def test_one_part_is_correlated_and_several_are_not(rows, name, spellings):
    frame = rows.rename(columns={"code": name})
    X = frame[["t", name]]
    together, apart = (
        BayesianLinearRegression(terms=[Group(name, by="t", **how)], random_state=0)
        .fit(X, frame["y"])
        .log_evidence_
        for how in ({}, APART)
    )
    assert abs(together - apart) > 0.5
    for g in spellings[1:]:
        assert evidence(frame, f"y ~ t + (1 + t | {g})") == pytest.approx(together, abs=1e-6)
    g, most = spellings[0], 4 if name == "g" else 1  # ways to write it: a name is a name, wherever it stands
    for right in (f"(1 + t | {g})", f"((1 + t) | {g})", f"((1+t |{g}))")[:most]:
        assert evidence(frame, f"y ~ t + {right}") == pytest.approx(together, abs=1e-6), right
    for right in (
        f"(1|{g}) + (0 + t|{g})",
        f"((1 | {g})) + (-1 + t | {g})",
        f"(1 + t || {g})",
        f"(t||{g})",
    )[:most]:
        assert evidence(frame, f"y ~ t + {right}") == pytest.approx(apart, abs=1e-6), right
    for right in (f"(1 | {g}) + (0 + t | {g})", f"(t || {g})"):
        whole = sub_formulas(f"y ~ t + {right}")[-1]
        assert evidence(frame, whole) == pytest.approx(apart, abs=1e-6)


@pytest.mark.parametrize(
    "g",
    [
        "code : half",
        "(code:half)",
        *(pytest.param(g, marks=pytest.mark.slow) for g in ("code:half", "half:code", "(code):(half)")),
    ],
)
def test_groups_of_two_columns(rows, g):
    together, apart = (
        BayesianLinearRegression(terms=[Group(("code", "half"), by="t", **how)], random_state=0)
        .fit(rows[["t", "code", "half"]], rows["y"])
        .log_evidence_
        for how in ({}, APART)
    )
    # levels in another order move the points of the integral, by less than its error bar
    within = 3e-3 if g == "half:code" else 1e-6
    assert evidence(rows, f"y ~ t + (1 + t | {g})") == pytest.approx(together, abs=within)
    assert evidence(rows, f"y ~ t + (1 | {g}) + (0 + t | code:half)") == pytest.approx(apart, abs=within)


def test_groups_within_groups(rows):
    nested = [Group("half", by="t", **APART), Group(("half", "code"), by="t", **APART)]
    expected = BayesianLinearRegression(terms=nested, random_state=0)
    expected = expected.fit(rows[["t", "code", "half"]], rows["y"])
    texts = ["y ~ t + (1 | half / code) + (0 + t | half / code)"]
    texts += ["y ~ t + (1 | half) + (1 | half:code) + (0 + t | half/code)", "y ~ t + (t || half/code)"]
    for text in texts:
        found = BayesianLinearRegression(formula=text, random_state=0).fit(rows)
        gap = abs(found.log_evidence_ - expected.log_evidence_)
        assert gap < 4 * np.hypot(found.log_evidence_std_, expected.log_evidence_std_) + 1e-6


@pytest.mark.parametrize(
    "right, words",
    [
        ("(1 + t | code) + (1 | code)", "in two parts"),
        ("(1 | code) + (1 | code)", "in two parts"),
        ("(1 + t | code) + (0 + t | code)", "in two parts"),
        ("(1 | code:half) + (1 | half:code)", "in two parts"),
        ("(1 | code / half) + (1 + t | code)", "in two parts"),
        ("(1 + t | code) * half", "neither taken away nor multiplied"),
        ("(1 | code) - (1 | code)", "in two parts"),
        ("(1 + t | code) - (0 + t | code)", "in two parts"),
        ("(1 + t | code) - (0 + t | half)", "neither taken away nor multiplied"),
        ("(1 + 0 + t | code)", "stands once"),
        ("(1 + t - 1 | code)", "stands once|cannot be read"),
        ("(1 + t | | code)", "at character 14 cannot be read"),
        ("(1 | 'code')", "in quotes is a text"),
        ("'t'", "in quotes is a text"),
        ('t + "half"', "in quotes is a text"),
        ("C('t')", "in quotes is a text and no column: write its name"),
        ("True", "True is no column"),
        ("t + None", "None is no column"),
        ("t + 2", "2 is no column"),
        ("t + 0.5", "0.5 is no column"),
        ("(1 | 2)", "2 is no column"),
        ("s(t, k=5, k=9)", "k is given twice"),
        ("bs(t, degree=True)", "whole number"),
        ("t**2", "no power"),
        ("(t)**2", "no power"),
        ("s(t)**2", "no power"),
        ("`t`**2", "no power"),
        ("t^2", "no power"),
        ("(t + half)**100000000", "power of a sum"),
        ("(t + half)**1.5", "power of a sum"),
        ("(t + half)**half", "power of a sum"),
        ("(t + half)**0", "power of a sum"),
        ("*".join(f"q{k}" for k in range(18)), "more than 1000 terms"),
        ("(" + "+".join(f"q{k}" for k in range(40)) + ")**9", "more than 1000 terms"),
        (":".join(["(" + "+".join(f"q{k}" for k in range(40)) + ")"] * 3), "more than 1000 terms"),
        ("s(t, k=10**5)", "whole number|cannot be read"),
        ("s(t, k=100000)", "at most 1000"),
        ("bs(t, df=100000)", "at most 1000"),
        ("bs(t, degree=100000)", "at most 1000"),
        ("+".join(f"q{k}" for k in range(900)), "too deep|no column"),
        ("`t", "a backtick has no end"),
    ],
)
def test_what_nobody_can_tell_is_refused_at_once(rows, right, words):
    start = time.process_time()
    with pytest.raises(ValueError, match=words):
        BayesianLinearRegression(formula=f"y ~ {right}").fit(rows)
    assert time.process_time() - start < 2.0


@pytest.mark.parametrize(
    "left",
    [
        "'y'",
        "2",
        "y:t",
        "y + t",
        "log(t) + y",
        "log(y - t)",
        "I(y**2)",
        "poly(y, 2)",
        "1",
        "",
        "y | t",
        "-y",
        "C(y)",
        "(y|t)",
    ],
)
def test_a_response_is_one_column(rows, left):
    with pytest.raises(ValueError, match=r"response|no column|cannot be read|in quotes"):
        BayesianLinearRegression(formula=f"{left} ~ t").fit(rows)


def test_formulas_within_one_can_be_read_again(rows):
    odd = {"t": "my t", "code": "sub id", "half": "1st", "y": "the y"}
    frame = rows.rename(columns=odd)
    texts = sub_formulas("`the y` ~ `my t` * `1st` + (1 + `my t` | `sub id`) + s(`my t`, k=5)")
    assert texts[-1].startswith("`the y` ~ `my t` + `1st` + ")
    search = EvidenceSearch(BayesianGLM("gaussian", random_state=0), {"formula": texts[:4]}).fit(frame)
    found = term_probabilities(search.comparison_)
    plain = sub_formulas("y ~ t * half + (1 + t | code) + s(t, k=5)")
    expected = EvidenceSearch(BayesianGLM("gaussian", random_state=0), {"formula": plain[:4]}).fit(rows)
    expected = term_probabilities(expected.comparison_)
    assert found["probability"].tolist() == pytest.approx(expected["probability"].tolist())
    assert "`1st`" in found.index or "`sub id`" in str(list(found.index))
