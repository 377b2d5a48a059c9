"""The command line says what the library says, and errors are one line."""

import json
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianGMM, BayesianLinearRegression, EvidenceMonitor, cli, compare

testing = pytest.importorskip("typer.testing")
pytest.importorskip("pyarrow")
pytest.importorskip("rich")


@pytest.fixture
def run():
    from sgevidence.cli._app import app

    return lambda *words, text=None: testing.CliRunner().invoke(
        app, [str(word) for word in words], input=text
    )


@pytest.fixture
def table(rng):
    X = rng.standard_normal((40, 2))
    columns = {
        "a": 100 * X[:, 0],
        "b": X[:, 1],
        "y": X[:, 0] + rng.standard_normal(40),
        "n": rng.poisson(2, 40),
    }
    return pd.DataFrame(columns | {"kind": np.where(X[:, 0] > 0, "yes", "no")})


@pytest.fixture
def path(table, tmp_path):
    table.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def test_regressions_of_several_sets_of_columns(run, table, path):
    out = run("compare", path, "--target", "y", "--features", "a", "--features", "a,b", "--json")
    assert out.exit_code == 0, out.output
    rows = json.loads(out.stdout)
    fits = {
        f"linear: {', '.join(names)}": BayesianLinearRegression(standardize=True, columns=names).fit(
            table[["a", "b"]], table["y"]
        )
        for names in (["a"], ["a", "b"])
    }
    expected = compare(fits)
    assert [row["model"] for row in rows] == list(expected.index)
    assert [row["log_evidence"] for row in rows] == expected["log_evidence"].tolist()
    assert [row["probability"] for row in rows] == expected["probability"].tolist()
    text = run("compare", path, "--target", "y", "--features", "a", "--features", "a,b")
    assert text.stdout.rstrip() == str(expected).rstrip()


def test_mixtures_families_and_classes(run, table, path):
    out = run("compare", path, "--mixture", "1", "--features", "a,b", "--no-standardize", "--json")
    (row,) = json.loads(out.stdout)
    assert (row["model"], row["log_evidence"]) == ("K=1", BayesianGMM(1).fit(table[["a", "b"]]).log_evidence_)
    words = ("--target", "n", "--features", "b", "--family", "poisson,negative_binomial", "--json")
    assert {row["model"] for row in json.loads(run("compare", path, *words).stdout)} == set(
        words[5].split(",")
    )
    out = run("compare", path, "--target", "kind", "--features", "b")
    assert out.exit_code == 0 and "softmax" in out.stdout


def test_covariances_and_a_picture(run, table, path, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "out.png"
    words = ("compare", path, "--mixture", "1", "--features", "a,b", "--json", "--covariance", "full")
    out = run(*words, "--plot", picture)
    assert out.exit_code == 0, out.output
    full = BayesianGMM(1, covariance_type="full", standardize=True, random_state=0).fit(table[["a", "b"]])
    assert json.loads(out.stdout)[0]["log_evidence"] == full.log_evidence_
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "no_such_ending" in run(*words, "--plot", tmp_path / "out.no_such_ending").stderr
    assert "covariance_type" in run(*words[:-1], "round").stderr


@pytest.mark.parametrize(
    "words, message",
    [
        (["--target", "z", "--features", "a"], "rows.csv: no column 'z'"),
        (["--target", "y"], "rows.csv.*invalid value '(yes|no)'"),
        ([], "give either --target"),
        (["--mixture", "1", "--target", "y", "--features", "a"], "give either --target"),
        (["--mixture", "3-1", "--features", "a"], "--mixture 3-1: give numbers of components"),
        (["--mixture", "1", "--features", "a", "--features", "b"], "give --features once"),
        (["--target", "y", "--features", "a", "--family", "poison"], "family"),
        (["--target", "y", "--features", "a", "--offset", "b"], "linear has no offset"),
    ],
    ids=str,
)
def test_errors_are_one_line(words, message, run, path):
    out = run("compare", path, *words)
    assert out.exit_code == 1 and out.stdout == ""
    assert out.stderr.startswith("error: ") and re.search(message, out.stderr), out.stderr


def test_a_missing_value_is_named_or_left_out(run, table, path):
    table.loc[7, "a"] = np.nan
    table.to_csv(path, index=False)
    words = ("compare", path, "--target", "y", "--features", "a")
    assert "rows.csv: column 'a' has no value in row 7" in run(*words).stderr
    out = run(*words, "--dropna")
    assert out.exit_code == 0 and "1 rows with missing values are left out" in out.stderr


def test_watch_declares_what_the_monitor_does(run, rng):
    x = np.r_[rng.normal(0, 1, 40), rng.normal(8, 1, 10)]
    text = "level\n" + "".join(f"{float(v)!r}\n" for v in x)
    monitor = EvidenceMonitor()
    for v in x:
        monitor.partial_fit([[v]])
    out = run("watch", "-", text=text)
    assert out.exit_code == 0, out.output
    assert [f"a change at row {d.place}," in out.stdout for d in monitor.detections_] == [True]
    (found,) = map(json.loads, run("watch", "--json", text=text).stdout.splitlines())
    assert found == monitor.detections_[0]._asdict()


@pytest.mark.parametrize(
    "text, message",
    [
        ("1\n2\nx\n", "standard input, line 3, column 1: 'x' is no finite number"),
        ("1 2\n1,nan\n", "standard input, line 2, column 2: 'nan' is no finite number"),
        ("a b\n1;2\n\n3\n", "standard input, line 4: 1 numbers, the lines before have 2"),
    ],
)
def test_lines_that_are_no_rows_are_named(text, message, run):
    out = run("watch", text=text)
    assert out.exit_code == 1 and out.stderr.strip() == f"error: {message}"


def test_packages_that_are_missing_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "sgevidence.cli._app", raising=False)
    with pytest.raises(SystemExit, match=r"pip install 'sgevidence\[cli\]'"):
        cli.main()


def test_the_command_is_installed_and_helps(run):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["scripts"] == {"sgevidence": f"{cli.__name__}:{cli.main.__name__}"}
    assert {"compare", "watch"} <= set(run("--help").stdout.split())
