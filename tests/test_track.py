"""The benchmark runner writes what it says; the comparison sees slower, less accurate and failing runs."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "examples" / "benchmarks"
COMPARE = runpy.run_path(str(BENCHMARKS / "compare_runs.py"))


def write(path, rng, name="linear-200", seeds=10, seconds=1.0, error=0.1, std=0.1, mb=50.0, failures=0):
    """Runs whose errors are the quantiles of a normal distribution, and whose times scatter by 5 %."""
    lines, errors = [], error * rng.permutation(norm.ppf((np.arange(seeds) + 0.5) / seeds))
    for seed in range(seeds):
        record = {"case": name, "seed": seed, "reference_sound": True, "reference_std": 0.0}
        if seed < failures:
            record["failure"] = "ValueError: no"
        else:
            record |= {"process_seconds": seconds * np.exp(0.05 * rng.standard_normal()), "std": std}
            record |= {"error": errors[seed], "peak_mb": mb}
        lines.append(json.dumps(record))
    path.write_text("\n".join(lines) + "\n")
    return path


def verdict(run_script, capsys, *arguments):
    """Exit code and what was printed."""
    return run_script(COMPARE["main"], *arguments), capsys.readouterr().out


@pytest.mark.parametrize(
    "changes, word",
    [
        ({}, "ok"),
        ({"seconds": 1.1}, "ok"),
        ({"seconds": 0.5, "error": 0.05}, "ok"),
        ({"seconds": 1.5}, "slower"),
        ({"error": 0.6}, "less accurate, overconfident"),
        ({"error": 0.6, "std": 0.6}, "less accurate, less certain"),
        ({"mb": 90.0}, "larger"),
        ({"failures": 1}, "failing"),
        ({"name": "linear-1e3"}, "missing"),
    ],
)
def test_regressions_are_seen(rng, tmp_path, run_script, capsys, changes, word):
    old, new = write(tmp_path / "old", rng), write(tmp_path / "new", rng, **changes)
    if word == "missing":  # beside a case that both have
        new.write_text(new.read_text() + write(tmp_path / "both", rng, name="softmax-200").read_text())
        old.write_text(old.read_text() + (tmp_path / "both").read_text())
    code, out = verdict(run_script, capsys, old, new)
    line = next(s for s in out.splitlines() if s.startswith("| linear-200"))
    assert line.split("|")[-2].strip() == word
    assert code == (word != "ok")


def test_tolerances_can_be_changed(rng, tmp_path, run_script, capsys):
    old, new = write(tmp_path / "old", rng), write(tmp_path / "new", rng, seconds=1.5)
    assert verdict(run_script, capsys, old, new, "--slower", 2)[0] == 0
    assert verdict(run_script, capsys, old, new, "--cases", "softmax-*")[0] == 2  # nothing to compare


def test_one_slow_seed_is_not_a_regression(rng, tmp_path, run_script, capsys):
    """A spell of other work: the mean ratio is 1.26, but its standard error is as large."""
    old, new = write(tmp_path / "old", rng), write(tmp_path / "new", rng)
    records = [json.loads(s) for s in new.read_text().splitlines()]
    records[3]["process_seconds"] *= 10
    new.write_text("\n".join(map(json.dumps, records)))
    assert verdict(run_script, capsys, old, new)[0] == 0


def test_the_last_run_of_a_seed_counts(rng, tmp_path, run_script, capsys):
    old, new = write(tmp_path / "old", rng), write(tmp_path / "new", rng, seconds=3.0)
    assert verdict(run_script, capsys, old, new)[0] == 1
    new.write_text(new.read_text() + write(tmp_path / "again", rng).read_text())
    assert verdict(run_script, capsys, old, new)[0] == 0


@pytest.mark.slow
def test_runner_measures_several_packages(tmp_path):
    """The same checkout twice: the same answer in both files.  A third, which is broken: a line, too."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sgevidence.py").write_text("raise ImportError('nothing here')\n")
    command = [sys.executable, str(BENCHMARKS / "track.py"), "--cases", "linear-200", "--seeds", "1"]
    for package, name in ((ROOT, "a"), (ROOT, "b"), (broken, "c")):
        command += ["--package", str(package), "--output", str(tmp_path / name)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, env=environment, capture_output=True)
    a, b, c = (json.loads((tmp_path / name).read_text()) for name in "abc")
    assert a["log_evidence"] == b["log_evidence"] == pytest.approx(a["reference"] + a["error"])
    assert abs(a["error"]) <= 5 * a["std"] + 1e-8  # a closed form has no error
    assert 0 < a["process_seconds"] < 30 and 0 < a["wall_seconds"] < 120
    words = {"case", "model", "n", "seed", "commit", "date", "machine", "versions", "warnings"}
    assert words <= set(a)
    assert c["failure"] == "ImportError: nothing here" and "error" not in c
