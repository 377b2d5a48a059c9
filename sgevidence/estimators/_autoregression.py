"""Bayesian autoregression: a linear regression of a series on the values before it."""

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if

from .._compat import Interval, StrOptions, fit_context, num_samples
from ..rows import at_once
from ..units import Units
from ._base import EvidenceEstimator
from ._calls import learns_online
from ._documentation import documented
from ._lags import check_series, refuse_gaps, series_and_columns, with_missing_times
from ._series import SeriesEstimator


@documented
class BayesianAutoregression(RegressorMixin, SeriesEstimator):
    r"""Autoregression of a series with a log evidence of its order, and forecasts with intervals.

    .. math:: y_t = b + \delta t + \sum_{l=1}^{p} \varphi_l\, y_{t-l} + w \cdot x_t + \varepsilon_t,
        \qquad \varepsilon_t \sim N(0, \sigma^2).

    It is :class:`BayesianLinearRegression` on the ``order`` values before each value, with the same priors:
    φ_l, δ, w_j ~ N(0, coef_scale²), b ~ N(0, intercept_scale²), σ ~ half-Student-t(3, noise_scale).  The
    evidence is exact, in streams, too, and is that of the rows after the first ``max_order``, given these.

    Parameters
    ----------
    order : int, default=1
        Number of lags p; 0 is the model without any.
    max_order : int or None, default=None
        Rows at the beginning that are only conditioned on; None: ``order``.  Models of different orders are
        of the same rows, and their evidences can be compared, only if all have the same ``max_order``, the
        largest order among them.
    trend : {"n", "c", "ct"}, default="c"
        Neither intercept nor trend; an intercept; an intercept and a linear trend, in which t is 1 in the
        first row.
    noise_std : float or None, default=None
        Known σ; None: unknown, inferred with the others.
    coef_scale : float, default=1.0
        Prior standard deviation of a coefficient.  That of a lag has no unit, and stationary series have
        most of them within 1.
    intercept_scale : float or None, default=None
        Prior standard deviation of the intercept; None: 1.
    noise_prior : tuple of two floats or None, default=None
        Shape and scale of an inverse gamma prior of σ².
    noise_scale : float or None, default=None
        Scale of the half-Student-t prior of σ; None: 1.  At most one of ``noise_std``, ``noise_prior`` and
        ``noise_scale`` may be given.
    {units}
        Lags have the units of the series, so that their coefficients are as they are; units are those of
        the rows after the first ``max_order``.
    {parameters of every estimator}

    Attributes
    ----------
    coef_, coef_std_ : ndarray of shape (n_coefs,)
        Posterior mean and standard deviation of the coefficients: lags, trend, columns of X.
    n_conditioned_ : int
        Rows at the beginning that are only conditioned on.
    coef_names_ : list of str
        Their names: "lag 1", …, "trend", and the names of the columns of X.
    intercept_ : float
        Posterior mean.
    noise_std_ : float
        Posterior mean of σ, or the known σ.
    {attributes of every estimator}

    See Also
    --------
    EvidenceSearch : Tries orders.
    EvidenceModelAverager : Averages the forecasts of orders.
    EvidenceMonitor : Finds change points, with lags as columns of X.

    Notes
    -----
    ``fit(y)`` takes the series, ``fit(X, y)`` exogenous columns X beside it, which forecasts then
    need as well.  ``predict``, ``score``, ``score_samples`` and ``log_predictive`` take the rows *that
    follow* those seen, and predict each from the values before it.  The estimator keeps the last values, so
    that a stream may be cut anywhere, also into single rows.  ``n_samples_seen_`` and ``data_fingerprint_``
    leave out the first rows, which are conditioned on.

    A series may have missing values.  Given the parameters its observed values are normal, and their evidence
    is an integral over the parameters by quasi-random points, with an error of some hundredths of a nat.
    Only ``fit`` takes missing values, since this integral needs the whole series at once.  ``log_predictive``
    and ``predict`` need the last values of the series.

    The prior does not force the series to be stationary.  With few rows some draws explode: these dominate
    the mean of forecasts far ahead, while intervals stay where most draws are.

    References
    ----------
    S. A. Cameron (2019), thesis, Eq. 1.11.
    A. Zellner (1971), An Introduction to Bayesian Inference in Econometrics, ch. 7.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianAutoregression, EvidenceSearch
    >>> rng = np.random.default_rng(0)
    >>> y = np.zeros(300)
    >>> for t in range(2, 300):
    ...     y[t] = 1.2 * y[t - 1] - 0.6 * y[t - 2] + rng.standard_normal()
    >>> model = BayesianAutoregression(max_order=4, random_state=0)
    >>> search = EvidenceSearch(model, {"order": [0, 1, 2, 3, 4]})
    >>> search.fit(y).best_params_
    {'order': 2}
    >>> mean, bounds = search.best_estimator_.forecast(3, interval=0.9)
    >>> bounds.shape
    (3, 2)
    """

    _parameter_constraints: dict = {
        **EvidenceEstimator._parameter_constraints,
        "order": [Interval(Integral, 0, None, closed="left")],
        "max_order": [Interval(Integral, 0, None, closed="left"), None],
        "trend": [StrOptions({"n", "c", "ct"})],
        "noise_std": [Interval(Real, 0, None, closed="neither"), None],
        "coef_scale": [Interval(Real, 0, None, closed="neither")],
        "intercept_scale": [Interval(Real, 0, None, closed="neither"), None],
        "noise_prior": [tuple, list, None],
        "noise_scale": [Interval(Real, 0, None, closed="neither"), None],
        "standardize": ["boolean"],
        "units": [Units, None],
    }

    def __init__(
        self,
        order: int = 1,
        *,
        max_order: int | None = None,
        trend: str = "c",
        noise_std: float | None = None,
        coef_scale: float = 1.0,
        intercept_scale: float | None = None,
        noise_prior: tuple[float, float] | None = None,
        noise_scale: float | None = None,
        standardize: bool = True,
        units: Units | None = None,
        sampler: Any = None,
        random_state: Any = None,
        verbose: bool | int = False,
        n_jobs: int | None = None,
    ) -> None:
        self.order = order
        self.max_order = max_order
        self.trend = trend
        self.noise_std = noise_std
        self.coef_scale = coef_scale
        self.intercept_scale = intercept_scale
        self.noise_prior = noise_prior
        self.noise_scale = noise_scale
        self.standardize = standardize
        self.units = units
        self.sampler = sampler
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Forget what was seen and learn from this series.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features), or RowSource
            The series, in the order of time, as an index of times must be.  If y is given: exogenous columns,
            known for the future, too; None if there are none.
        y : array-like of shape (n_samples,), optional
            The series, if X are exogenous columns.  Missing values (NaN) are integrated out, and so are those
            at times that a regular index of times lacks; the first ``max_order`` must be there.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            On bad input, times out of order among it, and if there are no more rows than ``max_order``;
            nothing has changed then.

        Warns
        -----
        EvidenceWarning
            If the index lacks times, and if the integral over missing values is not known well.
        """
        X, y, _ = at_once(self, X, y)
        X, y, words = with_missing_times(X, y)
        _, series = series_and_columns(X, y)
        if series is None:
            raise ValueError("an autoregression requires y to be passed, but the target y is None")
        n, first = num_samples(series), self._n_conditioned
        if 0 < n <= first:
            raise ValueError(
                f"n_samples = {n}: fit needs more rows than the first {first}, which are conditioned on; "
                "partial_fit takes any number"
            )
        self._learn(X, y, None, reset=True)
        self._doubt(words)
        return self

    @available_if(learns_online)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any = None, y: Any = None) -> Self:
        """Learn from the rows that follow; the first call starts afresh.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features), or RowSource
            As in :meth:`fit`.  Calls may be cut anywhere: the evidence is that of one :meth:`fit`.
        y : array-like of shape (n_samples,), optional

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            As in :meth:`fit`, but for the number of rows, if parameters have changed since the first call,
            and for missing values, which :meth:`fit` takes.
        """
        X, y, _ = at_once(self, X, y)
        refuse_gaps(series_and_columns(*with_missing_times(X, y)[:2])[1])
        return self._learn(X, y, None, reset=False)

    def predict(self, X: Any = None, y: Any = None, return_std: bool = False) -> Any:
        """Mean of each row that follows, given the values before it: one step ahead.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features), or RowSource
            The series that follows, or exogenous columns, as in :meth:`fit`.
        y : array-like of shape (n_samples,), optional
            The series, if X are exogenous columns.  None with exogenous columns: the series is not known yet,
            and :meth:`forecast` answers.
        return_std : bool, default=False
            Also return the predictive standard deviation, noise included.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if ``return_std``.
        """
        self._must_be_fitted()
        X, y, _ = at_once(self, X, y)
        if y is None and self.n_features_in_:
            return self.forecast(num_samples(X), X, return_std=return_std)
        rows, cloud = self._rows_to_score(X, y), (self.particles_, self.particle_weights_)
        mean, std = (f(*cloud, rows.X) for f in (self._model.predictive_mean, self._model.predictive_std))
        if self._units is not None:
            mean, std = self._units.restored_y(mean), std * self._units.y_scale
        return (mean, std) if return_std else mean

    def score(self, X: Any = None, y: Any = None) -> float:
        """R² of :meth:`predict` for the series that follows.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features), or RowSource
        y : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        X, y, _ = at_once(self, X, y)
        return float(r2_score(check_series(series_and_columns(X, y)[1]), self.predict(X, y)))

    def score_samples(self, X: Any = None, y: Any = None) -> np.ndarray:
        """Log predictive density of each row that follows, given the values before it, in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features), or RowSource
        y : array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples,)
            The parameters are those of the rows seen; :meth:`log_predictive` learns from row to row.  Without
            y beside exogenous columns: minus the entropy of a Gaussian with the standard deviation of the
            forecast.
        """
        self._must_be_fitted()
        X, y, _ = at_once(self, X, y)
        if y is None and self.n_features_in_:
            return -0.5 * (1 + np.log(2 * np.pi)) - np.log(self.predict(X, return_std=True)[1])
        return self._score_rows(self._rows_to_score(X, y))
