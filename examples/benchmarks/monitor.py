"""Change points: Turing Change Point Dataset, false alarms, delay and place, the thesis's stream, speed.

    python monitor.py --tcpd FOLDER          covering and F1 (annotations.json and one file a series)
    python monitor.py --false-alarms         100 streams without a change
    python monitor.py --delay                shifts of mean, variance, slope and class balance
    python monitor.py --thesis 5             3, 5, 7 clusters watched with K = 3, five seeds
    python monitor.py --speed                rows a second in chunks of 100

river's detectors and ruptures' PELT are run beside it where they are installed.
"""

import argparse
import itertools
import json
import runpy
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import process_time

import numpy as np
from bench import check_one_thread, number, report, seconds
from scipy.stats import norm

from sgevidence import SGAIS, BayesianGMM, EvidenceMonitor
from sgevidence.monitoring import CategorySegment, NormalSegment, RegressionSegment, SeriesSegment, segment

PUBLISHED = {  # van den Burg and Williams 2020, default settings, 42 series, univariate
    "published BOCPD": (0.594, 0.662),
    "published BINSEG": (0.672, 0.698),
    "published PELT": (0.652, 0.674),
    "published no change": (0.566, 0.645),
}
MARGIN = 5  # rows within which a detection counts for F1


# -- Turing Change Point Dataset ---------------------------------------------------------------------


def hits(truth: set[int], found: set[int]) -> int:
    """Annotated changes with a detection within the margin, each detection used once."""
    left, n = set(found), 0
    for change in sorted(truth):
        near = [(abs(change - place), place) for place in left if abs(change - place) <= MARGIN]
        if near:
            left.remove(min(near)[1])
            n += 1
    return n


def f1(annotations: dict, found) -> float:
    """Precision against all annotators together, recall averaged over them; 0 is a change in all."""
    truths = [{0, *changes} for changes in annotations.values()]
    places = {0, *map(int, found)}
    precision = hits(set().union(*truths), places) / len(places)
    recall = float(np.mean([hits(truth, places) / len(truth) for truth in truths]))
    return 2 * precision * recall / (precision + recall)


def covering(annotations: dict, found, n: int) -> float:
    """Mean over annotators of Σ |A| max_B |A ∩ B| / |A ∪ B| / n over their segments A and ours B."""

    def segments(changes):
        edges = sorted({0, n, *(int(c) for c in changes if 0 < c < n)})
        return list(itertools.pairwise(edges))

    def overlap(a, b):
        return max(0, min(a[1], b[1]) - max(a[0], b[0])) / (max(a[1], b[1]) - min(a[0], b[0]))

    ours = segments(found)
    return float(
        np.mean(
            [
                sum((a[1] - a[0]) * max(overlap(a, b) for b in ours) for a in segments(changes)) / n
                for changes in annotations.values()
            ]
        )
    )


def load(folder: Path) -> dict[str, tuple[np.ndarray, dict]]:
    annotations = json.loads((folder / "annotations.json").read_text())
    out = {}
    for name in sorted(annotations):
        path = folder / f"{name}.json"
        if path.exists():
            raw = [s["raw"] for s in json.loads(path.read_text())["series"]]
            X = np.array(raw, dtype=float).T
            out[name] = (X[np.isfinite(X).all(1)] if np.isnan(X).any() else X, annotations[name])
    return out


