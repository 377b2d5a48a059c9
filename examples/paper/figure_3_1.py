"""Thesis Figure 3.1: prior and likelihood of a Gaussian-Gaussian model with 100 data points.

    python examples/paper/figure_3_1.py [--full] [--seed 0] [--out figures]

The seed is that of the data, which are drawn from N(2, 1) as published.
"""

import numpy as np
from common import arguments, plt, save_figure

from sgevidence.history import Rows
from sgevidence.models import LinearModel


def gaussian_gaussian(seed, n=100):
    """p(μ) = N(0, 1), p(y|μ) = N(μ, 1) (Eq. 3.7), a regression on a column of ones; y from μ_true = 2."""
    y = 2.0 + np.random.default_rng([seed, 31]).standard_normal(n)
    return LinearModel(1, fit_intercept=False, noise_std=1.0), Rows.of(np.ones((n, 1)), y)


def powers_of_ten(log_z) -> str:
    return f"10^{log_z / np.log(10):.1f}"


def main():
    args = arguments(__doc__, ())
    model, rows = gaussian_gaussian(args.seed)
    mu = np.linspace(-4, 4, 2001)[:, None]
    prior, ell = np.exp(model.log_prior(mu)), model.sum_log_likelihood(mu, rows)
    fig, ax = plt.subplots(figsize=(7, 4.5))
    ax.plot(mu[:, 0], prior, "C0", label=r"prior $p(\mu)$")
    ax.set(xlabel=r"$\mu$", ylabel="prior density", ylim=(0, None))
    right = ax.twinx()
    right.plot(mu[:, 0], np.exp(ell), "C1", label=r"likelihood $p(D|\mu)$")
    right.fill_between(mu[:, 0], np.exp(ell), color="C1", alpha=0.3)
    right.set(ylabel="likelihood", ylim=(0, None))
    fig.legend(loc="upper left", bbox_to_anchor=(0.12, 0.88))
    save_figure(fig, args)
    table = np.column_stack([mu[:, 0], prior, ell])
    header = "mu,prior,log_likelihood"
    np.savetxt(args.out / f"{args.name}.csv", table, delimiter=",", header=header, comments="")
    exact, integral = model.exact_log_evidence(rows), np.log(np.trapezoid(prior * np.exp(ell), mu[:, 0]))
    print(
        f"{args.name} log evidence {exact:.3f} nats = {powers_of_ten(exact)}, by quadrature {integral:.3f}; "
        f"largest likelihood {powers_of_ten(ell.max())}"
    )


if __name__ == "__main__":
    main()
