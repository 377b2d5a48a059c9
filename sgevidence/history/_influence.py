r"""Which rows a sample would miss: those that say much of what few others tell.

What the anchor leaves of one row, its share of the third order and above, is

    r_i(θ) = w_i [log p(y_i|θ) − log p(y_i|a) − g_i·u + ½ uᵀH_i u],      u = θ − a.

From m of n rows, drawn at random, Σ r_i is known to a variance of (n/m) Σ r_i².  Nearly all rows of a regular
model share in that alike.  Ten that alone have a column, or one far outside, may be all of it, and then the
rows that are drawn do not even tell that there is something to know.  Rows are therefore looked at when they
come, and those of high leverage are kept, each for itself: as many as it takes for the others,
from which samples are drawn as ever, to be quiet, or so many alike that a sample tells of them.

Symbols: θ = ``theta``: a few draws from the posterior, (P, d); a = ``a``: the anchor, (d,); r_i =
:meth:`Influence.remainder`, root mean square over θ, (n,); n, m = rows seen, and the fewest from which
anything is estimated.
"""

from typing import NamedTuple

import numpy as np

from ..models import Model
from ._rows import Rows

#: Draws from the posterior at which rows are looked at closely, those of them at which all rows are, and how
#: many times as far out.
N_INFLUENCE_DRAWS, N_SWINGS, SWING_FACTOR = 8, 2, 30.0
#: Standard deviation that the rows of low leverage may add to log L, nats; a tenth of its square for
#: rows that lose their place.
QUIET_STD_NATS = 0.005
#: m, rows.
SAMPLED_ROWS = 512
#: Rows of m that have to make the rest of Σ r_i² at least: of what these do a sample tells.
MIN_LOUD_ROWS = 4.0
#: Step of the differences, as a part of the way to θ.
STEP_SHARE = 2.0**-6
#: Rows that are looked at closely, of a few thousand; four times as many where half of them count.
MIN_CLOSE_ROWS = 256
#: Values whose indices are formed at a time: 8 MB.
SORTED_AT_A_TIME = 1_000_000


class Influence(NamedTuple):
    """Log likelihoods of single rows at some draws from the posterior."""

    model: Model
    a: np.ndarray
    theta: np.ndarray

    def swing(self, rows: Rows) -> np.ndarray:
        """How much each log-likelihood varies far on both sides of a, (n,): much wherever the remainder does.

        The draws alone would not do: of a row that is explained all but certainly they say the same, and what
        is steep is on the other side.
        """
        u = SWING_FACTOR * (self.theta[:N_SWINGS] - self.a)
        theta, size = (
            np.concatenate([self.a + u, self.a - u]),
            self.model.evaluation.rows_of_block(2 * len(u)),
        )
        swing, start = np.empty(len(rows)), 0
        with np.errstate(all="ignore"):
            for block in rows.blocks(size):
                ell = self.model.log_likelihood(theta, block)
                swing[start : start + len(block)] = block.weight * (ell.max(axis=0) - ell.min(axis=0))
                start += len(block)
        return swing

    def remainder(self, rows: Rows) -> np.ndarray:
        """|r_i|, root mean square over the draws, (n,); infinite for rows that are impossible near by."""
        u = self.theta - self.a
        here = self._log_likelihood(self.a[None], rows)
        ahead, behind = (self._log_likelihood(self.a + step * u, rows) for step in (STEP_SHARE, -STEP_SHARE))
        with np.errstate(invalid="ignore"):
            slope, bend = (ahead - behind) / (2 * STEP_SHARE), (ahead + behind - 2 * here) / STEP_SHARE**2
            r = self._log_likelihood(self.theta, rows) - here - slope - 0.5 * bend
            size = rows.weight * np.sqrt(np.mean(r**2, axis=0))
        return np.where(np.isnan(size), np.inf, size)

    def outstanding(self, rows: Rows, most: int, n: float | None = None) -> np.ndarray:
        """Indices of the rows of high leverage, at most so many, among those that have come.

        ``n`` is the number of all rows seen (by default these), in whose noise they have their part.
        """
        if not len(rows) or not most:
            return np.zeros(0, dtype=int)
        n = len(rows) if n is None else n
        allowed = (len(rows) / n) * quiet(n)
        with np.errstate(invalid="ignore"):
            less = np.nan_to_num(self.swing(rows), copy=False, nan=np.inf)
        np.negative(less, out=less)  # in place: the rows may be many
        limit = min(len(rows), max(2 * most, MIN_CLOSE_ROWS))
        size = max(MIN_CLOSE_ROWS, len(rows) // SAMPLED_ROWS * MIN_CLOSE_ROWS // 8)
        while True:
            size = min(size, limit)
            indices = smallest(less, size)
            r = self._remainder_of(rows, indices)
            order, n_loud = loudest(r, allowed, MIN_LOUD_ROWS * len(rows) / SAMPLED_ROWS)
            if 2 * n_loud < size or size == limit:
                return np.sort(indices[order[: min(n_loud, most)]])
            size *= 4

    def _remainder_of(self, rows: Rows, indices: np.ndarray) -> np.ndarray:
        """:meth:`remainder` of some rows, by blocks: one of all of these has several arrays of (P, n)."""
        size = self.model.evaluation.rows_of_block(len(self.theta))
        parts = (indices[start : start + size] for start in range(0, len(indices), size))
        return np.concatenate([self.remainder(rows.take(part)) for part in parts])

    def still(self, high_leverage: Rows, most: int, n: float) -> np.ndarray:
        """Indices of the rows whose leverage is still high, n rows having been seen."""
        order, n_loud = loudest(self.remainder(high_leverage), 0.1 * quiet(n), np.inf)
        return np.sort(order[: min(n_loud, most)])

    def _log_likelihood(self, theta: np.ndarray, rows: Rows) -> np.ndarray:
        """(P, n), by blocks."""
        size = self.model.evaluation.rows_of_block(len(theta))
        with np.errstate(all="ignore"):
            blocks = [self.model.log_likelihood(theta, block) for block in rows.blocks(size)]
        return np.concatenate(blocks, axis=1)


def smallest(values: np.ndarray, size: int) -> np.ndarray:
    """Indices of the smallest values, (size,), in no order: those of all values are not held at once."""
    indices = np.zeros(0, dtype=int)
    for start in range(0, len(values), SORTED_AT_A_TIME):
        indices = np.append(indices, np.arange(start, min(start + SORTED_AT_A_TIME, len(values))))
        if len(indices) > size:
            indices = indices[np.argpartition(values[indices], size - 1)[:size]]
    return indices


def quiet(n: float) -> float:
    """Σ r² that rows may leave to samples of n."""
    return QUIET_STD_NATS**2 * min(SAMPLED_ROWS / n, 1.0)


def loudest(r: np.ndarray, allowed: float, enough: float) -> tuple[np.ndarray, int]:
    """Rows in the order of r_i², and how many have to go for the others to be allowed, or enough to be seen.

    (Σ r²)² / Σ r⁴ is the number of rows that make Σ r².
    """
    order = np.argsort(-r)
    squares = np.minimum(r[order], 1e50) ** 2
    left, fourth = (np.cumsum(s[::-1])[::-1] for s in (squares, squares**2))  # each row and those after it
    loud = (left > allowed) & (left**2 < enough * fourth)
    return order, int(np.argmin(np.append(loud, False)))
