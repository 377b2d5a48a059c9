"""The page of the calibration suite: bars, the table as it is, and how often warnings were right."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
from bench import number, table
from calibration_cell import Cell
from calibration_picture import draw
from calibration_summary import (
    ENOUGH,
    FAR,
    MOST_FAR,
    MOST_MEAN,
    MOST_SD,
    OFF_NATS,
    OFF_Z,
    RIGHT,
    VERDICTS,
    Summary,
    by_cell,
    of_warnings,
)

OPENING = """# Can the error bar be believed?

Mostly yes, for the problems on this page:

* {fair} of {judged} kinds of problems, {fits} fits in all, have errors as large as their error bars say.
* {beyond:.1%} of the fits without a warning are off by more than three error bars; of a Gaussian, 0.3% are.
* {wrong} kind has more than {far_share:.0%} of fits that are off by {far:.0f} error bars or more, unwarned.
* {right} of {warned} fits that gave a warning were off indeed.
* Neither the sampler nor a reference knows of a mode that both have missed.
"""

INTRODUCTION = """## How it was measured

`log_evidence_` ± `log_evidence_std_` is a claim: off by no more than about three standard errors, or there
is an `EvidenceWarning`, or an error. This page holds the claim against {cells} kinds of problems that a
sceptic would draw up, in {fits} fits, with the default sampler unless a problem says otherwise. Every seed
has fresh rows and a fresh random state; problems that fail stay on the page. A kind of problem has five to
thirty seeds; with so few, a true error bar is beyond the bars in one kind of forty or so. Fits whose
reference is not sound do not count.

Each answer is compared with a reference that shares no code with the sampler: closed form and quadrature
(linear regression, one Gaussian, custom models), importance sampling at the mode, annealed five times where
that is poor (softmax, Poisson), all allocations one by one (mixtures of a few rows), sequential Monte Carlo
over allocations with bridge sampling from its ends (other mixtures). z = error / √(std² + the reference's
std²): a true error bar gives z with mean 0 and standard deviation 1. A fit that gave a warning, be it
half-way through a stream, is *warned*, one that raised *refused*; z is that of the others, the *silent*
ones.

    cd examples/benchmarks; export OMP_NUM_THREADS=1
    python calibration.py --output calibration.jsonl --references calibration.jsonl.gz
    python calibration.py --output calibration.jsonl --page ../../docs/trust.md

An interrupted first command resumes. Every line of every fit is kept in `calibration.jsonl.gz` beside the
scripts.
"""

MEASURED = """![z of every fit, by kind of problem](calibration.png)

Each mark is one fit: its error in units of its error bar. Discs are silent fits, crosses warned ones,
triangles lie beyond ±6; bands to ±1 and ±3.

## What came out

{bars}
"""


def write_page(page: Path, cells: list[Cell], records: list[dict]) -> None:
    """``page``, with ``calibration.png`` and the table of all cells as ``calibration.csv`` beside it."""
    known = {cell.name: cell for cell in cells}
    summaries = by_cell(known, records)
    own = [r for r in records if r["cell"] in summaries]
    draw(page.with_name("calibration.png"), summaries, own)
    write_cells(page.with_name("calibration.csv"), known, summaries)
    parts = [
        opening(summaries, own),
        MEASURED.format(bars=bars(summaries, own)),
        "## By model\n",
        models_table(known, summaries),
        "\n" + NOTES + "\n".join(f"* {mark}: {meaning}" for mark, meaning in VERDICTS.values()) + "\n",
        INTRODUCTION.format(cells=len(summaries), fits=len(own)),
        failures(own),
        "## Are the warnings right?\n",
        warnings_text(own),
        provenance(own),
    ]
    page.write_text("\n".join(part for part in parts if part) + "\n", encoding="utf-8")


NOTES = """RMS and std are in nats and the medians over kinds of problems. [All kinds of
problems](calibration.csv), one per line, have dimension, rows, difficulty, mean and spread of z, errors,
time, warnings and the reference.

