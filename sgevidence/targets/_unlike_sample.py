r"""Rows that are unlike all rows of a sample, and may therefore have modes of which the sample tells nothing.

At a mode of the sample, with ℓ_r = log p(row r | θ),

    ℓ_r < t − s (log(k n / N) + 12)        t = ℓ of the (k + 1)-th least probable row of the sample,
                                           s = mean of t − ℓ over the k before it.

With tails that fall exponentially a row of n has this with a probability of e⁻¹² or less.  Rows of tails that
fall more slowly are counted too: they are what components may be for.

Symbols
-------
=======  ============  ===============================================
n, N     ``rows``      rows, and rows of the sample
ℓ        ``ell``       log-densities of the sample, sorted, (N,)
s        ``scale``     of the tail, nats
=======  ============  ===============================================
"""

from functools import partial

import numpy as np

from ..history import FoldedRows, Rows
from ..models import Model

#: k, least probable rows of the sample that tell the tail.
TAIL_ROWS = 20
#: Least scale of a tail, nats: rows that have few different values may show none.
MIN_SCALE = 1.0
#: Chance of a false alarm: e to its negative.
FALSE_ALARM_NATS = 12.0


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
