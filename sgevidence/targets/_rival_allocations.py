"""Other allocations of a mixture's rows than those that the particles follow.

In a stream the particles stay in the basins that were best when modes were last looked for.  A few chains are
started from their allocations, others from what earlier looks have found, and many more from the particles'
with two components merged and another split.  What the others score beside them says whether it is time to
look again, and nothing else hangs on it.

Symbols: ``theta`` = points (C, d), ``z`` = allocations (C, n), ``F`` = features of rows (n, 2p + 1).
"""

from typing import NamedTuple

import numpy as np

from ..history import Rows
from ..models import MixtureModel
from ..models.allocations import coefficients, features, sample_allocations, sample_parameters, statistics
from ._allocation_search import merged_and_split, sweeps

#: Other chains, and how often they are made; sweeps, in the second half of which chains are judged.  Half as
#: many chains missed a basin that led by 12 nats in one look of twenty.
OTHERS, ROUNDS, SWEEPS = 48, 2, 5
#: Rows that are looked at.  A thousand of three thousand took basins for better by 13 nats that were not.
MOST_SEEN = 5000
#: Draws given each of the last allocations: one alone may be far from all others of its own basin.
DRAWS = 5


class RivalAllocations(NamedTuple):
    """What a short search came upon: draws of θ given its allocations, and what these score less, in nats.

    ``own`` (C, D, d) are D draws given each of the particles' chains, ``theta`` (S, D, d) given the others,
    and ``gap`` (S,) is what these score less than the best of the particles'; it errs by one to three, and
    where components overlap by as much as the particles' own scores differ, ``apart``.
    """

    own: np.ndarray
    theta: np.ndarray
    gap: np.ndarray
    apart: float
    n_likelihoods: float


def rival_allocations(
    model: MixtureModel, rows: Rows, theta: np.ndarray, known: np.ndarray, rng: np.random.Generator
) -> RivalAllocations:
    """A short search that starts from the particles.

    Parameters
    ----------
    model : MixtureModel
        Of at least two components.
    rows : Rows
        At most MOST_SEEN of them are looked at, which makes gaps smaller than they are.
    theta : ndarray of shape (C, d)
        A few of the particles, in proportion to their weights.
    known : ndarray of shape (R, d)
        Points that were found elsewhere before.
    rng : numpy.random.Generator

    Returns
    -------
    RivalAllocations

    Notes
    -----
    *Cost*: 96 + C + R chains for five sweeps, an eighth of :func:`~sgevidence.targets.allocation_evidence`.
    """
    if len(rows) > MOST_SEEN:
        rows = rows.take(rng.choice(len(rows), MOST_SEEN, replace=False))
    rows = rows.scaled(min(len(rows) / rows.total_weight, 1.0))  # those of a sample stand for many
    origin = rows.weight @ rows.X / rows.total_weight
    F, K, C = features(rows.X, rows.weight, origin), model.n_components, len(theta)
    z, _ = sample_allocations(coefficients(model, np.concatenate([theta, known]), origin), F, rng)
    seen = [sweeps(model, z, F, origin, SWEEPS, rng)[:2]]
    z = seen[0][0]  # the particles' own come first
    for _ in range(ROUNDS):
        others = np.array([merged_and_split(z[i % C], rows.X, K, rng) for i in range(OTHERS)])
        z, score, _ = sweeps(model, others, F, origin, SWEEPS, rng)
        z, score = (each[np.argsort(-score)] for each in (z, score))
        seen.append((z, score))
    z, score = map(np.concatenate, zip(*seen))
    T = np.repeat(statistics(z, F, K), DRAWS, axis=1)
    found = sample_parameters(model, T, origin, rng).reshape(len(z), DRAWS, -1)
    n_likelihoods = float(len(z) * SWEEPS * len(rows))
    best, apart = score[:C].max(), float(np.ptp(score[:C]))
    return RivalAllocations(found[:C], found[C:], best - score[C:], apart, n_likelihoods)
