r"""Whether a cloud has forgotten where it started: correlations of each coordinate, particle by particle.

    ρ_j = Σ_i (a_ij − ā_j)(b_ij − b̄_j) / √(Σ_i (a_ij − ā_j)² Σ_i (b_ij − b̄_j)²)

A kernel that is exact leaves the posterior as it is, and so does nothing for a cloud that is not yet there
but by forgetting.  What it forgets last is what the likelihood says least of, and the mean over coordinates
does not see it.

Symbols: ``a, b`` = the cloud before and after, (M, d).
"""

import numpy as np

#: Largest correlation between start and end, of any coordinate, below which draws count as new; and how
#: often a kernel is called at most to get there.
FORGOTTEN, REPEATS = 0.3, 5


def correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Autocorrelation of each coordinate, (d,); zero for one that does not vary."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    norm = np.sqrt(np.sum(a**2, axis=0) * np.sum(b**2, axis=0))
    return np.sum(a * b, axis=0) / np.maximum(norm, 1e-300)


def largest_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """In the coordinate that remembers most, less what few particles make of nothing."""
    return float(np.max(correlations(a, b))) - 2 / len(a) ** 0.5
