"""The page of the calibration suite: bars, the table as it is, and how often warnings were right."""

from collections import Counter
from pathlib import Path

from bench import number, seconds, table
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
* {wrong} kinds have more than {far_share:.0%} of fits that are off by {far:.0f} error bars or more, unwarned.
* {right} of {warned} fits that gave a warning were off indeed.
* Neither the sampler nor a reference knows of a mode that both have missed.
"""

INTRODUCTION = """## How it was measured

`log_evidence_` ± `log_evidence_std_` is a claim: off by no more than about three standard errors, or there
is an `EvidenceWarning`, or an error. This page holds the claim against {cells} kinds of problems that a
sceptic would draw up, in {fits} fits, with the default sampler unless a cell says otherwise. Every seed has
fresh rows and a fresh random state; cells that fail stay. Data and references were mended while the suite
was built (the bounded and the spike likelihood; references of mixtures that lost basins, or whose chains
were too short where components overlap, and 0.2 too low), no cell for the sampler's answer. Lines name the
commit that made them, below the last table, and are kept in `calibration.jsonl.gz` beside the scripts;
references of earlier lines will do where they are sound (``--references``: the rows of a seed stay the
same). Cells were added where errors had been found that the others could not see, after these were mended:
overlapping components with 300 to 1000 rows or in many columns, mixtures of a few rows far from the prior,
rows that nobody scaled, ten rows that alone have a column, and a spike beside its slab. A cell has five to
thirty seeds (of the engine of 26 November 2026 thirty for linear and Poisson regression, twenty for custom
models, ten for softmax, five for mixtures); with so few a true error bar, too, is beyond the bars in one
cell of forty or so. Fits whose reference is not sound do not count: in the cells of groups that overlap in
many columns that is half of them, for which there are other values
([notes](notes/experiments.md#groups-that-are-as-good-as-one)).

    cd examples/benchmarks; export OMP_NUM_THREADS=1
    python calibration.py --output calibration.jsonl --references calibration.jsonl.gz
    python calibration.py --output calibration.jsonl --page ../../docs/trust.md

An interrupted first command resumes.

Each answer is compared with a reference that shares no code with the sampler: closed form and quadrature
(linear regression, one Gaussian, custom models), importance sampling at the mode, annealed five times where
that is poor (softmax, Poisson), all allocations one by one (mixtures of a few rows), sequential Monte Carlo
over allocations with bridge sampling from its ends (mixtures; alone where hundreds of rows overlap), a
bridge to Gibbs chains that start at the groups the rows were drawn from (mixtures of many columns),
importance sampling at the mode with the package's own likelihood (mixtures of 5000 rows and more, far
apart). z = error / √(std² + the reference's std²): a true error bar gives z with mean 0 and standard
deviation 1. A fit that gave a warning, be it half-way through a stream, is *warned*, one that raised
*refused*; z is that of the others, the *silent* ones.
"""

MEASURED = """## What came out

{bars}

![z of every fit, by cell](calibration.png)

Discs are silent fits, crosses warned ones, triangles lie beyond ±6; bands to ±1 and ±3.
"""


def write_page(page: Path, cells: list[Cell], records: list[dict]) -> None:
    """``page`` and ``calibration.png`` beside it."""
    known = {cell.name: cell for cell in cells}
    summaries = by_cell(known, records)
    own = [r for r in records if r["cell"] in summaries]
    draw(page.with_name("calibration.png"), summaries, own)
    parts = [
        opening(summaries, own),
        INTRODUCTION.format(cells=len(summaries), fits=len(own)),
        MEASURED.format(bars=bars(summaries, own)),
        "## Cells\n",
        legend(),
        cells_table(known, summaries),
        "\n" + NOTES,
        failures(own),
        "## Are the warnings right?\n",
        warnings_text(own),
        provenance(own),
    ]
    page.write_text("\n".join(part for part in parts if part) + "\n", encoding="utf-8")


NOTES = """Names are as `calibration.py --list` prints them, with commas. RMS and std are in nats and over
all fits that have an answer, time is the median of processor seconds of a fit. "> 3" is the share of silent
fits with |z| > 3. Where the reference has an error of its own, its median is given.
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
            f"cells with sd(z) ≤ {MOST_SD} and mean z within ±{MOST_MEAN}",
            f"{ENOUGH:.0%}",
            f"{fair} of {len(judged)}, {fair / max(1, len(judged)):.0%}",
            _met(fair >= ENOUGH * len(judged)),
        ],
        ["the same, of a perfect error bar with so few fits", "", f"{perfect:.0%}", ""],
        ["cells beyond that by more than chance", "", f"{len(judged) - near} of {len(judged)}", ""],
        [
            f"cells with more than {MOST_FAR:.0%} of silent fits beyond {FAR:.0f} errors",
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


def legend() -> str:
    return table(["mark", "means"], [[mark, meaning] for mark, meaning in VERDICTS.values()]) + "\n"


def cells_table(cells: dict[str, Cell], summaries: dict[str, Summary]) -> str:
    header = ["", "model", "d", "n", "arrives", "difficulty", "fits", "mean z", "sd z", "> 3", "RMS", "std"]
    header += ["time", "warned", "refused", "reference"]
    body = []
    for name, s in summaries.items():
        cell = cells[name]
        row = [VERDICTS[s.verdict][0], cell.model, cell.d, cell.n, cell.arrival or "one fit", cell.difficulty]
        row += [s.fits, number(s.mean_z, 2, True), number(s.sd_z, 2), share(s.beyond_3)]
        row += [number(s.rms, 2), number(s.std, 2), seconds(s.seconds)]
        row += [share(s.warned / s.fits), share(s.refused / s.fits), reference_text(s)]
        body.append(row)
    return table(header, body)


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
