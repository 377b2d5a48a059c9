"""Error and time of the log evidence against n, default and published settings side by side.

    python accuracy.py --model linear --rows 1000 10000 100000 1000000 --seeds 10 --markdown linear.md
    python accuracy.py --model softmax --rows 1000 10000 100000 1000000 --on-the-way --no-paper
    python accuracy.py --model overlap --components 5 --rows 100000 --seeds 5 --reference bridge --no-paper
    python accuracy.py --model overlap --components 7 --rows 10000 --data-seed 1    # no reference

Every seed has data of its own unless --data-seed is given.  The samplers of one seed run in turn, so that a
slow spell of the machine meets all of them; the time of softmax's Newton–Laplace fit is taken there too.
Run with OMP_NUM_THREADS=1.
"""

import argparse
import csv
from time import perf_counter

import numpy as np
from bench import MODELS, check_one_thread, default_sampler, make_case, number, report, seconds
from newton import newton_laplace_softmax
from references import reference

from sgevidence import SGAIS, DivergenceError

FIELDS = [
    "model",
    "n",
    "seed",
    "sampler",
    "log_evidence",
    "std",
    "reference",
    "reference_std",
    "method",
    "time",
]


def run(sampler, cases, rng):
    """Log evidence, its std and seconds at each of the growing cases of one stream; nan if it diverged."""
    state, seen, spent, out = sampler.init(cases[0].model, rng), 0, 0.0, []
    for case in cases:
        start = perf_counter()
        try:
            state, _ = sampler.update(state, case.model, case.rows[seen:], rng)
        except DivergenceError as error:
            print(f"  {case.name} n={len(case.rows)}: {error}")
            return out + [(np.nan, np.nan, np.nan)] * (len(cases) - len(out))
        spent, seen = spent + perf_counter() - start, len(case.rows)
        out.append((state.log_evidence, state.log_evidence_std, spent))
    return out


def newton_times(case):
    """Seconds of a Newton–Laplace fit to 1e-8, cold and from the fit to a part of the rows."""
    X, y, K = case.rows.X, case.rows.y, case.model.n_classes
    return [newton_laplace_softmax(X, y, K, warm=warm)[-1] for warm in (False, True)]


def records(args):
    """One dictionary a run."""
    samplers = {"default": default_sampler(args.set)}
    if args.paper:
        samplers["paper"] = SGAIS.paper()
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        data_seed = args.data_seed or seed
        if args.on_the_way:
            whole = make_case(args.model, max(args.rows), data_seed, args.components)
            streams = [[whole.first(n) for n in sorted(args.rows)]]
        else:
            streams = [[make_case(args.model, n, data_seed, args.components)] for n in args.rows]
        for cases in streams:
            out = {}
            for name, sampler in samplers.items():
                if name == "paper" and len(cases[-1].rows) > args.paper_rows:
                    continue
                out[name] = run(sampler, cases, np.random.default_rng([seed, 7]))
            if args.model == "softmax":
                both = [newton_times(case) for case in cases]
                for name, column in (("newton", 0), ("newton warm", 1)):
                    out[name] = [(np.nan, np.nan, t[column]) for t in both]
            for i, case in enumerate(cases):
                known = reference(case, args.reference)
                if known is not None and not known.sound:
                    print(f"  doubtful reference: {known}; try --reference bridge")
                for name, results in out.items():
                    exact = (
                        (known.log_evidence, known.std, known.method) if known else (np.nan, np.nan, "none")
                    )
                    yield dict(
                        zip(
                            FIELDS,
                            [case.name, len(case.rows), seed, name, *results[i][:2], *exact, results[i][2]],
                        )
                    )


