"""Other allocations of a mixture's rows than those that the particles follow.

In a stream the particles stay in the basins that were best when modes were last looked for.  A few chains are
started from their allocations, others from what earlier looks have found, and many more from the particles'
with two components merged and another split, or from anywhere.  Of these the better ones are swept on, and
the best are merged and split again.  What the others score beside the particles' says whether it is time to
look again, and nothing else hangs on it.

Symbols: ``theta`` = points (C, d), ``z`` = allocations (C, n), ``F`` = features of rows (n, 2p + 1).
"""

from typing import NamedTuple

import numpy as np

from ..history import Rows
from ..models import MixtureModel
from ._allocation_search import HEATS, IN_HEATS, STAY, heats, starts, sweeps
from ._allocations import patience
from ._conditionals import (
    coefficients,
    features,
    origin_of,
    sample_allocations,
    sample_parameters,
    statistics,
)
from ._merge_split import rearranged

#: Sweeps of the particles' own chains and of what was known, in the second half of which they are judged.
SWEEPS = 5
#: Rounds of others, of which so many of the first come from anywhere.  Where the best of 14 early basins was
#: not the best of all rows it was missed by 7 looks of a hundred; by 25, for as many sweeps, without heats.
ROUNDS, ANYWHERE = 3, 16
#: Rows that are looked at.  A thousand of three thousand took basins for better by 13 nats that were not.
MOST_SEEN = 5000
#: Draws given each of the last allocations: one alone may be far from all others of its own basin.
DRAWS = 5


class CandidateAllocations(NamedTuple):
    """Findings of a short search: draws of θ given its allocations, and what these score less, in nats.

    ``own`` (C, D, d) are D draws given each of the particles' chains, ``theta`` (S, D, d) given the others,
    and ``gap`` (S,) is what these score less than the best of the particles'; it errs by one to three, and
    where components overlap by as much as the particles' own scores differ, ``apart``.  ``saw_all`` where it
    looked at all of the rows.
    """

    own: np.ndarray
    theta: np.ndarray
    gap: np.ndarray
    apart: float
    n_likelihoods: float
    saw_all: bool = True


def candidate_allocations(
    model: MixtureModel, rows: Rows, theta: np.ndarray, known: np.ndarray, rng: np.random.Generator
) -> CandidateAllocations:
    """A short search that starts from the particles.

    Parameters
    ----------
    model : MixtureModel
        Mixture of at least two components.
    rows : Rows
        At most MOST_SEEN of them are looked at, which makes gaps smaller than they are; of columns that are
        far out, where it may turn them round, twenty times as many.
    theta : ndarray of shape (C, d)
        A few of the particles, in proportion to their weights.
    known : ndarray of shape (R, d)
        Points that were found elsewhere before.
    rng : numpy.random.Generator

    Returns
    -------
    CandidateAllocations

    Notes
    -----
    *Cost*: C + R chains for five sweeps and 624 sweeps of others, an eighth of
    :func:`~sgevidence.mixtures.allocation_evidence`.
    """
    most = MOST_SEEN * patience(model, rows)
    saw_all = len(rows) <= most
    if not saw_all:
        rows = rows.take(rng.choice(len(rows), most, replace=False))
    rows = rows.scaled(min(len(rows) / rows.total_weight, 1.0))  # those of a sample stand for many
    origin = origin_of(rows.X)
    F, K, C = features(rows.X, rows.weight, origin), model.n_components, len(theta)
    z, _, _ = sample_allocations(coefficients(model, np.concatenate([theta, known]), origin), F, rng)
    z, score, _ = sweeps(model, z, F, origin, SWEEPS, rng)  # the particles' own come first
    seen, stay, own = [(z, score)], z[:C], z[[np.argmax(score[:C])]]
    for round in range(ROUNDS):
        others = rearranged(np.resize(stay, (HEATS[0][0], len(F))), rows.X, K, rng)
        if round == 0:
            others[:ANYWHERE] = starts(rows.X, K, ANYWHERE, rng)
        others, score = heats(model, others, F, origin, rng)
        seen.append((others, score))
        stay = np.concatenate([own, others[:STAY]])
    z, score = map(np.concatenate, zip(*seen))
    T = np.repeat(statistics(z, F, K), DRAWS, axis=1)
    found = sample_parameters(model, T, origin, rng).reshape(len(z), DRAWS, -1)
    n_sweeps = SWEEPS * (C + len(known)) + ROUNDS * IN_HEATS
    best, apart = score[:C].max(), float(np.ptp(score[:C]))
    return CandidateAllocations(
        found[:C], found[C:], best - score[C:], apart, float(n_sweeps * len(rows)), saw_all
    )
