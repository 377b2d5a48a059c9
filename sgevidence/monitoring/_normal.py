r"""Rows of a segment are independent Gaussians with unknown mean and variance, column by column.

Prior :math:`\sigma^2 \sim \mathrm{InvGamma}(a, b)`, :math:`\mu \mid \sigma^2 \sim N(m, \sigma^2/\kappa)`.
After n rows the next one is Student-t, and the four numbers move in closed form:

.. math::
    y \sim t_{2a}\Bigl(m, \tfrac{b}{a}\tfrac{\kappa+1}{\kappa}\Bigr), \quad
    m \leftarrow m + \frac{e}{\kappa+1}, \;
    b \leftarrow b + \frac{\kappa e^2}{2(\kappa+1)}, \;
    \kappa \leftarrow \kappa+1, \; a \leftarrow a+\tfrac12, \qquad e = y - m.

Symbols
-------
======  ==============  =========================================================
here    code            meaning
======  ==============  =========================================================
a, b    ``a``, ``scale``  shape and scale of the posterior of :math:`\sigma^2`
m, κ    ``m``, ``kappa``  posterior mean, and rows that it is worth
b, R    ``b``, ``R``    also: rows of a block, and runs before it
======  ==============  =========================================================
"""

import math
from numbers import Real
from typing import NamedTuple

import numpy as np

from .._compat import Interval
from ._filter import SegmentModel, StudentRows, rows_of_runs

LOG_2PI = math.log(2.0 * math.pi)


class NormalRuns(NamedTuple):
    """Sufficient statistics of every run; the leading axis is the run's slot."""

    n: np.ndarray  # (capacity,)
    m: np.ndarray  # (capacity, columns)
    b: np.ndarray  # (capacity, columns)
    expected: list[StudentRows]  # the last block


class NormalSegment(SegmentModel):
    """Gaussian segments: each has a mean and a variance of its own in every column.

    The prior is that of :class:`~sgevidence.BayesianGMM` with one component, so that the evidence of
    a segment is exactly the evidence of ``BayesianGMM(1)`` on its rows.  Scale the rows to it, or use
    :class:`SeriesSegment`, which finds the units itself.

    Parameters
    ----------
    mean_scale : float, default=2.0
        Prior standard deviation of the mean, in units of the segment's σ, around zero.
    variance_prior : tuple of two floats, default=(1.0, 1.0)
        Shape and scale of the inverse gamma prior of a variance.

    References
    ----------
    K. P. Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, Eqs. 85-89 and 110.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import EvidenceMonitor
    >>> from sgevidence.monitoring import NormalSegment
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(2, 1, (200, 2))])
    >>> EvidenceMonitor(NormalSegment()).partial_fit(X).change_points_
    array([200])
    """

    _parameter_constraints: dict = {
        "mean_scale": [Interval(Real, 0, None, closed="neither")],
        "variance_prior": [tuple, list],
    }

    overshoot = 0.4  # measured on Gaussian rows: see docs/monitoring.md

    def __init__(self, mean_scale: float = 2.0, variance_prior: tuple[float, float] = (1.0, 1.0)) -> None:
        self.mean_scale = mean_scale
        self.variance_prior = variance_prior

    def allocate(self, capacity: int, n_features: int) -> NormalRuns:
        self._validate_params()
        check_pair(self.variance_prior, "variance_prior")
        zero, table = np.zeros(capacity), np.zeros((capacity, n_features))
        return NormalRuns(zero, table, table.copy(), [])

    def absorb(self, runs: NormalRuns, R: int, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        # all rows at once: m after i rows is a cumulative sum, and b one of the e that follow from it
        b, R2 = len(X), R + len(X)
        a0, b0 = self.variance_prior
        runs.n[R:R2], runs.m[R:R2], runs.b[R:R2] = 0.0, 0.0, b0
        began, n = rows_of_runs(runs.n, R, b)
        kappa = n + self.mean_scale**-2
        a = a0 + 0.5 * n
        shrink = kappa / (kappa + 1.0)
        log_p = X.shape[1] * (log_gamma_ratio(a) - 0.5 * LOG_2PI - 0.5 * np.log(1.0 / shrink))
        t = np.empty((X.shape[1], b, R2))
        for j, x in enumerate(X.T):  # columns are few, and independent
            x = x[:, None] * began
            total = runs.m[:R2, j] * kappa[0] + np.cumsum(x, axis=0)
            m = (total - x) / kappa
            e2 = (x - m) ** 2 * began
            step = 0.5 * shrink * e2
            scale = runs.b[:R2, j] + np.cumsum(step, axis=0) - step
            t[j] = (x - m) * np.sqrt(a * shrink / scale)
            log_p -= 0.5 * np.log(scale) + (a + 0.5) * np.log1p(step / scale)
            runs.m[:R2, j] = total[-1] / (kappa[-1] + 1.0)
            runs.b[:R2, j] = scale[-1] + step[-1]
        runs.n[:R2] = n[-1] + 1.0
        runs.expected[:] = [StudentRows(t, 2.0 * a)]
        log_p[~began] = 0.0
        return log_p


def log_gamma_ratio(a: np.ndarray) -> np.ndarray:
    """log Γ(a + ½) − log Γ(a) for a > 0: five steps up, then Stirling's series (error below 1e-9)."""
    up, half = a + 0.0, a + 0.5
    for k in range(1, 5):
        up *= a + k
        half *= a + (k + 0.5)
    z = 1.0 / (a + 5.0)
    z2 = z * z
    series = z * (1.0 / 8.0 - z2 * (1.0 / 192.0 - z2 * (1.0 / 640.0 - z2 * (17.0 / 14336.0))))
    up /= half
    return np.log(up / np.sqrt(z)) - series


def check_pair(pair, name: str) -> None:
    """Shape and scale of an inverse gamma prior."""
    values = np.asarray(pair, dtype=float).ravel()
    if values.shape != (2,) or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{name} must be a pair of positive numbers (shape, scale), got {pair!r}")
