r"""Rows of a segment follow a linear regression with unknown coefficients and unknown noise.

A member has the conjugate prior :math:`\sigma^2 \sim \mathrm{InvGamma}(a, b)` and
:math:`w \mid \sigma^2 \sim N(0, \sigma^2 V)`.  A row (φ, y) has the predictive density
:math:`t_{2a}(\phi^\top m, (b/a)\,q)` with
:math:`q = 1 + \phi^\top V \phi`, and with :math:`e = y - \phi^\top m` and :math:`g = V\phi/q`

.. math::
    m \leftarrow m + g e, \quad V \leftarrow V - g\,(V\phi)^\top, \quad
    a \leftarrow a + \tfrac12, \quad b \leftarrow b + \frac{e^2}{2q}.

A run is an average of three members by their evidence, with a noise of about 1, 0.2 and 0.04 units of y
(σ² an inverse gamma of two degrees of freedom, within a factor of three or so) and coefficients of about
``coef_scale`` units: V has (coef_scale / noise)².  A ``noise_prior`` states the one member that there is.

**Units.**  A run measures in the mean and standard deviation of y and of each column in all rows before it,
but at least in the first ``warm_up`` rows, which are held until there are that many; in the distance of a
column with two values.  A column that has not varied by then takes its unit when it does: its coefficient has
met no row before.  Without an intercept nothing is centred, and units are root mean squares.

Symbols
-------
======  ==================  =====================================================
here    code                meaning
======  ==================  =====================================================
φ       ``phi``             features in units of the run, and 1 for the intercept
m, V    ``m``, ``V``        posterior mean of w, and its covariance over σ²
a, b    ``a``, ``b``        shape and scale of the posterior of σ²
======  ==================  =====================================================

Arrays have the axes (run, member).
"""

from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np

from .._compat import Interval
from ._filter import SegmentModel, StudentMixtureRows, refuse_far
from ._normal import LOG_2PI, check_pair, log_gamma_ratio

#: Noise of the members, in units of y.
REGRESSION_NOISES = (1.0, 0.2, 0.04)


@dataclass
class Seen:
    """X and y of the rows so far, side by side, as far as units need them; (columns + 1,) each."""

    centred: bool
    mean: np.ndarray
    squares: np.ndarray  # sum of squared deviations
    low: np.ndarray
    high: np.ndarray
    has_third: np.ndarray  # value beside low and high
    n: int = 0
    absorbed: int = 0  # fewer than n during the warm-up

    @classmethod
    def nothing(cls, n_columns: int, centred: bool) -> "Seen":
        zero = np.zeros(n_columns)
        return cls(centred, zero, zero, zero + np.inf, zero - np.inf, zero > 0.0)

    def learn(self, x: np.ndarray) -> None:
        """One row."""
        self.n += 1
        e = x - self.mean
        self.mean = self.mean + e / self.n
        self.squares = self.squares + e * (x - self.mean)
        inside = (x > self.low) & (x < self.high)
        outside = (self.low < self.high) & ((x < self.low) | (x > self.high))
        self.has_third = self.has_third | inside | outside
        self.low, self.high = np.minimum(self.low, x), np.maximum(self.high, x)

    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres and units; the unit of a column that has not varied is 0, of y it is its size."""
        centre = self.mean if self.centred else np.zeros_like(self.mean)
        varies = self.low < self.high if self.centred else (self.low != 0.0) | (self.high != 0.0)
        two = np.append(self.centred & ~self.has_third[:-1], False)
        spread = np.sqrt(self.squares / self.n + (self.mean - centre) ** 2)
        unit = np.where(varies, np.where(two, self.high - self.low, spread), 0.0)
        centre = np.where(varies | ~self.centred, centre, self.low)  # without rounding
        unit[-1] = unit[-1] or abs(self.mean[-1]) or 1.0
        return centre, unit


class RegressionRuns(NamedTuple):
    """Posterior of every run; the leading axis is the run's slot."""

    a: np.ndarray  # (capacity,)
    b: np.ndarray  # (capacity, members)
    m: np.ndarray  # (capacity, members, d)
    V: np.ndarray  # (capacity, members, d, d)
    log_member: np.ndarray  # (capacity, members)
    centre: np.ndarray  # (capacity, columns + 1), of X and y
    unit: np.ndarray  # (capacity, columns + 1)
    seen: Seen
    expected: list[StudentMixtureRows]  # the last block


