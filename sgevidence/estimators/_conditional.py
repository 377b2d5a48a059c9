"""Estimators of y given X: fit, scores of pairs, simulated targets; coefficients, if there are some."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._compat import Interval, fit_context
from ..history import Rows
from ..tables import Table
from ._bad_cells import validated
from ._base import EvidenceEstimator
from ._coded_units import CodedUnits
from ._coefficients import LinearCoefficients
from ._given import at_once
from ._input import check_count, column_indices, generator
from ._intercepts import LINK_SCALE
from ._lazy import by_parts
from ._stream import learns_online
from ._terms import (
    coded,
    effects_table,
    learn_new_levels,
    place_names,
    plain_rows,
    prior_words,
    read_columns,
    read_pair,
    target_in,
)
from ._units import Fold, Units


class ConditionalEstimator(EvidenceEstimator):
    """Base of regressors and classifiers."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowSource or Dask collection
        y : array-like of shape (n_samples,)
            None if X is a :class:`RowSource`; of Dask, cut as X is.  A classifier takes labels of any kind;
            its classes are the labels with positive weight.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            On bad input, and if the likelihood vanishes for all particles; nothing has changed then.
        DivergenceError
            If the particles leave the finite numbers; nothing has changed then.
        """
        return self._learn(X, y, sample_weight, reset=True)

    @available_if(learns_online)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; the first call starts afresh.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowSource or Dask collection
        y : array-like of shape (n_samples,)
            None if X is a :class:`RowSource`; of Dask, cut as X is.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            As in :meth:`fit`, and if parameters of the model or the sampler have changed since the first
            call.
        DivergenceError
            As in :meth:`fit`.
        """
        return self._learn(X, y, sample_weight, reset=False)

    @by_parts
    def score_samples(self, X: Any, y: Any = None) -> np.ndarray:
        """Log predictive density of each row, in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            If None, the score that the model itself expects: minus the entropy of its prediction
            (of a Gaussian with the predictive variance, for a linear regression).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._must_be_fitted()
        X, y, _ = at_once(self, X, y)
        if y is None:
            X = self._validate_X(X)
            return self._model.expected_score(self.particles_, self.particle_weights_, X) - self._log_unit
        return self._score_rows(self._rows_to_score(X, y))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draws from the posterior predictive distribution.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None
            By default the estimator's own.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            Each entry from a particle of its own.
        """
        X = self._validate_X(X)
        check_count(n_samples, "n_samples")
        rng = generator(self.random_state if random_state is None else random_state)
        draws = []
        for _ in range(n_samples):
            theta = self.particles_[rng.choice(len(self.particles_), size=len(X), p=self.particle_weights_)]
            draws.append(self._model.sample_rows(theta, X, rng))
        return self._decode(np.column_stack(draws))

    def _replicated(self, theta: np.ndarray, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Targets of validated rows from one θ (d,): numbers in the data's units, or indices of classes."""
        y = self._model.sample_rows(theta[None], X, rng)
        return y if hasattr(self, "classes_") else self._decode(y)

    def _moments_of_rows(self, theta: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, ...]:
        """Mean and standard deviation of y under one θ (d,), as far as they are known."""
        return ()

    def _decode(self, y: np.ndarray) -> np.ndarray:
        """Targets as they came."""
        return y


class LinearPredictor(LinearCoefficients, ConditionalEstimator):
    """Estimators whose model names its parameters ``coef`` and ``intercept``."""

    _model: Any  #: with ``predictive_mean``, ``predictive_std``, or ``log_probabilities``
    columns: Any
    terms: Sequence | None = None  #: of those that have the parameter
    formula: str | None = None  #: of those that have the parameter
    columns_: np.ndarray
    intercept_scale: float | None

    _parameter_constraints: dict = {
        **EvidenceEstimator._parameter_constraints,
        "columns": ["array-like", None],
        "fit_intercept": ["boolean"],
        "coef_scale": [Interval(Real, 0, None, closed="neither")],
        "intercept_scale": [Interval(Real, 0, None, closed="neither"), None],
        "standardize": ["boolean"],
        "units": [Units, None],
    }

    def _validate_pair(self, X: Any, y: Any, reset: bool, **checks: Any) -> tuple[np.ndarray, Any]:
        """The columns of X that the model uses, and y; scikit-learn's checks see all columns."""
        if self._has_terms:
            return read_pair(self, X, y, reset, **checks)
        X, y = validated(self, X, y, reset=reset, order="C", **checks)
        if checks.get("y_numeric") and y.dtype.kind not in "fiub":
            raise ValueError(f"y must be numbers, got {y.dtype.name}, such as {y[0]!r}")
        self._refuse_extreme(X=X, y=np.asarray(y))
        if reset:
            names = getattr(self, "feature_names_in_", None)
            self.columns_ = column_indices(self.columns, X.shape[1], names)
            if not (len(self.columns_) or self.fit_intercept or getattr(self, "noise_std", 1.0) is None):
                raise ValueError(
                    "a model without columns and without an intercept has no parameters: its log evidence "
                    "is its log-likelihood, and there is nothing to learn"
                )
        return self._used(X), y

    def _columns_of(self, X: Any) -> np.ndarray:
        if self._has_terms:
            return read_columns(self, X, False)
        return self._used(super()._columns_of(X))

    @property
    def _has_terms(self) -> bool:
        """Whether columns are those of terms, or of a formula."""
        return self.terms is not None or self.formula is not None

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, classes: Any = None) -> Self:
        y = target_in(self, X, y)
        return super()._learn(X, y, sample_weight, reset=reset, classes=classes)

    def _take_units(self, rows: Rows, may_wait: bool, fold: Fold | None = None) -> bool:
        if not self._has_terms:
            return super()._take_units(rows, may_wait, fold)
        known = super()._take_units(plain_rows(self, rows), may_wait, fold)
        if known:
            self._units = coded(self, rows, self._units, self._kind)  # type: ignore[assignment]
        else:
            self._held = rows.copy()
        return known

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> Rows:
        if self._has_terms and not reset:
            learn_new_levels(self, X)
        return super()._rows(X, y, sample_weight, reset, classes)

    @property
    def effects_(self) -> Table:
        """Posterior mean and standard deviation of the effect of every level, one row per term and level.

        ``to_frame()`` is for pandas.  Effects of a group are deviations from the population, those of a
        factor sum to zero, and slopes are per unit of their column.
        """
        self._must_have_learnt("effects_")
        if not self._has_terms:
            raise AttributeError("effects_ are those of terms, and this model has none")
        return effects_table(self)

    def _said(self, priors: str) -> list[str]:
        return super()._said(priors + prior_words(self) if self._has_terms else priors)

    @property
    def _place_names(self) -> dict[str, list[str]]:
        return {} if not self._has_terms else place_names(self)

    @property
    def units_(self) -> Units:
        """Units of columns and y in which the priors are stated, for ``units=`` of another estimator."""
        found = super().units_ if self.standardize or not self._has_terms else None
        if found is None:
            raise AttributeError(
                "there are no units_ with standardize=False: priors are for numbers as given"
            )
        return found.units if isinstance(found, CodedUnits) else found

    def _watch_units(self, rows: Rows, starts: bool) -> None:
        if self.standardize:
            super()._watch_units(rows, starts)

    @property
    def intercept_scale_(self) -> float:
        """Prior standard deviation of the intercept that was used."""
        self._must_have_learnt("intercept_scale_")
        return self._intercept_scale

    @property
    def _intercept_scale(self) -> float:
        """1 in units of y and for numbers as given; wider where the intercept is measured from the link."""
        if self.intercept_scale is not None:
            return float(self.intercept_scale)
        return LINK_SCALE if self.standardize and self._kind != "numbers" else 1.0

    def _known_units(self, units: Units) -> Units:
        return units.selected(self.columns_.tolist(), self._kind)

    def _moments_of_rows(self, theta: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, ...]:
        one = theta[None], np.ones(1), X
        mean, std = self._model.predictive_mean(*one), self._model.predictive_std(*one)
        if hasattr(self, "classes_"):
            return (np.column_stack([1 - mean, mean]),)
        return self._decode(mean), std * self._unit_of_y

    @property
    def _unit_of_y(self) -> float:
        return 1.0 if self._units is None else self._units.y_scale

    def _used(self, X: np.ndarray) -> np.ndarray:
        return X if self.columns is None else np.take(X, self.columns_, axis=1)
