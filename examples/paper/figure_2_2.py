"""Thesis Figure 2.2: trajectories of SGLD and SGHMC.

    python examples/paper/figure_2_2.py [--full] [--seed 0] [--out figures]

The published target is not stated; here it is the Gaussian of Figure 2.1, its gradient has noise of standard
deviation 1, and both algorithms take equally many steps of the same learning rate.
"""

import csv

import numpy as np
from common import arguments, plt, save_figure
from figure_2_1 import START, contours, value_and_grad

from sgevidence.kernels import sghmc, sgld

LEARNING_RATE, MOMENTUM_DECAY, NOISE = 0.01, 0.1, 1.0


def trajectory(kernel, rng, n, **parameters):
    """Where the kernel asks for the gradient, (n, 2)."""
    path = []

    def noisy_gradient(theta):
        path.append(theta)
        return value_and_grad(theta)[1] + NOISE * rng.standard_normal(theta.shape)

    kernel(START, noisy_gradient, rng, eta=LEARNING_RATE, n_steps=n, beta_hat=NOISE**2 / 2, **parameters)
    return np.concatenate(path)


def main():
    args = arguments(__doc__, ())
    n = 2000 if args.full else 400
    a, b = np.random.default_rng(args.seed).spawn(2)
    paths = {"SGLD": trajectory(sgld, a, n), "SGHMC": trajectory(sghmc, b, n, alpha=MOMENTUM_DECAY)}
    fig, axes = plt.subplots(1, 2, figsize=(10, 5))
    for ax, mark, (label, path) in zip(axes, "ab", paths.items()):
        contours(ax)
        ax.plot(*path.T, "C0.-", linewidth=0.7, markersize=2)
        ax.set_title(f"({mark}) {label}, {n} steps")
    save_figure(fig, args)
    with open(args.out / f"{args.name}.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["algorithm", "step", "x", "y"])
        for label, path in paths.items():
            writer.writerows([label, i, *point] for i, point in enumerate(path))
    length = {k: np.sum(np.linalg.norm(np.diff(p, axis=0), axis=1)) for k, p in paths.items()}
    reach = {k: np.mean(np.sum((p[50:] - p[:-50]) ** 2, axis=1)) ** 0.5 for k, p in paths.items()}
    print(
        f"{args.name} "
        + "; ".join(
            f"{k}: length {length[k]:.1f}, distance after 50 steps {reach[k]:.2f} (rms)" for k in paths
        )
    )


if __name__ == "__main__":
    main()
