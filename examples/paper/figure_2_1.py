"""Thesis Figure 2.1: trajectories of random-walk Metropolis-Hastings and Hamiltonian Monte Carlo.

    python examples/paper/figure_2_1.py [--full] [--seed 0] [--out figures]

The published target is not stated; here it is a Gaussian in two dimensions, of correlation 0.9, and both
algorithms evaluate it equally often.
"""

import csv

import numpy as np
from common import arguments, plt, save_figure

from sgevidence.kernels import hmc, random_walk

PRECISION = np.linalg.inv([[1.0, 0.9], [0.9, 1.0]])
START = np.array([[-2.5, -1.0]])
RANDOM_WALK_STEP, HMC_STEP, LEAPFROG = 0.5, 0.25, 10


def value_and_grad(theta):
    grad = -theta @ PRECISION
    return 0.5 * np.sum(theta * grad, axis=1), grad


def walk(rng, n):
    """Positions after each proposal, (n + 1, 2)."""
    path = [START]
    for _ in range(n):
        path.append(
            random_walk(path[-1], lambda t: value_and_grad(t)[0], rng, eps=RANDOM_WALK_STEP, n_steps=1)[0]
        )
    return np.concatenate(path)


def hamiltonian(rng, n):
    """Accepted positions (m, 2), and every leapfrog step on the way (n, 2)."""
    path, on_the_way, here = [START], [START], None

    def recorded(theta):
        on_the_way.append(theta)
        return value_and_grad(theta)

    for _ in range(n // LEAPFROG):
        theta, info = hmc(path[-1], recorded, rng, eps=HMC_STEP, L=LEAPFROG, here=here)
        path, here = [*path, theta], info.here
    return np.concatenate(path), np.concatenate(on_the_way)


def contours(ax, size=3.5):
    grid = np.stack(np.meshgrid(*2 * [np.linspace(-size, size, 201)]), axis=-1)
    value = value_and_grad(grid.reshape(-1, 2))[0].reshape(grid.shape[:2])
    ax.contour(grid[..., 0], grid[..., 1], value, [-4.5, -2.0, -0.5], colors="0.75", linewidths=1)
    ax.set(aspect="equal", xlim=(-size, size), ylim=(-size, size))


def main():
    args = arguments(__doc__, ())
    n = 2000 if args.full else 400
    a, b = np.random.default_rng(args.seed).spawn(2)
    walked, (moved, on_the_way) = walk(a, n), hamiltonian(b, n)
    fig, axes = plt.subplots(1, 2, figsize=(10, 5))
    for ax in axes:
        contours(ax)
    axes[0].plot(*walked.T, "C0.-", linewidth=0.7, markersize=3)
    axes[1].plot(*on_the_way.T, "C0-", linewidth=0.5, alpha=0.6)
    axes[1].plot(*moved.T, "C1.", markersize=5)
    axes[0].set_title(f"(a) random walk, {n} proposals")
    axes[1].set_title(f"(b) HMC, {n // LEAPFROG} proposals of {LEAPFROG} leapfrog steps")
    save_figure(fig, args)
    with open(args.out / f"{args.name}.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["algorithm", "step", "x", "y"])
        for label, path in {"random walk": walked, "HMC": moved, "HMC, leapfrog": on_the_way}.items():
            writer.writerows([label, i, *point] for i, point in enumerate(path))
    jumps = [np.mean(np.sum(np.diff(path, axis=0) ** 2, axis=1)) for path in (walked, moved)]
    print(
        f"{args.name} mean squared jump a proposal: random walk {jumps[0]:.3f}, HMC {jumps[1]:.3f}, "
        f"{jumps[1] / jumps[0] / LEAPFROG:.1f} times as far an evaluation"
    )


if __name__ == "__main__":
    main()
