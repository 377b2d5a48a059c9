"""Estimators of a series: their rows are values with those before them, and they look ahead.

Forecasts are a mixture of Gaussians, one for each draw of the posterior.  Given the parameters the h-th
value ahead is Gaussian with

    m_h = d_h + Σ_j φ_j m_{h−j},        v_h = σ² Σ_{i<h} ψ_i²,        ψ_0 = 1, ψ_h = Σ_j φ_j ψ_{h−j},

where m_h for h ≤ 0 are the last values and d_h is what intercept, trend and exogenous columns add.  So only
the parameters are sampled, and moments and quantiles of the mixture are computed.

Symbols: ``phi`` = φ (M, p), ``drift`` = d (M, steps), ``mean``, ``std`` = m, √v (M, steps), ``W`` = weights
(M,).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from ..history import Rows
from ..models import LinearModel
from ..particles import mixture_moments
from ..rows import at_once, check_count, generator, last_time, refuse_unreadable, validated
from ..samplers import ChunkRecord
from ..units import Fold, Units
from ._base import EvidenceEstimator
from ._calls import Stream
from ._lags import GapEvidence, Past, check_series, is_complete, series_and_columns
from ._linear_predictor import KnownOrUnknownNoise, LinearCoefficients
from ._linear_regression import linear_model
from ._prior_conflict import prior_conflict
from ._standardising import learnt


class ForecastMixture(NamedTuple):
    """Gaussians, one for each draw and step, and the weights of the draws."""

    mean: np.ndarray  #: (M, steps)
    std: np.ndarray  #: (M, steps)
    W: np.ndarray  #: (M,)

    @classmethod
    def of(
        cls, phi: np.ndarray, drift: np.ndarray, noise_std: np.ndarray, last: np.ndarray, W: np.ndarray
    ) -> "ForecastMixture":
        """From the parameters and the last values, the latest first, (p,).

        ValueError if a draw explodes beyond the floating-point numbers.
        """
        p, steps = phi.shape[1], drift.shape[1]
        with np.errstate(all="ignore"):
            mean = simulated(phi, drift, last)
            psi = simulated(phi, np.eye(1, steps), np.zeros(p))
            std = noise_std[:, None] * np.sqrt(np.cumsum(psi**2, axis=1))
        if not (np.isfinite(mean).all() and np.isfinite(std).all()):
            share = 1 - np.mean(np.isfinite(mean[:, -1] + std[:, -1]))
            raise ValueError(
                f"{share:.1%} of the posterior's draws leave the floating-point numbers within {steps} "
                "steps: forecast fewer"
            )
        return cls(mean, std, W)

    def quantile(self, level: float) -> np.ndarray:
        """Where the mixture's distribution function has this value, (steps,)."""
        with np.errstate(over="ignore"):
            each = self.mean + ndtri(level) * self.std
        low, high = each.min(axis=0), each.max(axis=0)
        for _ in range(50):  # halvings of the bracket of a quantile, which leave 10⁻¹⁵ of its length
            middle = low + (high - low) / 2
            below = self.W @ ndtr((middle - self.mean) / self.std) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return low + (high - low) / 2


