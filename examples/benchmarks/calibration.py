"""Is the error bar true?  Fits beside references that owe nothing to the package, one JSON line a fit.

    python calibration.py --output calibration.jsonl                   # some three hours of one core
    python calibration.py --output calibration.jsonl --page ../../docs/trust.md
    python calibration.py --output calibration.jsonl.gz --page trust.md     # from the lines that are kept
    python calibration.py --output some.jsonl --cells "linear*" "*shift*" --seeds 5 --jobs 2

The cells are in ``calibration_linear.py``, ``_classes.py``, ``_mixtures.py``, ``_few_values.py`` and
``_custom.py``.  A seed stands for fresh rows and a fresh random state.  Lines are appended, and what has a
line is not run again: an interrupted run goes on with the same command.  Five seeds of every cell come first,
then five more, and so on, so that half a run is a page of its own.  Cells that are then beyond the bars are
given ten times as many, and all of them count: of so many cells a true error bar is off in some with twenty
or thirty fits.  The rows of a seed are always the same, and references know nothing of the engine, so those
of earlier lines will do (``--references calibration.jsonl.gz``).  With ``--page`` nothing is fitted: the page
and its picture are written from the lines.
"""

import argparse
import fnmatch
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import calibration_classes
import calibration_custom
import calibration_few_values
import calibration_linear
import calibration_mixtures
from bench import check_one_thread, cpu_name, number, seconds
from calibration_cell import FEW, MANY, Cell, run
from calibration_page import write_page
from calibration_summary import by_cell, read_lines
from joblib import Parallel, delayed
from track import HERE, commit_of

#: Seeds of a cell before the next one has its turn.
LOT = 5
#: Times as many seeds of a cell that is beyond the bars.
AGAIN = 10
MODULES = (
    calibration_linear,
    calibration_classes,
    calibration_mixtures,
    calibration_few_values,
    calibration_custom,
)
CELLS: dict[str, Cell] = {cell.name: cell for module in MODULES for cell in module.CELLS}


def lots(cells: Sequence[Cell], n_seeds: int | None, times: int = 1) -> Iterator[tuple[Cell, range]]:
    """Each cell with the next LOT of its seeds, or of so many times as many, in rounds."""
    wanted = {cell.name: times * min(n_seeds or cell.seeds, cell.seeds) for cell in cells}
    for first in range(0, max(wanted.values(), default=0), LOT):
        for cell in cells:
            yield cell, range(first + 1, min(first + LOT, wanted[cell.name]) + 1)


def in_doubt(cells: Sequence[Cell], records: Sequence[dict]) -> list[Cell]:
    """Those beyond the bars, by chance or not."""
    known = by_cell([cell.name for cell in cells], records)
    return [cell for cell in cells if cell.name in known and known[cell.name].verdict in ("chance", "false")]


def run_named(name: str, seed: int, max_seconds: float, earlier: dict | None = None) -> dict:
    """For other processes, which cannot be sent a cell's functions."""
    return run(CELLS[name], seed, max_seconds, earlier)


def records(cells: list[Cell], done: list[dict], args: argparse.Namespace) -> Iterator[dict]:
    """The fits that have no line yet; then more of the cells that are in doubt."""
    found = list(done)
    for times in (1, AGAIN) if args.seeds is None else (1,):
        some = cells if times == 1 else in_doubt(cells, found)
        for record in missing(lots(some, args.seeds, times), found, args):
            found.append(record)
            yield record


def missing(
    wanted: Iterator[tuple[Cell, range]], done: list[dict], args: argparse.Namespace
) -> Iterator[dict]:
    """Fits of these; a cell that has used up its time is left as it is."""
    known = {(r["cell"], r["seed"]) for r in done}
    earlier = {(r["cell"], r["seed"]): r for r in (read_lines(args.references) if args.references else [])}
    spent = dict.fromkeys(CELLS, 0.0)
    for r in done:
        spent[r["cell"]] = spent.get(r["cell"], 0.0) + cost(r)
    for cell, seeds in wanted:
        still = [seed for seed in seeds if (cell.name, seed) not in known]
        if not still or spent[cell.name] > args.max_seconds_cell:
            continue
        jobs = (
            delayed(run_named)(cell.name, seed, args.max_seconds_cell, earlier.get((cell.name, seed)))
            for seed in still
        )
        for record in Parallel(n_jobs=args.jobs, return_as="generator")(jobs):
            spent[cell.name] += cost(record)
            yield record


def engine() -> str | None:
    """Short hash of the last commit that changed the package, ``+`` after it for changes that have none."""
    command = ["git", "-C", str(HERE), "log", "-1", "--format=%h", "--", "sgevidence"]
    last = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return last + "+" * (commit_of(HERE) or "").endswith("+") if last else None


def cost(record: dict) -> float:
    return record["seconds"] + record.get("reference_seconds", 0.0)


def sentence(r: dict) -> str:
    """A record for the terminal."""
    start = f"{r['cell']} [{r['seed']}]:"
    warned = f"  WARNED {len(r['warnings'])}" if r["warnings"] else ""
    if "z" not in r:
        return f"{start} {r.get('failure') or r['reference_failure']}{warned}"
    return (
        f"{start} {r['log_evidence']:.3f} ± {r['std']:.3f}, error {number(r['error'], 3, True)}, "
        f"z {number(r['z'], 3, True)}, {seconds(r['seconds'])} + {seconds(r['reference_seconds'])}{warned}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("calibration.jsonl"), help="lines are appended")
    parser.add_argument(
        "--cells", nargs="+", default=["*"], metavar="GLOB", help="names as printed by --list"
    )
    parser.add_argument("--list", action="store_true", help="print the names of the cells")
    parser.add_argument("--seeds", type=int, help=f"at most so many; {FEW} of slow cells, {MANY} of others")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--max-seconds-cell", type=float, default=300.0, help="of processor; then no more seeds of a cell"
    )
    parser.add_argument(
        "--references", type=Path, help="lines of another engine, whose references are not made anew"
    )
    parser.add_argument("--page", type=Path, help="write this page from the lines, and its picture")
    args = parser.parse_args()
    cells = [cell for name, cell in CELLS.items() if any(fnmatch.fnmatch(name, glob) for glob in args.cells)]
    if not cells:
        parser.error("no cell has such a name")
    if args.list:
        print("\n".join(f"{cell.name}  ({cell.seeds} seeds)" for cell in cells))
        return
    if args.output.suffix == ".gz" and not args.page:
        parser.error("lines are appended to a plain file: gunzip it first")
    done = read_lines(args.output) if args.output.exists() else []
    if args.page:
        write_page(args.page, cells, done)
        print(f"{args.page} and its picture are written from {len(done)} lines")
        return
    check_one_thread()
    about = {"commit": engine(), "machine": f"{os.cpu_count()} cores, {cpu_name()}"}
    for record in records(cells, done, args):
        print(sentence(record), flush=True)
        now = {"date": datetime.now().astimezone().isoformat(timespec="seconds")}
        with args.output.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**record, **about, **now}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
