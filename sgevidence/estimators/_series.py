"""Estimators of a series: their rows are values with those before them, and calls may be cut anywhere."""

from typing import Any

import numpy as np

from ..history import Rows
from ..models import LinearModel
from ..rows import at_once, generator, last_time, refuse_unreadable, validated
from ..samplers import ChunkRecord
from ..units import Fold, Units
from ._base import EvidenceEstimator
from ._gaps import GapEvidence, is_complete
from ._lags import Past, check_series, series_and_columns
from ._linear_regression import linear_model
from ._prior_conflict import prior_conflict
from ._standardising import learnt
from ._transaction import Stream


class SeriesEstimator(EvidenceEstimator):
    """A linear regression of a series on its lags, a trend and exogenous columns."""

    _model: LinearModel
    order: int
    max_order: int | None
    trend: str
    noise_std: float | None
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
