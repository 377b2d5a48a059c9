r"""Rows of a segment are independent Poisson counts with an unknown rate, column by column.

Prior: the rate is Gamma(a, d), of mean a/d.  When a run has met n counts with the sum S, the next is negative
binomial,

.. math::
    \log p(x) = \log\frac{\Gamma(a + S + x)}{\Gamma(a + S)\,x!}
        + (a + S) \log\frac{d + n}{d + n + 1} - x \log(d + n + 1), \qquad S \leftarrow S + x.

Symbols
-------
======  ===========  ====================================================
here    code         meaning
======  ===========  ====================================================
S, n    ``S, n``     sum of a run's counts, and their number
a       ``shape``    of the prior
d       ``runs.d``   rate of the prior
a + S   ``a``        shape of the posterior
d + n   ``d``        rate of the posterior
b, R    ``b, R``     rows of a block, and runs before it
======  ===========  ====================================================
"""

from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from .._compat import Interval
from ._expected import CountRows
from ._filter import SegmentModel, refuse_rows, rows_of_runs


class CountRuns(NamedTuple):
    """Sufficient statistics of every run; the leading axis is the run's slot."""

    n: np.ndarray  # (capacity,)
    total: np.ndarray  # (capacity, columns)
    d: np.ndarray  # (capacity, columns): of the prior, the same for all
    expected: list[CountRows]  # the last block


class CountSegment(SegmentModel):
    """Segments of counts: each has a Poisson rate of its own in every column.

    For numbers of events an hour, orders, defects.  Counts that vary more than a Poisson variate does
    (variance above the mean) look like changes.

    Parameters
    ----------
    mean : float or None, default=None
        Prior mean of a rate.  None takes the mean of the first ten rows, column by column (half an event
        more, so that it is positive); until then rows are held.
    shape : float, default=0.5
        Shape of the gamma prior.  One half lets a rate be a hundred times below the mean, or ten times above
        it, for two to four nats.

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
    }

    is_density = False
    overshoot = 0.5  # measured at rates of 0.2 to 2; at larger ones it is less: see docs/monitoring.md

    def __init__(self, mean: float | None = None, shape: float = 0.5) -> None:
        self.mean = mean
        self.shape = shape

    @property
    def warm_up(self) -> int:
        """Rows that are held until the prior is known."""
        return 10 if self.mean is None else 0

    def allocate(self, capacity: int, n_features: int) -> CountRuns:
        self._validate_params()
        d = self.shape / (np.nan if self.mean is None else self.mean)
        return CountRuns(
            np.zeros(capacity), np.zeros((capacity, n_features)), np.full((capacity, n_features), d), []
        )

    def check(self, X: np.ndarray, first: int) -> None:
        good = (X >= 0) & (X <= 2.0**53) & (X == np.floor(X))  # above it floats leave whole numbers out
        refuse_rows(X, good, first, "the values of a CountSegment are whole numbers from 0 to 2**53")

    def settle(self, runs: CountRuns, X: np.ndarray, y: np.ndarray | None = None) -> None:
        runs.d[:] = self.shape * len(X) / (X.sum(axis=0) + 0.5)

    def absorb(self, runs: CountRuns, R: int, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        b, R2 = len(X), R + len(X)
        runs.n[R:R2], runs.total[R:R2] = 0.0, 0.0
        began, n = rows_of_runs(runs.n, R, b)
        log_p = np.zeros((b, R2))
        shapes, rates = np.empty((2, X.shape[1], b, R2))
        for j, x in enumerate(X.T):  # columns are few, and independent
            x = x[:, None] * began
            S = runs.total[:R2, j] + np.cumsum(x, axis=0) - x
            a, d = self.shape + S, runs.d[:R2, j] + n
            shapes[j], rates[j] = a, d
            log_p += (
                gammaln(a + x) - gammaln(a) - gammaln(x + 1.0) - a * np.log1p(1.0 / d) - x * np.log(d + 1.0)
            )
            runs.total[:R2, j] = S[-1] + x[-1]
        runs.n[:R2] = n[-1] + 1.0
        runs.expected[:] = [CountRows(X, shapes, rates)]
        log_p[~began] = 0.0
        return log_p
