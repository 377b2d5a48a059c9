"""Errors in units of error bars, and what their spread may be."""

import numpy as np


def z_scores(sampler, model, rows, exact, rng, n_seeds):
    results = [sampler.run(model, rows, g) for g in rng.spawn(n_seeds)]
    return np.array([(r.log_evidence - exact) / r.log_evidence_std for r in results])


def check_normal(z):
    """Errors over claims are N(0, 1): spread and mean within 3.5 of their own standard errors."""
    n, sd = len(z), np.sqrt(np.mean(z**2))
    assert abs(sd - 1) < 3.5 / np.sqrt(2 * n), f"errors are {sd:.2f} of what is claimed"
    assert abs(z.mean()) < 3.5 / np.sqrt(n), f"errors are {z.mean():.2f} claims off on average"


def check_coverage(z, low=0.8, high=1.25):
    """Spread as claimed, no bias beside it, and hardly an outlier; ± 3 errors of the spread itself."""
    slack = 1 + 3 / np.sqrt(2 * len(z)) * (len(z) < 100)  # few seeds do not tell 1.25 from 1.4
    sd = np.sqrt(np.mean(z**2))
    assert low / slack < sd < high * slack, f"errors are {sd:.2f} of what is claimed"
    assert np.sum(np.abs(z) > 3) <= 2, f"outliers {np.sort(np.abs(z))[-4:]}"
