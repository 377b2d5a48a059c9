r"""Rows of a segment are independent draws of one of K categories, column by column.

Prior: the K probabilities are Dirichlet(c, …, c).  When a run has met category k so many times, N_k of n,

.. math:: p(x = k) = \frac{N_k + c}{n + K c}, \qquad N_x \leftarrow N_x + 1.

Symbols
-------
======  ===========  ====================================================
here    code         meaning
======  ===========  ====================================================
N_k     ``counts``   how often a run has met category k
c       ``c``        concentration of the prior
b, R    ``b``, ``R``   rows of a block, and runs before it
======  ===========  ====================================================
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from .._compat import Interval
from ._filter import refuse_rows, rows_of_runs


class CategoryRuns(NamedTuple):
    """Sufficient statistics of every run; the leading axis is the run's slot."""

    n: np.ndarray  # (capacity,)
    counts: np.ndarray  # (capacity, columns, K)


class CategorySegment(BaseEstimator):
    """Segments of classes: each has frequencies of its own in every column.

    For labels, states, or the zeros and ones of right and wrong answers.

    Parameters
    ----------
    n_categories : int, default=2
        The values of a row are 0 to n_categories − 1.
    concentration : float, default=1.0
        Of the Dirichlet prior.  One makes all frequencies equally probable.

    See Also
    --------
    CountSegment : Numbers of events.

    Examples
    --------
    A classifier that is right nine times in ten, then six times in ten:

    >>> import numpy as np
    >>> from sgevidence import EvidenceMonitor
    >>> from sgevidence.monitoring import CategorySegment
    >>> rng = np.random.default_rng(0)
    >>> is_right = (rng.random(600) < np.repeat([0.9, 0.6], 300)).astype(float)
    >>> monitor = EvidenceMonitor(CategorySegment()).partial_fit(is_right.reshape(-1, 1))
    >>> int(abs(monitor.change_points_[0] - 300)) <= 20, len(monitor.change_points_)
    (True, 1)
    """

    _parameter_constraints: dict = {
        "n_categories": [Interval(Integral, 2, None, closed="left")],
        "concentration": [Interval(Real, 0, None, closed="neither")],
    }

    needs_y = False
    is_density = False
    overshoot = 0.8  # measured on zeros and ones, half of each: see docs/monitoring.md
    warm_up = 0

    def __init__(self, n_categories: int = 2, concentration: float = 1.0) -> None:
        self.n_categories = n_categories
        self.concentration = concentration

    def allocate(self, capacity: int, n_features: int) -> CategoryRuns:
        """Room for some runs.

        Parameters
        ----------
        capacity : int
            Most runs at a time.
        n_features : int
            Columns of the rows.

        Returns
        -------
        CategoryRuns
            Arrays with the run's slot in front.
        """
        self._validate_params()
        return CategoryRuns(np.zeros(capacity), np.zeros((capacity, n_features, self.n_categories)))

    def check(self, X: np.ndarray, first: int) -> None:
        """Refuse rows that are no categories, before anything is done with them.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        first : int
            Index of the first row in the stream.

        Raises
        ------
        ValueError
            If a value is not one of 0 to n_categories − 1.
        """
        good = (X >= 0) & (X < self.n_categories) & (X == np.floor(X))
        values = f"the values of a CategorySegment are 0 to {self.n_categories - 1}: set n_categories"
        refuse_rows(X, good, first, values)

    def settle(self, runs: CategoryRuns, X: np.ndarray) -> None:
        """Refuse: there are no units to be found.

        Parameters
        ----------
        runs : CategoryRuns
        X : ndarray of shape (n_samples, n_features)
            The first rows of the stream.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError("categories have no units")

    def absorb(self, runs: CategoryRuns, R: int, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        """Runs 0 … R − 1 learn b rows, and run R + i begins with row i.

        Parameters
        ----------
        runs : CategoryRuns
            Changed in place.
        R : int
            Runs so far.
        X : ndarray of shape (b, n_features)
        y : None

        Returns
        -------
        ndarray of shape (b, R + b)
            log p of row i given the rows before it, in [i, :R + i + 1], nats.
        """
        K, c = self.n_categories, self.concentration
        b, R2 = len(X), R + len(X)
        runs.n[R:R2], runs.counts[R:R2] = 0.0, 0.0
        began, n = rows_of_runs(runs.n, R, b)
        log_p = -X.shape[1] * np.log(n + K * c)
        for j, x in enumerate(X.T):  # columns are independent
            for k in np.unique(x).astype(int):
                met = (x == k)[:, None] & began
                N = runs.counts[:R2, j, k] + np.cumsum(met, axis=0) - met
                log_p[x == k] += np.log(N[x == k] + c)
                runs.counts[:R2, j, k] += met.sum(axis=0)
        runs.n[:R2] = n[-1] + 1.0
        log_p[~began] = 0.0
        return log_p
