"""The rows of a series so far, as far as what comes needs them: units, the last row, and recent ones.

The units of a run are the mean and the standard deviation of all rows before it, which are kept up to date
row by row (Welford 1962).  Means that forget, of the rows and of their squared deviations, begin with the
units of the warm-up.
"""

from dataclasses import dataclass

import numpy as np

#: Share of a new row in the mean of recent rows, and in that of their squared deviations.
RECENT, RECENT_SQUARES = 0.4, 0.08


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
    smooth: np.ndarray  # mean of recent rows
    scatter: np.ndarray  # mean of their squared deviations from the mean of all

    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation; where rows are all the same, their size."""
        std = np.sqrt(self.squares / self.n)
        size = np.abs(self.mean)
        flat = std <= 1e-9 * size
        return self.mean, np.where(flat, np.where(size > 0, size, 1.0), std)

    def absorb(self, x: np.ndarray) -> None:
        """Take in a row."""
        self.smooth = self.smooth + RECENT * (x - self.smooth)
        self.scatter = self.scatter + RECENT_SQUARES * ((x - self.mean) ** 2 - self.scatter)
        self.step = x - self.last if self.seen else np.zeros_like(x)
        self.seen, self.last = self.seen + 1, x
        if self.seen > self.n:
            self.n += 1
            e = x - self.mean
            self.mean = self.mean + e / self.n
            self.squares = self.squares + e * (x - self.mean)
