"""Units of a generalised linear model, predictions, scores and simulated rows, given offset and trials."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if

from ..history import Rows
from ..models import Bernoulli, Family, FarColumns, GLMModel
from ._conditional import LinearPredictor
from ._given import at_once
from ._intercepts import intercept_center
from ._known import with_known
from ._lazy import by_parts
from ._units import Fold, Units


def _is_of_two_classes(estimator: Any) -> bool:
    return estimator._is_classifier


class GLMPredictions(RegressorMixin, LinearPredictor):
    """Methods of a fitted :class:`BayesianGLM` that predict: means of numbers, or one of two classes."""

    _model: GLMModel | FarColumns
    classes_: np.ndarray
    _has_offset: bool
    _takes_known = True

    @property
    def _family(self) -> Family:
        raise TypeError(f"{type(self).__name__} does not say what its family is")

    @property
    def _is_classifier(self) -> bool:
        return isinstance(self._family, Bernoulli)

    @by_parts
    def predict(self, X: Any, return_std: bool = False, offset: Any = None, trials: Any = None) -> Any:
        """Posterior predictive mean, averaged over particles; of two classes the more probable.

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
        mean = self._decode(self._model.predictive_mean(*cloud, X))
        return (mean, self._unit_of_y * self._model.predictive_std(*cloud, X)) if return_std else mean

    @available_if(_is_of_two_classes)
    @by_parts
    def predict_log_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Log posterior predictive probabilities of the two classes, averaged over particles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        X = self._validate_X(with_known(X, offset))
        return np.column_stack([self._score_rows(Rows.of(X, np.full(len(X), k))) for k in (0.0, 1.0)])

    @available_if(_is_of_two_classes)
    @by_parts
    def predict_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Posterior predictive probabilities of the two classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        return np.exp(self.predict_log_proba(X, offset))

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None, trials: Any = None
    ) -> float:
        """R² of :meth:`predict`; of two classes the share of rows that it gets right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        offset : float or array-like of shape (n_samples,), optional
        trials : int or array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        known, y, sample_weight = at_once(self, with_known(X, offset, trials), y, sample_weight)
        if self._is_classifier:
            return float(accuracy_score(y, self.predict(known), sample_weight=sample_weight))
        return super().score(known, y, sample_weight)

    @by_parts
    def score_samples(self, X: Any, y: Any = None, offset: Any = None, trials: Any = None) -> np.ndarray:
        """Log predictive density of each row, of counts and classes its log probability, in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            If None, the score that the model itself expects: minus the entropy of its prediction, by the
            entropies of the particles' predictions and the predictive variance.
        offset : float or array-like of shape (n_samples,), optional
        trials : int or array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return super().score_samples(with_known(X, offset, trials), y)

    def log_predictive(self, X: Any, y: Any = None, offset: Any = None, trials: Any = None) -> float:
        """Joint log predictive density of rows, log p(rows | rows seen), in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        offset : float or array-like of shape (n_samples,), optional
        trials : int or array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return super().log_predictive(with_known(X, offset, trials), y)

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
        if self._is_classifier:
            return self.classes_[y]
        return y if self._units is None else self._units.restored_y(y)

    @property
    def _kind(self) -> str:
        return {"identity": "numbers", "": "inputs"}.get(self._family.link, f"{self._family.link} rates")

    def _units_of(self, rows: Rows, fold: Fold | None = None) -> Units:
        p = len(self.columns_)
        if self._kind == "numbers":
            return Units.of_regression(rows, self.fit_intercept, p, fold)
        found = Units.of_inputs(rows, p, self.fit_intercept, fold)
        b0 = intercept_center(self._family, rows, self._has_offset, fold) if self.fit_intercept else 0.0
        return found._replace(intercept_center=b0, kind=self._kind)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._family.is_positive and not self._is_classifier
        if self._is_classifier:
            tags.estimator_type, tags.regressor_tags = "classifier", None
            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags
