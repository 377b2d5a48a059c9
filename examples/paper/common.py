"""What the figures of chapter 5 share: the problems of thesis §5.2, runs against N, tables and axes.

A sampler that learns as rows come is run once and read on the way; the others are run afresh at each N,
as published.  A run that would exceed ``--max-seconds`` is left out and its time extrapolated in
proportion to N from the last one; such lines say so.  Seconds are of processor time, which a busy machine
does not stretch; run with OMP_NUM_THREADS=1, so that they are those of one thread.
"""

import argparse
import csv
import runpy
from functools import cache
from pathlib import Path
from time import process_time
from typing import NamedTuple

import matplotlib
import numpy as np

from sgevidence import SGAIS, DivergenceError
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DATA = runpy.run_path(str(Path(__file__).parents[2] / "tests" / "data" / "make_data.py"))
MILLION = 10**6
FULL = (20, 100, 1000, 10_000, 100_000, MILLION)
PUBLISHED = "SGAIS as published"
DEFAULT = "SGAIS, our default"


class Line(NamedTuple):
    """One line of a table."""

    algorithm: str
    n: int  #: rows
    log_evidence: float  #: nats
    log_evidence_std: float  #: as the sampler reports it, nats
    seconds: float  #: of processor time, since the first row
    seed: int
    n_annealing_steps: float = np.nan  #: since the line before
    extrapolated: bool = False  #: no run: seconds in proportion to n


def arguments(doc: str, sizes, full=FULL, max_seconds=20.0) -> argparse.Namespace:
    """The options that all figures share; ``name`` is the script's."""
    title = doc.splitlines()[0]
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--full", action="store_true", help="the published size")
    parser.add_argument("--seed", type=int, default=0, help="of the samplers")
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder for the figure and its CSV")
    parser.add_argument(
        "--max-seconds", type=float, help=f"of one run; {max_seconds:g}, as published 4000 with --full"
    )
    parser.add_argument("-n", type=int, nargs="+", help="numbers of rows")
    args = parser.parse_args()
    args.n = sorted(args.n or (full if args.full else sizes))
    args.max_seconds = args.max_seconds or (4000.0 if args.full else max_seconds)
    args.title, args.name = title, "figure_" + title.split()[2].rstrip(":").replace(".", "_")
    args.out.mkdir(parents=True, exist_ok=True)
    return args


@cache
def problem(name: str, seed: int = 1):
    """Model and a million rows of thesis §5.2; a smaller data set is the first rows of the largest."""
    data = DATA[{"linear": "sim_L", "logistic": "sim_S", "mixture": "sim_G"}[name]](MILLION, seed)
    model = {"linear": LinearModel(5, noise_std=1.0), "logistic": SoftmaxModel(10, 4)}.get(name)
    return model or MixtureModel(5, 2), Rows.of(data["X"], data.get("y"))


#: Seven clusters in two dimensions: the first three lie apart, the last two half upon others.
SHIFT_MEANS = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0], [-6.0, 3.0], [1.5, 1.0], [5.0, 1.5]])
SHIFT_STDS = np.array([[1.0, 0.8], [0.7, 1.2], [0.9, 0.7], [0.8, 0.8], [0.7, 1.0], [0.8, 1.0], [1.0, 0.7]])
PHASES = {3: 1000, 5: 9000, 7: 90_000}  #: clusters -> rows


def shift_data(n: int, seed: int = 1) -> np.ndarray:
    """Rows of 3, then 5, then 7 Gaussians (thesis §5.1.5; positions, which are not published, are ours)."""
    rng = np.random.default_rng([seed, 104])
    z = np.concatenate([rng.integers(k, size=rows) for k, rows in PHASES.items()])
    return (SHIFT_MEANS[z] + SHIFT_STDS[z] * rng.standard_normal((len(z), 2)))[:n]


