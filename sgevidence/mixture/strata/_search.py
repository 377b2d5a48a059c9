"""Where a stratum may hold something: allocations with all of k components in use.

Starts are splits of what the stratum of one component fewer ended in, and clusters merged at random.  In each
round the best have components merged, split or sliced in many ways, of which fewer and fewer are swept on
(Karnin et al. 2013).  They are ranked by

    score = log p(x, z′) − log p(z′ | θ, x) + log P(all in use | θ, x),
    z′ ~ p(z | θ, x, all in use),    θ ~ p(θ | z, x),

Chib's (1995) identity with one θ in the place of its posterior: the log evidence of a basin, labelled, to a
nat or two.

Symbols: ``z`` = allocations (S, n), ``T`` = their statistics (k, S, q), ``X`` = points whose distances say
how alike rows are (n, p).

A move between basins of a mixture: two components are merged and another is split (Ueda et al. 2000).

For all chains at once, each with its own pair and its own split.  A split is between two rows, by which of
them a row is nearer to; or around a row, the nearest to which leave; or along one column, by the value v that
a row has there: x_j = v leaves, or x_j ≤ v.  Some of the chains are not split: they keep a component without
rows, which Gibbs sweeps alone rarely empty.  Others have several components sliced along one column: where
columns have few values, three slices may be better by twenty nats and a single one worse than none.

Symbols: ``z`` = allocations (C, n), ``members`` = rows of the component that each chain splits (C, n).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._occupied import SURE_ROWS, log_likelihood_in_use
from ._sweeps import Problem

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


#: Chains that start from splits, and from clusters; their sweeps, judged in the second half of them.
SPLITS, CLUSTERS, SEARCH_SWEEPS = 16, 16, 8
#: Chains of a round, and sweeps until fewer of them go on.
HEATS = (48, 2), (16, 4), (6, 8)
#: Rounds, the best of a round that are remembered, and how many of the best, ever and of the last round, are
#: changed in the next.
SEARCH_ROUNDS, N_REMEMBERED, N_CHANGED = 6, 12, 4
#: Rounds in which neither half finds a score better by so many nats, nor than the other: they go no further.
#: After two rounds one half in ten had missed an eighth of the evidence (K = 3 on five groups), after four
#: one in fifty.
MIN_ROUNDS, STILL = 4, 0.5
#: Searches of either half at most, and searches of all that must have met the best score, where rows are
#: tied more: there one search in three may meet it.
MOST_SEARCHES, ENOUGH_MET, ENOUGH_TIED = 3, 2, 3
#: Clusters beyond K whose random mergers are the starts.
N_EXTRA_CLUSTERS = 3


def starts(X: np.ndarray, K: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Starts of a search (size, n): clusters merged at random, from other clusters every four."""
    x, z = _scaled(X), []
    for i in range(size):
        if i % 4 == 0:
            clusters = _clusters(x, K + N_EXTRA_CLUSTERS, rng)
        group = rng.permutation(np.r_[np.arange(K), rng.integers(K, size=N_EXTRA_CLUSTERS)])
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
    # share of the rows that have one value of a column, from which rows are tied, and rows.  Normal columns
    # rounded to steps of 0.4 standard deviations have 0.16 of their rows at one value.
    least = max(0.15 * len(X), 5)
    counts = (np.unique(x, return_counts=True)[1] for x in X.T)
    return any(len(count) > 1 and count.max() >= least for count in counts)


class Found(NamedTuple):
    """Allocations worth following (S, n), best first, their scores (S,), and sweeps of one chain spent.

    ``last`` and ``last_scores`` are those of the last round.
    """

    z: np.ndarray
    scores: np.ndarray
    n_sweeps: int
    last: np.ndarray
    last_scores: np.ndarray


def searched(
    problem: Problem, k: int, fewer: Sequence[np.ndarray], rngs: list[np.random.Generator]
) -> list[list[Found]]:
    """Independent searches of either half, until the best score of either is met by the other.

    Halves that agree at once go no further.  Where rows share values of a column, basins are many, and a
    search meets the best of them less often.
    """
    tied = is_tied(problem.points)
    least, enough = (SEARCH_ROUNDS, ENOUGH_TIED) if tied else (MIN_ROUNDS, ENOUGH_MET)
    halves = [[started(problem, k, z, rng)] for z, rng in zip(fewer, rngs)]
    best = [np.array([half[0].scores[0] for half in halves])]
    while len(best) <= SEARCH_ROUNDS:
        if len(best) > least and np.ptp(best[-1]) < STILL and np.all(best[-1] - best[-1 - least] < STILL):
            break
        halves = [[advanced(problem, k, half[0], rng)] for half, rng in zip(halves, rngs)]
        best.append(np.array([half[0].scores[0] for half in halves]))
    while len(halves[0]) < MOST_SEARCHES and n_met(halves) < enough:
        for half, fewer_of_half, rng in zip(halves, fewer, rngs):
            half.append(search(problem, k, fewer_of_half, rng))
    return halves