"""


def opening(summaries: dict[str, Summary], records: list[dict]) -> str:
    """The result in five lines."""
    judged = [s for s in summaries.values() if s.silent > 1]
    silent = [r for r in records if r.get("reference_sound") and not r["warnings"]]
    everything = of_warnings(records)[0]
    return OPENING.format(
        fair=sum(s.fair for s in judged),
        judged=len(judged),
        fits=len(records),
        beyond=sum(abs(r["z"]) > 3 for r in silent) / max(1, len(silent)),
        wrong=sum(s.verdict == "silent" for s in summaries.values()) or "No",
        far_share=MOST_FAR,
        far=FAR,
        right=everything.right,
        warned=everything.fits,
    )


def bars(summaries: dict[str, Summary], records: list[dict]) -> str:
    """Each bar with what was measured."""
    judged = [s for s in summaries.values() if s.silent > 1]
    fair = sum(s.fair for s in judged)
    perfect = sum(s.perfect for s in judged) / max(1, len(judged))
    near = sum(s.fair or s.verdict == "chance" for s in judged)
    wrong = [name for name, s in summaries.items() if s.verdict == "silent"]
    everything = of_warnings(records)[0]
    silent = [r for r in records if r.get("reference_sound") and not r["warnings"]]
    beyond = {k: sum(abs(r["z"]) > k for r in silent) / max(1, len(silent)) for k in (2, 3)}
    body = [
        [
            f"kinds of problems with sd(z) ≤ {MOST_SD} and mean z within ±{MOST_MEAN}",
            f"{ENOUGH:.0%}",
            f"{fair} of {len(judged)}, {fair / max(1, len(judged)):.0%}",
            _met(fair >= ENOUGH * len(judged)),
        ],
        ["the same, of a perfect error bar with so few fits", "", f"{perfect:.0%}", ""],
        ["kinds beyond that by more than chance", "", f"{len(judged) - near} of {len(judged)}", ""],
        [
            f"kinds with more than {MOST_FAR:.0%} of silent fits beyond {FAR:.0f} errors",
            "none",
            f"{len(wrong)} of {len(summaries)}",
            _met(not wrong),
        ],
        [
            "warned fits that were off indeed",
            f"{RIGHT:.0%}",
            f"{everything.right} of {everything.fits}",
            _met(everything.right >= RIGHT * everything.fits),
        ],
        ["silent fits beyond 2 errors", "4.6% if Gaussian", f"{beyond[2]:.1%} of {len(silent)}", ""],
        ["silent fits beyond 3 errors", "0.3% if Gaussian", f"{beyond[3]:.1%} of {len(silent)}", ""],
    ]
    return table(["bar", "wanted", "measured", ""], body)


def _met(yes: bool) -> str:
    return "✅ met" if yes else "❌ missed"


def models_table(cells: dict[str, Cell], summaries: dict[str, Summary]) -> str:
    """One row per kind of model: how many of its cells have which verdict."""
    header = ["model", "kinds of problems", "verdicts", "fits", "warned", "RMS error", "std"]
    body = []
    models = {name: cells[name].model.split(" K=")[0].split(":")[0] for name in summaries}
    for model in dict.fromkeys(models.values()):
        own = [s for name, s in summaries.items() if models[name] == model]
        counts = Counter(VERDICTS[s.verdict][0] for s in own)
        verdicts = ", ".join(f"{n} {mark}" for mark, n in counts.most_common())
        fits = sum(s.fits for s in own)
        middle = [number(float(np.nanmedian([getattr(s, key) for s in own])), 2) for key in ("rms", "std")]
        body.append([model, len(own), verdicts, fits, share(sum(s.warned for s in own) / fits), *middle])
    return table(header, body)


def write_cells(path: Path, cells: dict[str, Cell], summaries: dict[str, Summary]) -> None:
    """All cells as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(
            "verdict,model,d,n,arrives,difficulty,fits,mean z,sd z,share beyond 3,RMS,std,seconds,"
            "share warned,share refused,reference".split(",")
        )
        for name, s in summaries.items():
            cell = cells[name]
            row = [VERDICTS[s.verdict][0], cell.model, cell.d, cell.n, cell.arrival or "one fit"]
            row += [cell.difficulty, s.fits]
            numbers = (s.mean_z, s.sd_z, s.beyond_3, s.rms, s.std, s.seconds, s.warned / s.fits)
            row += [f"{value:.3g}" for value in (*numbers, s.refused / s.fits)]
            out.writerow([*row, reference_text(s)])


def share(x: float) -> str:
    return "–" if not x > 0 else f"{x:.0%}"


def reference_text(s: Summary) -> str:
    error = f" ± {number(s.reference_std, 2)}" if s.reference_std > 0 else ""
    doubt = f"; {s.doubtful} not believed" if s.doubtful else ""
    return f"{s.reference}{error}{doubt}"


def failures(records: list[dict]) -> str:
    """Refusals and references that failed, by message."""
    refused = Counter((r["cell"], r["failure"][:120]) for r in records if "failure" in r)
    lost = Counter((r["cell"], r["reference_failure"][:120]) for r in records if "reference_failure" in r)
    lines = [f"* {cell}: {k} refused, {why}" for (cell, why), k in refused.items()]
    lines += [f"* {cell}: {k} without reference, {why}" for (cell, why), k in lost.items()]
    return "\n".join(["Refusals, and references that failed:\n", *lines]) + "\n" if lines else ""


def warnings_text(records: list[dict]) -> str:
    body = [
        [
            k.message,
            k.fits,
            k.cells,
            f"{k.right} ({k.right / k.fits:.0%})" if k.fits else "–",
            number(k.rms, 2),
        ]
        for k in of_warnings(records)
    ]
    start = (
        f"A warned fit counts as rightly warned if its last answer is off by more than {OFF_Z:.0f} of its "
        f"errors, or by more than {OFF_NATS:.0f} nat. A fit may have several warnings.\n"
    )
    return start + "\n" + table(["warning", "fits", "cells", "right", "RMS error"], body) + "\n"


def provenance(records: list[dict]) -> str:
    """Of the lines, not of this moment."""
    dates = sorted(r["date"][:10] for r in records if "date" in r)
    commits = Counter(r.get("commit") for r in records)
    machines = Counter(r.get("machine") for r in records)
    hours = sum(r["seconds"] + r.get("reference_seconds", 0) for r in records) / 3600
    days = f"{dates[0]} to {dates[-1]}" if dates else "at an unknown date"
    return (
        f"Measured {days} at commits {', '.join(f'{c} ({k} fits)' for c, k in commits.items())}; "
        f"{', '.join(map(str, machines))}, one thread; {hours:.1f} hours of processor, references included."
    )