def simulated(phi: np.ndarray, added: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Future values for each row of φ, with ``added``, (M, steps) or (1, steps), at each step; (M, steps)."""
    (M, p), steps = phi.shape, added.shape[1]
    values = np.empty((p + steps, M))  # of the past, the oldest first, and of the future
    values[:p] = last[::-1, None]
    backwards = phi[:, ::-1].T.copy()
    for h in range(steps):
        values[p + h] = added[:, h] + np.sum(backwards * values[h : h + p], axis=0)
    return values[p:].T


class SeriesEstimator(KnownOrUnknownNoise, LinearCoefficients, EvidenceEstimator):
    """A linear regression of a series on its lags, a trend and exogenous columns."""

    _model: LinearModel
    n_features_in_: int
    _past: Past  #: the end of the series
    _last_time: Any = None  #: time of the last row, where rows come with times
    _not_replicated = "values of an autoregression depend on those before: they are not replicated as rows"

    _has_gaps = False  #: values of the series are missing

    def _prior_conflict(self, rows: Rows) -> str | None:
        rows = rows.take(np.flatnonzero(is_complete(rows))) if self._has_gaps else rows
        return prior_conflict(
            self._model, *self._nodes, rows, self._units is not None, columns=self._lag_names
        )

    @property
    def fit_intercept(self) -> bool:
        """Is there an intercept?"""
        return self.trend != "n"

    @learnt
    def coef_names_(self) -> list[str]:
        """Names of the entries of ``coef_``."""
        return self._lag_names

    @property
    def _lag_names(self) -> list[str]:
        columns = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        trend = ["trend"] if self.trend == "ct" else []
        return [*(f"lag {lag}" for lag in range(1, self.order + 1)), *trend, *map(str, columns)]

    @learnt
    def n_conditioned_(self) -> int:
        """Rows at the beginning that are only conditioned on."""
        return self._n_conditioned

    @property
    def _n_conditioned(self) -> int:
        """Rows at the beginning that are only conditioned on."""
        first = self.order if self.max_order is None else self.max_order
        if first < self.order:
            raise ValueError(f"max_order = {first} is less than order = {self.order}")
        return first

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> Rows:
        """Rows of lags; the end of the series is kept for the next call."""
        latest = last_time(None if reset else self._last_time, X=X, y=y)
        X, y = self._validate(X, y, reset)
        if not reset and self._has_gaps:
            raise ValueError("a series with missing values is learnt at once: fit(y) of the whole series")
        past = Past.none() if reset else self._past
        rows, self._past = past.rows(y, X, self.order, self.trend == "ct", self._n_conditioned)
        self._last_time, self._has_gaps = latest, bool(np.isnan(y).any())
        if self._has_gaps:
            self._refuse_early_gaps(y)
            rows = Rows(rows.X, rows.y, (~np.isnan(rows.y)).astype(float))  # type: ignore[arg-type]
        return rows

    def _refuse_early_gaps(self, y: np.ndarray) -> None:
        """ValueError for gaps in what is conditioned on, and for a series of nothing else."""
        first = self._n_conditioned
        if np.isnan(y[:first]).any():
            there = np.convolve(~np.isnan(y), np.ones(first), "valid") == first
            remedy = f"begin at row {np.argmax(there)}" if there.any() else "give a lower order"
            raise ValueError(
                f"y contains NaN among its first {first} values, which are conditioned on: {remedy}"
            )
        if np.isnan(y[first:]).all():
            raise ValueError("y contains NaN only, after the values that are conditioned on")

    def _rows_to_score(self, X: Any, y: Any = None) -> Rows:
        """Rows that follow those seen."""
        self._must_be_fitted()
        X, y, _ = at_once(self, X, y)
        last_time(self._last_time, X=X, y=y)
        X, y = self._validate(X, y, False)
        rows, _ = self._past.complete(self.order).rows(y, X, self.order, self.trend == "ct", 0)
        return rows if self._units is None else self._units.rows(rows)

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        """Exogenous columns or None, and the series."""
        X, y = series_and_columns(X, y)
        if type(y) in (list, tuple) and np.asarray(y, dtype=object).ndim == 1:
            y = check_series(y, takes_gaps=True)  # a list with nan, or None, is no list of objects
        refuse_unreadable(X=X, y=y)
        takes_gaps = reset  # of fit; partial_fit has refused them
        if X is None and not reset and self.n_features_in_:
            raise ValueError(
                f"the series was learnt with {self.n_features_in_} exogenous columns: give X and y"
            )
        if X is None:
            if reset:
                self.n_features_in_ = 0
                if hasattr(self, "feature_names_in_"):
                    del self.feature_names_in_
        else:
            values = check_series(y, takes_gaps)
            y = np.nan_to_num(values) if np.isnan(values).any() else y
            X, y = validated(self, X, y, reset=reset, order="C", y_numeric=True)
            self._refuse_extreme(X=X)
            y = np.where(np.isnan(values), np.nan, y)
        y = check_series(y, takes_gaps)
        self._refuse_extreme(y=y)
        return X, y

    def _update(self, sampler: Any, rows: Rows, reset: bool, progress: Any) -> None:
        """Rows that are only conditioned on say nothing of the parameters."""
        if self._has_gaps:
            self._run(sampler, rows, progress)
        elif len(rows):
            super()._update(sampler, rows, reset, progress)
        elif reset:
            rng = generator(self.random_state)
            state = sampler.init(self._model, rng)
            W = state.all_weights.W
            nothing = ChunkRecord(0, 0.0, 0.0, 0.0, 0, float(len(W)), np.zeros(0), len(W), total_weight=0.0)
            self._stream, self._result = Stream(rng, state, [nothing]), None
            self._report(state)
            self.log_evidence_std_ = 0.0

    def _run(self, sampler: Any, rows: Rows, progress: Any) -> None:
        """All rows at once, those of a series with gaps by an integral of its own."""
        if self._has_gaps and self.sampler is not None:
            raise TypeError("y contains NaN, and missing values need sampler=None, the default")
        super()._run(GapEvidence(self.order) if self._has_gaps else sampler, rows, progress)

    @property
    def _is_proposed(self) -> bool:
        return self._has_gaps or super()._is_proposed

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> LinearModel:
        if not (X.shape[1] or self.fit_intercept or self.noise_std is None):
            raise ValueError(
                "order = 0 without intercept, trend, exogenous columns and unknown noise has no parameters"
            )
        return linear_model(self, X.shape[1], self._units)

    def _units_of(self, rows: Rows, fold: Fold | None = None) -> Units:
        """Units of the series, also for the lags."""
        units = Units.of_regression(rows, self.fit_intercept, fold=fold)
        assert units.spread is not None
        center, scale, spread = units.center.copy(), units.scale.copy(), units.spread.copy()
        center[: self.order], scale[: self.order], spread[: self.order] = units.y_center, units.y_scale, 1.0
        return units._replace(center=center, scale=scale, spread=spread)

    _kind = "numbers"

    def _known_units(self, units: Units) -> Units:
        """Units of the series and its columns, from an autoregression of any order."""
        others = (self.trend == "ct") + self.n_features_in_
        lags = len(units.scale) - others
        if units.kind != self._kind or units.spread is None or lags < 0:
            raise ValueError("units= are not those of an autoregression with these columns")
        center, scale, spread = (
            np.r_[np.full(self.order, of_lag), values[lags:]]
            for of_lag, values in (
                (units.y_center, units.center),
                (units.y_scale, units.scale),
                (1.0, units.spread),
            )
        )
        return units._replace(center=center, scale=scale, spread=spread)

    def _column_names(self) -> list[str]:
        columns = getattr(self, "feature_names_in_", [f"column {j}" for j in range(self.n_features_in_)])
        trend = ["the trend"] if self.trend == "ct" else []
        return [*(f"lag {lag}" for lag in range(1, self.order + 1)), *trend, *map(str, columns)]

    def forecast(
        self, steps: int, X_future: Any = None, *, return_std: bool = False, interval: float | None = None
    ) -> Any:
        """Posterior predictive mean of the next values, with intervals.

        Parameters
        ----------
        steps : int
            How many values ahead.
        X_future : array-like of shape (steps, n_features), optional
            Exogenous columns of these rows, if the model has some.
        return_std : bool, default=False
            Also return standard deviations.
        interval : float or None, default=None
            Probability of a central interval for each value, such as 0.9.

        Returns
        -------
        mean : ndarray of shape (steps,)
        std : ndarray of shape (steps,)
            Only if ``return_std``.
        bounds : ndarray of shape (steps, 2)
            Only with an ``interval``.

        Raises
        ------
        ValueError
            If fewer values have been seen than the order, X_future does not fit, or draws that explode leave
            the floating-point numbers.

        Notes
        -----
        Given the parameters a forecast is Gaussian; moments and bounds are those of the mixture of these
        Gaussians over the draws of the posterior, without simulated paths.
        """
        if interval is not None and not 0 < interval < 1:
            raise ValueError(f"interval must be a probability between 0 and 1, got {interval!r}")
        self._must_be_fitted()
        steps = check_count(steps, "steps")
        phi, drift, noise_std, last = self._dynamics(self.particles_, steps, X_future)
        found = ForecastMixture.of(phi, drift, noise_std, last, self.particle_weights_)
        mean, std = mixture_moments(found.W, found.mean, found.std)
        answer = [mean, *([std] if return_std else [])]
        if interval is not None:
            tails = (0.5 - interval / 2, 0.5 + interval / 2)
            answer.append(np.column_stack([found.quantile(level) for level in tails]))
        return answer[0] if len(answer) == 1 else tuple(answer)

    def sample_forecast(
        self, steps: int, n_samples: int = 1, X_future: Any = None, random_state: Any = None
    ) -> np.ndarray:
        """Paths of the next values, drawn from the posterior predictive distribution.

        Parameters
        ----------
        steps : int
        n_samples : int, default=1
        X_future : array-like of shape (steps, n_features), optional
        random_state : int, RandomState instance or None, default=None
            By default the estimator's own.

        Returns
        -------
        ndarray of shape (steps, n_samples)
            Each path with parameters and noise of its own.
        """
        self._must_be_fitted()
        steps, n_samples = check_count(steps, "steps"), check_count(n_samples, "n_samples")
        rng = generator(self.random_state if random_state is None else random_state)
        theta = self.particles_[rng.choice(len(self.particles_), size=n_samples, p=self.particle_weights_)]
        phi, drift, noise_std, last = self._dynamics(theta, steps, X_future)
        noise = noise_std[:, None] * rng.standard_normal((n_samples, steps))
        return simulated(phi, drift + noise, last).T

    def _dynamics(
        self, theta: np.ndarray, steps: int, X_future: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """φ (M, p), d (M, steps), σ (M,) in the units of the series, and its last values (p,)."""
        past, X = self._past.complete(self.order), self._future_columns(X_future, steps)
        named, M = self._parameters(theta), len(theta)
        coef = named["coef"]
        columns = [past.times(steps)[:, None], X] if self.trend == "ct" else [X]
        drift = coef[:, self.order :] @ np.concatenate(columns, axis=1).T
        if "intercept" in named:
            drift = drift + named["intercept"][:, None]
        noise_std = named["noise_std"] if self.noise_std is None else np.full(M, float(self.noise_std))
        return coef[:, : self.order], drift, noise_std, past.lags(self.order)

    def _future_columns(self, X: Any, steps: int) -> np.ndarray:
        """Exogenous columns of the next rows, (steps, n_features)."""
        if X is None:
            if self.n_features_in_:
                raise ValueError(
                    f"the series was learnt with {self.n_features_in_} exogenous columns: give their "
                    f"values in the next {steps} rows, X_future"
                )
            return np.empty((steps, 0))
        if not self.n_features_in_:
            raise ValueError("the series was learnt without exogenous columns: X_future has no use")
        refuse_unreadable(X_future=X)
        last_time(self._last_time, X_future=X)
        X = validated(self, X, reset=False)
        if len(X) != steps:
            raise ValueError(f"X_future has {len(X)} rows for {steps} steps")
        return X