class RegressionSegment(SegmentModel):
    """Linear regression whose coefficients and noise change from segment to segment.

    Parameters
    ----------
    fit_intercept : bool, default=True
    coef_scale, intercept_scale : float, default=1.0
        Prior standard deviations: of units of y per unit of the column, and of units of y; with a
        ``noise_prior``, of the segment's noise σ, for the numbers as given.
    noise_prior : tuple of two floats or None, default=None
        Shape and scale of the inverse gamma prior of σ², for the numbers as given.  None: from 1 to 0.04
        units of y, and units are standard deviations of the rows before the segment, at least ten, which are
        held until there are that many; so changes are the same in any units.

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
        "noise_prior": [tuple, list, None],
    }

    needs_y = True
    is_density = False  # of the rows of X: those are given

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        coef_scale: float = 1.0,
        intercept_scale: float = 1.0,
        noise_prior: tuple[float, float] | None = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.coef_scale = coef_scale
        self.intercept_scale = intercept_scale
        self.noise_prior = noise_prior

    @property
    def overshoot(self) -> float:
        """False alarms over the bound, measured on Gaussian rows: see docs/monitoring.md."""
        return 0.08 if self.noise_prior is None else 0.27

    @property
    def warm_up(self) -> int:
        """Rows that are held until the first units can be measured from them."""
        return 10 if self.noise_prior is None else 0

    def allocate(self, capacity: int, n_features: int) -> RegressionRuns:
        self._validate_params()
        if self.noise_prior is not None:
            check_pair(self.noise_prior, "noise_prior")
        d, K = n_features + self.fit_intercept, len(self._members()[0])
        shapes = (), (K,), (K, d), (K, d, d), (K,), (n_features + 1,), (n_features + 1,)
        arrays = [np.zeros((capacity, *shape)) for shape in shapes]
        return RegressionRuns._make([*arrays, Seen.nothing(n_features + 1, self.fit_intercept), []])

    def check(self, X: np.ndarray, first: int) -> None:
        refuse_far(X, first)

    def settle(self, runs: RegressionRuns, X: np.ndarray, y: np.ndarray | None = None) -> None:
        assert y is not None
        rows = np.column_stack([X, y])
        refuse_far(rows, 0)
        for row in rows:
            runs.seen.learn(row)

    def absorb(self, runs: RegressionRuns, R: int, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        assert y is not None
        log_p = np.zeros((len(X), R + len(X)))
        t = np.zeros((*log_p.shape, runs.b.shape[1]))
        expected = StudentMixtureRows(t, np.ones(log_p.shape), np.zeros_like(t))
        runs.expected[:] = [expected]
        for i, row in enumerate(np.column_stack([X, y])):
            self._begin(runs, R + i)
            here = i, slice(R + i + 1)
            log_p[here] = self._learn(runs, R + i + 1, row, *(array[here] for array in expected))
            runs.seen.absorbed += 1
            if self.noise_prior is None and runs.seen.absorbed > runs.seen.n:
                runs.seen.learn(row)
        return log_p

    def _members(self) -> tuple[np.ndarray, float, np.ndarray]:
        """Scales b of the members' noise, their shape a, and what coefficients are measured in, over σ."""
        if self.noise_prior is not None:
            a, b = self.noise_prior
            return np.array([b]), a, np.ones(1)
        return np.square(REGRESSION_NOISES), 1.0, 1.0 / np.array(REGRESSION_NOISES)

    def _begin(self, runs: RegressionRuns, slot: int) -> None:
        b, a, widths = self._members()
        scale = np.full(runs.m.shape[2], self.coef_scale)
        if self.fit_intercept:
            scale[-1] = self.intercept_scale
        runs.a[slot], runs.b[slot], runs.m[slot] = a, b, 0.0
        runs.V[slot] = np.diag(scale**2) * widths[:, None, None] ** 2
        runs.log_member[slot] = -np.log(len(b))
        runs.centre[slot], runs.unit[slot] = runs.seen.units() if self.noise_prior is None else (0.0, 1.0)

    def _learn(self, runs: RegressionRuns, R: int, row: np.ndarray, t, freedom, weight) -> np.ndarray:
        """Log predictive density of the target under the first R runs, which then learn it; (R,)."""
        a, b, m, V, log_member, centre, unit = (v[:R] for v in runs[:7])
        phi = row - centre
        if not unit.all():  # columns that had not varied
            unit[...] = np.where(unit == 0.0, np.abs(phi), unit)
        phi /= np.where(unit > 0.0, unit, 1.0)
        target = phi[:, -1:].copy()
        if self.fit_intercept:
            phi[:, -1] = 1.0
        else:
            phi = phi[:, :-1]
        Vphi = np.einsum("rkij,rj->rki", V, phi)
        q = 1.0 + np.einsum("rki,ri->rk", Vphi, phi)
        e = target - np.einsum("rki,ri->rk", m, phi)
        bq, shape = b * q, a[:, None]
        step = 0.5 * e * e
        t[...], freedom[...], weight[...] = e * np.sqrt(shape / bq), 2.0 * a, log_member
        log_member += log_gamma_ratio(a)[:, None] - 0.5 * np.log(bq) - (shape + 0.5) * np.log1p(step / bq)
        log_p = log_member[:, 0] if log_member.shape[1] == 1 else np.logaddexp.reduce(log_member, axis=1)
        log_p = log_p.copy()
        log_member -= log_p[:, None]
        g = Vphi / q[..., None]
        m += g * e[..., None]
        V -= g[..., None] * Vphi[:, :, None, :]
        b += step / q
        a += 0.5
        return log_p - (np.log(unit[:, -1]) + 0.5 * LOG_2PI)
