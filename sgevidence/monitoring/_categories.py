r"""Rows of a segment are categories, column by column: independent draws, or a Markov chain.

**Independent.**  The K probabilities are Dirichlet(c, …, c).  When a run has met category k N_k times in n
rows,

.. math:: p(x = k) = \frac{N_k + c}{n + K c}, \qquad N_x \leftarrow N_x + 1.

**A Markov chain.**  The probabilities of the next category given the last one have this prior, for each last
category by itself, and N counts what followed it.  The first row of a run follows the last row before it.

Both are equally probable when a run begins, and are averaged by their evidence in the run.

Symbols
-------
======  ===========  ====================================================
here    code         meaning
======  ===========  ====================================================
N_k     ``counts``   how often a run has met category k; in ``pairs`` after category l
c       ``c``        concentration of the prior
b, R    ``b``, ``R``   rows of a block, and runs before it
======  ===========  ====================================================
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np

from .._compat import Interval
from ._expected import CategoryRows
from ._filter import SegmentModel, refuse_rows, rows_of_runs


class CategoryRuns(NamedTuple):
    """Sufficient statistics of every run; the leading axis is the run's slot."""

    n: np.ndarray  # (capacity,)
    counts: np.ndarray  # (capacity, columns, K)
    pairs: np.ndarray  # (capacity, columns, K, K): last category, next category
    log_chain: np.ndarray  # (capacity, columns): posterior log odds of the chain
    last: list[np.ndarray]  # the last row of the stream, if there is one
    expected: list[CategoryRows]  # the last block


class CategorySegment(SegmentModel):
    """Segments of classes: each has frequencies of its own in every column.

    For labels, states, or the zeros and ones of right and wrong answers.  Rows are independent, or each
    depends on the one before (a Markov chain): the two are averaged by their evidence in the segment.

    Parameters
    ----------
    n_categories : int, default=2
        The values of a row are 0 to n_categories − 1.  With more than 64 rows are independent.
    concentration : float, default=1.0
        Concentration of the Dirichlet prior.  One makes all frequencies equally probable.

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

    is_density = False
    overshoot = 0.8  # measured on zeros and ones, half of each: see docs/monitoring.md

    def __init__(self, n_categories: int = 2, concentration: float = 1.0) -> None:
        self.n_categories = n_categories
        self.concentration = concentration

    def allocate(self, capacity: int, n_features: int) -> CategoryRuns:
        self._validate_params()
        K = self.n_categories
        size = K if K <= 64 else 0  # 2 MB per column
        table = np.zeros((capacity, n_features))
        pairs = np.zeros((capacity, n_features, size, size))
        return CategoryRuns(np.zeros(capacity), np.zeros((capacity, n_features, K)), pairs, table, [], [])

    def check(self, X: np.ndarray, first: int) -> None:
        good = (X >= 0) & (X < self.n_categories) & (X == np.floor(X))
        values = f"the values of a CategorySegment are 0 to {self.n_categories - 1}: set n_categories"
        refuse_rows(X, good, first, values)

    def absorb(self, runs: CategoryRuns, R: int, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        b, R2 = len(X), R + len(X)
        runs.n[R:R2], runs.counts[R:R2], runs.pairs[R:R2], runs.log_chain[R:R2] = 0.0, 0.0, 0.0, 0.0
        began, n = rows_of_runs(runs.n, R, b)
        before = np.concatenate([*(last[None] for last in runs.last), X[:-1]])  # of the last b or b - 1 rows
        log_p = np.zeros((b, R2))
        log_odds = np.zeros((X.shape[1], b, R2))
        for j, x in enumerate(X.T):  # columns are independent
            log_draw = self._learn(runs.counts[:R2, j], x, began)
            if not runs.pairs.shape[2]:
                log_p += log_draw
                continue
            log_step = np.zeros((b, R2))
            log_step[: b - len(before)] = -np.log(self.n_categories)  # the first row of a stream
            for k in np.unique(before[:, j]).astype(int):
                rows = b - len(before) + np.flatnonzero(before[:, j] == k)
                log_step[rows] = self._learn(runs.pairs[:R2, j, k], x[rows], began[rows])
            gain = np.where(began, log_step - log_draw, 0.0)
            odds = runs.log_chain[:R2, j] + np.cumsum(gain, axis=0) - gain
            log_odds[j] = odds
            log_p += log_draw + np.logaddexp(0.0, odds + gain) - np.logaddexp(0.0, odds)
            runs.log_chain[:R2, j] = odds[-1] + gain[-1]
        runs.n[:R2] = n[-1] + 1.0
        runs.last[:] = [X[-1].copy()]
        tables = runs.counts[:R2], runs.pairs[:R2], log_odds
        runs.expected[:] = [CategoryRows(X, before, *tables, self.concentration)]
        log_p[~began] = 0.0
        return log_p

    def _learn(self, counts: np.ndarray, x: np.ndarray, began: np.ndarray) -> np.ndarray:
        """Log probability of rows x given those before them in each run, which then counts them; (b, R)."""
        c = self.concentration
        n = counts.sum(axis=1) + np.cumsum(began, axis=0) - began
        log_p = -np.log(n + self.n_categories * c)
        for k in np.unique(x).astype(int):
            met = (x == k)[:, None] & began
            N = counts[:, k] + np.cumsum(met, axis=0) - met
            log_p[x == k] += np.log(N[x == k] + c)
            counts[:, k] += met.sum(axis=0)
        return log_p
