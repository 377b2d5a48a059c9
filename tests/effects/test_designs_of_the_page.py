"""Designs that the page of formulas lists are fitted as they stand there."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianGLM, BayesianLinearRegression, BayesianSoftmaxRegression

pytest.importorskip("formulae")
PAGE = (Path(__file__).parents[2] / "docs" / "formulas.md").read_text(encoding="utf-8").replace("\\|", "|")
#: Formulas of JASP's menus, whose columns are y, a, b, x, id and item.
JASP = re.findall(
    r"(?<![`\w])`?\"?(y ~ [^`\"]+)[`\"]", PAGE.partition("## Designs of JASP")[2].partition("\n## ")[0]
)
#: Formulas of lme4's and bambi's examples, which name their own columns.
EXAMPLES = [
    "reaction ~ days + (days | subject)",
    "reaction ~ days + (days || subject)",
    "yield ~ 1 + (1|batch)",
    "diameter ~ 1 + (1|plate) + (1|sample)",
    "strength ~ 1 + (1|batch/cask)",
    "y ~ service + (1|s) + (1|d) + (1|dept:service)",
    "daysabs ~ prog + scale(math)",
    "mpg ~ poly(horsepower, 2)",
    "weight ~ time + (time|pig)",
    "value ~ condition + age + gender + (1|uid) + (condition|study) + (condition|stimulus)",
    "rate ~ race*object + (race*object|subject)",
    "doy ~ bs(year, knots=c(1000, 1500))",
]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(6008)
    n = 72
    levels = {
        "a": 3, "b": 2, "id": 12, "item": 6, "subject": 8, "batch": 6, "plate": 9, "sample": 4, "cask": 3,
        "condition": 2, "uid": 18, "study": 6, "service": 2, "s": 12, "d": 9, "dept": 4, "prog": 3, "pig": 8,
        "gender": 2, "stimulus": 4, "race": 2, "object": 2,
    }  # fmt: skip
    frame = pd.DataFrame({name: [f"{name}{k}" for k in rng.integers(0, m, n)] for name, m in levels.items()})
    numbers = [
        "x",
        "days",
        "math",
        "time",
        "y",
        "reaction",
        "yield",
        "diameter",
        "strength",
        "daysabs",
        "weight",
        "value",
        "age",
        "doy",
        "rate",
        "mpg",
        "horsepower",
    ]
    frame = frame.assign(year=rng.integers(801, 2016, n))
    return frame.assign(**{name: rng.normal(10, 2, n) for name in numbers}, binary=rng.integers(0, 2, n))


def test_the_page_has_the_designs():
    assert len(JASP) == 14


@pytest.mark.slow
@pytest.mark.parametrize("formula", [*dict.fromkeys(JASP), *EXAMPLES])
def test_every_design_is_one_line(frame, formula):
    prior = "jzs" if formula in JASP and "(1 + x" not in formula else "normal"
    model = BayesianLinearRegression(formula=formula, prior=prior, random_state=0).fit(frame)
    assert np.isfinite(model.log_evidence_) and model.log_evidence_std_ < 0.1
    assert f"`{formula}`" in PAGE


@pytest.mark.slow
def test_classes_and_trials_in_one_line(frame):
    vote = frame.assign(vote=np.where(frame["binary"], "clinton", "trump"), party_id=frame["a"])
    model = BayesianGLM("bernoulli", formula="vote ~ party_id + party_id:age", random_state=0)
    assert list(model.fit(vote).classes_) == ["clinton", "trump"]
    kinds = frame.assign(species=frame["a"], length=frame["x"], width=frame["age"])
    model = BayesianSoftmaxRegression(formula="species ~ length + width", random_state=0).fit(kinds)
    assert model.log_evidence_std_ < 0.1
    model = BayesianGLM("bernoulli", formula="binary ~ a + (1 | id)", random_state=0).fit(frame)
    shares = BayesianGLM("binomial", formula="binary ~ a + (1 | id)", random_state=0).fit(frame, trials=3)
    assert max(model.log_evidence_std_, shares.log_evidence_std_) < 0.1
