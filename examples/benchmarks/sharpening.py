"""Cost and gain of sharpening on the custom cells of the calibration, beside annealing alone.

``python examples/benchmarks/sharpening.py --seeds 4`` prints a line for each cell: in how many fits the
bridge answered, both error bars (nats), both processor times (s), and the errors in standard errors of the
answer.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
from calibration_custom import CELLS

from sgevidence import SGAIS


def fitted(cell: Any, data: Any, seed: int, sampler: SGAIS) -> tuple[Any, float]:
    """The estimator, fitted to all rows, and processor seconds."""
    model = cell.estimator(sampler=sampler, random_state=seed)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.X, data.y)
    return model, time.process_time() - start


def line(cell: Any, seeds: range) -> str:
    """Of one cell."""
    rows = []
    for seed in seeds:
        data = cell.make(cell.rng(seed, 0))
        reference = cell.reference(data, cell.rng(seed, 2)).log_evidence
        annealed, before = fitted(cell, data, seed, SGAIS(proposal=None))
        model, after = fitted(cell, data, seed, SGAIS())
        z = (model.log_evidence_ - reference) / model.log_evidence_std_
        stds = annealed.log_evidence_std_, model.log_evidence_std_
        rows.append((model.diagnostics_["n_sharpened"], *stds, before, after, z))
    taken, std_before, std_after, before, after, z = np.transpose(rows)
    return (
        f"{cell.name}: {int(taken.sum())} of {len(seeds)}; "
        f"± {np.median(std_before):.3f} -> ± {np.median(std_after):.3f}; "
        f"{np.median(before):.2f} s -> {np.median(after):.2f} s; z {z.mean():+.1f} ± {z.std():.1f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--slow", action="store_true", help="cells that take a minute, too")
    args = parser.parse_args()
    for cell in CELLS:
        if cell.calls is None and (args.slow or not cell.slow):
            print(line(cell, range(args.seeds)), flush=True)
