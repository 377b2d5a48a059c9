"""The watch over units: whether a few rows have made them, and whether a stream has left them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..history import Rows
from ._moments import BLOCK_ROWS
from ._units import Units

#: Units by which a stream's mean, and factor by which its standard deviation, may leave those of the first
#: call.
MAX_SHIFT, MAX_FACTOR = 3.0, 3.0
#: How the warning begins that a stream has left its units.
LEFT_UNITS = "the rows have left the units"


class UnitWatch(NamedTuple):
    """Sums over a stream in the units of its first call, by which it is seen to leave them."""

    weight: Any  #: of all rows, or of the cells of each column
    sums: np.ndarray  #: (p,), with y (p + 1,)
    squares: np.ndarray

    @classmethod
    def none(cls) -> "UnitWatch":
        """Before the first row."""
        return cls(0.0, np.zeros(1), np.zeros(1))

    def with_rows(self, rows: Rows, units: Units) -> "UnitWatch":
        """These and more rows, which are in the units."""
        part = partial(_watched, len(units.scale), units.kind == "numbers")
        weight, sums, squares = rows.fold(part, BLOCK_ROWS)
        return UnitWatch(self.weight + weight, self.sums + sums, self.squares + squares)

    def plus(self, other: "UnitWatch", factor: np.ndarray, shift: np.ndarray) -> "UnitWatch":
        """Sums over both streams, where x of the other one is ``factor`` x + ``shift`` in these units."""
        sums = factor * other.sums + shift * other.weight
        squares = factor**2 * other.squares + 2 * factor * shift * other.sums + shift**2 * other.weight
        return UnitWatch(self.weight + other.weight, self.sums + sums, self.squares + squares)

    def doubt(
        self, units: Units, names: Callable[[], Sequence[str]], are_given: bool, centred: bool
    ) -> str | None:
        """Words on the first column that has left its unit; given ones may be of rows that come yet.

        Units that are not ``centred`` are root mean squares, and so is what is held against them.
        """
        if not np.max(self.weight) > 0 or units.spread is None:
            return None
        weight = np.where(self.weight > 0, self.weight, np.nan)
        mean = self.sums / weight
        sd = np.sqrt(np.maximum(self.squares / weight - centred * mean**2, 0.0))
        spread = np.append(units.spread, 1.0)[: len(mean)]
        most = MAX_FACTOR * np.where(np.isnan(spread), 1.0, spread)
        left = (np.abs(mean) > MAX_SHIFT) | (sd > most) & (spread != 0)  # a column that waits has none
        if not are_given:
            left |= sd < spread / MAX_FACTOR
        if not left.any():
            return None
        j = int(np.argmax(left))
        if sd[j] == 0 and abs(mean[j]) <= MAX_SHIFT:
            return f"{[*names(), 'y'][j]} does not vary, and nothing tells its unit: leave the column out"
        return (
            f"{LEFT_UNITS} of the first call, in which the priors are stated: "
            f"{[*names(), 'y'][j]} has its mean {mean[j]:.3g} units from there, and a "
            f"{'standard deviation' if centred else 'root mean square'} of {sd[j]:.3g} units; give "
            "units= of an estimator that was fitted to rows like all of these"
        )


def wild(rows: Rows, units: Units, names: Callable[[], Sequence[str]], centred: bool) -> str | None:
    """Words on a column, or y, of rows in units, whose unit is made by a few of them."""
    found = _rows_that_make_a_unit(rows, len(units.scale), units.kind == "numbers", units.spread, centred)
    if found is None:
        return None
    j, places = found
    return (
        f"the unit of {[*names(), 'y'][j]} is made by few rows, {places} of those given: its standard "
        "deviation is more than five times what its quartiles say, so that the priors are wide for all other "
        "rows; look at these rows, or give units="
    )


def _watched(n_columns: int, with_y: bool, rows: Rows) -> tuple[Any, np.ndarray, np.ndarray]:
    Z = rows.X[:, :n_columns]
    if with_y:
        assert rows.y is not None
        Z = np.column_stack([Z, rows.y])
    if (gaps := np.isnan(Z)).any():
        Z = np.where(gaps, 0.0, Z)
        return rows.weight @ ~gaps, rows.weight @ Z, rows.weight @ Z**2
    return float(np.sum(rows.weight)), rows.weight @ Z, rows.weight @ Z**2


def _rows_that_make_a_unit(
    rows: Rows, p: int, with_y: bool, spread: np.ndarray | None, centred: bool
) -> tuple[int, list[int]] | None:
    """The first column of rows in units whose unit a few rows make, and these rows."""
    stride = max(1, -(-len(rows) // 100_000))
    for j in range(p + with_y):
        z = rows.X[:, j] if j < p else rows.y
        assert z is not None
        gaps = np.isnan(z)
        some = z[::stride][~gaps[::stride]] if gaps.any() else z[::stride]
        q1, q3 = np.percentile(some if centred else np.concatenate([some, -some]), [25, 75])
        if (j < p and spread is not None and not spread[j] > 0) or not q3 > q1:
            continue
        own = 1.0 if j == p or spread is None else float(spread[j])
        # standard deviation in terms of the quartiles' (q₃ − q₁) / 1.349 from which few rows make it
        if own > 5.0 * (q3 - q1) / 1.349:
            far = np.where(gaps, 0.0, np.abs(z - (q1 + q3) / 2))
            order = np.argsort(-far, kind="stable")[:5]
            return j, np.sort(order[far[order] > far[order[0]] / 3]).tolist()
    return None