def tcpd(folder: Path, args) -> None:
    series = load(folder)
    body, scores = [], {}
    for name, (X, annotations) in series.items():
        monitor = EvidenceMonitor().fit(X)
        ways = [monitor.change_points_, segment(X).change_points, []]
        scores[name] = [[covering(annotations, way, len(X)), f1(annotations, way)] for way in ways]
        late = [d.declared_row - d.change_row for d in monitor.detections_]
        places = " ".join(map(str, monitor.change_points_)) or "none"
        body.append(
            [f"{name} ({X.shape[1]})", len(X), *(number(v) for way in scores[name] for v in way),
             places, max(late, default=0)]
        )  # fmt: skip
    univariate = [name for name, (X, _) in series.items() if X.shape[1] == 1]
    for label, names in (("mean, univariate", univariate), ("mean, all", list(series))):
        mean = np.mean([scores[name] for name in names], axis=0)
        body.append([label, len(names), *(number(v, 3) for v in mean.ravel()), "", ""])
    for label, values in PUBLISHED.items():
        body.append([label, 42, *(number(v, 3) for v in values), "", "", "", "", "", ""])
    table = np.array([scores[name][0] for name in univariate])
    rest = [np.delete(table, i, axis=0).mean(0) for i in range(len(table))]
    rng = np.random.default_rng(0)
    halves = [table[rng.permutation(len(table))[: len(table) // 2]].mean(0) for _ in range(1000)]
    notes = [
        "Online: places of the changes declared on the way; at hand: most probable segmentation.",
        f"Univariate, online, each series left out in turn: covering {np.min(rest, 0)[0]:.3f} to "
        f"{np.max(rest, 0)[0]:.3f}, F1 {np.min(rest, 0)[1]:.3f} to {np.max(rest, 0)[1]:.3f}; "
        f"random halves: sd {np.std(halves, 0)[0]:.3f} and {np.std(halves, 0)[1]:.3f}.",
    ]
    for name, values in {"hazard": (1 / 100, 1 / 500), "threshold": (0.75, 0.95)}.items():
        for value in values:
            all_of_it = []
            for key in univariate:
                X, annotations = series[key]
                found = EvidenceMonitor(**{name: value}).fit(X).change_points_
                all_of_it.append([covering(annotations, found, len(X)), f1(annotations, found)])
            mean = np.mean(all_of_it, axis=0)
            notes.append(f"With {name} = {value}: covering {mean[0]:.3f}, F1 {mean[1]:.3f}.")
    header = ["series (columns)", "rows", "covering online", "F1 online", "covering at hand", "F1 at hand",
              "covering, none", "F1, none", "declared", "latest"]  # fmt: skip
    report("Turing Change Point Dataset", header, body, args.markdown, notes)


# -- streams that are made ---------------------------------------------------------------------------


class River:
    """A detector of river's, row by row; it says when, not where."""

    def __init__(self, make: Callable) -> None:
        self.make = make

    def __call__(self, x: np.ndarray) -> list[tuple[int, float]]:
        detector, found = self.make(), []
        for i, value in enumerate(x.tolist()):
            detector.update(value)
            if detector.drift_detected:
                found.append((i, np.nan))
        return found


def by_monitor(model, **params) -> Callable:
    def run(x):
        monitor = EvidenceMonitor(model, **params).fit(x[:, None])
        return [(d.declared_row, d.change_row) for d in monitor.detections_]

    return run


def pelt(x: np.ndarray) -> list[tuple[int, float]]:
    """Offline: it declares at the end.  Penalty 3 log n, Gaussian cost, places to five rows."""
    import ruptures

    warnings.simplefilter("ignore")  # about a bias for constant segments, at each call
    places = ruptures.Pelt("normal", min_size=5, jump=5).fit(x).predict(pen=3 * np.log(len(x)))[:-1]
    return [(len(x) - 1, place) for place in places]


def detectors() -> dict[str, Callable]:
    out: dict[str, Callable] = {
        "EvidenceMonitor()": by_monitor(None),
        "EvidenceMonitor(NormalSegment())": by_monitor(NormalSegment()),
    }
    if find_spec("river"):
        from river.drift import ADWIN, KSWIN, PageHinkley

        out |= {"river ADWIN": River(ADWIN), "river PageHinkley": River(PageHinkley)}
        out["river KSWIN"] = River(lambda: KSWIN(seed=0))
    if find_spec("ruptures"):
        out["ruptures PELT (offline)"] = pelt
    return out


NOISES = ["Gaussian", "AR(1), 0.7", "Student-t, 3"]


def noise(kind: str, n: int, rng) -> np.ndarray:
    e = rng.normal(size=n)
    if kind == "AR(1), 0.7":
        for i in range(1, n):
            e[i] = 0.7 * e[i - 1] + np.sqrt(1 - 0.49) * e[i]
    return rng.standard_t(3, size=n) if kind == "Student-t, 3" else e


def false_alarms(args) -> None:
    streams, n = args.streams or 100, 1000
    body = []
    for kind in args.noise:
        for name, run in detectors().items():
            rng = np.random.default_rng(args.seed)
            alarms = sum(len(run(noise(kind, n, rng))) for _ in range(streams))
            body.append([kind, name, alarms, number(1e3 * alarms / streams / n, 3)])
        for model in (None, NormalSegment()):
            x = noise(kind, n, np.random.default_rng(args.seed))
            rate = EvidenceMonitor(model).fit(x.reshape(-1, 1)).false_alarm_rate_
            said = f"said by EvidenceMonitor({model or ''})"
            body.append([kind, said, number(rate * streams * n, 1), number(1e3 * rate, 3)])
    header = ["rows", "detector", f"alarms in {streams} streams of {n}", "a 1000 rows"]
    report("False alarms", header, body, args.markdown)


def _balance(e: np.ndarray, late: np.ndarray, size: float) -> np.ndarray:
    """Ones with probability 0.2, later ``size``, from standard normal numbers."""
    return 1.0 * (e > norm.isf(np.where(late, size, 0.2)))


SHIFTS: dict[str, tuple[tuple[float, ...], Callable]] = {
    "mean, by sd": ((0.5, 1.0, 2.0), lambda e, late, size: e + size * late),
    "variance, sd times": ((1.5, 2.0, 4.0), lambda e, late, size: e * np.where(late, size, 1.0)),
    "slope, sd a row": ((0.01, 0.03, 0.1), lambda e, late, size: e + size * np.cumsum(late)),
    "class balance, 0.2 to": ((0.3, 0.5, 0.8), _balance),
}  # fmt: skip


def delay(args) -> None:
    streams, n, change = args.streams or 30, 600, 300
    body = []
    for kind, (sizes, make) in SHIFTS.items():
        for size in sizes:
            of_classes = {"EvidenceMonitor(CategorySegment())": by_monitor(CategorySegment())}
            for name, run in (detectors() | (of_classes if make is _balance else {})).items():
                rng = np.random.default_rng(args.seed)
                late = np.arange(n) >= change
                when, where, early = [], [], 0
                for _ in range(streams):
                    found = run(make(rng.normal(size=n), late, size))
                    early += sum(row < change for row, _ in found)
                    after = [(row, place) for row, place in found if row >= change]
                    if name.startswith("ruptures"):
                        after = sorted(after, key=lambda d: abs(d[1] - change))[:1]
                        after = [d for d in after if abs(d[1] - change) <= 50]
                    if after:
                        when.append(after[0][0] - change)
                        where.append(abs(after[0][1] - change))
                median = number(np.median(when), 0) if when and not name.startswith("ruptures") else "-"
                place = number(np.median(where), 0) if when else "-"
                body.append([f"{kind} {size:g}", name, f"{len(when)}/{streams}", median, place, early])
    header = ["shift at row 300 of 600", "detector", "found", "median delay", "median error of place",
              "alarms before"]  # fmt: skip
    report("Delay and place", header, body, args.markdown)


def thesis(args) -> None:
    """Figure 5.1's stream: 3 clusters, from row 1000 on 5, from row 10 000 on 7."""
    shift_data = runpy.run_path(str(Path(__file__).parents[1] / "paper" / "common.py"))["shift_data"]
    warnings.simplefilter("ignore")
    body = []
    for K in args.components:
        for seed in range(args.seed, args.seed + args.thesis):
            X = shift_data(args.rows, seed)
            model = BayesianGMM(
                K, sampler=SGAIS(n_particles=50, max_particles=100), random_state=seed, standardize=False
            )
            monitor = EvidenceMonitor(model, hazard=1 / 5000)
            start = process_time()
            for i in range(0, len(X), 250):
                monitor.partial_fit(X[i : i + 250])
            declared = ", ".join(f"{d.change_row} (at {d.declared_row})" for d in monitor.detections_)
            body.append([K, seed, declared or "none", seconds(process_time() - start)])
    report("The thesis's stream", ["K", "seed", "changes (declared)", "processor time"], body, args.markdown)


def speed(args) -> None:
    rng = np.random.default_rng(args.seed)
    n = 10_000
    body = []
    for model, columns in (
        (NormalSegment(), 1),
        (NormalSegment(), 3),
        (RegressionSegment(), 3),
        (SeriesSegment(), 1),
    ):
        X = rng.normal(size=(n, columns))
        y = X[:, 0] + rng.normal(size=n)
        monitor = EvidenceMonitor(model)
        start = process_time()
        for i in range(0, n, 100):
            monitor.partial_fit(X[i : i + 100], y[i : i + 100])
        body.append([type(model).__name__, columns, f"{n / (process_time() - start):,.0f}"])
    report("Speed, chunks of 100", ["model", "columns", "rows a second"], body, args.markdown)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tcpd", type=Path, metavar="FOLDER")
    parser.add_argument("--false-alarms", action="store_true")
    parser.add_argument("--noise", nargs="+", default=NOISES, choices=NOISES, help="for --false-alarms")
    parser.add_argument("--streams", type=int, help="for --false-alarms (100) and --delay (30)")
    parser.add_argument("--delay", action="store_true")
    parser.add_argument("--thesis", type=int, default=0, metavar="SEEDS")
    parser.add_argument("--components", type=int, nargs="+", default=[3], metavar="K", help="for --thesis")
    parser.add_argument("--rows", type=int, default=20_000, help="for --thesis")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", help="file for the table")
    args = parser.parse_args()
    check_one_thread()
    wanted = [args.tcpd, args.false_alarms, args.delay, args.thesis, args.speed]
    if not any(wanted):
        parser.error("say which table: --tcpd FOLDER, --false-alarms, --delay, --thesis SEEDS or --speed")
    if args.tcpd:
        tcpd(args.tcpd, args)
    for chosen, run in zip(wanted[1:], (false_alarms, delay, thesis, speed)):
        if chosen:
            run(args)


if __name__ == "__main__":
    main()