def summary(rows, sampler):
    """RMS and mean error, mean std, sd of z, median time of the runs of one sampler at one n.

    Without a reference errors are taken about the seeds' mean.
    """
    rows = [r for r in rows if r["sampler"] == sampler]
    if not rows:
        return None
    value, std, exact, time = (
        np.array([r[k] for r in rows]) for k in ("log_evidence", "std", "reference", "time")
    )
    around = np.nanmean(value) if np.isfinite(value).any() else np.nan
    e = value - np.where(np.isfinite(exact), exact, around)
    z = e / std
    few = np.isfinite(z).sum() < 2
    return {
        "runs": len(rows),
        "failed": int(np.sum(~np.isfinite(value))),
        "rms": np.sqrt(np.nanmean(e**2)) if np.isfinite(e).any() else np.nan,
        "mean": np.nanmean(e) if np.isfinite(e).any() else np.nan,
        "std": np.nanmean(std) if np.isfinite(std).any() else np.nan,
        "sd_z": np.nan if few else np.nanstd(z, ddof=1),
        "time": np.nanmedian(time) if np.isfinite(time).any() else np.nan,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--first-seed", type=int, default=1, help="to share long runs out")
    parser.add_argument("--data-seed", type=int, help="the same data for all seeds")
    parser.add_argument("--components", type=int, help="K of the mixtures, by default 5")
    parser.add_argument(
        "--reference", choices=["auto", "gold", "importance", "laplace", "bridge", "none"], default="auto"
    )
    parser.add_argument("--on-the-way", action="store_true", help="one stream a seed, read at each of --rows")
    parser.add_argument("--no-paper", dest="paper", action="store_false")
    parser.add_argument("--paper-rows", type=int, default=10**9, help="most rows for the published settings")
    parser.add_argument("--set", nargs="+", metavar="NAME=VALUE", help="parameters of the default SGAIS")
    parser.add_argument("--output", help="csv of all runs")
    parser.add_argument("--markdown", help="file for the table")
    args = parser.parse_args()
    check_one_thread()

    done, file = [], open(args.output, "w", newline="") if args.output else None
    writer = csv.DictWriter(file, FIELDS) if file else None
    if writer:
        writer.writeheader()
    for r in records(args):
        done.append(r)
        error = number(r["log_evidence"] - r["reference"], 3, True)
        print(
            f"{r['model']} n={r['n']} seed={r['seed']} {r['sampler']:11} {number(r['log_evidence'], 3)} "
            f"± {number(r['std'], 3)} error {error} ({r['method']}) {seconds(r['time'])}",
            flush=True,
        )
        if writer:
            writer.writerow(r)
            file.flush()

    header = [
        "model",
        "n",
        "settings",
        "seeds",
        "RMS error",
        "mean error",
        "mean std",
        "sd(z)",
        "time",
        "time / default",
    ]
    body, notes = [], []
    for name, n in dict.fromkeys((r["model"], r["n"]) for r in done):
        here = [r for r in done if (r["model"], r["n"]) == (name, n)]
        base = summary(here, "default")["time"]
        for sampler in ("default", "paper", "newton", "newton warm"):
            s = summary(here, sampler)
            if s is None:
                continue
            label = {"newton": "Newton–Laplace to 1e-8", "newton warm": "… started on 2 %"}.get(
                sampler, sampler
            )
            runs = f"{s['runs']}" + (
                f" ({s['failed']} diverged)" if s["failed"] and "newton" not in sampler else ""
            )
            body.append([name, n, label, runs, number(s["rms"]), number(s["mean"], 2, True), number(s["std"]),
                         number(s["sd_z"]), seconds(s["time"]), number(s["time"] / base)])  # fmt: skip
    for method in dict.fromkeys(r["method"].split(",")[0] for r in done):
        sizes = sorted({r["n"] for r in done if r["method"].startswith(method)})
        stds = max(r["reference_std"] for r in done if r["method"].startswith(method))
        about = (
            "errors about the mean of the seeds"
            if method == "none"
            else f"std at most {number(stds, 3)} nats"
        )
        notes.append(f"Reference at n = {', '.join(map(str, sizes))}: {method}, {about}.")
    if args.set:
        notes.append(f"Default settings changed: {', '.join(args.set)}.")
    report(f"Accuracy: {body[0][0]}", header, body, args.markdown, notes)


if __name__ == "__main__":
    main()
