r"""Modes of a mixture that a few rows make, where a sample of all rows does not show them.

Eight rows of sixty thousand that are far from all others may have a component of their own, for which two
other groups share one, or be the tail of one of the groups.  They are fetched, and stand for themselves
beside the sample, which stands for all other rows.  Modes of both together start from groups of rows: those
of each mode of the sample, with the far rows in any of them, or in the place of one that joins another; and
from merged clusters of all, by the usual search.

Rows are unlike a sample where, at a mode of it, with ℓ_r = log p(row r | θ),

    ℓ_r < t − s (log(k n / N) + 12)        t = ℓ of the (k + 1)-th least probable row of the sample,
                                           s = mean of t − ℓ over the k before it.

With tails that fall exponentially a row of n has this with a probability of e⁻¹² or less.  Rows of tails that
fall more slowly are counted too: they are what components may be for.

Symbols: n, N ``rows`` = rows, and rows of the sample; ℓ ``ell`` = log-densities of the sample, sorted, (N,);
s ``scale`` = of the tail, nats.
"""

from functools import partial

import numpy as np

from ..answers import FoldsDoNotSuffice
from ..history import FoldedRows, Rows
from ..models import Model
from ..targets import Likelihood, Target
from ._base import Streams
from ._mode_search import ModeSearch, find_modes, maxima_from, some, wider

#: k, least probable rows of the sample that tell the tail.
TAIL_ROWS = 20
#: Least scale of a tail, nats: rows that have few different values may show none.
MIN_SCALE = 1.0
#: Chance of a false alarm: e to its negative.
FALSE_ALARM_NATS = 12.0
#: Rows that may be unlike the sample; more are a kind of rows that a larger sample should tell of.
MAX_UNLIKE_ROWS = 500
#: Times that rows are fetched: others may be far from all modes that were found with the first.
MAX_ROUNDS = 3
#: Rows of the sample by which modes are sought.
UNLIKE_SEARCH_ROWS = 2000


def covering_modes(
    model: Model,
    rows: FoldedRows,
    modes: list[np.ndarray],
    search: ModeSearch,
    max_modes: int,
    rng: Streams,
) -> list[np.ndarray]:
    """Modes (d,) of the sample and of all rows that are unlike it, the best first; ``modes`` if no row is.

    :class:`FoldsDoNotSuffice` if there are too many such rows, or the model has no components of which some
    may be theirs.
    """
    places, far = np.zeros(0, dtype=int), rows.sample[:0]
    for _ in range(MAX_ROUNDS):
        if not modes:
            return modes
        found, unlike = unlike_sample(model, modes[0], rows, MAX_UNLIKE_ROWS)
        new = np.flatnonzero(~np.isin(found, places))
        if not len(new):
            return modes
        places, far = np.concatenate([places, found[new]]), far.join(unlike.take(new))
        if len(places) > MAX_UNLIKE_ROWS or not model.has_components:
            break
        modes = _modes_with(model, rows, places, far, modes, search, rng)[:max_modes]
    number = f"{len(places)}" if len(places) <= MAX_UNLIKE_ROWS else f"more than {MAX_UNLIKE_ROWS}"
    raise FoldsDoNotSuffice(
        f"{number} of {len(rows)} rows are far from all that a sample of {len(rows.sample)} shows, "
        "and may have modes of their own"
    )


def _modes_with(
    model: Model,
    rows: FoldedRows,
    places: np.ndarray,
    far: Rows,
    modes: list[np.ndarray],
    search: ModeSearch,
    rng: Streams,
) -> list[np.ndarray]:
    """Modes of the sample and of these rows, at their places among all, the best first."""
    others = rows.sample.take(np.flatnonzero(~np.isin(rows.places, places)))
    weight = rows.total_weight - far.total_weight

    def with_far(sample: Rows) -> Rows:
        return sample.scaled(weight / sample.total_weight).join(far)

    few = with_far(some(others, UNLIKE_SEARCH_ROWS, rng.rows))
    wide = wider(search, search_rows=len(few), compare_rows=len(few), max_modes=search.max_climbs)
    starts = [mode.a for mode in find_modes(wide, model, few, rng.rows)]
    regrouped = np.concatenate([_regrouped(model, a, few, len(far)) for a in modes])
    order = np.argsort(-Target(model, Likelihood(few)).value(regrouped))[: search.n_starts]
    ends = [*starts, *regrouped[order]]
    for sample in (few, with_far(others)):
        ends = maxima_from(Target(model, Likelihood(sample)), ends)[: 2 * search.max_climbs]
    return ends


def _regrouped(model: Model, a: np.ndarray, rows: Rows, n_far: int) -> np.ndarray:
    """Points (J, d) at the moments of groups of rows: of a point (d,), the last ``n_far`` in any."""
    density = model.component_log_densities(a[None], rows.X)[:, 0]  # type: ignore[attr-defined]
    K, label = len(density), np.argmax(density, axis=0)
    labels = []
    for k in range(K):
        labels.append(np.r_[label[:-n_far], np.full(n_far, k)])
        for j in range(k):
            labels.append(np.r_[np.where(label == k, j, label)[:-n_far], np.full(n_far, k)])
    member = np.array(labels)[:, None] == np.arange(K)[:, None]
    return model.at_groups(rows, member)  # type: ignore[attr-defined]


def unlike_sample(model: Model, a: np.ndarray, rows: FoldedRows, most: int) -> tuple[np.ndarray, Rows]:
    """Rows of which a sample does not tell, at a mode (d,) of the sample: one question to each part.

    Their numbers among all rows, (k,), and themselves.  ``most`` rows are wanted of a part: one more shows
    that there are more.
    """
    return rows.some(partial(_below, model, a, _least_expected(model, a, rows), most + 1))


def _least_expected(model: Model, a: np.ndarray, rows: FoldedRows) -> float:
    """The bound above, nats."""
    ell = np.sort(model.log_likelihood(a[None], rows.sample)[0])
    k = min(TAIL_ROWS, len(ell) - 1)
    scale = max(float(np.mean(ell[k] - ell[:k])) if k else 0.0, MIN_SCALE)
    return float(ell[k] - scale * (np.log(max(k, 1) * len(rows) / len(ell)) + FALSE_ALARM_NATS))


def _below(model: Model, a: np.ndarray, least: float, most: int, part: Rows) -> tuple[np.ndarray, Rows]:
    found = np.flatnonzero(~(model.log_likelihood(a[None], part)[0] >= least))[:most]  # nan, too, is unlike
    return found, part.take(found)
