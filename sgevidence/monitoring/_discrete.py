r"""Rows of a segment are counts or categories, column by column.

**Counts** are independent, with an unknown mean.  Prior: the rate of Poisson counts is Gamma(a, d), of mean
a/d.  When a run has met n counts with the sum S, the next is negative binomial,

.. math::
    \log p(x) = \log\frac{\Gamma(a + S + x)}{\Gamma(a + S)\,x!}
        + (a + S) \log\frac{d + n}{d + n + 1} - x \log(d + n + 1), \qquad S \leftarrow S + x.

Counts that vary more are negative binomial of a size r, with the variance μ + μ²/r.  The odds μ/r have a
beta prime prior of shapes a and c = r d + 1, which has the mean a/d as well and is the gamma prior for large
r,

.. math::
    \log p(x) = \log\frac{\Gamma(x + r)}{\Gamma(r)\,x!}
        + \log\frac{B(a + S + x,\; c + r (n + 1))}{B(a + S,\; c + r n)}.

Sizes are weighted by their evidence in the run, infinity is Poisson.

**Categories** are independent draws, or a Markov chain.  The K probabilities are Dirichlet(c, …, c).  When a
run has met category k N_k times in n rows,

.. math:: p(x = k) = \frac{N_k + c}{n + K c}, \qquad N_x \leftarrow N_x + 1.

In a Markov chain the probabilities of the next category given the last one have this prior, for each last
category by itself, and N counts what followed it.  The first row of a run follows the last row before it.

Both are equally probable when a run begins, and are averaged by their evidence in the run.

Symbols
-------
======  ===========  ====================================================
here    code         meaning
======  ===========  ====================================================
S, n    ``S, n``     sum of a run's counts, and their number
a       ``shape``    of the gamma prior
d       ``runs.d``   rate of the gamma prior
r       ``sizes``    of the members
a + S   ``a``        shape of the posterior
d + n   ``d``        rate of the posterior
N_k     ``counts``   how often a run has met category k; in ``pairs`` after category l
c       ``c``        concentration of the Dirichlet prior
b, R    ``b, R``     rows of a block, and runs before it
======  ===========  ====================================================
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln, logsumexp

from .._compat import Interval
from ._filter import CategoryRows, CountRows, DispersedRows, SegmentModel, refuse_rows, rows_of_runs

#: Sizes from Poisson counts to those whose standard deviation is twice their mean, a factor of three apart.
DISPERSED_SIZES = (np.inf, 30.0, 10.0, 3.0, 1.0, 0.3)


class CountRuns(NamedTuple):
    """Sufficient statistics of every run; the leading axis is the run's slot."""

    n: np.ndarray  # (capacity,)
    total: np.ndarray  # (capacity, columns)
    d: np.ndarray  # (capacity, columns): of the prior, the same for all
    log_member: np.ndarray  # (capacity, columns, sizes)
    expected: list[CountRows | DispersedRows]  # the last block


