"""Bayesian softmax regression with a running log evidence."""

from numbers import Real

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..history import Rows
from ..models import SoftmaxModel
from ._base import ConditionalMixin, EvidenceEstimator, learns_online


class BayesianSoftmaxRegression(ConditionalMixin, ClassifierMixin, EvidenceEstimator):
    """Softmax regression p(y = k | x) ∝ exp(w_k·x + b_k) whose log evidence grows with every chunk.

    All K weight vectors are kept, with entries N(0, coef_scale²) and b_k ~ N(0, intercept_scale²)
    (journal paper, App. B.2).

    Parameters
    ----------
    fit_intercept : bool, default=True
    coef_scale, intercept_scale : float, default=1.0
        Prior standard deviations, the papers' values: they suit standardised columns.
    sampler : object or None, default=None
        Evidence algorithm; None means ``SGAIS()``.  With one that needs all rows at once there is no
        ``partial_fit``.
    random_state : int, RandomState instance or None, default=None
        An int makes every ``fit`` the same.
    verbose : bool or int, default=False
        Print a line a chunk.

    Attributes
    ----------
    log_evidence_, log_evidence_std_ : float
        log p(y | X) of all rows seen and its standard error, in nats.
    evidence_path_ : dict of str to ndarray
        One entry per chunk, as in :class:`BayesianLinearRegression`.
    classes_ : ndarray of shape (n_classes,)
    coef_, coef_std_ : ndarray of shape (n_classes, n_features)
        Posterior mean and standard deviation, one row a class, also for two classes.
    intercept_ : ndarray of shape (n_classes,)
        Posterior mean.
    diagnostics_ : dict of str to float
        How the sampling went: n_particles, ess (of the last weighting), acceptance, n_moves, n_escorts
        and n_escorts_refused (clouds carried along with the posterior), n_refused (proposals that left
        the finite numbers), noise_to_injection (gradient noise of SGHMC), sample_noise (nats; what a
        sub-sample of the history does not know), anchor_distance (posterior widths per √d), n_renewals
        and missed_mode (mixtures: modes taken from outside, or lost, nats).  Another sampler has more or
        fewer words of its own.
    particles_ : ndarray of shape (M, d)
        Draws from the posterior.
    particle_weights_ : ndarray of shape (M,)
        Their weights, summing to one.
    n_samples_seen_ : int
        Rows absorbed, without those of weight zero.
    data_fingerprint_ : int
        Running checksum of (y, sample_weight), the same however the rows were cut.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X has column names.

    See Also
    --------
    BayesianLinearRegression : The same for numbers.
    EvidenceModelAverager : Combine models by their evidence.

    Notes
    -----
    ``sample_weight`` multiplies a row's log-likelihood and means repetition.

    References
    ----------
    S. A. Cameron, H. C. Eggers, S. Kroon (2019), Entropy 21, 1109.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianSoftmaxRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianSoftmaxRegression(random_state=0).fit(scale(X), y)
    >>> abs(model.log_evidence_ + 42.1) < 2
    True
    >>> model.predict_proba(scale(X)).shape
    (150, 3)
    """

    _parameter_constraints: dict = {
        **EvidenceEstimator._parameter_constraints,
        "fit_intercept": ["boolean"],
        "coef_scale": [Interval(Real, 0, None, closed="neither")],
        "intercept_scale": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        fit_intercept=True,
        coef_scale=1.0,
        intercept_scale=1.0,
        sampler=None,
        random_state=None,
        verbose=False,
    ):
        self.fit_intercept = fit_intercept
        self.coef_scale = coef_scale
        self.intercept_scale = intercept_scale
        self.sampler = sampler
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any kind; the classes are those with positive weight.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self : BayesianSoftmaxRegression

        Raises
        ------
        ValueError
            On bad input; nothing has changed then.
        DivergenceError
            If the particles leave the finite numbers; nothing has changed then.
        """
        return self._learn(X, y, sample_weight, reset=True)

    @available_if(learns_online)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from more rows; the first call starts afresh.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            All labels that may ever come: needed at the first call unless its y has them all, and
            the same if given again.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : BayesianSoftmaxRegression

        Raises
        ------
        ValueError
            As in :meth:`fit`, and for a label that is not among the classes.
        """
        return self._learn(X, y, sample_weight, reset=self._is_first_call(), classes=classes)

    def predict_log_proba(self, X):
        """Log posterior predictive probabilities, averaged over particles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        rows = Rows.of(validate_data(self, X, reset=False, dtype=np.float64))
        log_p = self._average_over_particles(
            rows, lambda theta, block: self._model.log_probabilities(theta, block.X)
        )
        return log_p.T

    def predict_proba(self, X):
        """Posterior predictive probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    def decision_function(self, X):
        """Log odds of the averaged prediction for two classes, its log probabilities for more.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        log_p = self.predict_log_proba(X)
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def predict(self, X):
        """The most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decode(np.argmax(self.predict_log_proba(X), axis=1))

    def _expected_score(self, X):
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self._model.expected_score(self.particles_, self.particle_weights_, X)

    def _decode(self, y):
        return self.classes_[y]

    def _validate(self, X, y, reset):
        X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, order="C")
        check_classification_targets(y)
        return X, column_or_1d(y, warn=True)

    def _encode(self, y, reset, classes):
        """Labels as indices into ``classes_``."""
        if reset:
            self.classes_ = np.unique(y) if classes is None else np.unique(classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes!r} is not the same as on the first call: {self.classes_!r}")
        index = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        unknown = self.classes_[index] != y
        if np.any(unknown):
            raise ValueError(
                f"y has labels {np.unique(y[unknown])[:5].tolist()} that are not among the classes "
                f"{self.classes_.tolist()}: give all labels as classes= at the first call of partial_fit"
            )
        return index

    def _make_model(self, X, y):
        return SoftmaxModel(
            n_features=X.shape[1],
            n_classes=len(self.classes_),
            fit_intercept=self.fit_intercept,
            coef_scale=self.coef_scale,
            intercept_scale=self.intercept_scale,
        )
