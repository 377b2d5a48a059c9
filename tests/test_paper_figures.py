"""Every script of examples/paper runs at a tiny size and writes its figure and its table."""

import csv
import runpy
import warnings
from functools import partial
from pathlib import Path

import pytest

from sgevidence import EvidenceWarning

FOLDER = Path(__file__).parents[1] / "examples" / "paper"
NUMBERS = ("2_1", "2_2", "3_1", "3_2", "3_3", *(f"5_{i}" for i in range(1, 15)), "A1")
SMALL = ["--max-seconds", "0.01", "-n", "20", "40"]


def test_there_is_a_script_for_every_figure():
    assert sorted(p.stem for p in FOLDER.glob("figure_*.py")) == sorted(f"figure_{n}" for n in NUMBERS)


#: One script of each kind is enough for a quick run; the others need two to ten seconds each.
QUICK = ("2_1", "3_1", "5_1")


@pytest.mark.parametrize(
    "name", [pytest.param(f"figure_{n}", marks=[] if n in QUICK else [pytest.mark.slow]) for n in NUMBERS]
)
def test_script_writes_figure_and_table(name, tmp_path, monkeypatch, run_script, capsys):
    monkeypatch.syspath_prepend(str(FOLDER))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # tiny runs are poor ones
        script = partial(runpy.run_path, str(FOLDER / f"{name}.py"), run_name="__main__")
        run_script(script, "--out", tmp_path, *SMALL)
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    with open(tmp_path / f"{name}.csv", newline="") as file:
        header, *body = csv.reader(file)
    assert body and all(len(line) == len(header) for line in body)
    assert capsys.readouterr().out.startswith(name)


@pytest.mark.slow
def test_truths_write_one_table(tmp_path, monkeypatch, run_script, capsys):
    monkeypatch.syspath_prepend(str(FOLDER))
    out = tmp_path / "truths.csv"
    settings = ["--figures", "5.6", "5.9", "--truths", "prior:1", "overlap:1"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        script = partial(runpy.run_path, str(FOLDER / "truths.py"), run_name="__main__")
        run_script(script, *settings, "-n", 20, "--out", out)
    with open(out, newline="") as file:
        lines = list(csv.DictReader(file))
    found = {(line["figure"], line["truth"]) for line in lines}
    assert found == {("5.6", "prior:1"), ("5.9", "prior:1"), ("5.9", "overlap:1")}
    assert all(float(line["error"]) == 0 for line in lines if line["algorithm"] == "default")
    assert "M = 50" in capsys.readouterr().out
