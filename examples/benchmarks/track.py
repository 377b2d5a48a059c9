"""One JSON line a run: error, reported std, time and memory of named cases, of one checkout or of several.

    python track.py --cases "linear-*" "stream-linear-*" --seeds 3 --output runs.jsonl
    python track.py --package ../before --output before.jsonl --package . --output after.jsonl
    python compare_runs.py before.jsonl after.jsonl

Lines are appended, so that a file may be the history of a project.  Each run is a process of its own
(``track_one.py``) that sees one checkout, gets its rows as a file, and uses the default samplers through
``fit`` or ``partial_fit`` and public attributes only: checkouts whose insides differ can be compared.  With
several packages they take turns run by run, and who is first changes with the seed, so that a slow spell of
the machine meets all of them.  Compare process time, and of runs taken together: other work that shares
caches and cores can stretch even that (streams threefold at a load of 14 on two cores; each line has its
``load``).

A seed stands for data and for a random state of the sampler, other ones in each case.  References are those
of ``references.py``, computed with the checkout that this script belongs to.
"""

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import zlib
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench import Case, check_one_thread, cpu_name, make_case, number, seconds
from references import reference

FIT = Path(__file__).with_name("track_one.py")
HERE = Path(__file__).parents[2]


class Problem(NamedTuple):
    """Rows of ``common.make_case`` and how they arrive."""

    data: str
    n: int
    components: int | None = None
    call_size: int | None = None  #: None is one ``fit``

    def case(self, seed: int) -> Case:
        return make_case(self.data, self.n, seed, self.components)


CASES = {
    "linear-200": Problem("linear", 200),
    "softmax-200": Problem("softmax", 200),
    "mixture-200": Problem("mixture", 200),
    **{f"linear-1e{k}": Problem("linear", 10**k) for k in (3, 4, 5, 6)},
    **{f"softmax-1e{k}": Problem("softmax", 10**k) for k in (3, 4, 5, 6)},
    "mixture-1e5": Problem("mixture", 10**5),
    "overlap3-1e4": Problem("overlap", 10**4, 3),
    "overlap5-1e4": Problem("overlap", 10**4, 5),
    **{f"stream-{name}-1e6": Problem(name, 10**6, None, 500) for name in ("linear", "softmax", "mixture")},
}  #: those of docs/benchmarks.md, and small fits


def commit_of(package: Path) -> str | None:
    """Short hash, with ``+`` after it where tracked files differ; None outside git."""
    try:
        git = ["git", "-C", str(package)]
        found = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
        if found.returncode:
            return None
        clean = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "sgevidence"]).returncode == 0
    except FileNotFoundError:
        return None
    return found.stdout.strip() + ("" if clean else "+")


def write_rows(case: Case, path: Path) -> None:
    """The rows as an npz file."""
    if case.rows.y is None:
        np.savez(path, X=case.rows.X)
    else:
        np.savez(path, X=case.rows.X, y=case.rows.y)


def run_one(package: Path, job: dict, timeout: float) -> dict:
    """What ``track_one.py`` reports with this checkout, or ``{"failure": why}``."""
    environment = {**os.environ, "PYTHONPATH": str(package.resolve()), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-P", str(FIT), json.dumps(job)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"failure": f"stopped after {timeout:g} s"}
    if done.returncode:
        last = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        return {"failure": last}
    found = json.loads(done.stdout)
    where = Path(found.pop("file"))
    if not where.is_relative_to(package.resolve()):
        raise RuntimeError(f"asked for the package in {package.resolve()}, but {where} was imported")
    return found


def about() -> dict:
    """When, where and with what: the same for all lines of a run."""
    return {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} cores, {cpu_name()}",
        "load": round(os.getloadavg()[0], 2),
    }


def records(args, folder: Path):
    """(index of the package, one dictionary a run)."""
    names = [name for name in CASES if any(fnmatch.fnmatch(name, pattern) for pattern in args.cases)]
    commits = [commit_of(package) for package in args.package]
    for name in names:
        problem = CASES[name]
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            case, path = problem.case(seed), folder / f"{name}-{seed}.npz"
            write_rows(case, path)
            known = reference(case)
            job = {"model": problem.data, "rows": str(path), "call_size": problem.call_size}
            job["random_state"] = zlib.crc32(f"{name} {seed}".encode())  # cases are independent of each other
            job["components"] = getattr(case.model, "n_components", None)
            for turn in range(len(args.package)):
                i = (turn + seed) % len(args.package)
                record: dict = {"case": name, "model": case.name, "n": problem.n, "seed": seed}
                record |= run_one(args.package[i], job, args.timeout)
                if known is not None:
                    record["error"] = record.get("log_evidence", np.nan) - known.log_evidence
                    record |= {"reference": known.log_evidence, "reference_std": known.std}
                    record |= {"reference_method": known.method, "reference_sound": known.sound}
                yield i, {**record, "commit": commits[i], **about()}
            path.unlink()


def line(record: dict) -> str:
    """A record as JSON, without what is not a number."""
    kept = {k: v for k, v in record.items() if not (isinstance(v, float) and not np.isfinite(v))}
    return json.dumps(kept, ensure_ascii=False)


def sentence(record: dict) -> str:
    """A record for the terminal."""
    start = f"{record['case']:18} seed={record['seed']:<3} {record['commit'] or '':9}"
    if "failure" in record:
        return f"{start} failed: {record['failure']}"
    error = number(record.get("error", np.nan), 3, True)
    return (
        f"{start} {record['log_evidence']:.3f} ± {record['std']:.3f}  error {error}  "
        f"{seconds(record['process_seconds'])} of processor, {seconds(record['wall_seconds'])} of wall, "
        f"{number(record.get('peak_mb', np.nan), 0)} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", default=["*"], metavar="GLOB", help=f"of {', '.join(CASES)}")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--package", type=Path, action="append", help="a checkout; may be repeated")
    parser.add_argument("--output", type=Path, action="append", help="one file for each --package")
    parser.add_argument("--timeout", type=float, default=600, help="seconds of wall time for one run")
    args = parser.parse_args()
    args.package = args.package or [HERE]
    args.output = args.output or [Path("runs.jsonl")]
    if len(args.output) != len(args.package):
        parser.error(f"{len(args.package)} --package need as many --output")
    check_one_thread()
    with tempfile.TemporaryDirectory() as folder:
        for i, record in records(args, Path(folder)):
            print(sentence(record), flush=True)
            with args.output[i].open("a", encoding="utf-8") as file:
                file.write(line(record) + "\n")


if __name__ == "__main__":
    main()
