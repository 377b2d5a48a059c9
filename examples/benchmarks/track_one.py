"""One fit, as a line of JSON: the part of ``track.py`` that sees the checkout which is measured.

    python track_one.py '{"model": "mixture", "components": 5, "rows": "rows.npz", "call_size": null,
                          "random_state": 1}'

Only the estimators, their default samplers and public attributes are used, and nothing of ``bench.py``: the
package may be any version.  Fits shorter than a second are repeated with the same seed and the shortest
time counts, since other work on the machine only ever adds to it.
"""

import json
import platform
import sys
import warnings
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import scipy
import sklearn

import sgevidence
from sgevidence import BayesianGMM, BayesianLinearRegression, BayesianSoftmaxRegression

ENOUGH, REPEATS = 1.0, 5  # seconds of processor, and fits at most
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def make_estimator(job: dict):
    """The estimator of the job's model, with the priors of the references."""
    settings = dict(random_state=job["random_state"], standardize=False)
    if job["model"] == "linear":
        return BayesianLinearRegression(noise_std=1.0, **settings)
    if job["model"] == "softmax":
        return BayesianSoftmaxRegression(**settings)
    return BayesianGMM(job["components"], **settings)


def learn(job: dict, X, y):
    """A fitted estimator: one ``fit``, or ``partial_fit`` with so many rows at a time."""
    estimator, size = make_estimator(job), job["call_size"]
    if size is None:
        return estimator.fit(X) if y is None else estimator.fit(X, y)
    first = {"classes": np.unique(y)} if job["model"] == "softmax" else {}
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        arguments = (X[part],) if y is None else (X[part], y[part])
        estimator.partial_fit(*arguments, **(first if start == 0 else {}))
    return estimator


def memory_mb(word: str) -> float | None:
    """``VmRSS`` (now) or ``VmHWM`` (the peak), MB; None where there is no /proc."""
    if not STATUS.exists():
        return None
    found = [s for s in STATUS.read_text().splitlines() if s.startswith(word)]
    return int(found[0].split()[1]) / 1024 if found else None


def measured(job: dict) -> dict:
    """Answer, shortest times, and the memory that the first fit took on top of what was there."""
    with np.load(job["rows"]) as file:
        X, y = file["X"], file["y"] if "y" in file else None
    learn({**job, "call_size": None}, X[:30], None if y is None else y[:30])  # imports on first use
    if CLEAR.exists():
        CLEAR.write_text("5")  # the peak starts from here
    before, peak = memory_mb("VmRSS"), None
    cpu: list[float] = []
    wall: list[float] = []
    while sum(cpu) < ENOUGH and len(cpu) < REPEATS:
        c, w = process_time(), perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator = learn(job, X, y)
        cpu.append(process_time() - c)
        wall.append(perf_counter() - w)
        peak = memory_mb("VmHWM") if peak is None else peak
    found = {
        "log_evidence": float(estimator.log_evidence_),
        "std": float(estimator.log_evidence_std_),
        "process_seconds": min(cpu),
        "wall_seconds": min(wall),
        "warnings": sorted({f"{w.category.__name__}: {w.message}" for w in caught}),
    }
    if peak is not None and before is not None:
        found["peak_mb"] = peak - before
    return found


def main() -> None:
    job = json.loads(sys.argv[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the thirty rows
        found = measured(job)
    found["file"] = str(Path(sgevidence.__file__).resolve())
    found["versions"] = {
        "sgevidence": sgevidence.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
