"""What the benchmarks share: simulated cases, the machine, and Markdown tables."""

import ast
import importlib.metadata
import os
import platform
import runpy
import shlex
import sys
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, Model, SoftmaxModel
from sgevidence.samplers import SGNHT
from sgevidence.transitions import HMC, SGHMC, ModeSearch

DATA = runpy.run_path(str(Path(__file__).parents[2] / "tests" / "data" / "make_data.py"))
MODELS = ("linear", "softmax", "mixture", "overlap")


class Case(NamedTuple):
    """Simulated rows, a model of them, and the parameters that made them (None for another K)."""

    name: str
    model: Model
    rows: Rows
    truth: np.ndarray | None
    seed: int
    data: dict

    def first(self, n: int) -> "Case":
        return self._replace(rows=self.rows[:n])


def make_case(name: str, n: int, seed: int, components: int | None = None) -> Case:
    """Data of ``tests/data/make_data.py``: thesis §5.2, and the overlapping mixture."""
    make = {"linear": "sim_L", "softmax": "sim_S", "mixture": "sim_G", "overlap": "sim_G_overlap"}[name]
    data = DATA[make](n, seed)
    rows = Rows.of(data["X"], data.get("y"))
    if name == "linear":
        return Case(name, LinearModel(5, noise_std=1.0), rows, data["theta"], seed, data)
    if name == "softmax":
        truth = np.column_stack([data["W"], data["b"]]).ravel()
        return Case(name, SoftmaxModel(10, 4), rows, truth, seed, data)
    K = components or data["K"]
    truth = None
    if data["K"] == K:
        truth = mixture_theta(data["w"], data["mu"], data["s2"])
    return Case(f"{name} K={K}", MixtureModel(K, 2), rows, truth, seed, data)


def mixture_theta(weights, means, variances) -> np.ndarray:
    """θ of a mixture: z = log(K π), so that the log-gammas sit near their prior."""
    return np.concatenate([np.log(len(weights) * weights), np.ravel(means), np.log(np.ravel(variances))])


PARTS = {part.__name__.lower(): part for part in (HMC, SGHMC, SGNHT, ModeSearch)}


def default_sampler(pairs) -> SGAIS:
    """``["move=sghmc", "move__n_steps=40", "proposal=None"]``: the default sampler with these parameters."""
    changed = {}
    for pair in pairs or []:
        key, _, value = pair.partition("=")
        try:
            changed[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            changed[key] = PARTS[value.lower()]() if value.lower() in PARTS else value
    return SGAIS().set_params(**changed)


def resident_mb() -> float:
    """Resident memory of this process, MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise OSError("no VmRSS in /proc/self/status")


def cpu_name() -> str:
    """Name of the processor."""
    info = Path("/proc/cpuinfo")
    cpu = [s for s in info.read_text().splitlines() if s.startswith("model name")] if info.exists() else []
    return cpu[0].split(":", 1)[1].strip() if cpu else platform.processor()


def machine() -> list[str]:
    """Where, when and with what: lines for under a table."""
    versions = [f"Python {platform.python_version()}"]
    for package in ("sgevidence", "numpy", "scipy", "dynesty", "ultranest", "particles"):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    load = os.getloadavg()[0]
    return [
        f"Date: {date.today()}. Machine: {os.cpu_count()} cores, {cpu_name()}; "
        f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'not set')}, load {load:.1f}.",
        f"Versions: {', '.join(versions)}.",
        f"Command: `{shlex.join(['python', *sys.argv])}`",
    ]


def check_one_thread() -> None:
    if os.environ.get("OMP_NUM_THREADS") != "1":
        print("warning: set OMP_NUM_THREADS=1: times below are not those of one core", file=sys.stderr)


def table(header: list[str], body: list[list]) -> str:
    """A Markdown table with aligned columns: words to the left, numbers and their units to the right."""
    cells = [[str(c) for c in row] for row in [header, *body]]
    width = [max(len(row[j]) for row in cells) for j in range(len(header))]
    words = [any(row[j][:1].isalpha() and row[j] != "none" for row in cells[1:]) for j in range(len(header))]
    words[0] = True
    lines = [
        "| " + " | ".join(c.ljust(w) if left else c.rjust(w) for c, w, left in zip(row, width, words)) + " |"
        for row in cells
    ]
    rule = [":" + "-" * (w + 1) if left else "-" * (w + 1) + ":" for w, left in zip(width, words)]
    lines.insert(1, "|" + "|".join(rule) + "|")
    return "\n".join(lines)


def report(title: str, header: list[str], body: list[list], markdown: str | None, notes=()) -> None:
    """Print the table, and write it with the machine's description to a file."""
    text = table(header, body)
    print("\n" + text)
    for note in notes:
        print(note)
    if markdown:
        Path(markdown).write_text("\n\n".join([f"## {title}", text, *notes, "\n".join(machine())]) + "\n")
        print(f"written to {markdown}")


def seconds(t: float) -> str:
    if not np.isfinite(t):
        return "-"
    return f"{t:.1f} s" if t >= 10 else f"{t:.2f} s" if t >= 0.1 else f"{1e3 * t:.1f} ms"


def number(x: float, digits: int = 2, sign: bool = False) -> str:
    return "-" if x is None or not np.isfinite(x) else f"{x:{'+' if sign else ''}.{digits}f}"
