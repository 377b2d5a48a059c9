"""Estimators of the density of X: fit, and scores of rows."""

from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.metaestimators import available_if

from .._compat import fit_context
from ._base import EvidenceEstimator
from ._lazy import by_parts
from ._stream import learns_online


class DensityEstimator(DensityMixin, EvidenceEstimator):
    """Base of densities; y is accepted, as scikit-learn wants it, and not used."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowSource or Dask collection
        y : None
            Not used.
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
        return self._learn(X, None, sample_weight, reset=True)

    @available_if(learns_online)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; the first call starts afresh.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowSource or Dask collection
        y : None
            Not used.
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
        return self._learn(X, None, sample_weight, reset=False)

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
        return X if self._units is None else self._units.restored_X(X)

    def _moments_of_rows(self, theta: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, ...]:
        return ()
