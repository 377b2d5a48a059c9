"""A user's own model with a running log evidence."""

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from .._compat import fit_context
from ..models import CustomModel
from ._base import EvidenceEstimator
from ._conditional import ConditionalEstimator
from ._input import generator
from ._stream import learns_online


class BayesianModel(EvidenceEstimator):
    """Log evidence of a model given by three functions.

    Parameters
    ----------
    sample_prior : callable (rng, size) -> ndarray of shape (size, d)
        Exact draws from the prior, in unconstrained space.
    log_prior : callable (theta) -> ndarray of shape (M,)
        Normalised log prior density of theta (M, d), Jacobian included, in ``autograd.numpy``.
    log_likelihood : callable (theta, X, y) -> ndarray of shape (M, n)
        Normalised log density of each row under each particle, in ``autograd.numpy``.
    sample_rows : callable (theta, X, rng) -> ndarray of shape (n,), optional
        Simulates one row for each row of theta (n, d) and X, for :meth:`sample_y`.
    sampler : object or None, default=None
        Evidence algorithm; None means ``SGAIS()``.  With one that needs all rows at once there is no
        ``partial_fit``.
    random_state : int, RandomState instance or None, default=None
    verbose : bool or int, default=False
        Print a line a chunk.

    Attributes
    ----------
    log_evidence_, log_evidence_std_ : float
        Log evidence of all rows seen and its standard error, in nats.
    evidence_path_ : dict of str to ndarray
        One entry per chunk, as in :class:`BayesianLinearRegression`.
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
        Running checksum of y (of X without y) and sample_weight.
    n_features_in_ : int

    Notes
    -----
    Gradients come from autograd.  Functions defined at module level make the estimator picklable.

    Examples
    --------
    A Poisson rate with a Gamma(1, 1) prior, θ = log rate:

    >>> import autograd.numpy as np
    >>> from autograd.scipy.special import gammaln
    >>> from sgevidence import BayesianModel
    >>> model = BayesianModel(
    ...     sample_prior=lambda rng, size: np.log(rng.gamma(1.0, size=(size, 1))),
    ...     log_prior=lambda theta: theta[:, 0] - np.exp(theta[:, 0]),
    ...     log_likelihood=lambda theta, X, y: theta * X[:, 0] - np.exp(theta) - gammaln(X[:, 0] + 1),
    ...     random_state=0,
    ... )
    >>> counts = np.array([[2.0], [0.0], [1.0], [3.0]])
    >>> exact = gammaln(7) - 7 * np.log(5) - np.log(2 * 6)  # Gamma–Poisson
    >>> bool(abs(model.fit(counts).log_evidence_ - exact) < 1)
    True
    """

    _parameter_constraints: dict = {
        **EvidenceEstimator._parameter_constraints,
        "sample_prior": [callable],
        "log_prior": [callable],
        "log_likelihood": [callable],
        "sample_rows": [callable, None],
    }

    def __init__(
        self,
        sample_prior,
        log_prior,
        log_likelihood,
        *,
        sample_rows=None,
        sampler=None,
        random_state=None,
        verbose=False,
    ):
        self.sample_prior = sample_prior
        self.log_prior = log_prior
        self.log_likelihood = log_likelihood
        self.sample_rows = sample_rows
        self.sampler = sampler
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self : BayesianModel

        Raises
        ------
        ValueError
            On bad input, and if the likelihood vanishes for all particles; nothing has changed then.
        """
        return self._learn(X, y, sample_weight, reset=True)

    @available_if(learns_online)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn from more rows; the first call starts afresh.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : BayesianModel
        """
        return self._learn(X, y, sample_weight, reset=False)

    def score_samples(self, X, y=None):
        """Log posterior predictive density of each row, in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._score_rows(self._rows_to_score(X, y))

    def score(self, X, y=None):
        """Mean of :meth:`score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X, y)))

    sample_y = ConditionalEstimator.sample_y
    _decode = ConditionalEstimator._decode

    def _validate(self, X, y, reset):
        if y is None:
            return validate_data(self, X, reset=reset, dtype=np.float64, order="C"), None
        return validate_data(self, X, y, reset=reset, dtype=np.float64, order="C", y_numeric=True)

    def _make_model(self, X, y):
        n_params = np.asarray(self.sample_prior(generator(0), 1)).shape[1]
        return CustomModel(self.sample_prior, self.log_prior, self.log_likelihood, n_params, self.sample_rows)
