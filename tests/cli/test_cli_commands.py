"""The command line says what the library says, and errors are one line."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sgevidence import (
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    EvidenceFeatureSelector,
    EvidenceMonitor,
    cli,
    compare,
    load,
)

pytest.importorskip("typer.testing")
pytest.importorskip("pyarrow")
pytest.importorskip("rich")
from sgevidence.cli import _models, _watching


@pytest.fixture
def run(invoke):
    return invoke


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


def test_a_target_of_yes_and_no_that_is_taken_for_a_number_is_said(run, table, tmp_path):
    table.assign(won=(table["kind"] == "yes").astype(int)).to_csv(tmp_path / "won.csv", index=False)
    words = "compare", tmp_path / "won.csv", "--features", "a", "--target"
    assert "--family bernoulli takes it" in run(*words, "won").stderr
    for others in (("won", "--family", "linear"), ("y",), ("kind",)):
        assert run(*words, *others).stderr == ""


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
    stated = BayesianGMM(1, standardize=False).fit(table[["a", "b"]])
    assert (row["model"], row["log_evidence"]) == ("K=1", stated.log_evidence_)
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
    full = BayesianGMM(1, covariance_type="full", random_state=0).fit(table[["a", "b"]])
    assert json.loads(out.stdout)[0]["log_evidence"] == full.log_evidence_
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "no_such_ending" in run(*words, "--plot", tmp_path / "out.no_such_ending").stderr
    assert "covariance_type" in run(*words[:-1], "round").stderr


@pytest.mark.parametrize(
    "words, message",
    [
        (["--target", "z", "--features", "a"], "rows.csv: no column 'z'"),
        (
            ["--target", "y"],
            "rows.csv: column 'kind' has text, '(yes|no)' in row 0 .*of --features.*--factor kind$",
        ),
        ([], "give either --target"),
        (["--mixture", "1", "--target", "y", "--features", "a"], "give either --target"),
        (["--mixture", "3-1", "--features", "a"], "--mixture 3-1: give numbers of components"),
        (["--mixture", "1", "--features", "a", "--features", "b"], "give --features once"),
        (["--target", "y", "--features", "a", "--family", "poison"], "family"),
        (["--target", "y", "--features", "a", "--offset", "b"], "linear has no offset"),
        (["--target", "kind", "--select", "--mixture", "2"], "give either --target"),
        (["--target", "y", "--features", "a", "--features", "b", "--select"], "give --features once"),
        (["--target", "n", "--features", "a", "--select", "--family", "poisson,linear"], "give one --family"),
        (["--target", "y", "--select", "--plot", "out.png"], "takes no --plot"),
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
    assert [f"a change at row {d.change_row}," in out.stdout for d in monitor.detections_] == [True]
    (found,) = map(json.loads, run("watch", "--json", text=text).stdout.splitlines())
    assert found == monitor.detections_[0]._asdict()


@pytest.mark.parametrize(
    "head, line, place, at",
    [
        ("year,level\n", "{year},{x}", 2020, 2027),
        ("level;date\n", "{x};1.1.{year}", "1.1.2020", "1.1.2027"),
        ("", "{year}-05-01,{x}", "2020-05-01", "2027-05-01"),  # no header
        ('"","level"\n', '"{year}-05-01 12:30",{x}', "2020-05-01 12:30", "2027-05-01 12:30"),  # of pandas
    ],
)
def test_a_change_is_named_by_its_year_or_date(run, rng, head, line, place, at):
    x = np.r_[rng.normal(0, 1, 20), rng.normal(12, 1, 12)]
    text = head + "".join(line.format(year=2000 + k, x=v) + "\n" for k, v in enumerate(x))
    (found,) = EvidenceMonitor().fit(x).detections_
    assert found.change_row == 20  # and row 20 is of the year 2020, whenever the change was declared
    out = run("watch", text=text)
    assert out.exit_code == 0 and "says when a row was" in out.stderr, out.stderr
    when = str(at).replace("2027", str(2000 + found.declared_row))
    assert out.stdout.startswith(f"{when}: a change at {place}, probability {found.probability:.3f}, ")
    assert json.loads(run("watch", "--json", text=text).stdout)["time"] == str(place)


def test_a_column_of_years_is_watched_by_its_name(run):
    text = "year,level\n" + "".join(f"{1900 + k},{k % 3}\n" for k in range(20))
    assert "says when" not in run("watch", "--column", "year", text=text).stderr
    out = run("watch", "--column", "level", text=text)  # which names rows by their year, too
    assert out.exit_code == 0 and out.stderr == "", out.stderr


def test_help_does_not_wait_for_scikit_learn():
    """Two seconds of imports, before a command could say what it is called."""
    code = (
        "import sys; from sgevidence.cli._app import app; app(['--help'], standalone_mode=False); "
        "assert not {'sklearn', 'scipy', 'pandas', 'numpy', 'matplotlib'} & set(sys.modules)"
    )
    for words in (["-c", code], ["-m", "sgevidence", "--help"]):
        out = subprocess.run([sys.executable, *words], capture_output=True, text=True)
        assert out.returncode == 0 and "compare" in out.stdout, out.stderr


@pytest.mark.parametrize(
    "text, message",
    [
        ("1\n2\nx\n", "standard input, line 3, column 1: 'x' is no finite number"),
        (
            "1 2\n1,nan\n",
            "standard input, line 2, column 2: 'nan' is no finite number: name the columns of numbers "
            "by --column",
        ),
        ("a b\n1;2\n\n3\n", "standard input, line 4: 1 numbers, the lines before have 2"),
    ],
)
def test_lines_that_are_no_rows_are_named(text, message, run):
    out = run("watch", text=text)
    assert out.exit_code == 1 and out.stderr.splitlines()[-1] == f"error: {message}"


def test_packages_that_are_missing_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "sgevidence.cli._app", raising=False)
    with pytest.raises(SystemExit, match="pip install typer rich skops pyarrow"):
        cli.main()


def test_the_command_is_installed_and_helps(run):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["scripts"] == {"sgevidence": f"{cli.__name__}:{cli.main.__name__}"}
    assert {"compare", "watch"} <= set(run("--help").stdout.split())


def test_columns_by_evidence(run, table, path):
    words = ("compare", path, "--target", "y", "--features", "a,b,n", "--select")
    out = run(*words, "--json")
    assert out.exit_code == 0, out.output
    found = json.loads(out.stdout)
    expected = EvidenceFeatureSelector(standardize=True).fit(table[["a", "b", "n"]], table["y"])
    assert found["log_evidence"] == expected.log_evidence_
    assert found["inclusion_probabilities"] == dict(zip("abn", expected.inclusion_probabilities_.tolist()))
    assert [row["columns"] for row in found["models"]] == [list(c) for c in expected.models_["columns"]]
    assert [row["probability"] for row in found["models"]] == expected.models_["probability"].tolist()
    text = run(*words).stdout
    assert re.search(r"^a +\S+ +yes", text, re.M) and re.search(r"^a, b, n +3 ", text, re.M)


def test_columns_of_other_families_by_evidence(run, table, path):
    words = ("compare", path, "--target", "n", "--features", "a,b", "--select", "--family", "poisson")
    out = run(*words, "--json")
    assert out.exit_code == 0, out.output
    counts = BayesianGLM("poisson", standardize=True, random_state=0)
    expected = EvidenceFeatureSelector(estimator=counts, random_state=0).fit(table[["a", "b"]], table["n"])
    assert json.loads(out.stdout)["log_evidence"] == expected.log_evidence_
    out = run("compare", path, "--target", "kind", "--features", "a", "--select")  # text: softmax
    assert out.exit_code == 0 and re.search(r"^a +\S+", out.stdout, re.M)


class Killed(Exception):
    """In the place of a signal."""


def killed_after(save, n):
    """``save``, and the end of the process at its n-th call."""
    calls = []

    def saves(*given):
        save(*given)
        calls.append(given)
        if len(calls) == n:
            raise Killed

    return saves


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("--target", "kind", "--features", "a", "--features", "a,b"),
        ("--target", "n", "--features", "b", "--family", "poisson", "--sample-weight", "w"),
        ("--mixture", "1,2", "--features", "a,b"),
    ],
    ids=["softmax", "weighted", "mixture"],
)
def test_a_comparison_that_is_killed_continues(options, run, table, tmp_path, monkeypatch, rows_of_call):
    pytest.importorskip("skops")
    rows_of_call(9)
    table = table.assign(w=np.arange(40) % 3).sort_values("kind")  # a batch of one label comes first
    table.to_parquet(tmp_path / "rows.parquet")
    words = ("compare", tmp_path / "rows.parquet", *options, "--json", "--checkpoint")
    whole = run(*words, tmp_path / "whole")
    assert whole.exit_code == 0, whole.output
    for n in (1, 4):
        with monkeypatch.context() as patch:
            patch.setattr(_models, "save", killed_after(_models.save, n))
            assert isinstance(run(*words, tmp_path / "killed").exception, Killed)
    again = run(*words, tmp_path / "killed")
    assert again.exit_code == 0 and again.stdout == whole.stdout
    assert run(*words, tmp_path / "killed").stdout == whole.stdout  # nothing is learnt twice


@pytest.mark.slow
def test_a_watch_that_is_killed_continues(run, tmp_path, monkeypatch, rng):
    pytest.importorskip("skops")
    monkeypatch.setattr(_watching, "WATCHED_ROWS", 15)
    x = np.r_[rng.normal(0, 1, 40), rng.normal(9, 1, 30), rng.normal(-9, 1, 20)]
    (tmp_path / "rows").write_text("".join(f"{float(v)!r}\n" for v in x), encoding="utf-8")
    words = ("watch", tmp_path / "rows", "--json", "--checkpoint", tmp_path / "monitor.sge")
    monitor = EvidenceMonitor().fit(x)
    with monkeypatch.context() as patch:
        patch.setattr(_watching, "save", killed_after(_watching.save, 3))
        killed = run(*words)
    assert isinstance(killed.exception, Killed)
    again = run(*words)
    found = [json.loads(line) for line in (killed.stdout + again.stdout).splitlines()]
    assert found == [detection._asdict() for detection in monitor.detections_] and len(found) == 2
    last = load(tmp_path / "monitor.sge")
    assert last.n_samples_seen_ == 90 and last.log_evidence_ == monitor.log_evidence_
    assert run(*words).stdout == ""


def test_checkpoints_of_another_run_are_refused(run, path, tmp_path):
    pytest.importorskip("skops")
    words = ("compare", path, "--target", "y", "--features", "a", "--checkpoint", tmp_path / "models")
    assert run(*words).exit_code == 0
    assert "random_state=0 in the place of 1" in run(*words, "--seed", 1).stderr
    path.write_text("\n".join(path.read_text().splitlines()[:30]), encoding="utf-8")
    assert re.search("has learnt 40 rows, and .*rows.csv has 29", run(*words).stderr)
    watch = ("watch", "-", "--checkpoint", tmp_path / "models" / "0.sge")
    assert "is a checkpoint of class=BayesianLinearRegression" in run(*watch, text="1\n").stderr
    (tmp_path / "models" / "0.sge").write_bytes(b"no checkpoint")
    assert run(*words).stderr.startswith("error: ") and "0.sge" in run(*words).stderr
