r"""The basins that independent searches for allocations have met, and how much those hold that none has met.

Two searches have met the same basin if they group the rows alike, and score alike.  Scores alone do not tell:
a basin that nobody else has met may have the score of another, and then holds as much.  Groups alone do not
tell either: two large components and a small third one are alike wherever the third one is, and its place is
worth tens of nats.  Allocations are compared by the adjusted Rand index (Hubert and Arabie 1985), which knows
no labels: 0 for two that have nothing in common, and 1 for the same groups.  Allocations of one basin differ,
too, where components overlap, so the index is compared with that of two chains that have left one allocation.

A basin that one of S searches alone has met tells of those that none has met (Good 1953).  The mean over
searches of any function of what is lost without one of them is without bias for what search S adds to S − 1.

Symbols: ``z`` = allocations (C, n); ``labels`` = basin of each search (S,); ``log_Z`` = evidence, nats.

References
----------
L. Hubert and P. Arabie (1985), Comparing partitions; I. J. Good (1953), The population frequencies of species
and the estimation of population parameters.
"""

from typing import NamedTuple

import numpy as np

from ..models import MixtureModel
from ..particles import log_sum_exp
from ._allocation_search import SWEEPS, Found, sweeps

#: Chains that leave the best allocation of a search.  Their mean score errs by 0.1 to 0.6 nats, the best
#: score of a search by one to three.
COPIES = 8
#: Share of the index of two chains of one basin, and slack, from which two searches have met the same.  In 59
#: of 76 data sets (items of 1 to 5, two or three rounded columns, K = 2 to 5; 12 searches each) indices are
#: above 0.7 within a basin and below 0.1 between two; in the others chains of one basin differ as much.
ALIKE, SLACK = 0.5, 0.1
#: Nats by which two visits to one basin do not differ: a few standard deviations of their mean scores.
APART = 3.0


class Visit(NamedTuple):
    """Two allocations of the best basin of a search, (2, n), and its log evidence to some tenths of a nat."""

    z: np.ndarray
    score: float


def visit(
    model: MixtureModel, found: Found, F: np.ndarray, origin: np.ndarray, rng: np.random.Generator
) -> Visit:
    """The basin of the allocation that a search scored best, from chains that leave it."""
    z, score, _ = sweeps(model, np.repeat(found.z[:1], COPIES, axis=0), F, origin, SWEEPS, rng)
    return Visit(z[:2], float(score.mean()))


def adjusted_rand(z: np.ndarray, K: int) -> np.ndarray:
    """Index of each pair of allocations (C, n) to K components, (C, C)."""
    C, n = z.shape
    member = (z[:, None] == np.arange(K)[:, None]).astype(float).reshape(C * K, n)
    shared = member @ member.T
    pairs = np.sum((shared * (shared - 1) / 2).reshape(C, K, C, K), axis=(1, 3))
    own = np.diag(pairs)
    expected = np.outer(own, own) / max(n * (n - 1) / 2, 1)
    rest = (own[:, None] + own) / 2 - expected
    return np.where(rest > 0, (pairs - expected) / np.where(rest > 0, rest, 1.0), 1.0)


def basins_of(visits: list[Visit], K: int) -> np.ndarray:
    """Number of the basin that each search has met, better ones first, (S,)."""
    S = len(visits)
    index = adjusted_rand(np.concatenate([one.z for one in visits]), K).reshape(S, 2, S, 2)
    own = index[np.arange(S), 0, np.arange(S), 1]
    is_alike = index.mean(axis=(1, 3)) >= ALIKE * np.maximum(own[:, None], own) - SLACK
    score = np.array([one.score for one in visits])
    is_same = is_alike & (np.abs(score[:, None] - score) < APART)
    labels = np.zeros(S, dtype=int)
    first: list[int] = []
    for i in np.argsort(-score):
        known = np.flatnonzero(is_same[i, first])
        labels[i] = known[0] if len(known) else len(first)
        if not len(known):
            first.append(i)
    return labels


def seldom_met(visits: list[Visit], K: int, enough: int) -> float:
    """Share of the evidence in basins that fewer than ``enough`` searches have met."""
    labels = basins_of(visits, K)
    log_Z = _evidence(visits, labels)
    share = np.exp(log_Z - log_sum_exp(log_Z, axis=0))
    return float(share[np.bincount(labels) < enough].sum())


def unseen(visits: list[Visit], K: int) -> float:
    """Nats that another search may add: the root mean square of what is lost without one of them."""
    labels = basins_of(visits, K)
    log_Z, n_met = _evidence(visits, labels), np.bincount(labels)
    total, lost = log_sum_exp(log_Z, axis=0), np.zeros(len(labels))
    if len(log_Z) == 1:
        return 0.0
    for i in np.flatnonzero(n_met[labels] == 1):
        lost[i] = total - log_sum_exp(np.delete(log_Z, labels[i]), axis=0)
    return float(np.sqrt(np.mean(lost**2)))


def _evidence(visits: list[Visit], labels: np.ndarray) -> np.ndarray:
    """Log evidence of each basin, the mean of what its visits say."""
    scores = np.array([one.score for one in visits])
    return np.bincount(labels, scores) / np.bincount(labels)
