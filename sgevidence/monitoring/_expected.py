r"""Rows of a block as the runs expected them: their predictive distribution functions.

A segment model leaves one of these in ``runs.expected`` when it has absorbed a block.  ``cdf(leaders)`` takes
one run for each row and returns F at both ends of the values that the row may have had: the same where F is
continuous, F(x − 1) and F(x) of classes and counts; two arrays of shape (rows, columns).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, stdtr

Ends = tuple[np.ndarray, np.ndarray]


class StudentRows(NamedTuple):
    """Student-t predictions: deviations over their scale, (columns, rows, runs), and degrees of freedom."""

    t: np.ndarray
    freedom: np.ndarray  # (rows, runs)

    def cdf(self, leaders: np.ndarray) -> Ends:
        i = np.arange(len(leaders)), leaders
        F = np.array([stdtr(self.freedom[i], t[i]) for t in self.t]).T
        return F, F


class StudentMixtureRows(NamedTuple):
    """Mixtures of Student-t predictions, of one column."""

    t: np.ndarray  # deviations over their scale, (rows, runs, members)
    freedom: np.ndarray  # (rows, runs)
    log_weight: np.ndarray  # (rows, runs, members)

    def cdf(self, leaders: np.ndarray) -> Ends:
        i = np.arange(len(leaders)), leaders
        F = np.sum(np.exp(self.log_weight[i]) * stdtr(self.freedom[i][:, None], self.t[i]), axis=1)[:, None]
        return F, F


class CountRows(NamedTuple):
    """Negative binomial predictions with shape a and rate d, both (columns, rows, runs)."""

    x: np.ndarray  # (rows, columns)
    a: np.ndarray
    d: np.ndarray

    def cdf(self, leaders: np.ndarray) -> Ends:
        i = np.arange(len(leaders)), leaders
        a, p = (np.array([v[i] for v in of_columns]).T for of_columns in (self.a, self.d / (self.d + 1.0)))
        low = np.where(self.x > 0.0, betainc(a, np.maximum(self.x, 1.0), p), 0.0)
        return low, betainc(a, self.x + 1.0, p)


class DispersedRows(NamedTuple):
    """Mixtures over sizes of predictions of counts, after n of the sum S."""

    x: np.ndarray  # (rows, columns)
    S: np.ndarray  # (columns, rows, runs)
    n: np.ndarray  # (rows, runs)
    log_weight: np.ndarray  # (columns, rows, runs, sizes)
    model: Any
    d: np.ndarray  # (columns,)

    def cdf(self, leaders: np.ndarray) -> Ends:
        low, high = np.empty(self.x.shape), np.empty(self.x.shape)
        for (i, j), x in np.ndenumerate(self.x):
            k, run = np.arange(x + 1.0), leaders[i]
            known = self.S[j, i, run], self.n[i, run], self.d[j]
            p = sum(
                np.exp(w + self.model._log_predictive(r, k, *known))
                for r, w in zip(self.model.sizes, self.log_weight[j, i, run])
            )
            high[i, j] = min(p.sum(), 1.0)
            low[i, j] = max(high[i, j] - p[-1], 0.0)
        return low, high


class CategoryRows(NamedTuple):
    """Averages of independent categories and a Markov chain; the counts are those after the block."""

    X: np.ndarray  # (rows, columns)
    before: np.ndarray  # the rows before; one row fewer where a stream begins
    counts: np.ndarray  # (runs, columns, K)
    pairs: np.ndarray  # (runs, columns, K, K)
    odds: np.ndarray  # (columns, rows, runs): log odds of the chain, before each row
    concentration: float

    def cdf(self, leaders: np.ndarray) -> Ends:
        b, K = len(self.X), self.counts.shape[2]
        low, high = np.empty(self.X.shape), np.empty(self.X.shape)
        rows, skipped = np.arange(b), b - len(self.before)
        for j, x in enumerate(self.X.T.astype(int)):
            one = np.zeros((b, K))
            one[rows, x] = 1.0
            p = self._shares(self.counts[leaders, j] - _from_here(one))
            if self.pairs.shape[2]:
                last = np.append(np.zeros(skipped), self.before[:, j]).astype(int)
                same = last[:, None] == last  # rows that count for the same row of the table
                same[:skipped] = same[:, :skipped] = False
                after = self.pairs[leaders, j, last] - np.triu(same) @ one
                step = self._shares(after)
                step[:skipped] = 1.0 / K
                chain = 1.0 / (1.0 + np.exp(-self.odds[j][rows, leaders]))[:, None]
                p += chain * (step - p)
            F = p.cumsum(axis=1)[rows, x]
            low[:, j], high[:, j] = F - p[rows, x], F
        return low, high

    def _shares(self, counts: np.ndarray) -> np.ndarray:
        n = counts + self.concentration
        return n / n.sum(axis=1, keepdims=True)


def _from_here(one: np.ndarray) -> np.ndarray:
    """Sums over a row and those after it."""
    return one[::-1].cumsum(axis=0)[::-1]
