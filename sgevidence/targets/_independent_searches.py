r"""Independent searches for the allocations of a mixture, as many as they need to agree.

Each half of the answer has searches of its own (``_allocation_search.py``), which know nothing of one
another.  Basins that one of N independent searches met hold about as much as those that none met (Good 1953).
So searches go on until several of them have met the best basin.  A basin that one search alone met is in one
half only; then the halves differ, and half of that is in the error bar.

Effort is bounded by predicted cost: counted evaluations times stated constants, and no clock, so that a seed
gives the same digits.  Two searches do for continuous columns, where each meets the best basin.  Where many
rows share one value of a column, basins are many: a component whose rows share a value may be worth tens of
nats, and rows do not come to it one by one.  Such columns have more searches.

References
----------
I. J. Good (1953), The population frequencies of species and the estimation of population parameters.
"""

import numpy as np

from ..models import MixtureModel
from ._allocation_search import CHAINS as STARTS
from ._allocation_search import (
    HEATS,
    IN_HEATS,
    NEGLIGIBLE,
    ROUNDS,
    SWEEPS,
    Found,
    begun,
    is_wide,
    search,
)

#: Nats that scores err by: searches that differ by more have not found the same; and how often they go on.
APART, MORE = 3.0, 5
#: Share of the rows that have one value of a column, from which there are more searches than two, and rows.
#: Normal columns rounded to a tenth of a standard deviation have four rows in a hundred at one value.
TIED_SHARE, LEAST_TIED = 0.05, 5
#: Searches of either half where rows are tied, at least; and of both that must have met the best basin.
LEAST_SEARCHES, ENOUGH_MEETINGS = 2, 4
#: Seconds that the searches of both halves are predicted to take at most where rows are tied.  The draws and
#: chains that follow take from 0.3 to 2 (200 rows of 2 to 4 columns, K = 3 to 5).
MAX_SECONDS = 1.5
#: Seconds of one call that sweeps some chains, of one number of one row in one component of one chain, and of
#: one row in a sweep that integrates parameters out; one core of 2024.
SECONDS_PER_CALL, SECONDS_PER_NUMBER, SECONDS_PER_ROW = 4e-4, 2.5e-9, 2e-4


def searched_together(
    model: MixtureModel, X: np.ndarray, F: np.ndarray, origin: np.ndarray, rngs: list[np.random.Generator]
) -> list[Found]:
    """What the independent searches of each half have found; a half that scores less than another goes on.

    Parameters
    ----------
    model : MixtureModel
    X : ndarray of shape (n, p)
    F : ndarray of shape (n, 2p + 1)
        Features of the same rows, weighted.
    origin : ndarray of shape (p,)
        Where the features are measured from.
    rngs : list of numpy.random.Generator
        One for each half.
    """
    halves = [[search(model, X, F, origin, rng, begun(model, X, F, origin, rng))] for rng in rngs]
    most = MAX_SECONDS / (len(rngs) * predicted_seconds(model, F)) if is_tied(X) else 1.0
    while len(halves[0]) + 1 <= most and not have_met(halves):
        for half, rng in zip(halves, rngs):
            half.append(search(model, X, F, origin, rng, begun(model, X, F, origin, rng)))
    found = [pooled_searches(half) for half in halves]
    for _ in range(MORE):
        scores = [one.score for one in found]
        worst = int(np.argmin(scores))
        if max(scores) - scores[worst] < APART:
            break
        # it learns that there is something better, but not where
        more = search(model, X, F, origin, rngs[worst], found[worst].z)
        found[worst] = more._replace(n_sweeps=more.n_sweeps + found[worst].n_sweeps)
    return found


def is_tied(X: np.ndarray) -> bool:
    """Whether many rows share one value of a column that has others, too."""
    least = max(TIED_SHARE * len(X), LEAST_TIED)
    counts = (np.unique(x, return_counts=True)[1] for x in X.T)
    return any(len(count) > 1 and count.max() >= least for count in counts)


def predicted_seconds(model: MixtureModel, F: np.ndarray) -> float:
    """What one search takes, from what it counts."""
    calls = SWEEPS + ROUNDS * sum(n_sweeps for _, n_sweeps in HEATS)
    numbers = (STARTS * SWEEPS + ROUNDS * IN_HEATS) * F.size * model.n_components
    one_by_one = (1 + ROUNDS * len(HEATS)) * len(F) if is_wide(model, F) else 0
    return calls * SECONDS_PER_CALL + numbers * SECONDS_PER_NUMBER + one_by_one * SECONDS_PER_ROW


def have_met(halves: list[list[Found]]) -> bool:
    """Whether there have been searches enough, and enough of them have met the best basin."""
    scores = np.array([[one.score for one in half] for half in halves])
    n_meetings = np.sum(scores > scores.max() - APART)
    return bool(scores.shape[1] >= LEAST_SEARCHES and n_meetings >= ENOUGH_MEETINGS)


def pooled_searches(found: list[Found]) -> Found:
    """What several searches know together, with as many chains as each has."""
    if len(found) == 1:
        return found[0]
    best = max(one.score for one in found)
    good = [one for one in found if one.score > best - NEGLIGIBLE]
    return Found(
        z=np.concatenate([one.z[i :: len(good)] for i, one in enumerate(good)]),
        score=best,
        n_sweeps=sum(one.n_sweeps for one in found),
        ever=np.concatenate([one.ever for one in good]),
    )