class CountSegment(SegmentModel):
    """Segments of counts: each has a mean of its own in every column.

    For numbers of events an hour, orders, defects.  Counts that vary more than a Poisson variate does
    (variance above the mean) look like changes, unless ``sizes`` allow for it.

    Parameters
    ----------
    mean : float or None, default=None
        Prior mean of a rate.  None takes the mean of the first ten rows, column by column (half an event
        more, so that it is positive); until then rows are held.
    shape : float, default=0.5
        Shape of the gamma prior.  One half lets a rate be a hundred times below the mean, or ten times above
        it, for two to four nats.
    sizes : tuple of float, default=(inf,)
        Sizes r of the negative binomials that a segment may be, of variance μ + μ²/r; infinity is Poisson.
        :func:`segment` by itself takes some between 0.3 and 30 beside it.

    See Also
    --------
    CategorySegment : Classes, zeros and ones.

    Examples
    --------
    Coal-mining disasters had about three a year, later about one:

    >>> import numpy as np
    >>> from sgevidence import EvidenceMonitor
    >>> from sgevidence.monitoring import CountSegment
    >>> rng = np.random.default_rng(0)
    >>> disasters = rng.poisson(np.repeat([3.1, 0.9], [40, 72]))
    >>> monitor = EvidenceMonitor(CountSegment(), hazard=0.01).fit(disasters.reshape(-1, 1))
    >>> int(abs(monitor.change_points_[0] - 40)) <= 5, len(monitor.change_points_)
    (True, 1)
    """

    _parameter_constraints: dict = {
        "mean": [Interval(Real, 0, None, closed="neither"), None],
        "shape": [Interval(Real, 0, None, closed="neither")],
        "sizes": [tuple, list],
    }

    is_density = False
    overshoot = 0.5  # measured at rates of 0.2 to 2; at larger ones it is less: see docs/monitoring.md

    def __init__(
        self, mean: float | None = None, shape: float = 0.5, sizes: tuple[float, ...] = (np.inf,)
    ) -> None:
        self.mean = mean
        self.shape = shape
        self.sizes = sizes

    @property
    def warm_up(self) -> int:
        """Rows that are held until the prior is known."""
        return 10 if self.mean is None else 0

    def allocate(self, capacity: int, n_features: int) -> CountRuns:
        self._validate_params()
        if not self.sizes or not all(r > 0 for r in self.sizes):
            raise ValueError(f"sizes must be positive numbers, got {self.sizes!r}")
        d, shape = self.shape / (np.nan if self.mean is None else self.mean), (capacity, n_features)
        log_member = np.zeros((*shape, len(self.sizes)))
        return CountRuns(np.zeros(capacity), np.zeros(shape), np.full(shape, d), log_member, [])

    def check(self, X: np.ndarray, first: int) -> None:
        good = (X >= 0) & (X <= 2.0**53) & (X == np.floor(X))  # above it floats leave whole numbers out
        refuse_rows(X, good, first, "the values of a CountSegment are whole numbers from 0 to 2**53")

    def settle(self, runs: CountRuns, X: np.ndarray, y: np.ndarray | None = None) -> None:
        runs.d[:] = self.shape * len(X) / (X.sum(axis=0) + 0.5)

    def absorb(self, runs: CountRuns, R: int, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        b, R2 = len(X), R + len(X)
        runs.n[R:R2], runs.total[R:R2] = 0.0, 0.0
        runs.log_member[R:R2] = -np.log(len(self.sizes))
        began, n = rows_of_runs(runs.n, R, b)
        log_p, sums = np.zeros((b, R2)), np.empty((X.shape[1], b, R2))
        weights = np.empty((X.shape[1], b, R2, len(self.sizes)))
        for j, x in enumerate(X.T):  # columns are few, and independent
            x = x[:, None] * began
            S = sums[j] = runs.total[:R2, j] + np.cumsum(x, axis=0) - x
            terms = [self._log_predictive(r, x, S, n, runs.d[:R2, j]) for r in self.sizes]
            member = np.where(began[:, :, None], np.stack(terms, axis=2), 0.0)
            before = runs.log_member[:R2, j] + np.cumsum(member, axis=0) - member
            before -= logsumexp(before, axis=2, keepdims=True)
            log_p += logsumexp(before + member, axis=2)
            weights[j] = before
            runs.log_member[:R2, j] = (before + member)[-1]
            runs.total[:R2, j] = S[-1] + x[-1]
        runs.n[:R2] = n[-1] + 1.0
        if list(self.sizes) == [np.inf]:
            expected: CountRows | DispersedRows = CountRows(X, self.shape + sums, runs.d[:R2].T[:, None] + n)
        else:
            expected = DispersedRows(X, sums, n, weights, self, runs.d[0])
        runs.expected[:] = [expected]
        log_p[~began] = 0.0
        return log_p

    def _log_predictive(self, r: float, x: Any, S: Any, n: Any, d: Any) -> np.ndarray:
        """Log probability of x after n counts of the sum S, for members of the size r."""
        a = self.shape + S
        if np.isinf(r):
            d = d + n
            return (
                gammaln(a + x) - gammaln(a) - gammaln(x + 1.0) - a * np.log1p(1.0 / d) - x * np.log(d + 1.0)
            )
        c = r * d + 1.0 + r * n
        ways = gammaln(x + r) - gammaln(r) - gammaln(x + 1.0)
        return ways + betaln(a + x, c + r) - betaln(a, c)


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