def online(label, sampler, model, rows, args) -> list[Line]:
    """One pass of an online sampler, read after each chunk of a fixed size and else at 1, 2, 5, 10, … rows.

    The chunks of the sequential sampler are completed across calls, so that it can be read at both.
    """
    n, chunk = len(rows), getattr(sampler, "chunk_size", None)
    stops = {n} | set(range(chunk, n, chunk) if chunk else ())
    if not chunk or hasattr(sampler, "first_chunk"):
        stops |= {k * 10**e for e in range(1, 7) for k in (1, 2, 5) if 20 <= k * 10**e < n}
    rng, lines, seen, spent = np.random.default_rng(args.seed), [], 0, 0.0
    state = sampler.init(model, rng)
    for stop in sorted(stops):
        start = process_time()
        try:
            state, records = sampler.update(state, model, rows[seen:stop], rng)
        except DivergenceError as error:
            print(f"{label}: {error}")
            break
        spent, seen = spent + process_time() - start, stop
        steps = sum(r.n_annealing_steps for r in records)
        lines.append(
            Line(label, stop, state.log_evidence, state.log_evidence_std, spent, args.seed, float(steps))
        )
        if spent > args.max_seconds and stop < n:
            lines.append(too_long(lines[-1], n))
            break
    return lines


def afresh(label, sampler, model, rows, args) -> list[Line]:
    """A run at each N, up to the first that would take too long."""
    lines: list[Line] = []
    for n in args.n:
        if lines and lines[-1].seconds * n / lines[-1].n > args.max_seconds:
            lines.append(too_long(lines[-1], args.n[-1]))
            break
        start = process_time()
        try:
            result = sampler.run(model, rows[:n], np.random.default_rng(args.seed))
        except DivergenceError as error:
            print(f"{label}, N={n}: {error}")
            break
        seconds = process_time() - start
        lines.append(Line(label, n, result.log_evidence, result.log_evidence_std, seconds, args.seed))
    return lines


def too_long(last: Line, n: int) -> Line:
    return Line(last.algorithm, n, np.nan, np.nan, last.seconds * n / last.n, last.seed, extrapolated=True)


def against_n(doc: str, name: str, samplers: dict, reference: str, first: str) -> None:
    """Accuracy and time of all samplers against N: Figures 5.2 to 5.7.

    ``reference`` is the label that differences are taken from, ``first`` the one whose speed is compared.
    """
    args = arguments(doc, FULL[:4] if name == "mixture" else FULL[:5])
    model, rows = problem(name)
    rows = rows[: args.n[-1]]
    lines = []
    for label, sampler in samplers.items():
        run = online if hasattr(sampler, "update") else afresh
        lines += run(label, sampler, model, rows, args)
        save_table(lines, args)  # as far as it goes
    truth = values(lines, reference)
    fig, (a, b, c) = plt.subplots(1, 3, figsize=(14, 4))
    for i, label in enumerate(samplers):
        all_of_it = [s for s in lines if s.algorithm == label]
        run_of_it = [s for s in all_of_it if not s.extrapolated]
        n = [s.n for s in run_of_it]
        style = dict(color=f"C{i}", marker="." if len(n) < 50 else "", linewidth=1)
        a.plot(n, [s.log_evidence / s.n for s in run_of_it], label=label, **style)
        b.plot(n, [s.seconds for s in run_of_it], label=label, **style)
        if len(all_of_it) > len(run_of_it):
            b.plot([s.n for s in all_of_it[-2:]], [s.seconds for s in all_of_it[-2:]], ":", color=f"C{i}")
        known = [s for s in run_of_it if s.n in truth]
        if label != reference:
            c.plot([s.n for s in known], [s.log_evidence - truth[s.n] for s in known], label=label, **style)
    a.set(xscale="log", xlabel="N", ylabel="log evidence / N (nats)", title="(a) log evidence")
    b.set(
        xscale="log",
        yscale="log",
        xlabel="N",
        ylabel="processor seconds",
        title="(b) run-time (dotted: extrapolated)",
    )
    c.set(xscale="log", xlabel="N", ylabel="nats", title=f"(c) difference from {reference}")
    c.set_yscale("symlog", linthresh=1.0)
    c.axhline(0.0, color="grey", linewidth=0.5)
    a.legend(fontsize="small")
    save_figure(fig, args)
    print(f"{args.name} " + "; ".join(summary(lines, label, truth, first) for label in samplers))


