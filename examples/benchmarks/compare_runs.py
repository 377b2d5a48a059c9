"""Two files of ``track.py`` side by side: which cases became slower, less accurate, or larger?

    python compare_runs.py before.jsonl after.jsonl
    python compare_runs.py before.jsonl after.jsonl --slower 1.5 --cases "linear-*"

Runs are paired by case and seed (of equal ones in a file the last counts).  A case has regressed if

* **slower**: the geometric mean over seeds of the ratio of process times is above ``--slower``, and over 1 by
  more than two standard errors of the log ratios;
* **less accurate**: RMS error above ``--less-accurate`` times the old one, and the F test of mean squares,
  whose degrees of freedom are the seeds, gives less than 1 % (three seeds show only a factor of five);
* **overconfident**: Σ z², z = error / √(std² + reference std²), is beyond the 99.9 % quantile of χ² and that
  of the old runs was not;
* **less certain**: mean reported std above ``--less-accurate`` times the old one;
* **larger**: memory of the fit above ``--larger`` times the old one, and by more than 20 MB;
* **failing**: a seed fails that did not fail, or runs of the case are missing altogether.

Exit code 1 if any case has regressed, 2 if no run can be compared.
"""

import argparse
import fnmatch
import json
import sys
from pathlib import Path

import numpy as np
from scipy.stats import chi2, f

MANY_MB = 20.0  # less is the allocator's


def load(path: Path) -> dict[str, dict[int, dict]]:
    """Case → seed → record; later lines replace earlier ones."""
    runs: dict[str, dict[int, dict]] = {}
    for text in path.read_text(encoding="utf-8").splitlines():
        if text.strip():
            record = json.loads(text)
            runs.setdefault(record["case"], {})[record["seed"]] = record
    return runs


def column(records: list[dict], word: str) -> np.ndarray:
    """One number a record, nan where it has none."""
    return np.array([record.get(word, np.nan) for record in records], dtype=float)


def accuracy(records: list[dict]) -> dict:
    """Seeds with a sound reference, RMS error, mean reported std, and z's."""
    known = [r for r in records if r.get("reference_sound") and "error" in r]
    error, std, reference_std = (column(known, k) for k in ("error", "std", "reference_std"))
    z = error / np.hypot(std, reference_std)
    return {"n": len(known), "ms": np.mean(error**2) if known else np.nan, "z": z}


def compared(old: dict[int, dict], new: dict[int, dict], args) -> dict:
    """What the table shows of one case, and ``faults``, the words for what has regressed."""
    seeds = sorted(set(old) & set(new))
    both = [(old[s], new[s]) for s in seeds if "failure" not in old[s] and "failure" not in new[s]]
    before, after = [a for a, _ in both], [b for _, b in both]
    log_ratio = np.log(column(after, "process_seconds") / column(before, "process_seconds"))
    ratio = np.exp(log_ratio.mean()) if both else np.nan
    spread = log_ratio.std(ddof=1) if len(both) > 1 else 0.0
    a, b = accuracy(before), accuracy(after)
    stds = [np.mean(column(records, "std")) if both else np.nan for records in (before, after)]
    memory = [np.median(column(records, "peak_mb")) if both else np.nan for records in (before, after)]

    faults = []
    if ratio > args.slower and log_ratio.mean() > 2 * spread / np.sqrt(len(both)):
        faults.append("slower")
    if b["ms"] > args.less_accurate**2 * a["ms"] and f.sf(b["ms"] / a["ms"], b["n"], a["n"]) < 0.01:
        faults.append("less accurate")
    beyond = [np.sum(x["z"] ** 2) > chi2.isf(0.001, x["n"]) if x["n"] else False for x in (a, b)]
    if beyond[1] and not beyond[0]:
        faults.append("overconfident")
    if stds[1] > args.less_accurate * stds[0]:
        faults.append("less certain")
    if memory[1] > args.larger * memory[0] and memory[1] - memory[0] > MANY_MB:
        faults.append("larger")
    if any("failure" in new[s] and "failure" not in old[s] for s in seeds) or not seeds:
        faults.append("failing" if seeds else "missing")
    return {
        "seeds": len(both),
        "time": np.mean(column(before, "process_seconds")) if both else np.nan,
        "ratio": ratio,
        "spread": np.exp(spread),
        "rms": (np.sqrt(a["ms"]), np.sqrt(b["ms"])),
        "std": stds,
        "z": (a["z"], b["z"]),
        "memory": memory,
        "faults": faults,
    }


def row(name: str, c: dict) -> list[str]:
    """A line of the table."""
    before, after = (f"{np.sqrt(np.mean(z**2)):.2f}" if len(z) else "-" for z in c["z"])
    largest = f"{max(c['z'][1], key=abs):+.1f}" if len(c["z"][1]) else "-"
    return [
        name,
        str(c["seeds"]),
        f"{c['time']:.2f}",
        f"{c['ratio']:.2f} ×/÷ {c['spread']:.2f}",
        "{:.3f} → {:.3f}".format(*c["rms"]),
        "{:.3f} → {:.3f}".format(*c["std"]),
        f"{before} → {after}",
        largest,
        "{:.0f} → {:.0f}".format(*c["memory"]),
        ", ".join(c["faults"]) or "ok",
    ]


HEADER = [
    "case",
    "seeds",
    "old s",
    "time new/old",
    "RMS error",
    "mean std",
    "rms z",
    "largest new z",
    "MB",
    "verdict",
]


def table(body: list[list[str]]) -> str:
    """Markdown."""
    width = [max(len(line[j]) for line in [HEADER, *body]) for j in range(len(HEADER))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(cells, width)) + " |" for cells in [HEADER, *body]]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in width) + "|")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--cases", nargs="+", default=["*"], metavar="GLOB")
    parser.add_argument("--slower", type=float, default=1.2, help="ratio of process times still allowed")
    parser.add_argument("--less-accurate", type=float, default=1.5, help="the same of RMS error and mean std")
    parser.add_argument("--larger", type=float, default=1.5, help="the same of memory")
    args = parser.parse_args()
    old, new = load(args.old), load(args.new)
    names = [name for name in old if any(fnmatch.fnmatch(name, pattern) for pattern in args.cases)]
    if not any(set(old[name]) & set(new.get(name, {})) for name in names):
        print("no case and seed is in both files", file=sys.stderr)
        return 2
    results = {name: compared(old[name], new.get(name, {}), args) for name in names}
    print(table([row(name, result) for name, result in results.items()]))
    worse = [name for name, result in results.items() if result["faults"]]
    print(f"\n{len(worse)} of {len(results)} cases have regressed{': ' * bool(worse)}{', '.join(worse)}")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
