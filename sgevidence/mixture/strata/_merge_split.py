"""A move between basins of a mixture: two components are merged and another is split (Ueda et al. 2000).

For all chains at once, each with its own pair and its own split.  A split is between two rows, by which of
them a row is nearer to; or around a row, the nearest to which leave; or along one column, by the value v that
a row has there: x_j = v leaves, or x_j ≤ v.  Some of the chains are not split: they keep a component without
rows, which Gibbs sweeps alone rarely empty.  Others have several components sliced along one column: where
columns have few values, three slices may be better by twenty nats and a single one worse than none.

Symbols: ``z`` = allocations (C, n), ``members`` = rows of the component that each chain splits (C, n).
"""

import numpy as np

#: Shares of a component that leave it with one of its rows.
MIN_SPLIT_SHARE, MAX_SPLIT_SHARE = 0.03, 0.5
#: Share of the splits that are along one column.  Where columns have few values the best basin often has a
#: component whose rows share a value of one column, and by distance it is not found.
ALONG_SHARE = 0.15
#: Share of the chains that have several components sliced.  With the splits along one column 13 to 15 of 15
#: searches meet the best basin (items of 1 to 5, K = 4 and 5; three rounded columns, K = 5); without slices a
#: quarter of them (K = 5, 20 searches), with neither 3 of 20.
SLICED_SHARE = 0.3
#: Share of the others that are between two rows.  What lies around a row finds a tight group inside a wide
#: one: of 120 searches of digits (K = 3, 8 principal components, groups of 150 in 1797 rows) 29 without it
#: were 137 nats low; 9 where it was half of the splits, 2 with seven in ten.
BETWEEN_SHARE = 0.3


def rearranged(z: np.ndarray, X: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """z with some components of each chain sliced, or two merged and another split, (C, n)."""
    is_sliced = rng.random((len(z), 1)) < SLICED_SHARE
    return np.where(is_sliced, sliced(z, X, K, rng), merged_and_split(z, X, K, rng))


def merged_and_split(z: np.ndarray, X: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """z with two components of each chain merged, and another split, (C, n)."""
    size = len(z)
    kept, free = rng.random((K, size)).argsort(axis=0)[:2, :, None].astype(z.dtype)
    z = np.where(z == free, kept, z)
    split = split_off(z, X, free, rng)
    # share of the chains that are left with an empty component.  Two overlapping groups, 3000 rows that lie
    # 33 standard deviations from the prior, are better by 14 nats as one; six fits of eight did not see it.
    # Starts with empty components do not see it either (four of twenty, K = 4), and cost others their place.
    return np.where(rng.random((size, 1)) > 0.05, split, z)


def sliced(z: np.ndarray, X: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """z with the rows of some components of each chain, at least two, cut anew along one column, (C, n)."""
    size, n = z.shape
    rank = rng.random((size, K)).argsort(axis=1)  # of each label, at random
    m = rng.integers(2, K + 1, size=(size, 1))  # labels of the lowest ranks are cut
    members = np.take_along_axis(rank, z.astype(np.intp), axis=1) < m
    x = X.T[rng.integers(X.shape[1], size=size)]
    part = np.zeros((size, n), dtype=np.intp)
    for cut in range(K - 1):
        v = x[np.arange(size), _random_member(members, rng)][:, None]
        part += (x > v) & (cut < m - 1)
    label = np.take_along_axis(rank.argsort(axis=1), part, axis=1)
    return np.where(members, label, z).astype(z.dtype)


def split_off(z: np.ndarray, X: np.ndarray, free: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """z with part of a component of each chain, one of many rows the likelier, in its ``free`` one (C, 1)."""
    size = len(z)
    split = z[np.arange(size), rng.integers(z.shape[1], size=size)]
    members = z == split[:, None]
    first, second = _distances(members, X, rng)
    leave = np.where(rng.random((size, 1)) < BETWEEN_SHARE, second < first, _around(members, first, rng))
    leave = np.where(rng.random((size, 1)) < ALONG_SHARE, _along(members, X, rng), leave)
    return np.where(members & leave, free, z)


def _along(members: np.ndarray, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows with a random member's value of a random column, or with no larger one, (C, n)."""
    size, p = len(members), X.shape[1]
    x, row = X.T[rng.integers(p, size=size)], _random_member(members, rng)
    v = x[np.arange(size), row][:, None]
    shared = (x == v) & members
    is_shared = shared.sum(axis=1, keepdims=True) > 1  # nobody shares a value of a continuous column
    return np.where(is_shared & (rng.random((size, 1)) < 0.5), shared, x <= v)


def _random_member(members: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One of each chain's members, (C,)."""
    return np.argmax(members * rng.random(members.shape, dtype=np.float32), axis=1)


def _distances(members: np.ndarray, X: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """How far all rows are from either of two random members, squared, in widths of these, (C, n)."""
    x = X - X.mean(axis=0)
    count = members.sum(axis=1, keepdims=True)
    mean, square = (members.astype(float) @ each / count for each in (x, x * x))
    variance = square - mean**2
    precision = np.where(variance > 1e-12 * square, 1.0 / np.maximum(variance, 1e-300), 0.0)  # (C, p)
    found, from_mean = [], precision @ (x * x).T
    for _ in range(2):
        row = x[_random_member(members, rng)]
        own = np.sum(precision * row**2, axis=1, keepdims=True)
        found.append(from_mean - 2 * (precision * row) @ x.T + own)
    return found


def _around(members: np.ndarray, distance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The nearest members: from MIN_SPLIT_SHARE to MAX_SPLIT_SHARE of them, uniform in its logarithm."""
    share = MAX_SPLIT_SHARE * (MIN_SPLIT_SHARE / MAX_SPLIT_SHARE) ** rng.random((len(members), 1))
    last = (share * (members.sum(axis=1, keepdims=True) - 1)).astype(int)
    ordered = np.sort(np.where(members, distance, np.inf), axis=1)
    return distance <= np.take_along_axis(ordered, last, axis=1)
