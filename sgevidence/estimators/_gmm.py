"""Bayesian Gaussian mixture with a running log evidence."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import DensityMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..models import MixtureModel
from ._base import EvidenceEstimator, _check_count, _generator, check_prior_pair, learns_online


class BayesianGMM(DensityMixin, EvidenceEstimator):
    """Mixture of K Gaussians with diagonal covariances whose log evidence grows with every chunk.

    π ~ Dirichlet(weight_concentration), σ²_kj ~ InvGamma(variance_prior) and
    μ_kj | σ²_kj ~ N(0, (mean_scale · σ_kj)²) (journal paper, App. B.3).  The evidence is over all
    K! labellings of the components.

    Parameters
    ----------
    n_components : int, default=1
        K.
    weight_concentration : float, default=1.0
        Concentration of the symmetric Dirichlet prior of the weights; 1 is uniform.
    mean_scale : float, default=2.0
        Prior standard deviation of a mean, in units of its component's σ, around zero: centre the data.
    variance_prior : tuple of two floats, default=(1.0, 1.0)
        Shape and scale of the inverse gamma prior of a variance.
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
        log p(X) of all rows seen and its standard error, in nats.
    evidence_path_ : dict of str to ndarray
        One entry per chunk, as in :class:`BayesianLinearRegression`.
    weights_ : ndarray of shape (n_components,)
        Posterior mean, after relabelling particles to common slots.
    means_, covariances_ : ndarray of shape (n_components, n_features)
        Posterior means of the means and variances.
    diagnostics_ : dict of str to float
        How the sampling went: n_particles, ess (of the last weighting), acceptance, n_moves, n_escorts
        and n_escorts_refused (clouds carried along with the posterior), n_refused (proposals that left
        the finite numbers), noise_to_injection (gradient noise of SGHMC), sample_noise (nats; what a
        sub-sample of the history does not know), anchor_distance (posterior widths per √d), n_renewals
        and missed_mode (mixtures: modes taken from outside, or lost, nats).  Another sampler has more or
        fewer words of its own.
    particles_ : ndarray of shape (M, d)
        Draws from the posterior, in any labelling.
    particle_weights_ : ndarray of shape (M,)
        Their weights, summing to one.
    n_samples_seen_ : int
        Rows absorbed, without those of weight zero.
    data_fingerprint_ : int
        Running checksum of (X, sample_weight), the same however the rows were cut.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X has column names.

    See Also
    --------
    EvidenceModelAverager : Combine models by their evidence.

    Notes
    -----
    Components are exchangeable, so that labels of different fits may differ.  In a pipeline a scaler
    in front changes log p(X) by a Jacobian: compare evidences on the same X only.

    References
    ----------
    S. A. Cameron, H. C. Eggers, S. Kroon (2019), Entropy 21, 1109.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianGMM
    >>> X = scale(load_iris().data[:, 2:])
    >>> one, two = (BayesianGMM(K, random_state=0).fit(X).log_evidence_ for K in (1, 2))
    >>> two - one > 100
    True
    """

    _parameter_constraints: dict = {
        **EvidenceEstimator._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "weight_concentration": [Interval(Real, 0, None, closed="neither")],
        "mean_scale": [Interval(Real, 0, None, closed="neither")],
        "variance_prior": [tuple, list],
    }

    def __init__(
        self,
        n_components=1,
        *,
        weight_concentration=1.0,
        mean_scale=2.0,
        variance_prior=(1.0, 1.0),
        sampler=None,
        random_state=None,
        verbose=False,
    ):
        self.n_components = n_components
        self.weight_concentration = weight_concentration
        self.mean_scale = mean_scale
        self.variance_prior = variance_prior
        self.sampler = sampler
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self : BayesianGMM

        Raises
        ------
        ValueError
            On bad input; nothing has changed then.
        DivergenceError
            If the particles leave the finite numbers; nothing has changed then.
        """
        return self._learn(X, None, sample_weight, reset=True)

    @available_if(learns_online)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn from more rows; the first call starts afresh.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : BayesianGMM
        """
        return self._learn(X, None, sample_weight, reset=self._is_first_call())

    def fit_predict(self, X, y=None, sample_weight=None):
        """:meth:`fit`, then :meth:`predict` of the same rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def score_samples(self, X):
        """Log posterior predictive density of each row, averaged over particles, in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._score_rows(self._rows_to_score(X, None))

    def score(self, X, y=None):
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

    def predict_log_proba(self, X):
        """Log probabilities of the components given each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            log Σ_i W_i p(x, k | θ_i) − log Σ_i W_i p(x | θ_i), with the particles relabelled to
            common slots: the predictive rule for a row not seen before.
        """
        rows = self._rows_to_score(X, None)
        canonical = self._model.canonicalize(self.particles_)
        joint = self._average_over_particles(
            rows, lambda _, block: self._model.component_log_densities(canonical, block.X)
        )
        return (joint - np.logaddexp.reduce(joint, axis=0)).T

    def predict_proba(self, X):
        """Probabilities of the components given each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X):
        """The most probable component of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.argmax(self.predict_log_proba(X), axis=1)

    def sample(self, n_samples=1):
        """Draws from the posterior predictive distribution.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of shape (n_samples,)
            Component of each row, in the slots of ``means_``.
        """
        check_is_fitted(self)
        _check_count(n_samples, "n_samples")
        rng = _generator(self.random_state)
        chosen = rng.choice(len(self.particles_), size=n_samples, p=self.particle_weights_)
        return self._model.sample_rows(self._model.canonicalize(self.particles_)[chosen], n_samples, rng)

    @property
    def weights_(self) -> np.ndarray:
        """Posterior mean of the component weights."""
        return self._slot_mean("weights")

    @property
    def means_(self) -> np.ndarray:
        """Posterior mean of the component means."""
        return self._slot_mean("means")

    @property
    def covariances_(self) -> np.ndarray:
        """Posterior mean of the component variances."""
        return self._slot_mean("covariances")

    def _slot_mean(self, name):
        if self._is_first_call():
            raise AttributeError(f"BayesianGMM has no {name}_ before it is fitted")
        return self._posterior_mean_and_std(name)[0]

    def _make_model(self, X, y):
        return MixtureModel(
            n_components=self.n_components,
            n_features=X.shape[1],
            weight_concentration=self.weight_concentration,
            mean_scale=self.mean_scale,
            variance_prior=check_prior_pair(self.variance_prior, "variance_prior"),
        )