def values(lines, label) -> dict[int, float]:
    """The log evidences of one algorithm, by N."""
    return {s.n: s.log_evidence for s in lines if s.algorithm == label and not s.extrapolated}


def summary(lines, label, truth, first) -> str:
    """Where one algorithm got to: its error there, its time, and by how much it is slower than ``first``."""
    mine = [s for s in lines if s.algorithm == label]
    if not mine:
        return f"{label}: diverged"
    last = [s for s in mine if not s.extrapolated][-1]
    out = f"{label}: N={last.n} log evidence {last.log_evidence:.1f} in {last.seconds:.3g} s"
    if last.n in truth:
        error = last.log_evidence - truth[last.n]
        out += f", difference {error:+.2f} nats ({100 * abs(error / truth[last.n]):.2g} %)"
    end = mine[-1]
    base = {s.n: s for s in lines if s.algorithm == first}.get(end.n)
    if base and label != first:
        how = ", extrapolated" if end.extrapolated or base.extrapolated else ""
        out += f", {end.seconds / base.seconds:.3g} x the time of {first} at N={end.n}{how}"
    return out


def sensitivity(doc: str, settings: dict, sizes=(10_000,)) -> None:
    """Published SGAIS on the mixture with one setting varied: Figures 5.9 to 5.14.

    ``settings`` maps a label to parameters.  Evidence, time and annealing steps of each chunk.
    """
    args = arguments(doc, sizes, full=(MILLION,), max_seconds=60.0)
    model, rows = problem("mixture")
    rows = rows[: args.n[-1]]
    lines = []
    for label, parameters in settings.items():
        lines += online(label, SGAIS.paper().set_params(**parameters), model, rows, args)
        save_table(lines, args)
    lines += online(DEFAULT, SGAIS(), model, rows, args)
    save_table(lines, args)
    fig, axes = plt.subplots(1, 3, figsize=(14, 4))
    for label in [*settings, DEFAULT]:
        done = [s for s in lines if s.algorithm == label and not s.extrapolated]
        n, style = [s.n for s in done], "k--" if label == DEFAULT else "-"
        axes[0].plot(n, [s.log_evidence / s.n for s in done], style, label=label)
        axes[1].plot(n, [s.seconds for s in done], style, label=label)
        if label != DEFAULT:  # its chunks are of other sizes
            axes[2].plot(n, [s.n_annealing_steps for s in done], label=label)
    axes[0].set(xscale="log", xlabel="N", ylabel="log evidence / N (nats)", title="(a) log evidence")
    axes[1].set(xscale="log", yscale="log", xlabel="N", ylabel="processor seconds", title="(b) run-time")
    axes[2].set(yscale="log", xlabel="N", ylabel="annealing steps", title="(c) annealing steps a chunk")
    axes[2].set_xlim(0, min(50_000, args.n[-1]))
    axes[0].legend(fontsize="small")
    save_figure(fig, args)
    best = [s for s in lines if s.algorithm == DEFAULT][-1]
    print(
        f"{args.name} " + "; ".join(summary(lines, k, {best.n: best.log_evidence}, DEFAULT) for k in settings)
    )


def save_table(lines: list[Line], args) -> None:
    with open(args.out / f"{args.name}.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Line._fields)
        writer.writerows(lines)


def save_figure(fig, args) -> None:
    fig.suptitle(args.title, fontsize="medium")
    fig.tight_layout()
    fig.savefig(args.out / f"{args.name}.png", dpi=120)
    plt.close(fig)
