r"""Rows of a segment follow a linear regression with unknown coefficients and unknown noise.

The conjugate prior is :math:`\sigma^2 \sim \mathrm{InvGamma}(a, b)` and
:math:`w \mid \sigma^2 \sim N(0, \sigma^2 V)`.  A row (φ, y) has the predictive density
:math:`t_{2a}(\phi^\top m, (b/a)\,q)` with
:math:`q = 1 + \phi^\top V \phi`, and with :math:`e = y - \phi^\top m` and :math:`g = V\phi/q`

.. math::
    m \leftarrow m + g e, \quad V \leftarrow V - g\,(V\phi)^\top, \quad
    a \leftarrow a + \tfrac12, \quad b \leftarrow b + \frac{e^2}{2q}.

Symbols
-------
======  ==================  =====================================================
here    code                meaning
======  ==================  =====================================================
φ       ``phi``             features, and 1 for the intercept
m, V    ``m``, ``V``        posterior mean of w, and its covariance over σ²
a, b    ``a``, ``b``        shape and scale of the posterior of σ²
======  ==================  =====================================================
"""

from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from .._compat import Interval
from ._expected import StudentRows
from ._normal import LOG_2PI, check_pair, log_gamma_ratio


class RegressionRuns(NamedTuple):
    """Posterior of every run; the leading axis is the run's slot."""

    a: np.ndarray  # (capacity,)
    b: np.ndarray  # (capacity,)
    m: np.ndarray  # (capacity, d)
    V: np.ndarray  # (capacity, d, d)
    expected: list[StudentRows]  # the last block


class RegressionSegment(BaseEstimator):
    """Linear regression whose coefficients and noise change from segment to segment.

    Parameters
    ----------
    fit_intercept : bool, default=True
    coef_scale, intercept_scale : float, default=1.0
        Prior standard deviations, in units of the segment's noise σ: that makes the prior conjugate.
        Scale X and y, or say how large an effect may be beside the noise.
    noise_prior : tuple of two floats, default=(1.0, 1.0)
        Shape and scale of the inverse gamma prior of σ².

    References
    ----------
    C. M. Bishop (2006), Pattern Recognition and Machine Learning, Exercises 3.12 and 3.13.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import EvidenceMonitor
    >>> from sgevidence.monitoring import RegressionSegment
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 1))
    >>> y = np.where(np.arange(400) < 200, 1.0, -1.0) * X[:, 0] + 0.3 * rng.normal(size=400)
    >>> EvidenceMonitor(RegressionSegment()).partial_fit(X, y).change_points_
    array([200])
    """

    _parameter_constraints: dict = {
        "fit_intercept": ["boolean"],
        "coef_scale": [Interval(Real, 0, None, closed="neither")],
        "intercept_scale": [Interval(Real, 0, None, closed="neither")],
        "noise_prior": [tuple, list],
    }

    needs_y = True
    is_density = False  # of the rows of X: those are given
    overshoot = 0.27  # measured on Gaussian rows: see docs/monitoring.md
    warm_up = 0

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        coef_scale: float = 1.0,
        intercept_scale: float = 1.0,
        noise_prior: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        self.fit_intercept = fit_intercept
        self.coef_scale = coef_scale
        self.intercept_scale = intercept_scale
        self.noise_prior = noise_prior

    def allocate(self, capacity: int, n_features: int) -> RegressionRuns:
        """Room for some runs.

        Parameters
        ----------
        capacity : int
            Most runs at a time.
        n_features : int
            Columns of the rows.

        Returns
        -------
        RegressionRuns
            Arrays with the run's slot in front.
        """
        self._validate_params()
        check_pair(self.noise_prior, "noise_prior")
        d = n_features + self.fit_intercept
        return RegressionRuns(
            np.zeros(capacity), np.zeros(capacity), np.zeros((capacity, d)), np.zeros((capacity, d, d)), []
        )

    def check(self, X: np.ndarray, first: int) -> None:
        """Accept all rows: any numbers may come.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        first : int
            Index of the first row in the stream.
        """

    def settle(self, runs: RegressionRuns, X: np.ndarray) -> None:
        """Refuse: there are no units to be found.

        Parameters
        ----------
        runs : RegressionRuns
        X : ndarray of shape (n_samples, n_features)
            The first rows of the stream.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError("the units of a RegressionSegment are those of its prior")

    def absorb(self, runs: RegressionRuns, R: int, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        """Runs 0 … R − 1 learn b rows, and run R + i begins with row i.

        Parameters
        ----------
        runs : RegressionRuns
            Changed in place.
        R : int
            Runs so far.
        X : ndarray of shape (b, n_features)
        y : ndarray of shape (b,)

        Returns
        -------
        ndarray of shape (b, R + b)
            log p of row i given the rows before it, in [i, :R + i + 1], nats.
        """
        assert y is not None
        log_p = np.zeros((len(X), R + len(X)))
        Phi = np.column_stack([X, np.ones(len(X))]) if self.fit_intercept else X
        t, freedom = np.zeros((1, *log_p.shape)), np.ones(log_p.shape)
        runs.expected[:] = [StudentRows(t, freedom)]
        for i, (phi, target) in enumerate(zip(Phi, y.tolist())):
            self._begin(runs, R + i)
            log_p[i, : R + i + 1] = self._learn(runs, R + i + 1, phi, target, t[0, i], freedom[i])
        return log_p

    def _begin(self, runs: RegressionRuns, slot: int) -> None:
        a, b = self.noise_prior
        runs.a[slot], runs.b[slot] = a, b
        scale = np.full(runs.m.shape[1], self.coef_scale)
        if self.fit_intercept:
            scale[-1] = self.intercept_scale
        runs.m[slot], runs.V[slot] = 0.0, np.diag(scale**2)

    def _learn(self, runs: RegressionRuns, R: int, phi: np.ndarray, target: float, t, freedom) -> np.ndarray:
        """Log predictive density of the target under the first R runs, which then learn it; (R,)."""
        a, b, m, V = (v[:R] for v in runs[:4])
        Vphi = V @ phi
        q = 1.0 + Vphi @ phi
        e = target - m @ phi
        step = 0.5 * e * e / q
        t[:R], freedom[:R] = e * np.sqrt(a / (b * q)), 2.0 * a
        log_p = log_gamma_ratio(a) - 0.5 * (LOG_2PI + np.log(b * q)) - (a + 0.5) * np.log1p(step / b)
        g = Vphi / q[:, None]
        m += g * e[:, None]
        V -= g[:, :, None] * Vphi[:, None, :]
        b += step
        a += 0.5
        return log_p
