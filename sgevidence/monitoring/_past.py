"""The rows of a series so far, as far as what comes needs them: units, and the last row.

The units of a run are the mean and the standard deviation of all rows before it, which are kept up to date
row by row (Welford 1962).
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Past:
    """The stream so far: what the units of the next run are made of, and the last row, by column."""

    mean: np.ndarray
    squares: np.ndarray  # sum of squared deviations
    n: int  # rows in mean and squares
    seen: int  # rows absorbed: fewer than n during the warm-up
    last: np.ndarray
    step: np.ndarray  # from the row before to the last
    first: tuple[np.ndarray, np.ndarray]  # units of the warm-up

    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation; where rows are all the same, their size."""
        std = np.sqrt(self.squares / self.n)
        size = np.abs(self.mean)
        flat = std <= 1e-9 * size
        return self.mean, np.where(flat, np.where(size > 0, size, 1.0), std)

    def absorb(self, x: np.ndarray) -> None:
        """Take in a row."""
        self.step = x - self.last if self.seen else np.zeros_like(x)
        self.seen, self.last = self.seen + 1, x
        if self.seen > self.n:
            self.n += 1
            e = x - self.mean
            self.mean = self.mean + e / self.n
            self.squares = self.squares + e * (x - self.mean)
