"""Thesis Figure 3.3: histogram of the evidence by the harmonic mean (Eq. 3.9) with M = 10.

    python examples/paper/figure_3_3.py [--full] [--seed 0] [--out figures]

Data and model of Figure 3.1, exact posterior draws.  The number of repetitions is not published; here 10^5,
with --full 10^6.
"""

import numpy as np
from common import arguments
from figure_3_1 import gaussian_gaussian
from figure_3_2 import M, histograms, summary

from sgevidence.particles import log_sum_exp


def main():
    args = arguments(__doc__, ())
    model, rows = gaussian_gaussian(args.seed)
    rng, repeats = np.random.default_rng([args.seed, 33]), 10**6 if args.full else 10**5
    theta = model.exact_posterior(rows, rng, repeats * M)
    ell = model.sum_log_likelihood(theta, rows).reshape(repeats, M)
    log_Z = np.log(M) - log_sum_exp(-ell, axis=1)  # Eq. (3.9), as HarmonicMean(n_particles=10) does
    exact = model.exact_log_evidence(rows)
    histograms(args, log_Z, exact)
    print(summary(args, log_Z, exact))


if __name__ == "__main__":
    main()
