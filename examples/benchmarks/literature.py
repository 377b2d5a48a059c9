"""Our log evidence beside the published ones: the table of docs/literature.md.

    python literature.py --seeds 3 --first-seed 31 --markdown literature.md
    python literature.py --problems "galaxies*" --seeds 1

The problems, with their data and models, are those of ``tests/literature/problems.py``; all run with the
default sampler.  z = (ours − published) / √(std² + published std²).
"""

import argparse
import fnmatch
import runpy
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from bench import check_one_thread, number, report, seconds

PROBLEMS = runpy.run_path(str(Path(__file__).parents[2] / "tests" / "literature" / "problems.py"))["PROBLEMS"]
HEADER = [
    "problem",
    "published",
    "source",
    "ours, mean of the seeds",
    "differences",
    "reported std",
    "largest z",
    "time",
]


def runs(problem, seeds):
    """Log evidence, reported std, processor seconds and warnings of each seed, as columns."""
    X, y = problem.rows()
    for seed in seeds:
        start = process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator = problem.estimator(random_state=seed).fit(X, y)
        yield estimator.log_evidence_, estimator.log_evidence_std_, process_time() - start, len(caught)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", nargs="+", default=["*"], metavar="GLOB")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--markdown", help="file for the table")
    args = parser.parse_args()
    check_one_thread()
    body = []
    for problem in PROBLEMS:
        if not any(fnmatch.fnmatch(problem.name, pattern) for pattern in args.problems):
            continue
        value, std, time, warned = np.transpose(
            list(runs(problem, range(args.first_seed, args.first_seed + args.seeds)))
        )
        difference = value - problem.published
        z = difference / np.hypot(std, problem.published_std)
        known = f"{problem.published:.3f}"
        if problem.published_std >= 0.005:
            known += f" ± {problem.published_std:.3f}"
        each = ", ".join(number(x, 2, True) for x in difference)
        numbers = [number(value.mean(), 3), each, number(std.mean()), number(z[np.argmax(abs(z))], 1, True)]
        body.append([problem.name, known, problem.source, *numbers, seconds(np.median(time))])
        print(" | ".join(body[-1]), f"({int(warned.sum())} warnings)", flush=True)
    report("Published log evidences", HEADER, body, args.markdown)


if __name__ == "__main__":
    main()
