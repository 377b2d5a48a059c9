"""Groups of rows in each other, in many columns."""

import numpy as np


def overlapping(n, p, K, at, seed):
    """Rows of K groups whose means differ by at √2 standard deviations in each column."""
    rng = np.random.default_rng([seed, n, p, K])
    X = rng.normal(0, at, (K, p))[rng.integers(K, size=n)] + rng.standard_normal((n, p))
    return (X - X.mean(axis=0)) / X.std(axis=0)
