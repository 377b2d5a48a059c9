"""Where a search for allocations starts: clusters merged at random, and allocations that are least alike.

Symbols: ``z`` = allocations (S, n), ``X`` = points whose distances say how alike rows are (n, p).
"""

import numpy as np

#: Clusters beyond K whose random mergers are the starts.
EXTRA = 3
#: Share of the rows that have one value of a column, from which rows are tied, and rows.  Normal columns
#: rounded to steps of 0.4 standard deviations have 0.16 of their rows at one value.
TIED_SHARE, LEAST_TIED = 0.15, 5


def starts(X: np.ndarray, K: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Starts of a search (size, n): clusters merged at random, from other clusters every four."""
    x, z = _scaled(X), []
    for i in range(size):
        if i % 4 == 0:
            clusters = _clusters(x, K + EXTRA, rng)
        group = rng.permutation(np.r_[np.arange(K), rng.integers(K, size=EXTRA)])
        z.append(group[clusters])
    return np.array(z)


def _clusters(x: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """At most k clusters (n,) around rows that are far apart: the start of k-means++ (Arthur et al. 2007)."""
    far, clusters = np.full(len(x), 1.0), np.zeros(len(x), dtype=int)
    for j in range(k):
        distance = np.sum((x - x[rng.choice(len(x), p=far / far.sum())]) ** 2, axis=1)
        nearer = (distance < far) | (j == 0)
        clusters[nearer], far[nearer] = j, distance[nearer]
        if not far.any():
            break
    return clusters


def _scaled(X: np.ndarray) -> np.ndarray:
    """X standardised; a constant column stays constant."""
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)


def least_alike(z: np.ndarray, K: int, size: int) -> np.ndarray:
    """``size`` of the allocations z (S, n), each the farthest from those chosen before it, (size, n).

    By the metric of Mirkin (1996), which knows no labels: the pairs of rows that are together in one of two
    allocations, and not in the other.
    """
    member = (z[:, :, None] == np.arange(K)).astype(np.float32)  # (S, n, K)
    together = np.sum(member.sum(axis=1) ** 2, axis=1)
    chosen, distance = [0], np.full(len(z), np.inf)
    while len(chosen) < size:
        last = chosen[-1]
        in_both = np.sum((member.transpose(0, 2, 1) @ member[last]) ** 2, axis=(1, 2))
        distance = np.minimum(distance, together + together[last] - 2 * in_both)
        chosen.append(int(np.argmax(distance)))
    return z[chosen]


def is_tied(X: np.ndarray) -> bool:
    """Whether many rows share one value of a column that has others, too."""
    least = max(TIED_SHARE * len(X), LEAST_TIED)
    counts = (np.unique(x, return_counts=True)[1] for x in X.T)
    return any(len(count) > 1 and count.max() >= least for count in counts)
