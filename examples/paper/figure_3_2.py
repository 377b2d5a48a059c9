"""Thesis Figure 3.2: histogram of the evidence by prior sampling (Eq. 3.6) with M = 10.

    python examples/paper/figure_3_2.py [--full] [--seed 0] [--out figures]

Data and model of Figure 3.1.  The number of repetitions is not published; here 10^5, with --full 10^6.
"""

import numpy as np
from common import arguments, plt, save_figure
from figure_3_1 import gaussian_gaussian, powers_of_ten

from sgevidence.particles import log_sum_exp

M, BINS = 10, 1000


def histograms(args, log_Z, exact) -> None:
    """(a) of Ẑ, (b) of log Ẑ, normalised, and the exact values."""
    fig, axes = plt.subplots(1, 2, figsize=(11, 4))
    columns = []
    for ax, mark, values, line in zip(axes, "ab", (np.exp(log_Z), log_Z), (np.exp(exact), exact)):
        # densities of Ẑ, as high as 10^64, would overflow the axis: Ẑ is drawn in units of Z
        unit = np.exp(exact) if mark == "a" else 1.0
        density, edges = np.histogram(values / unit, bins=BINS, density=True)
        ax.stairs(density, edges, fill=True)
        ax.axvline(line / unit, color="C1", linestyle="--", label="exact")
        columns += [edges[:-1], density]
        ax.set(title=f"({mark})", ylabel="density", yscale="log" if mark == "a" else "linear")
    axes[0].set_xlabel("estimate / exact evidence")
    axes[1].set_xlabel("log estimate (nats)")
    axes[1].legend()
    save_figure(fig, args)
    header = "ratio_bin_start,ratio_density,log_bin_start,log_density"
    np.savetxt(
        args.out / f"{args.name}.csv", np.column_stack(columns), delimiter=",", header=header, comments=""
    )


def summary(args, log_Z, exact) -> str:
    low, median, high = np.quantile(log_Z - exact, [0.05, 0.5, 0.95])
    ten = np.log(10)
    return (
        f"{args.name} exact log evidence {exact:.3f} = {powers_of_ten(exact)}; "
        f"{len(log_Z)} estimates of M = {M}: log error median {median:+.2f} nats "
        f"({median / ten:+.2f} orders of magnitude), 5 % {low:+.2f}, "
        f"95 % {high:+.2f}; {np.mean(log_Z < exact):.1%} below the exact value, "
        f"{np.mean(log_Z > exact + 2 * ten):.1%} above 100 times it, "
        f"{np.mean(np.abs(log_Z - exact) < 1):.1%} within a nat, {np.mean(np.exp(log_Z) == 0):.1%} zero in "
        "double precision"
    )


def main():
    args = arguments(__doc__, ())
    model, rows = gaussian_gaussian(args.seed)
    rng, repeats = np.random.default_rng([args.seed, 32]), 10**6 if args.full else 10**5
    theta = model.sample_prior(rng, repeats * M)
    ell = model.sum_log_likelihood(theta, rows).reshape(repeats, M)
    log_Z = log_sum_exp(ell, axis=1) - np.log(M)  # Eq. (3.6), as PriorSampling(n_particles=10) does
    exact = model.exact_log_evidence(rows)
    histograms(args, log_Z, exact)
    print(summary(args, log_Z, exact))


if __name__ == "__main__":
    main()
