"""Contract of a segment model with the filter: room for runs, and densities of rows under them."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

BLOCK = 20  # rows between two prunings


class SegmentModel(BaseEstimator):
    """Base of the segment models; each brings ``allocate``, ``absorb`` and its ``overshoot``."""

    needs_y = False
    is_density = True  # of the rows of X
    max_block = BLOCK  # rows that are absorbed together
    warm_up: Any = 0  # rows that are held until units are measured from them
    overshoot: Any  # false alarms as a fraction of the bound, measured: see docs/monitoring.md

    def allocate(self, capacity: int, n_features: int):
        """Room for some runs.

        Parameters
        ----------
        capacity : int
            Most runs at a time.
        n_features : int
            Columns of the rows.

        Returns
        -------
        NamedTuple
            Arrays with the run's slot in front.
        """
        raise NotImplementedError

    def check(self, X: np.ndarray, first: int) -> None:
        """Refuse rows that cannot come, before anything is done with them.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        first : int
            Index of the first row in the stream.

        Raises
        ------
        ValueError
            With the row, and the values that can come.
        """

    def settle(self, runs, X: np.ndarray, y: np.ndarray | None = None) -> None:
        """Find units from the first rows, where ``warm_up`` asks for some.

        Parameters
        ----------
        runs : NamedTuple
            Changed in place.
        X : ndarray of shape (warm_up, n_features)
            The first rows of the stream.
        y : ndarray of shape (warm_up,) or None

        Raises
        ------
        TypeError
            If the model has no units to find.
        """
        raise TypeError(f"{type(self).__name__} has no units to find")

    def absorb(self, runs, R: int, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        """Runs 0 … R − 1 learn b rows, and run R + i begins with row i.

        Parameters
        ----------
        runs : NamedTuple
            Changed in place.
        R : int
            Runs so far.
        X : ndarray of shape (b, n_features)
        y : ndarray of shape (b,) or None

        Returns
        -------
        ndarray of shape (b, R + b)
            log p of row i given the rows before it, in [i, :R + i + 1], nats.
        """
        raise NotImplementedError

    def overshoot_of(self, runs, weight: np.ndarray) -> float:
        """``overshoot`` for rows like those of the present segment, by the posterior of the runs.

        Parameters
        ----------
        runs : NamedTuple
        weight : ndarray of shape (R,)

        Returns
        -------
        float
        """
        return self.overshoot
