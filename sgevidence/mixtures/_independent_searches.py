r"""Independent searches for the allocations of a mixture, as many as they need to agree.

Each half of the answer has searches of its own (``_allocation_search.py``), which know nothing of one
another.  Searches go on until several of them have met each basin that holds a share of the evidence, told
apart by the rows that they group and by their scores (``_basins_met.py``).  A basin that one search alone met
is in one half only; then the halves differ, and half of that is in the error bar.  If the half that has
missed it finds it after all, a basin that one search alone met still counts: as much may have been met by
none.

Effort is bounded by predicted cost: counted evaluations times stated constants, and no clock, so that a seed
gives the same digits.  Two searches do for continuous columns, where each meets the best basin.  Where many
rows share one value of a column, basins are many: a component whose rows share a value may be worth tens of
nats, and rows do not come to it one by one.  Such columns have more searches.
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
    search,
    starts,
)
from ._basins_met import COPIES, Visit, seldom_met, unseen, visit

#: Nats that scores err by: searches that differ by more have not found the same; and how often they go on.
APART, MORE = 3.0, 5
#: Share of the rows that have one value of a column, from which there are more searches than two, and rows.
#: Normal columns rounded to steps of 0.4 standard deviations have 0.16 of their rows at one value.  With two
#: searches, 80 fits of rounded columns of less than that (n = 200 to 300, p = 1 to 6, K = 3 and 4) agreed.
TIED_SHARE, LEAST_TIED = 0.15, 5
#: Searches of either half where rows are tied, at least; searches of both halves that must have met each
#: basin; and the share of the evidence in basins that fewer may have met.  A basin that one search in three
#: meets is missed by four searches with a probability of 0.2, and by eight with 0.04.
LEAST_SEARCHES, ENOUGH_MEETINGS, SELDOM = 4, 4, 0.1
#: Searches of either half where rows are tied, whatever they cost: one alone cannot say that it was lucky.
LEAST_AT_ANY_COST = 2
#: Seconds that the searches of both halves are predicted to take at most where rows are tied.  The draws and
#: chains that follow take from 0.3 to 2 (200 rows of 2 to 4 columns, K = 3 to 5), and 3 for 800 rows of 8.
MAX_SECONDS = 4.0
#: Seconds of one call that sweeps some chains, and of one number of one row in one component of one chain, on
#: one core of 2024.
SECONDS_PER_CALL, SECONDS_PER_NUMBER = 4e-4, 2.5e-9


def searched_together(
    model: MixtureModel, X: np.ndarray, F: np.ndarray, origin: np.ndarray, rngs: list[np.random.Generator]
) -> list[Found]:
    """Results of the independent searches of each half; a half that scores less than another continues.

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
    halves: list[list[Found]] = [[] for _ in rngs]
    visits: list[Visit] = []
    K = model.n_components
    tied = K > 1 and is_tied(X)
    most = max(MAX_SECONDS / (len(rngs) * predicted_seconds(model, F)), LEAST_AT_ANY_COST) if tied else 1.0
    while not halves[0] or (len(halves[0]) + 1 <= most and not have_met(visits, K, len(halves[0]))):
        for half, rng in zip(halves, rngs):
            half.append(search(model, X, F, origin, rng, starts(X, K, STARTS, rng)))
            if tied:
                visits.append(visit(model, half[-1], F, origin, rng))
    doubt = unseen(visits, K) if tied else 0.0
    found = [pooled_searches(half) for half in halves]
    for _ in range(MORE):
        scores = [one.score for one in found]
        worst = int(np.argmin(scores))
        if max(scores) - scores[worst] < APART:
            break
        # it learns that there is something better, but not where
        more = search(model, X, F, origin, rngs[worst], found[worst].z)
        found[worst] = more._replace(n_sweeps=more.n_sweeps + found[worst].n_sweeps)
    return [one._replace(unseen=doubt) for one in found]


def is_tied(X: np.ndarray) -> bool:
    """Whether many rows share one value of a column that has others, too."""
    least = max(TIED_SHARE * len(X), LEAST_TIED)
    counts = (np.unique(x, return_counts=True)[1] for x in X.T)
    return any(len(count) > 1 and count.max() >= least for count in counts)


def predicted_seconds(model: MixtureModel, F: np.ndarray) -> float:
    """Predicted seconds of one search and its visit, from counted evaluations."""
    calls = 2 * SWEEPS + ROUNDS * sum(n_sweeps for _, n_sweeps in HEATS)
    numbers = ((STARTS + COPIES) * SWEEPS + ROUNDS * IN_HEATS) * F.size * model.n_components
    return calls * SECONDS_PER_CALL + numbers * SECONDS_PER_NUMBER


def have_met(visits: list[Visit], K: int, n_searches: int) -> bool:
    """Whether each half has searches enough, and enough of all have met each basin that counts."""
    return n_searches >= LEAST_SEARCHES and seldom_met(visits, K, ENOUGH_MEETINGS) < SELDOM


def pooled_searches(found: list[Found]) -> Found:
    """The results of several searches pooled, with as many chains as each has."""
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
