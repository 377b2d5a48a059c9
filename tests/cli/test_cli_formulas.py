"""Formulas at the command line are those of the library."""

import json

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from sgevidence import BayesianGLM, BayesianLinearRegression

pytest.importorskip("formulae")


@pytest.fixture
def table(rng):
    g = np.repeat(["u", "v", "w", "x"], 15)
    x = rng.standard_normal(60)
    y = x + 2 * np.unique(g, return_inverse=True)[1] + rng.standard_normal(60)
    return pd.DataFrame({"x": x, "group": g, "y": y, "n": rng.poisson(2, 60)})


@pytest.fixture
def run(table, tmp_path, invoke):
    table.to_csv(tmp_path / "rows.csv", index=False)
    words = ["compare", str(tmp_path / "rows.csv")]
    return lambda *more: invoke(*words, *more)


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


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "parquet", "feather"])
def test_formulas_read_what_a_target_is_read_from(ending, invoke, tmp_path):
    """No address of the net, no two columns of one name, no unnamed column, and missing values of Arrow."""

    def error_of(*words):
        out = invoke("compare", *words)
        assert out.exit_code == 1 and len(out.output.splitlines()) == 1, out.output
        return out.output

    for address in (
        f"http://127.0.0.1:9/rows.{ending}",
        f"file://{tmp_path}/rows.{ending}",
        "s3://a/rows.csv",
    ):
        for options in (["--formula", "y ~ x"], ["--target", "y"]):
            assert "there is no file or folder" in error_of(address, *options)
    path = tmp_path / f"double.{ending}"
    sep = "\t" if ending == "tsv" else ","
    if ending in ("csv", "tsv", "txt"):
        path.write_text(f"x{sep}x{sep}y\n" + "".join(f"{k}{sep}{k % 3}{sep}{k % 5}\n" for k in range(30)))
    else:
        columns = pyarrow.table([[1.0, 2.0, 4.0]] * 3, names=["x", "x", "y"])
        write = {"parquet": pyarrow.parquet.write_table, "feather": pyarrow.feather.write_feather}[ending]
        write(columns, path)
    assert "several columns are named 'x'" in error_of(path, "--formula", "y ~ x")
    if ending in ("csv", "tsv", "txt"):
        path.write_text(f"x{sep}y\n" + "".join(f"{k}{sep}{k % 3}{sep}{k % 5}\n" for k in range(30)))
        for options in (["--formula", "y ~ x"], ["--target", "y"]):
            assert "Expected 2 columns, got 3" in error_of(path, *options)
        levels = ["None", "<NA>", "some"] * 10  # levels that pandas takes for missing values
        rows = "".join(f"{level}{sep}{k % 7 / 2}\n" for k, level in enumerate(levels))
        path.write_text(f"garage{sep}y\n{rows}")
        found = []
        for options in (["--formula", "y ~ garage"], ["--target", "y", "--factor", "garage"]):
            out = invoke("compare", path, *options, "--json")
            assert out.exit_code == 0, out.output
            found.append(json.loads(out.stdout)[0]["log_evidence"])
        assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_what_is_too_large_and_encodings_that_there_are_not_are_lines(run, invoke, tmp_path, monkeypatch):
    for options in (["--formula", "y ~ x"], ["--target", "y", "--features", "x"]):
        out = run(*options, "--encoding", "nothere")
        assert out.exit_code == 1 and "unknown encoding: nothere: give --encoding latin-1" in out.output
        for error in (MemoryError("74 GiB"), RecursionError("maximum recursion depth exceeded")):

            def fails(*rows, error=error, **known):
                raise error

            with monkeypatch.context() as patch:
                patch.setattr(BayesianLinearRegression, "fit", fails)
                out = run(*options)
            assert out.exit_code == 1 and f"error: {error}" in out.output
            assert len(out.output.splitlines()) == 1
    out = invoke("watch", tmp_path / "rows.csv", "--encoding", "nothere")
    assert out.exit_code == 1 and "error: unknown encoding: nothere" in out.output