def n_met(halves: list[list[Found]]) -> int:
    """Searches that have met the best score of all."""
    best = [one.scores[0] for half in halves for one in half]
    # nats that scores err by: searches that differ by more have not found the same
    return sum(score > max(best) - 3.0 for score in best)


def search(problem: Problem, k: int, fewer: np.ndarray, rng: np.random.Generator) -> Found:
    """Allocations of k components, all in use, from those of one component fewer, (S, n)."""
    found = started(problem, k, fewer, rng)
    for _ in range(SEARCH_ROUNDS):
        found = advanced(problem, k, found, rng)
    return found


def started(problem: Problem, k: int, fewer: np.ndarray, rng: np.random.Generator) -> Found:
    """Chains from splits of allocations of one component fewer, and from clusters."""
    X = problem.points
    z = np.resize(rng.permutation(fewer), (SPLITS, len(X))).astype(np.int16)
    z = split_off(z, X, np.full((SPLITS, 1), k - 1, dtype=z.dtype), rng)
    z = filled(np.concatenate([z, starts(X, k, CLUSTERS, rng)]).astype(np.int16), k, rng)
    z, scores = _swept(problem, z, k, SEARCH_SWEEPS, rng)
    return Found(*_worth(z, scores), SEARCH_SWEEPS * len(z), z, scores)


def advanced(problem: Problem, k: int, found: Found, rng: np.random.Generator) -> Found:
    """After one round more."""
    last = found.last[np.argsort(-found.last_scores)[:N_CHANGED]]
    z = np.concatenate([found.z[:N_CHANGED], last, least_alike(found.z, k, N_CHANGED)])
    z = np.resize(z, (HEATS[0][0], z.shape[1]))
    z, scores = _heats(problem, rearranged(z, problem.points, k, rng), k, rng)
    ever = _worth(np.concatenate([found.z, z]), np.r_[found.scores, scores])
    return Found(*ever, found.n_sweeps + sum(chains * each for chains, each in HEATS), z, scores)


def _worth(z: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Allocations that are worth following and their scores, best first."""
    # nats below the best at which a basin adds nothing: scores err by two or three
    order = np.argsort(-scores)[: np.sum(scores > scores.max() - 12.0)]
    return z[order], scores[order]


def pooled(half: Sequence[Found]) -> np.ndarray:
    """Findings of the searches of a half, best first, (S, n)."""
    z, scores = (np.concatenate([getattr(one, name) for one in half]) for name in ("z", "scores"))
    return _worth(z, scores)[0]


def chosen(z: np.ndarray, k: int, size: int) -> np.ndarray:
    """``size`` allocations: in turn one of the best and one of those least alike, (size, n)."""
    best = np.resize(z[: size // 4], (size // 2, z.shape[1]))
    alike = least_alike(z, k, size - len(best))
    order = np.argsort(np.r_[np.arange(len(best)), np.arange(len(alike))], kind="stable")
    return np.concatenate([best, alike])[order]


def filled(z: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """z where components without rows have one of a component that has several, (S, n)."""
    rows = np.arange(z.shape[1])
    for _ in range(k):
        counts = np.sum(z[:, :, None] == np.arange(k), axis=1)  # (S, k)
        lacking = np.flatnonzero(np.any(counts == 0, axis=1))
        if not len(lacking):
            break
        for s in lacking:
            spare = rows[counts[s, z[s]] > 1]
            z[s, rng.choice(spare)] = np.argmin(counts[s])
    return z


def _heats(
    problem: Problem, z: np.ndarray, k: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The best N_REMEMBERED chains when some have been swept on, best first, and their scores."""
    z, score = filled(z, k, rng), np.zeros(len(z))
    for chains, n_sweeps in HEATS:
        z[:chains], score[:chains] = _swept(problem, z[:chains], k, n_sweeps, rng)
        order = np.argsort(-score)
        z, score = z[order], score[order]
    return z[:N_REMEMBERED], score[:N_REMEMBERED]


def _swept(
    problem: Problem, z: np.ndarray, k: int, n_sweeps: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(z after so many sweeps, mean score in the second half), (S, n) and (S,)."""
    T, score = problem.statistics(z, k), np.zeros(len(z))
    for i in range(n_sweeps):
        c = problem.draw(T, rng)
        z, T, log_p = problem.allocate(c, z, T, rng)
        if i >= n_sweeps // 2:
            one = problem.log_joint(T) - log_p
            weak = np.flatnonzero(T[..., -1].min(axis=0) < SURE_ROWS)
            if len(weak):
                one[weak] += log_likelihood_in_use(c[:, weak], problem.F)[1]
            # score where it is all but impossible that all components are in use, nats: it loses to all
            # others
            score += np.maximum(one, -1e12)
    return z, score / (n_sweeps - n_sweeps // 2)
