"""Which rows strata answer for, in about a minute, and how many copies a row that counts often is."""

from collections.abc import Sequence

import numpy as np

from ..components import ComponentFamily
from ._stratum import Stratum
from ._sweeps import Problem

#: Rows · components · numbers of each: the walk takes up to about a minute.
MAX_WALK_NUMBERS = 1_200_000
#: Components beyond which the sum over labellings would take too long.
MOST_COMPONENTS = 10
#: Copies of a row, if all would be too many: its weight goes in lumps to components, of which heavy rows have
#: one of their own.
MOST_COPIES = 50
#: Nats of a doubt that nothing measures: where basins have been missed it was one to twenty.
UNMEASURED_NATS = 1.0
#: Rows up to which searches have met all allocations that matter, however few a component has: of twenty sums
#: over all allocations of 15 to 19 rows none was more than .07 nats, or 2.6 errors, off.
MAX_SEARCHED_ROWS = 20
#: Share of all strata from which a stratum matters.
MATTERING_SHARE = 0.1


def doubt_of(problem: Problem, strata: Sequence[Stratum], share: np.ndarray) -> str:
    """The largest doubt of all, or none, with p(k | x, K)."""
    doubts: list[tuple[float, str]] = []
    for one, p in zip(strata, share):
        nats = float(np.log1p(p * np.expm1(min(one.halves_gap, 500.0))))
        where = f"with {one.k} components in use"
        if nats > 0.4:  # nats of the log evidence that a doubt is worth a sentence from
            doubts.append((nats, f"independent searches {where} differ by {one.halves_gap:.1f} nats"))
        if one.n_met < 2 and p > MATTERING_SHARE:
            doubts.append((UNMEASURED_NATS, f"a single search {where} has met the best allocations"))
        # share of chains, or of draws, below which the error bar is made of too few
        if one.effective < 0.1 and p > MATTERING_SHARE:
            nats = float(-np.log(max(one.effective, 1e-3)))  # as many more chains might have met as much
            doubts.append((nats, f"only {one.effective:.0%} of the chains {where} are effective"))
    n, least = len(problem.F), problem.family.least_rows
    # share of all strata below which a basin that was missed changes nothing: misses were of up to 20 nats
    small = [one.k for one, p in zip(strata, share) if one.k * least > n and one.std > 0 and p > 2e-9]
    if small and n > MAX_SEARCHED_ROWS:
        words = (
            f"{n} rows in {small[0]} components or more are so few that the best allocations may be missed"
        )
        doubts.append((UNMEASURED_NATS, words))
    rounding = problem.family.rounding(problem.X)
    if rounding > 0.02:  # nats of rounding that are worth a sentence
        doubts.append(
            (rounding, "some columns lie so far out that their squares are rounded: centre and scale them")
        )
    if not doubts:
        return ""
    nats, words = max(doubts)
    return f"the log evidence may be off by {nats:.1f} nats: {words}"


def why_not_affordable(
    family: ComponentFamily, X: np.ndarray, n_components: int, weight: np.ndarray
) -> str | None:
    """The reason for which :func:`mixture_evidence` does not answer in about a minute, or None.

    Weights that are not whole numbers, more than 10 components, columns so far out that double precision
    loses them, and more than 1.2 million rows · components · numbers of each.
    """
    if not len(X):
        return "there is no row"
    if n_components > MOST_COMPONENTS:
        return f"n_components is {n_components}, and strata go up to {MOST_COMPONENTS}"
    family = family.at(X)
    most = most_rows(family, n_components)
    n = float(copies(weight, most).sum())
    if n > most:
        return f"{n:g} rows are more than the {most:.0f} that strata of {n_components} components can afford"
    if not family.rounding(X) < 0.1:  # nats that rounding of squares may cost
        return "columns lie so far out that their squares are rounded: centre and scale them"
    return None


def most_rows(family: ComponentFamily, n_components: int) -> float:
    """Rows that a sweep with so many components can afford."""
    q = family.features(np.zeros((1, family.n_features))).shape[1]
    return MAX_WALK_NUMBERS / (n_components * q)


def copies(weight: np.ndarray, limit: float) -> np.ndarray:
    """Equal parts of each row, (n,): so many that none counts more than once, if these are no more than
    ``limit``, or else MOST_COPIES of heavy rows.
    """
    n_copies = np.ceil(weight * (1 - 1e-12))
    return (n_copies if n_copies.sum() <= limit else np.minimum(n_copies, MOST_COPIES)).astype(int)
