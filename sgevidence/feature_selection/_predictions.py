"""Predictions of the selector, averaged over subsets."""

from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from ..estimators import Standardising
from ..rows import refuse_extreme, refuse_unreadable, validated, with_known


def _selects_for_classes(self: Any) -> bool:
    return hasattr(self.estimator, "predict_proba")


class SubsetPredictions(Standardising):
    """Methods of the fitted selector that predict."""

    estimator: Any
    classes_: np.ndarray
    _average: Any
    _settings: dict[str, Any]

    def predict(self, X: Any, return_std: bool = False, offset: Any = None, trials: Any = None) -> Any:
        """Posterior predictive mean, of times median, averaged over subsets; of classes the most probable.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the predictive standard deviation, that of y itself included.  Not of classes.
        offset : float or array-like of shape (n_samples,), optional
            As ``fit`` takes it.
        trials : int or array-like of shape (n_samples,), optional

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if ``return_std``.
        """
        known = given_of(offset, trials)
        found, X = self._average_and_X(X, known)
        if self._settings["estimator"] is None:
            return self._of_linear(found, X, return_std)
        if hasattr(self, "classes_") and return_std:
            raise ValueError("return_std is for numbers: predict_proba says how certain a class is")
        return found.predict(X, **known, **({"return_std": True} if return_std else {}))

    @available_if(_selects_for_classes)
    def predict_log_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Log posterior predictive probabilities of the classes, averaged over subsets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        known = given_of(offset)
        found, X = self._average_and_X(X, known)
        return found.predict_log_proba(X, **known)

    @available_if(_selects_for_classes)
    def predict_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Posterior predictive probabilities of the classes, averaged over subsets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X, offset))

    def score_samples(
        self,
        X: Any,
        y: Any = None,
        offset: Any = None,
        trials: Any = None,
        event: Any = None,
        entry: Any = None,
    ) -> np.ndarray:
        """Log predictive density of each row, averaged over subsets; of classes and counts log probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            If None, the score that the average itself expects: minus the entropy of its prediction (of a
            Gaussian with the predictive variance, for linear regressions).
        offset : float or array-like of shape (n_samples,), optional
            As ``fit`` takes it.
        trials : int or array-like of shape (n_samples,), optional
        event, entry : array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples,)
            Nats.  Linear regressions are integrated over the noise, others averaged over draws.
        """
        known = given_of(offset, trials, event, entry)
        found, _ = self._average_and_X(X, known)
        if self._settings["estimator"] is not None:
            return np.asarray(found.score_samples(X, y, **known))
        if y is None:
            _, std = self.predict(X, return_std=True)
            return -0.5 * (1 + np.log(2 * np.pi)) - np.log(std)
        rows = self._rows(X, y, None, False, None)
        if self._units is not None:
            rows = self._units.rows(rows)
        refuse_extreme(X=rows.X, y=rows.y)
        log_unit = 0.0 if self._units is None else self._units.log_unit
        return self._posterior("score_samples").averaged.log_density(rows.X, rows.y) - log_unit

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        trials: Any = None,
        event: Any = None,
    ) -> float:
        """R² of :meth:`predict`; of classes the share of rows that it gets right, of times the concordance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        offset : float or array-like of shape (n_samples,), optional
        trials : int or array-like of shape (n_samples,), optional
        event : bool or array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        known = given_of(offset, trials, event)
        found, _ = self._average_and_X(X, known)
        if self._settings["estimator"] is None:
            return float(r2_score(y, self.predict(X), sample_weight=sample_weight))
        return float(found.score(X, y, sample_weight, **known))

    def _average_and_X(self, X: Any, known: dict[str, Any]) -> tuple[Any, Any]:
        """The average that predicts, and the rows: validated, unless the models of an estimator do that."""
        self._must_be_fitted()
        refuse_unreadable(X=X)
        if self._settings["estimator"] is None:
            if known:
                raise ValueError(f"a linear regression takes no {' and no '.join(known)}: see estimator=")
            X = validated(self, X, reset=False)
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
        return self._average("predict"), X

    def _of_linear(self, found: Any, X: np.ndarray, return_std: bool) -> Any:
        units = self._units
        if units is not None:
            X = units.X(X)
        refuse_extreme(X=X)
        mean = found.predict(X) if units is None else units.restored_y(found.predict(X))
        if not return_std:
            return mean
        return mean, found.std(X) * (1.0 if units is None else units.y_scale)


def given_of(offset: Any, trials: Any = None, event: Any = None, entry: Any = None) -> dict[str, Any]:
    """Keyword arguments of those that are given."""
    return with_known(None, offset, trials, event, entry).given
