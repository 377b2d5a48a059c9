"""Predictions of a generalised linear model, scores and simulated rows, given what is known of the rows.

A score of y of which some are known by bounds says how well predictions order them (Harrell et al. 1996):

    C = Σ w_i w_j [ t̂_i < t̂_j ] / Σ w_i w_j    over pairs of which y_i is known to be less than y_j,

with one half for equal predictions.

References
----------
F. E. Harrell, K. L. Lee, D. B. Mark (1996), Multivariable prognostic models, Statistics in Medicine 15, 361.
"""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags, check_array
from sklearn.utils.metaestimators import available_if

from ..history import Rows
from ..models import Ordinal, Times
from ..rows import at_once, read_labels, with_known
from ._folding import by_parts
from ._glm_rows import GLMRows
from ._response import bounds_and_entries, response_in


def _has_classes(estimator: Any) -> bool:
    return estimator._is_classifier


def has_times(model: Any) -> bool:
    """Whether it is a regression of times."""
    return isinstance(getattr(getattr(model, "_family", None), "plain", None), Times)


class GLMPredictions(RegressorMixin, GLMRows):
    """Methods of a fitted :class:`BayesianGLM` that predict: means of numbers, or one of two classes."""

    @by_parts
    def predict(self, X: Any, return_std: bool = False, offset: Any = None, trials: Any = None) -> Any:
        """Posterior predictive mean, of times and of ``log(y) ~ …`` the median; of classes the most probable.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the predictive standard deviation, that of y itself included: infinite where that of
            a draw from the posterior is, as of a Student-t with two degrees of freedom.  Not of classes.
        offset : float or array-like of shape (n_samples,), optional
        trials : int or array-like of shape (n_samples,), optional
            For the family ``"binomial"``, whose mean is that of the successes.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if ``return_std``.
        """
        known = with_known(X, offset, trials)
        if self._is_classifier:
            if return_std:
                raise ValueError("return_std is for numbers: predict_proba says how certain a class is")
            self._must_be_fitted()
            return self.classes_[np.argmax(self.predict_log_proba(known), axis=1)]
        X, cloud = self._validate_X(known), (self.particles_, self.particle_weights_)
        model = self._model
        of_rows = model.predictive_median if has_times(self) else model.predictive_mean
        mean = self._decode(of_rows(*cloud, X))
        self._refuse_moments(return_std)
        return (mean, self._unit_of_y * self._model.predictive_std(*cloud, X)) if return_std else mean

    @available_if(_has_classes)
    @by_parts
    def predict_log_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Log posterior predictive probabilities of the classes, averaged over particles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        X = self._validate_X(with_known(X, offset))
        levels = np.arange(float(len(self.classes_)))
        return np.column_stack([self._score_rows(Rows.of(X, np.full(len(X), k))) for k in levels])

    @available_if(_has_classes)
    @by_parts
    def predict_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Posterior predictive probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X, offset))

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        trials: Any = None,
        event: Any = None,
        entry: Any = None,
    ) -> float:
        """R² of :meth:`predict`; of classes the share of rows that it gets right; of times the concordance.

        The concordance is the share of pairs of rows that are predicted in the order in which their events
        came, among those of which that order is known (Harrell 1996); one half is chance.  It is also that of
        numbers and counts of which some are known by bounds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            None if X is a :class:`RowSource`, or a frame that has the response of the formula.
        sample_weight : array-like of shape (n_samples,), optional
        offset : float or array-like of shape (n_samples,), optional
        trials : int or array-like of shape (n_samples,), optional
        event, entry : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        known, y, sample_weight = at_once(self, with_known(X, offset, trials, event, entry), y, sample_weight)
        y = response_in(self, known, y)
        if self._is_classifier:
            return float(accuracy_score(read_labels(y), self.predict(known), sample_weight=sample_weight))
        if self._has_bounds:
            told, values = self._told(known, y, False)
            values = np.asarray(values, dtype=float)
            bounds, _ = bounds_and_entries(self._family, values, told, np.empty((len(values), 0)))
            if has_times(self) or np.any(bounds.lower != bounds.upper):
                return concordance(bounds.lower, bounds.upper, self.predict(known), sample_weight)
            known, y = told, values
        return super().score(known, y, sample_weight)

    @by_parts
    def score_samples(
        self,
        X: Any,
        y: Any = None,
        offset: Any = None,
        trials: Any = None,
        event: Any = None,
        entry: Any = None,
    ) -> np.ndarray:
        """Log predictive density of each row, of counts and classes its log probability, in nats.

        The score of a row that is known by bounds is the log probability of what lies within them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            If None, that of the formula, where X has it; else what the model itself expects: minus the
            entropy of its prediction, by the entropies of the particles' predictions and the predictive
            variance.
        offset : float or array-like of shape (n_samples,), optional
        trials : int or array-like of shape (n_samples,), optional
        event, entry : array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return super().score_samples(with_known(X, offset, trials, event, entry), y)

    def log_predictive(
        self,
        X: Any,
        y: Any = None,
        offset: Any = None,
        trials: Any = None,
        event: Any = None,
        entry: Any = None,
    ) -> float:
        """Joint log predictive density of rows, log p(rows | rows seen), in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        offset : float or array-like of shape (n_samples,), optional
        trials : int or array-like of shape (n_samples,), optional
        event, entry : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return super().log_predictive(with_known(X, offset, trials, event, entry), y)

    @available_if(has_times)
    def predict_survival(self, X: Any, times: Any, offset: Any = None) -> np.ndarray:
        """Posterior predictive probability that an event comes later than each of some times.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        times : array-like of shape (n_times,)
            In the unit of y.
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples, n_times)
            One at time zero, and falling along the rows.
        """
        times = check_array(times, dtype=np.float64, ensure_2d=False, input_name="times")
        if times.ndim != 1 or np.any(times < 0):
            raise ValueError("times must be a list of numbers from zero")
        X, cloud = self._validate_X(with_known(X, offset)), (self.particles_, self.particle_weights_)
        columns = [self._model.predictive_survival(*cloud, X, t) if t > 0 else np.ones(len(X)) for t in times]
        return np.column_stack(columns)

    @available_if(has_times)
    def predict_hazard(self, X: Any, times: Any, offset: Any = None) -> np.ndarray:
        """Hazard of the posterior predictive distribution, density over survival, at each of some times.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        times : array-like of shape (n_times,)
            Positive, in the unit of y.
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples, n_times)
        """
        times = check_array(times, dtype=np.float64, ensure_2d=False, input_name="times")
        if times.ndim != 1 or np.any(times <= 0):
            raise ValueError("times must be a list of positive numbers")
        known = with_known(X, offset)
        survival = self.predict_survival(known, times)
        density = [np.exp(self.score_samples(known, np.full(len(survival), t))) for t in times]
        return np.column_stack(density) / survival

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = None, offset: Any = None, trials: Any = None
    ) -> np.ndarray:
        """Draws from the posterior predictive distribution.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None
            By default the estimator's own.
        offset : float or array-like of shape (n_rows,), optional
        trials : int or array-like of shape (n_rows,), optional

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
        """
        return super().sample_y(with_known(X, offset, trials), n_samples, random_state)

    def _decode(self, y: np.ndarray) -> np.ndarray:
        return self.classes_[y] if self._is_classifier else super()._decode(y)

    def _moments_of_rows(self, theta: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, ...]:
        if not isinstance(self._family, Ordinal):
            return super()._moments_of_rows(theta, X)
        levels = np.arange(float(len(self.classes_)))
        log_p = [self._model.log_likelihood(theta[None], Rows.of(X, np.full(len(X), k)))[0] for k in levels]
        return (np.exp(np.column_stack(log_p)),)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._family.is_positive and not self._is_classifier
        if self._is_classifier:
            tags.estimator_type, tags.regressor_tags = "classifier", None
            tags.classifier_tags = ClassifierTags(multi_class=isinstance(self._family, Ordinal))
        return tags


def concordance(
    lower: np.ndarray, upper: np.ndarray, predicted: np.ndarray, sample_weight: Any = None
) -> float:
    """C of bounds (n,), which are equal where y is exact, and predictions (n,).

    If an event and a censored time are equal, the event came first.  nan where the order of no pair is
    known.
    """
    w = np.ones(len(lower)) if sample_weight is None else np.asarray(sample_weight, float)
    right = total = 0.0
    for i in np.flatnonzero(upper < np.inf):
        later = (lower > upper[i]) | ((lower == upper[i]) & (upper > lower))
        pairs = w[i] * w[later]
        total += pairs.sum()
        right += pairs @ ((predicted[later] > predicted[i]) + 0.5 * (predicted[later] == predicted[i]))
    return float(right / total) if total else np.nan
