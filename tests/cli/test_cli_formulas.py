"""Formulas at the command line are those of the library."""

import json

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianGLM, BayesianLinearRegression

testing = pytest.importorskip("typer.testing")
pytest.importorskip("formulae")


@pytest.fixture
def table(rng):
    g = np.repeat(["u", "v", "w", "x"], 15)
    x = rng.standard_normal(60)
    y = x + 2 * np.unique(g, return_inverse=True)[1] + rng.standard_normal(60)
    return pd.DataFrame({"x": x, "group": g, "y": y, "n": rng.poisson(2, 60)})


@pytest.fixture
def run(table, tmp_path):
    from sgevidence.cli._app import app

    table.to_csv(tmp_path / "rows.csv", index=False)
    words = ["compare", str(tmp_path / "rows.csv")]
    return lambda *more: testing.CliRunner().invoke(app, [*words, *more])


def test_formulas_are_compared(run, table):
    formulas = ["y ~ x", "y ~ x + (1 | group)"]
    out = run("--formula", formulas[0], "--formula", formulas[1], "--json")
    assert out.exit_code == 0, out.output
    found = {row["model"]: row["log_evidence"] for row in json.loads(out.stdout)}
    for formula in formulas:
        model = BayesianLinearRegression(formula=formula, random_state=0).fit(table)
        assert found[formula] == pytest.approx(model.log_evidence_, abs=1e-9)


def test_families_offsets_and_missing_values(run, table, tmp_path):
    table.assign(x=table["x"].where(table.index > 1)).to_csv(tmp_path / "rows.csv", index=False)
    out = run("--formula", "n ~ x", "--family", "poisson", "--offset", "y", "--dropna", "--json")
    assert out.exit_code == 0, out.output
    assert "2 rows with missing values are left out" in out.output
    part = table[2:]
    model = BayesianGLM("poisson", formula="n ~ x", random_state=0)
    model.fit(part[["x"]], part["n"], offset=part["y"])
    assert json.loads(out.stdout)[0]["log_evidence"] == pytest.approx(model.log_evidence_, abs=1e-6)


@pytest.mark.parametrize(
    "words, message",
    [
        (["--formula", "y ~ x", "--target", "y"], "leave out --target"),
        (["--formula", "y ~ x", "--formula", "n ~ x"], "the responses ['n', 'y']"),
        (["--formula", "y ~ z"], "no column 'z'"),
        (["--formula", "q ~ x"], "no column 'q'"),
        (["--formula", "y ~ x", "--family", "softmax"], "softmax has no formulas"),
    ],
)
def test_errors_are_one_line(run, words, message):
    out = run(*words)
    assert out.exit_code == 1 and message in out.output and len(out.output.splitlines()) == 1
