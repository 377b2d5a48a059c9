"""Figures 5.6, 5.7 and 5.9 to 5.14 on several truths: how much is the method, how much the data?

    python examples/paper/truths.py --figures 5.6 5.7 -n 10000 100000
    python examples/paper/truths.py --figures 5.9 5.10 5.11 5.12 5.13 5.14

The published data are not to be had, and a run on one truth says little: with components that lie apart
published SGAIS is slow, with components that overlap it is fast.  Truths of the mixture: ``separated`` is
that of the other scripts, ``prior:s`` draws the parameters from the model's prior with seed s, and
``overlap:s`` draws five components that overlap.  The other models' truths are draws from their priors.
One line a run is appended to the table; errors are from the default sampler on the same rows.
"""

import argparse
import csv
import importlib
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from common import DATA, PUBLISHED, Line, afresh, online, problem

from sgevidence import SGAIS, EvidenceWarning
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.samplers import NestedSampling

SENSITIVITY = ("5.9", "5.10", "5.11", "5.12", "5.13", "5.14")
COLUMNS = ("figure", "truth", *Line._fields[:6], "error", "speed_up", "steps_a_chunk")
TRUTHS = ["separated", "prior:1", "prior:2", "prior:3", "overlap:1", "overlap:2"]


def data(figure: str, truth: str, n: int):
    """Model and n rows of one truth; within a run a smaller data set is the first rows of the largest."""
    kind, _, seed = truth.partition(":")
    if figure == "5.6":
        model, rows = problem("logistic", int(seed))
        return model, rows[:n]
    model = MixtureModel(5, 2)
    if kind == "prior":
        rng = np.random.default_rng([int(seed), 105])
        return model, Rows.of(model.sample_rows(model.sample_prior(rng, 1), n, rng)[0])
    if kind == "overlap":
        return model, Rows.of(DATA["sim_G_overlap"](n, int(seed))["X"])
    return model, problem("mixture")[1][:n]


def samplers(figure: str) -> dict:
    """Published SGAIS and what it is compared with, by the labels of the figure."""
    if figure in SENSITIVITY:
        varied = importlib.import_module("figure_" + figure.replace(".", "_")).settings
        return {label: SGAIS.paper().set_params(**values) for label, values in varied.items()}
    fast = {"lr = 1, 20 steps": {"move__learning_rate": 1.0}}
    fast["lr = 1, 2 steps"] = {"move__learning_rate": 1.0, "move__n_steps": 2}
    found = {"NS": NestedSampling.paper(), PUBLISHED: SGAIS.paper()}  # AIS is the slowest by far
    if figure == "5.7":  # the published factor of 83 is of lr = 1
        found |= {label: SGAIS.paper().set_params(**values) for label, values in fast.items()}
    return found


def reference(model, rows, args) -> dict[int, Line]:
    """The default sampler, one run at each N."""
    lines = {}
    for n in args.n:
        if n > args.reference_rows:
            break
        start = process_time()
        result = SGAIS().run(model, rows[:n], np.random.default_rng(args.seed))
        seconds = process_time() - start
        lines[n] = Line("default", n, result.log_evidence, result.log_evidence_std, seconds, args.seed)
    return lines


def table(figure: str, truth: str, known: dict[int, Line], model, rows, args) -> list[tuple]:
    """All samplers of a figure on one truth; speed-ups are over nested sampling at the same N."""
    out, nested = [], {}
    for label, sampler in samplers(figure).items():
        run = online if hasattr(sampler, "update") else afresh
        lines = run(label, sampler, model, rows, args)
        if label == "NS":
            nested = {line.n: line.seconds for line in lines if not line.extrapolated}
        for line in lines:
            if line.n not in args.n or line.extrapolated:
                continue
            chunks = -(-line.n // sampler.chunk_size) if hasattr(sampler, "update") else np.nan
            steps = sum(s.n_annealing_steps for s in lines if s.n <= line.n) / chunks
            error = line.log_evidence - known[line.n].log_evidence if line.n in known else np.nan
            faster = nested.get(line.n, np.nan) / line.seconds
            out.append((figure, truth, *line[:6], error, faster, steps))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figures", nargs="+", default=["5.6", "5.7", *SENSITIVITY])
    parser.add_argument("--truths", nargs="+", default=TRUTHS)
    parser.add_argument("-n", type=int, nargs="+", default=[10_000], help="numbers of rows")
    parser.add_argument("--reference-rows", type=int, default=10_000, help="most rows of the default's runs")
    parser.add_argument("--seed", type=int, default=0, help="of the samplers")
    parser.add_argument("--max-seconds", type=float, default=60.0, help="of one run")
    parser.add_argument("--out", type=Path, default=Path("figures/truths.csv"))
    args = parser.parse_args()
    args.n.sort()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    if not args.out.exists():
        args.out.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    warnings.simplefilter("ignore", EvidenceWarning)  # published settings are poor ones
    known: dict[tuple, dict[int, Line]] = {}
    for figure in args.figures:
        for truth in args.truths:
            if figure == "5.6" and not truth.startswith("prior"):
                continue
            model, rows = data(figure, truth, args.n[-1])
            key = (figure == "5.6", truth)  # the mixtures share their rows
            fresh = key not in known
            if fresh:
                known[key] = reference(model, rows, args)
            lines = [(figure, truth, *line[:6], 0.0, np.nan, np.nan) for line in known[key].values() if fresh]
            lines += table(figure, truth, known[key], model, rows, args)
            with open(args.out, "a", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(lines)
            for line in lines:
                print("{} {} {}: N={} {:.1f} ± {:.2f} in {:.3g} s".format(*line[:7]), end="")
                print(f", error {line[8]:+.1f}, {line[9]:.3g} x NS, {line[10]:.3g} steps a chunk", flush=True)


if __name__ == "__main__":
    main()
