"""Estimators of y given X, and of the density of X: fit, scores of rows, simulated rows."""

from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.metaestimators import available_if

from .._compat import fit_context
from ..history import Rows
from ..rows import at_once, check_count, generator
from ._base import EvidenceEstimator
from ._calls import learns_online
from ._folding import by_parts
from ._prior_conflict import prior_conflict
from ._reporting import dimension_labels
from ._response import target_if_there


class LearningEstimator(EvidenceEstimator):
    """Base of all that learn from rows X, or X and y."""

    _has_y = True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowSource or Dask collection
        y : array-like of shape (n_samples,), optional
            Targets; a density has none, and does not use them.  None if X is a :class:`RowSource`; of Dask,
            cut as X is.  A classifier takes labels of any kind; its classes are the labels with positive
            weight.
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
        return self._learn(X, y if self._has_y else None, sample_weight, reset=True)

    @available_if(learns_online)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; the first call starts afresh.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowSource or Dask collection
        y : array-like of shape (n_samples,), optional
            As in :meth:`fit`.
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
        return self._learn(X, y if self._has_y else None, sample_weight, reset=False)


class DensityEstimator(DensityMixin, LearningEstimator):
    """Base of densities; y is accepted, as scikit-learn wants it, and not used."""

    _has_y = False

    @by_parts
    def score_samples(self, X: Any) -> np.ndarray:
        """Log posterior predictive density of each row, averaged over particles, in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._score_rows(self._rows_to_score(X))

    def score(self, X: Any, y: None = None) -> float:
        """Mean of :meth:`score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X)))

    def _replicated(self, theta: np.ndarray, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """As many rows as X has, from one θ (d,), in the data's units."""
        X, _ = self._model.sample_rows(theta, len(X), rng)
        return self._as_given(X)

    def _as_given(self, X: np.ndarray) -> np.ndarray:
        """Rows of the model in the data's units."""
        return X if self._units is None else self._units.restored_X(X)

    def _moments_of_rows(self, theta: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, ...]:
        return ()


class ConditionalEstimator(LearningEstimator):
    """Base of regressors and classifiers."""

    _contrast_terms: Any = ()  #: term of each contrast of factors, products and B-splines

    def _prior_conflict(self, rows: Rows) -> str | None:
        n, in_units = getattr(self._model, "n_features", 0), self._units is not None
        names = dimension_labels(self, "feature", n)
        return prior_conflict(self._model, *self._nodes, rows, in_units, None, self._contrast_terms, names)

    @by_parts
    def score_samples(self, X: Any, y: Any = None) -> np.ndarray:
        """Log predictive density of each row, in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            If None, that of the formula, where X has it; else the score is what the model itself expects:
            minus the entropy of its prediction (of a Gaussian with the predictive variance, for a linear
            regression).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._must_be_fitted()
        X, y, _ = at_once(self, X, y)
        if (y := target_if_there(self, X, y)) is None:
            X = self._validate_X(X)
            self._refuse_moments(True)
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
        return self._decode(y) if self._labels is None else y

    def _moments_of_rows(self, theta: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, ...]:
        """Mean and standard deviation of y under one θ (d,), as far as they are known."""
        return ()

    def _refuse_moments(self, are_asked_for: bool) -> None:
        """ValueError for moments of a y of which the model knows a function."""
        if are_asked_for and self._response is not None:
            raise ValueError(
                f"the model is one of {self._response.words}, and standard deviations and entropies of "
                f"{self._response.name} have no closed form: sample_y draws {self._response.name}"
            )

    def _decode(self, y: np.ndarray) -> np.ndarray:
        """Targets as they came."""
        return y if self._units is None else self._units.restored_y(y)
