"""Small ``partial_fit`` calls to a million rows: time a call, resident memory and error against n.

    python stream.py --model linear
    python stream.py --model softmax --rows 1000000 --call-size 500 --markdown stream-softmax.md

The rows are simulated beforehand and counted into the memory at the start; what grows afterwards is the
estimator.  The one-shot ``fit`` of the same rows follows in the same run.  Run with OMP_NUM_THREADS=1.
"""

import argparse
import gc
from time import perf_counter

import numpy as np
from bench import MODELS, check_one_thread, default_sampler, make_case, number, report, resident_mb, seconds
from references import reference

from sgevidence import BayesianGMM, BayesianLinearRegression, BayesianSoftmaxRegression

FACTOR, FLOOR = 3.0, 4e-3  # the bar: three times the one-shot time or 4 ms a call, whichever is larger


def make_estimator(case, sampler, seed):
    settings = dict(sampler=sampler, random_state=seed, standardize=False)  # the priors of the references
    if case.name == "linear":
        return BayesianLinearRegression(noise_std=1.0, **settings)
    if case.name == "softmax":
        return BayesianSoftmaxRegression(**settings)
    return BayesianGMM(case.model.n_components, **settings)


def stream(case, estimator, call_size, marks):
    """(n, log evidence, std, median, mean and slowest call since the mark before, total seconds, MB)."""
    X, y = case.rows.X, case.rows.y
    first = {"classes": np.arange(case.model.n_classes)} if case.name == "softmax" else {}
    calls, total, out = [], 0.0, []
    for start in range(0, len(X), call_size):
        part = slice(start, start + call_size)
        arguments = (X[part],) if y is None else (X[part], y[part])
        begin = perf_counter()
        estimator.partial_fit(*arguments, **(first if start == 0 else {}))
        calls.append(perf_counter() - begin)
        n = min(start + call_size, len(X))
        if n >= marks[len(out)]:
            total += sum(calls)
            e = estimator
            times = np.median(calls), np.mean(calls), max(calls), total
            out.append((n, e.log_evidence_, e.log_evidence_std_, *times, resident_mb()))
            calls = []
    return out


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--call-size", type=int, default=500)
    parser.add_argument("--components", type=int, help="K of the mixtures, by default 5")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reference", default="auto", help="see accuracy.py")
    parser.add_argument("--no-one-shot", dest="one_shot", action="store_false")
    parser.add_argument("--set", nargs="+", metavar="NAME=VALUE", help="parameters of the default SGAIS")
    parser.add_argument("--markdown", help="file for the table")
    args = parser.parse_args()
    check_one_thread()

    case = make_case(args.model, args.rows, args.seed, args.components)
    marks = [n for n in (k * 10**e for e in range(3, 9) for k in (1, 2, 5)) if n < args.rows] + [args.rows]
    make_estimator(case, None, 0).fit(case.rows.X[:200], None if case.rows.y is None else case.rows.y[:200])
    gc.collect()
    base = resident_mb()
    records = stream(case, make_estimator(case, default_sampler(args.set), args.seed), args.call_size, marks)
    body = [
        [n, number(value), number(std), *map(seconds, times), number(mb - base, 1)]
        for n, value, std, *times, mb in records
    ]
    value, std, total = records[-1][1], records[-1][2], records[-1][-2]
    n_calls = -(-args.rows // args.call_size)
    known = reference(case, args.reference)

    def answer(value, std):
        error = f", error {number(value - known.log_evidence, 3, True)} ({known.method})" if known else ""
        return f"{number(value, 3)} ± {number(std)}{error}"

    notes = [
        f"{n_calls} calls of {args.call_size} rows: {seconds(total)}, {seconds(total / n_calls)} a call; "
        f"log evidence {answer(value, std)}."
    ]
    if args.one_shot:
        estimator = make_estimator(case, default_sampler(args.set), args.seed)
        start = perf_counter()
        estimator.fit(case.rows.X, case.rows.y)
        once = perf_counter() - start
        bar = max(FACTOR * once, FLOOR * n_calls)
        notes.append(
            f"One fit of the same rows: {seconds(once)}; log evidence "
            f"{answer(estimator.log_evidence_, estimator.log_evidence_std_)}."
        )
        verdict = "met" if total <= bar else "NOT met"
        notes.append(f"Calls / fit: {total / once:.2f}; the bar is {seconds(bar)}: {verdict}.")
    header = [
        "n",
        "log evidence",
        "std",
        "median call",
        "mean call",
        "slowest call",
        "total",
        "memory grown, MB",
    ]
    report(f"Stream: {case.name}, calls of {args.call_size} rows", header, body, args.markdown, notes)


if __name__ == "__main__":
    main()
