"""Why an evidence by strata should not be trusted as it is: one sentence, and its size in nats."""

from collections.abc import Sequence

import numpy as np

from ..answers import Doubt
from ._stratum import Stratum
from ._sweeps import Problem

#: Nats of the log evidence that a doubt is worth a sentence from.
WORTH = 0.4
#: Share of chains, or of draws, below which the error bar is made of too few.
FEW = 0.1
#: Nats of a doubt that nothing measures: where basins have been missed it was one to twenty.
UNKNOWN = 1.0
#: Share of all strata below which a basin that was missed changes nothing: misses were of up to 20 nats.
POSSIBLE = 2e-9
#: Nats of rounding that are worth a sentence.
ROUNDING = 0.02
#: Share of all strata from which a stratum matters.
MATTERS = 0.1


def doubt_of(problem: Problem, strata: Sequence[Stratum], share: np.ndarray, tail: float) -> Doubt | None:
    """The largest doubt of all, with p(k | x, K) and the share of strata that were not visited."""
    doubts: list[tuple[float, str]] = []
    for one, p in zip(strata, share):
        nats = float(np.log1p(p * np.expm1(min(one.halves_gap, 500.0))))
        where = f"with {one.k} components in use"
        if nats > WORTH:
            doubts.append((nats, f"independent searches {where} differ by {one.halves_gap:.1f} nats"))
        if one.n_met < 2 and p > MATTERS:
            doubts.append((UNKNOWN, f"a single search {where} has met the best allocations"))
        if one.effective < FEW and p > MATTERS:
            nats = float(-np.log(max(one.effective, 1e-3)))  # as many more chains might have met as much
            doubts.append((nats, f"only {one.effective:.0%} of the chains {where} are effective"))
    n, least = len(problem.F), problem.family.least_rows
    small = [one.k for one, p in zip(strata, share) if one.k * least > n and one.std > 0 and p > POSSIBLE]
    if small:
        words = (
            f"{n} rows in {small[0]} components or more are so few that the best allocations may be missed"
        )
        doubts.append((UNKNOWN, words))
    rounding = problem.family.rounding(problem.X)
    if rounding > ROUNDING:
        doubts.append(
            (rounding, "some columns lie so far out that their squares are rounded: centre and scale them")
        )
    if not doubts:
        return None
    nats, words = max(doubts)
    return Doubt(nats, f"the log evidence may be off by {nats:.1f} nats: {words}")
