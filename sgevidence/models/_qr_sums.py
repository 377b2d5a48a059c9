r"""Sums of squares and products over rows, as the triangular factor of rows that are measured from a centre.

A Gaussian likelihood asks of its rows for Σ ω, Σ ω v and Σ ω v vᵀ.  These sums lose what a column far from
zero says: the square of a timestamp in nanoseconds has no digit left for differences.  The factor keeps the
digits that the rows have:

    √ω (v − c) = Q R,      Σ ω (v − c)(v − c)ᵀ = RᵀR.

c is the value nearest to the mean of the first rows, so that v − c is rounded by less than v was, and is zero
where v does not vary.  Householder's Q loses a few units of the last digit of each column's length, whatever
the lengths of the others (Higham 2002, section 19.3).  The first column is ones: the first row of R has the
means, and the rows below have what varies about them.  A stream keeps R, and parts of it are stacked.

Where cells are missing, the table has zeros there, and a column of each that says which cells are there: c is
then measured along that column.

Symbols: v, ω ``v, w`` = rows (n, q), their weights (n,); c ``centre``.

References
----------
N. J. Higham (2002), Accuracy and Stability of Numerical Algorithms, 2nd edition, SIAM.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

#: Rows of a table that is made at a time: 5 MB of twenty columns.
ROWS_OF_BLOCK = 32_768
#: ε: share of a column's length by which R is off; the largest seen is a quarter.
COLUMN_ROUNDING = 3e-16
#: Rounding of a log evidence that is refused, nats.
MAX_ROUNDING_NATS = 1e-2


class QRSums(NamedTuple):
    """Sums over rows v = [1, …], by their triangular factor."""

    total_weight: float  #: Σ ω
    centre: np.ndarray  #: c, (q,)
    along: np.ndarray  #: columns that c is measured along, (q,)
    R: np.ndarray  #: (at most q, q)

    @classmethod
    def of_rows(cls, rows: Any, table: Callable[[Any], tuple[np.ndarray, int]]) -> Self:
        """Sums over the rows of ``table(block)``: (n, q) of a block, and the number of its masks."""
        return rows.fold(lambda block: cls.of(*table(block), block.weight), ROWS_OF_BLOCK)

    @classmethod
    def of(cls, v: np.ndarray, n_masks: int, w: np.ndarray) -> Self:
        """Sums over the rows of v (n, q), each counted w (n,) times; the last columns may be masks."""
        q = v.shape[1]
        along = np.zeros(q, dtype=int)
        along[q - 2 * n_masks : q - n_masks] = np.arange(q - n_masks, q)
        centre = np.zeros(q)
        if len(v):
            if not np.isfinite(v).all():
                raise ValueError("rows have values that are not finite, of which there are no sums")
            at = slice(1, q - n_masks)
            centre[at] = _centre(v[:, at], v[:, along[at]])
            v = v - centre * v[:, along]
        return cls(float(np.sum(w)), centre, along, triangular(v * np.sqrt(w)[:, None]))

    def plus(self, other: Self) -> Self:
        """Sums over both sets of rows; masks that follow in one set only are ones in the other."""
        q = max(len(self.centre), len(other.centre))
        if not self.total_weight:
            return other
        one, two = self._widened(q), other._widened(q)._about(self._widened(q))
        return one._replace(
            total_weight=self.total_weight + other.total_weight, R=triangular(np.vstack([one.R, two.R]))
        )

    def affine(self, scale: Sequence[float], shift: Sequence[float]) -> Self:
        """Sums of rows whose columns behind the first are scale · v + shift; masks stay."""
        at = slice(1, 1 + len(scale))
        centre, R = self.centre.copy(), self.R.copy()
        centre[at] = centre[at] * scale + shift
        R[:, at] *= scale
        return self._replace(centre=centre, R=R)

    def of_columns(self, columns: Sequence[int]) -> Self:
        """Sums over some of the columns behind the first, without masks."""
        at = [0, *columns]
        return self._replace(centre=self.centre[at], along=self.along[at], R=self.R[:, at])

    @property
    def n_values(self) -> int:
        """Columns behind the first that are no masks."""
        return len(self.along) - 1 - int(np.count_nonzero(self.along))

    def by_column(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Σ ω, the mean, and Σ ω (v − mean)² of each of these columns, of its cells that are there."""
        at = slice(1, 1 + self.n_values)
        v, there = self.R[:, at], self.R[:, self.along[at]]
        weight = np.sum(there**2, axis=0)
        shift = np.sum(v * there, axis=0) / np.maximum(weight, 1e-300)
        return weight, self.centre[at] + shift, np.sum((v - shift * there) ** 2, axis=0)

    @property
    def means(self) -> np.ndarray:
        """Means of the columns behind the first, (q − 1,)."""
        return self.centre[1:] + (self.R[0, 1:] / self.R[0, 0] if self.total_weight else 0.0)

    @property
    def rest(self) -> np.ndarray:
        """S with SᵀS = Σ ω (v − v̄)(v − v̄)ᵀ of the columns behind the first, (at most q − 1, q − 1)."""
        return self.R[1:, 1:]

    def _widened(self, q: int) -> Self:
        """With masks of ones, as the first column, behind the others."""
        n = q - len(self.centre)
        if not n:
            return self
        along = np.r_[0, np.arange(n + 1, 2 * n + 1), np.zeros(n, dtype=int)]
        R = self.R[:, [*range(len(self.centre)), *[0] * n]]
        return self._replace(centre=np.append(self.centre, np.zeros(n)), along=along, R=R)

    def _about(self, other: Self) -> Self:
        """Measured from the centre of others."""
        shift = self.centre - other.centre
        return self._replace(centre=other.centre, R=self.R + shift * self.R[:, self.along])


def _centre(v: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The value of each column that is nearest to its mean, (q,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        distance = np.abs(v - np.sum(v * there, axis=0) / np.maximum(np.sum(there, axis=0), 1.0))
    distance[there == 0] = np.inf
    return v[np.argmin(distance, axis=0), np.arange(v.shape[1])]


def triangular(v: np.ndarray) -> np.ndarray:
    """R of v = Q R."""
    return np.linalg.qr(v, mode="r")  # type: ignore[return-value]  # an array in this mode
