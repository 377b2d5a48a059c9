"""Papers' Figure A1: nested sampling with reflection is checked against rejection, and against AIS.

    python examples/paper/figure_A1.py [--seed 0] [--out figures] [-n 20 50 100 200 500 1000]

A mixture of three Gaussians in one dimension, nine parameters.  Conference paper: rejection needs e^H draws
from the prior for every point, so it goes as far as ``--max-seconds`` allow: 20 rows, and 30 with 60.
Journal paper: five runs of each at up to 1000 rows.  The samplers are those of this library.
"""

import matplotlib.pyplot as plt
import numpy as np
from common import Line, arguments, save_figure, save_table

from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.samplers import AIS, NestedSampling

MODEL, N_RUNS = MixtureModel(3, 1), 5
#: The remaining live points are counted, so rejection may stop at half of the evidence: e⁴ times sooner.
REJECTION = NestedSampling(50, kernel="rejection", remaining_mass=0.5)
REFLECTION = NestedSampling(50, remaining_mass=0.5)


def simulated(n: int, seed: int) -> Rows:
    """Rows of three Gaussians (the positions are ours)."""
    rng = np.random.default_rng([seed, 1])
    return Rows.of(rng.choice([-2.0, 0.0, 2.0], size=n)[:, None] + 0.5 * rng.standard_normal((n, 1)))


def runs(label, sampler, sizes, args) -> list[Line]:
    lines: list[Line] = []
    for n in sizes:
        longer = 40 if label == "rejection" else n / lines[-1].n if lines else 1
        if lines and longer * lines[-1].seconds > args.max_seconds:
            break
        first = args.seed + (100 if label == "rejection" else 0)  # both begin alike, by rejection
        for seed in range(first, first + N_RUNS):
            result = sampler.run(MODEL, simulated(n, args.seed), np.random.default_rng(seed))
            lines.append(Line(label, n, result.log_evidence, result.log_evidence_std, result.wall_time, seed))
    return lines


def main():
    args = arguments(__doc__, (20, 50, 100, 200, 500, 1000))
    few = [n for n in (5, 10, 15, 20, 30) if n <= args.n[-1]]
    panels = [
        [("rejection", REJECTION, few), ("reflection", REFLECTION, few)],
        [("reflection", NestedSampling(200), args.n), ("AIS", AIS(500), args.n)],
    ]
    fig, axes = plt.subplots(1, 2, figsize=(10, 4))
    table, said = [], []
    for ax, panel in zip(axes, panels):
        answers = {label: runs(label, sampler, sizes, args) for label, sampler, sizes in panel}
        first, second = (
            {n: [s for s in lines if s.n == n] for n in sorted({s.n for s in lines})}
            for lines in answers.values()
        )
        both = sorted(set(first) & set(second))
        middle = {n: np.mean([s.log_evidence for s in first[n] + second[n]]) for n in both}
        for i, (label, lines) in enumerate(answers.items()):
            lines = [s for s in lines if s.n in middle]
            ax.errorbar(
                [s.n * (1 + 0.03 * (i - 0.5)) for s in lines],
                [s.log_evidence - middle[s.n] for s in lines],
                [s.log_evidence_std for s in lines],
                fmt=".",
                label=label,
            )
            table += lines
        z = [difference(first[n], second[n]) for n in both]
        said.append(f"{' and '.join(answers)} at N = {both}: differences over their errors {np.round(z, 1)}")
        ax.set(xscale="log", xlabel="N", ylabel="log evidence about the mean of both (nats)")
        ax.legend()
    save_table(table, args)
    save_figure(fig, args)
    print(f"{args.name} " + "; ".join(said))


def difference(a, b) -> float:
    """Of the means of two sets of runs, over its standard error."""
    var = sum(np.mean([s.log_evidence_std**2 for s in lines]) / len(lines) for lines in (a, b))
    return float((np.mean([s.log_evidence for s in a]) - np.mean([s.log_evidence for s in b])) / var**0.5)


if __name__ == "__main__":
    main()
