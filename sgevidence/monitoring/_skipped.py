"""Rows of a stream that a monitor skips, since a cell is missing, and the numbers of the others.

A watch counts the rows that it has absorbed; what is reported counts the rows of the stream.
"""

from typing import NamedTuple

import numpy as np

from ._detection import Detection


def present_rows(X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
    """Which rows have all their cells, (n,)."""
    present = ~np.isnan(X).any(axis=1)
    return present if y is None else present & ~np.isnan(y)


class SkippedRows(NamedTuple):
    """Numbers of the rows that were skipped, in order."""

    at: np.ndarray = np.zeros(0, dtype=np.int64)

    def extended(self, present: np.ndarray, first: int) -> "SkippedRows":
        """With those of a call whose first row is number ``first`` of the stream."""
        return SkippedRows(np.append(self.at, first + np.flatnonzero(~present)))

    def in_stream(self, absorbed: np.ndarray | int) -> np.ndarray:
        """Numbers in the stream of rows that are counted without those skipped."""
        before = np.searchsorted(self.at - np.arange(len(self.at)), absorbed, side="right")
        return np.asarray(absorbed) + before

    def absorbed(self, row: int) -> int | None:
        """Number without those skipped of a row of the stream; None if it was skipped."""
        before = int(np.searchsorted(self.at, row))
        return None if before < len(self.at) and self.at[before] == row else row - before

    def placed(self, detections: list[Detection]) -> list[Detection]:
        """Detections with rows and places as in the stream."""
        return [
            one._replace(row=int(self.in_stream(one.row)), place=int(self.in_stream(one.place)))
            for one in detections
        ]
