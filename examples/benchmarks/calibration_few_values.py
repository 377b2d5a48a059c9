"""Cells of Gaussian mixtures whose columns have few values, or some values often: where basins are many.

A component of rows that share a value of one column has no width there but the prior's, and may be worth
tens of nats.  So chains of the reference start at slices of one column: of all rows, or of one of the
clusters of k-means.
"""

from functools import partial

import numpy as np
from calibration_allocations import Statistics
from calibration_cell import Cell, Data
from calibration_mixture_evidence import S, mixture, settled
from calibration_mixtures import cell
from references import Reference
from sklearn.cluster import KMeans

Rng = np.random.Generator


# -- rows ----------------------------------------------------------------------------------------------------


def items(rng: Rng, n: int, groups: int = 1) -> Data:
    """Four answers from 1 to 5, of respondents in some groups."""
    mean = np.zeros((1, 4)) if groups == 1 else rng.normal(0.0, 0.8, (groups, 4))
    answers = np.round(3 + mean[rng.integers(groups, size=n)] + rng.standard_normal((n, 4)))
    return Data(np.clip(answers, 1, 5) - 3)


def rounded(rng: Rng, n: int) -> Data:
    """Two columns in units of their standard deviation, all but."""
    return Data(np.round(1.2 * rng.standard_normal((n, 2))))


def heaped(rng: Rng, n: int) -> Data:
    """Two numbers in five are told as the nearest integer."""
    X = rng.standard_normal((n, 2))
    return Data(np.where(rng.random((n, 2)) < 0.4, np.round(X), X))


def many_zeros(rng: Rng, n: int) -> Data:
    """One column of three is zero in two rows of five, and log-normal else."""
    X = rng.standard_normal((n, 3))
    X[:, 0] = np.where(rng.random(n) < 0.4, 0.0, np.exp(0.5 * X[:, 0]))
    return Data(X)


def of_all_kinds(rng: Rng, n: int) -> Data:
    """Two normal columns, a binary one and a count."""
    X = rng.standard_normal((n, 4))
    X[:, 2], X[:, 3] = X[:, 2] > 0.3, rng.poisson(1.5, n) - 1.5
    return Data(X)


# -- references ----------------------------------------------------------------------------------------------


def with_slices(data: Data, rng: Rng, K: int) -> Reference:
    return mixture(data.X, K, rng, runs=3, particles=80, starts=from_slices)


def from_slices(X: np.ndarray, K: int, rng: Rng) -> Statistics:
    """Where Gibbs chains get to from m clusters of k-means, one of them in K − m + 1 slices of one column."""
    z = [sliced(X, K, 1 + chain % K, rng) for chain in range(S)]
    return settled(X, np.eye(K)[np.array(z)], rng)


def sliced(X: np.ndarray, K: int, m: int, rng: Rng) -> np.ndarray:
    """Components of the rows, (n,)."""
    z = KMeans(m, n_init=1, random_state=int(rng.integers(2**31))).fit(X).labels_.copy()
    inside, j = z == rng.integers(m), rng.integers(X.shape[1])
    values = np.unique(X[inside, j])[:-1]
    cuts = np.sort(rng.choice(values, min(K - m, len(values)), replace=False))
    part = np.searchsorted(cuts, X[inside, j])
    z[inside] = np.where(part > 0, m - 1 + part, z[inside])
    return z


# -- cells ---------------------------------------------------------------------------------------------------


def few_values(K: int, d: int, make, difficulty: str, n: int = 200) -> Cell:
    return cell(K, d, n, make, difficulty, slow=True)._replace(reference=partial(with_slices, K=K))


CELLS = [
    *(few_values(K, 4, items, "items of 1 to 5") for K in (2, 3, 4, 5)),
    few_values(4, 4, partial(items, groups=3), "items of 1 to 5, 3 groups"),
    *(few_values(K, 2, rounded, "coarsely rounded") for K in (2, 3, 5)),
    *(few_values(K, 2, heaped, "heaped at integers") for K in (2, 4)),
    *(few_values(K, 3, many_zeros, "many zeros in one column") for K in (2, 3, 5)),
    *(few_values(K, 4, of_all_kinds, "continuous, binary, count") for K in (2, 4)),
]
