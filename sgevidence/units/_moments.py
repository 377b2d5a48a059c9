"""Mean, standard deviation and number of values of columns, from one pass over rows or parts of rows.

z = (x − x₀) / s₀ is measured from reference rows, so that sums of z and z² lose no digits.  Both moments are
rounded to a part of 2³² of the standard deviation: any numbers next to them are units as good, and these do
not depend on the order of rows, on how they are cut, or on whether a row comes twice or counts twice.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..history import Rows

#: Rows in a block.
BLOCK_ROWS = 8192


class Sums(NamedTuple):
    """Sums of a block of rows; parts add up."""

    weight: Any  #: of all rows, or of the cells of each column that are there, (q,)
    z: np.ndarray  #: (q,)
    squares: np.ndarray
    low: np.ndarray
    high: np.ndarray
    has_two: np.ndarray  #: no value but low and high

    def plus(self, other: "Sums") -> "Sums":
        """Sums of both."""
        low, high = np.fmin(self.low, other.low), np.fmax(self.high, other.high)
        has_two = self.has_two & other.has_two
        for value in (self.low, self.high, other.low, other.high):
            has_two = has_two & ((value == low) | (value == high))
        return Sums(
            self.weight + other.weight, self.z + other.z, self.squares + other.squares, low, high, has_two
        )


class Moments(NamedTuple):
    """Means of columns (0 if they are not centred) and standard deviations (then root mean squares)."""

    mean: np.ndarray
    sd: np.ndarray
    low: np.ndarray
    high: np.ndarray
    varies: np.ndarray
    has_two: np.ndarray  #: two values, and no more

    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """Centre and unit: the distance of two values, the standard deviation of more, 1 of a constant."""
        unit = np.where(self.has_two, self.high - self.low, self.sd)
        return self.mean, np.where(self.varies, unit, 1.0)

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation in units: 1; nan of two values, 0 of a constant."""
        return np.where(self.has_two, np.nan, np.where(self.varies, 1.0, 0.0))


def moments(
    rows: Rows,
    columns: Callable[[Rows], np.ndarray],
    centred: bool,
    fold: Callable[[Callable[[Rows], Any]], Any] | None,
) -> Moments:
    """Moments of columns of rows; with a ``fold`` of those that it goes over, of which ``rows`` are some."""
    stride = max(1, -(-len(rows) // 1000))  # rows that say where columns are about
    sample = columns(rows.take(np.arange(0, len(rows), stride)))
    x0, s0 = np.zeros(sample.shape[1]), np.ones(sample.shape[1])
    if sample.shape[1]:
        size = np.fmax.reduce(np.abs(sample), axis=0)
        size = np.where(size > 0, size, 1.0)
        x0 = _mean(sample / size) * size if centred else x0
        s0 = np.sqrt(_mean(((sample - x0) / size) ** 2)) * size
        s0 = np.where(s0 > 0, s0, size)
    for _ in range(3):  # once, but where the reference rows are unlike the others
        part = BlockSums(columns, x0, s0)
        sums = rows.fold(part, BLOCK_ROWS) if fold is None else fold(part)
        found, is_near = _moments(sums, x0, s0, centred)
        if is_near:
            break
        # a mean whose digits cancel in the standard deviation still says where the column is
        known = found.varies & np.isfinite(found.mean) & np.isfinite(found.sd)
        size = np.maximum(np.maximum(np.abs(sums.low), np.abs(sums.high)), np.finfo(float).tiny)
        x0 = np.where(known, found.mean, sums.low / 2 + sums.high / 2) if centred else x0
        s0 = np.where(known, found.sd, size)
    return found


class BlockSums:
    """Sums of a block of rows, as a function that travels."""

    def __init__(self, columns: Callable[[Rows], np.ndarray], x0: np.ndarray, s0: np.ndarray) -> None:
        self.columns, self.x0, self.s0 = columns, x0, s0

    def __call__(self, rows: Rows) -> Sums:
        X = self.columns(rows)
        low, high, gaps = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0), np.isnan(X)
        with np.errstate(over="ignore", invalid="ignore"):
            Z = (X - self.x0) / self.s0
            w = rows.weight
            weight = float(np.sum(w))
            if gaps.any():
                Z, weight = np.where(gaps, 0.0, Z), w @ ~gaps
            squares = w @ Z**2
        return Sums(weight, w @ Z, squares, low, high, np.all((X == low) | (X == high) | gaps, axis=0))


def _mean(values: np.ndarray) -> np.ndarray:
    """Mean of each column, over the cells that are there; 0 where there is none."""
    gaps = np.isnan(values)
    if not gaps.any():
        return np.mean(values, axis=0)
    return np.sum(np.where(gaps, 0.0, values), axis=0) / np.maximum(len(values) - gaps.sum(axis=0), 1)


def _moments(sums: Sums, x0: np.ndarray, s0: np.ndarray, centred: bool) -> tuple[Moments, bool]:
    with np.errstate(over="ignore", invalid="ignore"):
        z = sums.z / sums.weight if centred else np.zeros(len(x0))
        sd_z = np.sqrt(np.maximum(sums.squares / sums.weight - z**2, 0.0))
        varies = (sums.low != sums.high) if centred else (sums.low != 0) | (sums.high != 0)
        is_near = bool(
            np.all(
                # mean and standard deviation lie within these for sums to have their digits
                ~varies | (np.abs(z) < 1e3 * sd_z) & (sd_z < 1e3) & (sd_z > 0)
            )
        )
        sd = rounded(sd_z * s0, sd_z * s0)
        mean = rounded(x0 + z * s0, sd)
    varies &= sd > 0
    mean = np.where(varies, mean, sums.low) if centred else mean
    has_two = sums.has_two & varies & (sums.low != sums.high) & centred
    return Moments(mean, np.where(varies, sd, 1.0), sums.low, sums.high, varies, has_two), is_near


def rounded(x: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """To a part of 2³² of the power of two below the standard deviation; nothing where there is none."""
    exponent = np.frexp(sd)[1] - 32  # binary digits of the units
    whole = np.round(np.ldexp(x, -exponent))
    return np.where((sd > 0) & np.isfinite(whole), np.ldexp(whole, exponent), x)
