"""The result of :func:`segment`."""

from typing import Any, NamedTuple

import numpy as np

#: Changes that the printed form lists, from the first.
MAX_LISTED = 8


class Segmentation(NamedTuple):
    """Changes of a series at hand.

    Parameters
    ----------
    change_points : ndarray of shape (n_changes,)
        First rows of the segments but the first, in the most probable segmentation.
    probability : ndarray or pandas.Series of shape (n_samples,)
        Posterior probability of a change at each row, given all rows; a Series if X has an index.
    log_evidence : float
        Log probability density of the rows, summed over all segmentations, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sgevidence.monitoring import segment
    >>> x = np.repeat([1.0, 5.0], 100) + np.random.default_rng(0).normal(size=200)
    >>> found = segment(pd.Series(x, index=pd.date_range("2024-01-01", periods=200)))
    >>> found.change_points
    array([100])
    >>> found.change_times
    [Timestamp('2024-04-10 00:00:00')]
    """

    change_points: np.ndarray
    probability: Any
    log_evidence: float

    @property
    def change_times(self) -> list:
        """Index entries of the change points, such as dates; their row numbers if X has no index."""
        index = getattr(self.probability, "index", None)
        return [row if index is None else index[row] for row in self.change_points.tolist()]

    def __repr__(self) -> str:
        n = len(self.change_points)
        changes = "no change" if n == 0 else "1 change" if n == 1 else f"{n} changes"
        lines = [f"{changes} in {len(self.probability)} rows, log evidence {self.log_evidence:.1f}"]
        at_row = np.asarray(self.probability)
        for row, time in list(zip(self.change_points.tolist(), self.change_times))[:MAX_LISTED]:
            name = "" if time == row else f" ({str(time).removesuffix(' 00:00:00')[:30]})"
            lines.append(f"  row {row}{name}: probability {at_row[row]:.2f}")
        if n > MAX_LISTED:
            lines.append(f"  and {n - MAX_LISTED} more, in change_points")
        return "\n".join(lines)
