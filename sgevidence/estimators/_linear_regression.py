"""Bayesian linear regression with a running log evidence."""

from numbers import Real

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ..models import LinearModel
from ._base import ConditionalMixin, EvidenceEstimator, check_prior_pair, learns_online


class BayesianLinearRegression(ConditionalMixin, RegressorMixin, EvidenceEstimator):
    """Linear regression y ~ N(w·x + b, σ²) whose log evidence grows with every chunk of rows.

    The priors are w_j ~ N(0, coef_scale²), b ~ N(0, intercept_scale²) and, if σ is unknown,
    σ² ~ InvGamma(noise_prior), independent of w (journal paper, App. B.1, where σ is known).

    Parameters
    ----------
    noise_std : float or None, default=None
        Known σ; None: unknown, inferred with the others.
    fit_intercept : bool, default=True
    coef_scale, intercept_scale : float, default=1.0
        Prior standard deviations, the papers' values: they suit standardised columns.
    noise_prior : tuple of two floats, default=(1.0, 1.0)
        Shape and scale of the inverse gamma prior of σ²; not used if ``noise_std`` is given.
    sampler : object or None, default=None
        Evidence algorithm; None means ``SGAIS()``.  With one that needs all rows at once there is no
        ``partial_fit``.
    random_state : int, RandomState instance or None, default=None
        An int makes every ``fit`` the same.
    verbose : bool or int, default=False
        Print a line a chunk.

    Attributes
    ----------
    log_evidence_ : float
        log p(y | X) of all rows seen, in nats.
    log_evidence_std_ : float
        Its standard error, in nats.
    evidence_path_ : dict of str to ndarray
        One entry per chunk: n_samples, log_evidence, log_evidence_std, log_predictive (of the chunk
        given the rows before it), n_annealing_steps, ess, lambdas (array of arrays), n_refused,
        n_likelihoods, n_gradients, n_particles, n_moves, n_escorts, n_escorts_refused, acceptance,
        n_renewals, missed_mode, sample_noise, noise_to_injection, anchor_distance.  At most 4096
        entries: then every second is dropped.
    diagnostics_ : dict of str to float
        How the sampling went: n_particles, ess (of the last weighting), acceptance, n_moves, n_escorts
        and n_escorts_refused (clouds carried along with the posterior), n_refused (proposals that left
        the finite numbers), noise_to_injection (gradient noise of SGHMC), sample_noise (nats; what a
        sub-sample of the history does not know), anchor_distance (posterior widths per √d), n_renewals
        and missed_mode (mixtures: modes taken from outside, or lost, nats).  Another sampler has more or
        fewer words of its own.
    particles_ : ndarray of shape (M, d)
        Draws from the posterior in the model's unconstrained space.
    particle_weights_ : ndarray of shape (M,)
        Their weights, summing to one.
    coef_, coef_std_ : ndarray of shape (n_features,)
        Posterior mean and standard deviation.
    intercept_ : float
        Posterior mean.
    noise_std_ : float
        Posterior mean of σ, or the known σ.
    n_samples_seen_ : int
        Rows absorbed, without those of weight zero.
    data_fingerprint_ : int
        Running checksum of (y, sample_weight), the same however the rows were cut.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X has column names.

    See Also
    --------
    BayesianSoftmaxRegression : The same for classes.
    EvidenceModelAverager : Combine models by their evidence.

    Notes
    -----
    ``sample_weight`` multiplies a row's log-likelihood and means repetition.  Rows of weight zero
    are dropped.  ``fit`` on an array equals ``partial_fit`` on it with the same seed, bit for bit.

    References
    ----------
    S. A. Cameron, H. C. Eggers, S. Kroon (2019), Entropy 21, 1109.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianLinearRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = scale(X), scale(y)
    >>> model = BayesianLinearRegression(noise_std=0.7, random_state=0)
    >>> for chunk in range(0, 442, 100):
    ...     model = model.partial_fit(X[chunk : chunk + 100], y[chunk : chunk + 100])
    >>> abs(model.log_evidence_ + 500) < 4
    True
    >>> model.coef_.shape
    (10,)
    """

    _parameter_constraints: dict = {
        **EvidenceEstimator._parameter_constraints,
        "noise_std": [Interval(Real, 0, None, closed="neither"), None],
        "fit_intercept": ["boolean"],
        "coef_scale": [Interval(Real, 0, None, closed="neither")],
        "intercept_scale": [Interval(Real, 0, None, closed="neither")],
        "noise_prior": [tuple, list],
    }

    def __init__(
        self,
        noise_std=None,
        *,
        fit_intercept=True,
        coef_scale=1.0,
        intercept_scale=1.0,
        noise_prior=(1.0, 1.0),
        sampler=None,
        random_state=None,
        verbose=False,
    ):
        self.noise_std = noise_std
        self.fit_intercept = fit_intercept
        self.coef_scale = coef_scale
        self.intercept_scale = intercept_scale
        self.noise_prior = noise_prior
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
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self : BayesianLinearRegression

        Raises
        ------
        ValueError
            On bad input, and if the likelihood vanishes for all particles; nothing has changed then.
        DivergenceError
            If the particles leave the finite numbers; nothing has changed then.
        """
        return self._learn(X, y, sample_weight, reset=True)

    @available_if(learns_online)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from more rows; the first call starts afresh.  Parameters and errors as in :meth:`fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : BayesianLinearRegression
        """
        return self._learn(X, y, sample_weight, reset=self._is_first_call())

    def predict(self, X, return_std=False):
        """Posterior predictive mean, averaged over particles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the predictive standard deviation, noise included.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if ``return_std``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        cloud = self.particles_, self.particle_weights_
        mean = self._model.predictive_mean(*cloud, X)
        return (mean, self._model.predictive_std(*cloud, X)) if return_std else mean

    def _expected_score(self, X):
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self._model.expected_score(self.particles_, self.particle_weights_, X)

    @property
    def noise_std_(self) -> float:
        """Posterior mean of σ, or the known σ."""
        if self._is_first_call():
            raise AttributeError("noise_std_ exists only after fit")
        return (
            self.noise_std
            if self.noise_std is not None
            else float(self._posterior_mean_and_std("noise_std")[0])
        )

    def _validate(self, X, y, reset):
        return validate_data(self, X, y, reset=reset, dtype=np.float64, order="C", y_numeric=True)

    def _encode(self, y, reset, classes):
        return y.astype(np.float64, copy=False)

    def _make_model(self, X, y):
        return LinearModel(
            n_features=X.shape[1],
            fit_intercept=self.fit_intercept,
            coef_scale=self.coef_scale,
            intercept_scale=self.intercept_scale,
            noise_std=self.noise_std,
            noise_prior=check_prior_pair(self.noise_prior, "noise_prior"),
        )
