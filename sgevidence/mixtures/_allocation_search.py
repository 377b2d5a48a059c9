r"""Gibbs chains over the allocations of a mixture that find its basins by merging and splitting.

A sweep is z | θ, then θ | z, for all chains at once (Diebolt and Robert 1994).  It does not leave a basin, so
there are rounds in which the best chains have two components merged and another split, in many ways.  Most of
these are seen to be bad at once, so fewer and fewer are swept on (Karnin et al. 2013).  Which is best is
judged by

    score = log p(x, z') − log p(z' | θ, x),    z' ~ p(z | θ, x),  θ ~ p(θ | z, x),

Chib's (1995) identity log p(x) = log p(x, z') − log p(z' | x) with one θ in the place of its posterior: the
log evidence of a basin, labelled, to a nat or two, where log p(x, z') alone would not count its allocations.
The search need not be reversible: what it finds only shapes a proposal density.

Scores err by more than the log odds of basins that share the evidence, and rounds of the best few may leave
one of these.  So beside the chains of the last round go those of any round that are worth it and least alike.

Symbols: ``z`` = allocations (C, n), ``T`` = their statistics (K, C, 2p + 1), ``F`` = features of rows
(n, 2p + 1).
"""

from typing import NamedTuple

import numpy as np

from ..models import MixtureModel
from ._conditionals import (
    coefficients,
    log_complete_evidence,
    sample_allocations,
    sample_parameters,
    statistics,
)
from ._merge_split import rearranged

#: Chains that start, and their sweeps, in the second half of which they are judged.
CHAINS, SWEEPS = 24, 15
#: Chains of a round, and sweeps until fewer of them go on; the best of a round that are told of.
HEATS, SCORED = ((48, 2), (16, 4), (6, 8)), 16
#: Sweeps of one chain that a round is worth.
IN_HEATS = sum(chains * n_sweeps for chains, n_sweeps in HEATS)
#: Rounds; and how many of the best, ever and of the last round, are changed in the next.  On nine problems
#: of digits, wine and breast cancer (K = 3 to 6) one search in eight ended 4 nats low when in each of eight
#: rounds 16 chains were swept 15 times, and took half as long again; one of 72 does now.
ROUNDS, STAY = 8, 4
#: Nats below the best at which a basin adds nothing: scores err by two or three.
NEGLIGIBLE = 15.0
#: Clusters beyond K whose random mergers are the starts.
EXTRA = 3


class Found(NamedTuple):
    """Where a search stands: chains (2 CHAINS, n), the best score in nats, what it has spent in sweeps.

    ``ever`` (S, n) are the allocations of all rounds that are worth it; ``unseen`` are the nats that another
    search may add.
    """

    z: np.ndarray
    score: float
    n_sweeps: int
    ever: np.ndarray
    unseen: float = 0.0


def search(
    model: MixtureModel,
    X: np.ndarray,
    F: np.ndarray,
    origin: np.ndarray,
    rng: np.random.Generator,
    z: np.ndarray,
) -> Found:
    """ROUNDS of merging and splitting from allocations z (C, n); only chains near the best are left."""
    K, n_sweeps = model.n_components, SWEEPS * len(z)
    z, score, _ = sweeps(model, z, F, origin, SWEEPS, rng)
    ever, scores = z, score
    for _ in range(ROUNDS if K > 1 else 0):
        z = np.concatenate([ever[np.argsort(-scores)[:STAY]], z[np.argsort(-score)[:STAY]]])
        z, score = heats(model, rearranged(np.resize(z, (HEATS[0][0], len(X))), X, K, rng), F, origin, rng)
        ever, scores = np.concatenate([ever, z]), np.concatenate([scores, score])
        n_sweeps += IN_HEATS
    order = np.argsort(-scores)
    least = scores.max() - NEGLIGIBLE
    alive = np.concatenate([ever[order[:STAY]], z[score > least]])
    ever = ever[scores > least]
    z = np.concatenate([np.resize(alive, (CHAINS, len(F))), least_alike(ever, K, CHAINS)])
    return Found(z, float(scores.max()), n_sweeps, ever)


def heats(
    model: MixtureModel, z: np.ndarray, F: np.ndarray, origin: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The best SCORED chains when some have been swept on, best first, and their scores."""
    score = np.zeros(len(z))
    for chains, n_sweeps in HEATS:
        z[:chains], score[:chains], _ = sweeps(model, z[:chains], F, origin, n_sweeps, rng)
        order = np.argsort(-score)
        z, score = z[order], score[order]
    return z[:SCORED], score[:SCORED]


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


def sampled_allocations(
    model: MixtureModel, found: Found, F: np.ndarray, origin: np.ndarray, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Statistics of so many allocations from the chains of a search, (K, size, 2p + 1)."""
    _, _, T = sweeps(model, found.z, F, origin, SWEEPS, rng)
    return T[:, -size:]


def sweeps(
    model: MixtureModel,
    z: np.ndarray,
    F: np.ndarray,
    origin: np.ndarray,
    n_sweeps: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(z after so many sweeps, mean score, statistics of all z in the second half)."""
    T, score, kept = statistics(z, F, model.n_components), np.zeros(len(z)), []
    for i in range(n_sweeps):
        c = coefficients(model, sample_parameters(model, T, origin, rng), origin)
        z, T, log_p = sample_allocations(c, F, rng)
        if i >= n_sweeps // 2:
            score += log_complete_evidence(model, T, origin) - log_p
            kept.append(T)
    return z, score / len(kept), np.concatenate(kept, axis=1)


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
