"""Why an evidence by strata should not be trusted as it is: one sentence, and its size in nats."""

from collections.abc import Sequence

import numpy as np

from ._stratum import Stratum
from ._sweeps import Problem

#: Nats of the log evidence that a doubt is worth a sentence from.
WORTH = 0.4
#: Share of chains, or of draws, below which the error bar is made of too few.
FEW = 0.1
#: Share of all strata from which a stratum matters.
MATTERS = 0.1


def doubt_of(
    problem: Problem, strata: Sequence[Stratum], share: np.ndarray, tail: float
) -> tuple[str | None, float]:
    """The largest doubt of all, with p(k | x, K) and the share of strata that were not visited."""
    doubts: list[tuple[float, str]] = []
    for one, p in zip(strata, share):
        nats = float(np.log1p(p * np.expm1(min(one.halves_gap, 500.0))))
        where = f"with {one.k} components in use"
        if nats > WORTH:
            doubts.append((nats, f"independent searches {where} differ by {one.halves_gap:.1f} nats"))
        if one.effective < FEW and p > MATTERS:
            doubts.append((1.0, f"only {one.effective:.0%} of the chains {where} are effective"))
    if not doubts:
        return None, 0.0
    nats, words = max(doubts)
    return f"the log evidence may be off by {nats:.1f} nats: {words}", nats
