"""A user's own model with a running log evidence.

A user's own prior that the rows contradict, by the range of its draws.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._compat import Interval, StrOptions, fit_context
from ..estimators import CONFLICT, EvidenceEstimator, by_parts, documented, learns_online
from ..history import Rows
from ..rows import generator
from ._base import UserFunctions, checked, custom_model
from ._model import CustomModel
from ._user_function import check_shape

#: Draws of a user's prior.
USER_DRAWS = 2000


def range_of_draws(model: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Ends of draws of a user's prior, and some more, (d,) each."""
    draws = np.asarray(model.sample_prior(rng, USER_DRAWS), dtype=float)
    low, high = draws.min(axis=0), draws.max(axis=0)
    return low - 0.1 * (high - low), high + 0.1 * (high - low)


def outside_of_draws(ends: tuple[np.ndarray, np.ndarray], theta: np.ndarray, W: np.ndarray) -> str | None:
    """A user's parameter that no draw of the prior is near."""
    with np.errstate(all="ignore"):
        mean = W @ theta
    beyond = np.flatnonzero((mean < ends[0]) | (mean > ends[1]))
    if not len(beyond):
        return None
    j = int(beyond[0])
    return (
        f"{CONFLICT}theta[:, {j}] has the posterior mean {mean[j]:.3g}, and {USER_DRAWS} draws of the prior "
        f"end at {ends[0][j]:.3g} and {ends[1][j]:.3g}; state another prior, or the data in another unit"
    )


def _has_mean(estimator: Any) -> bool:
    """For ``available_if``."""
    if estimator.mean is None:
        raise AttributeError("predict needs mean=, a function of parameters and X")
    return True


@documented
class BayesianModel(UserFunctions):
    """A model of your own, given by its log likelihood and priors of its parameters, with a log evidence.

    Parameters
    ----------
    log_likelihood : callable (p, X, y) -> ndarray of shape (M, n)
        Normalised log density of each row under each of M parameter vectors.  ``p`` is a dictionary of
        arrays with the leading axis M; a scalar is a column (M, 1), so that it broadcasts against rows as a
        number does, and w of shape 3 is (M, 3).  ``y`` is None if there is none.  For ``fit()`` without
        rows it is a function ``(p) -> (M,)``.  With ``prior_transform`` or ``sample_prior``, ``p`` is the
        array θ (M, d).
    priors : dict of str to prior, optional
        In the units of the parameters, without a Jacobian:

        * a continuous distribution of ``scipy.stats``, as ``scipy.stats.gamma(2, scale=3)``;
        * a pair of distribution and shape, as ``(scipy.stats.norm(0, 1), 3)``: independent and alike;
        * a function of the dictionary of the parameters before it that returns a distribution, as
          ``lambda p: scipy.stats.norm(0, p["tau"])``, or a pair of such a function and a shape;
        * :class:`Dirichlet` or :class:`LKJ`.
    prior_transform : callable (u) -> ndarray, optional
        In place of ``priors``, as nested samplers have it: parameters (M, D) of points (M, d) of the unit
        cube.  Its parameters are called ``theta``.
    n_params : int, optional
        Length d of u, with ``prior_transform``.
    sample_prior, log_prior : callable, optional
        In place of ``priors``, for experts: exact draws ``(rng, size) -> (size, d)`` in unconstrained space,
        and their normalised log density ``(theta) -> (M,)``, Jacobian included, in ``autograd.numpy``.
    mean : callable (p, X) -> ndarray of shape (M, n), optional
        Mean of y at each row, for :meth:`predict`.
    sample_rows : callable (p, X, rng) -> ndarray of shape (n,), optional
        Simulates one row of X from one θ each, for :meth:`sample_y`; scalars are (n,) here.
    vectorized : bool, default=True
        False: ``log_likelihood``, ``prior_transform``, ``mean``, ``gradient`` and ``sample_rows`` take one
        θ at a time, with plain floats for scalars, and return arrays without the axis M.  Functions in
        ``priors`` and ``log_prior`` take many in any case.
    gradient : {"autograd", "numerical"} or callable, default="autograd"
        How the log likelihood is differentiated.  For autograd it is written with ``autograd.numpy`` and
        ``autograd.scipy``; "numerical" is for any code, and costs 2 d evaluations a gradient; a callable
        ``(p, X, y)`` returns a dictionary of derivatives of each row's log density, (M, n) for scalars and
        ``(M, n, *shape)``.
    max_calls : int or None, default=None
        Largest number of parameter vectors θ at which one call of ``fit`` or ``partial_fit`` may evaluate
        ``log_likelihood``, if that is expensive; a fit that needs more raises a :class:`CallLimitError` with
        the expected number.  A fit with one, two or three named parameters takes about 1300, 8000 or 22 000
        evaluations, with more parameters 25 000 to 40 000.  Most of these are a survey of the prior, which a
        limit makes smaller, so that it misses narrow modes more often.  If the survey gives no answer,
        annealing takes 10⁵ evaluations and more.  ``verbose`` prints an estimate of their number and time
        after the first hundred; a warning says so if that is more than ten minutes.  None: no limit.
    {parameters of every estimator}

    Attributes
    ----------
    {attributes of every estimator}

    Notes
    -----
    The sampler sees standard normals z, and θ = F⁻¹(Φ(z)) with the quantile function of scipy: the prior is
    exact and normalised, and ``particles_`` are the z.  ``posterior_samples()`` has the parameters.  Where
    the posterior is so far out in the tail of a prior that scipy cannot invert it, or at an end of its
    support up to rounding, an ``EvidenceWarning`` says so.

    The functions get read-only arrays.  The first call tries them at draws from the prior: shapes, nan,
    gradients, and whether the value at one θ depends on others.  It compares 2000 draws of
    ``sample_prior`` with ``log_prior``: a forgotten Jacobian, a scale that is wrong by a fifth, or a missing
    constant of 0.3 nats (in some ten dimensions, if the prior is not too far from Gaussian) give a warning.

    A θ at which a function raises ``LinAlgError`` or an ``ArithmeticError``, or returns nan because its
    arithmetic has overflowed, counts as impossible: the log density there is −inf.
    ``diagnostics_["n_failed"]`` counts these θ; more than a hundredth of all give a warning.  Any other nan
    is refused.

    Functions defined at module level, not lambdas, make the estimator picklable.

    Examples
    --------
    A Poisson rate with a Gamma(1, 1) prior:

    >>> import autograd.numpy as np
    >>> from autograd.scipy.special import gammaln
    >>> from scipy import stats
    >>> from sgevidence import BayesianModel
    >>> model = BayesianModel(
    ...     lambda p, X, y: y * np.log(p["rate"]) - p["rate"] - gammaln(y + 1),
    ...     {"rate": stats.gamma(1)},
    ...     random_state=0,
    ... )
    >>> counts = np.array([2.0, 0.0, 1.0, 3.0])
    >>> exact = gammaln(7) - 7 * np.log(5) - np.log(2 * 6)  # Gamma–Poisson
    >>> bool(abs(model.fit(np.zeros((4, 1)), counts).log_evidence_ - exact) < 0.3)
    True
    """

    _parameter_constraints: dict = {
        **EvidenceEstimator._parameter_constraints,
        "log_likelihood": [callable],
        "priors": [dict, None],
        "prior_transform": [callable, None],
        "n_params": [Interval(Integral, 1, None, closed="left"), None],
        "sample_prior": [callable, None],
        "log_prior": [callable, None],
        "mean": [callable, None],
        "sample_rows": [callable, None],
        "vectorized": ["boolean"],
        "gradient": [StrOptions({"autograd", "numerical"}), callable],
        "max_calls": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        log_likelihood: Callable,
        priors: dict[str, Any] | None = None,
        *,
        prior_transform: Callable | None = None,
        n_params: int | None = None,
        sample_prior: Callable | None = None,
        log_prior: Callable | None = None,
        mean: Callable | None = None,
        sample_rows: Callable | None = None,
        vectorized: bool = True,
        gradient: Any = "autograd",
        max_calls: int | None = None,
        sampler: Any = None,
        random_state: Any = None,
        verbose: bool | int = False,
        n_jobs: int | None = None,
    ) -> None:
        self.log_likelihood = log_likelihood
        self.priors = priors
        self.prior_transform = prior_transform
        self.n_params = n_params
        self.sample_prior = sample_prior
        self.log_prior = log_prior
        self.mean = mean
        self.sample_rows = sample_rows
        self.vectorized = vectorized
        self.gradient = gradient
        self.max_calls = max_calls
        self.sampler = sampler
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowSource or Dask collection, optional
            None: there are no rows, and ``log_likelihood(p)`` is all that is known.
        y : array-like of shape (n_samples,), optional
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self : estimator

        Raises
        ------
        TypeError
            If the prior is not given in exactly one way, or is discrete; if autograd cannot differentiate the
            log likelihood.
        ValueError
            On bad input; if one of the functions returns a wrong shape, nan or +inf, mixes parameter
            vectors, or fails at all θ; and if the likelihood vanishes for all particles.  Nothing has
            changed then.
        CallLimitError
            If it takes more than ``max_calls``; nothing has changed then.

        Warns
        -----
        EvidenceWarning
            If draws of ``sample_prior`` do not look like draws from ``log_prior``, a function fails often, or
            the posterior is where a prior is not resolved, or where it has nothing.
        """
        return self._learn(X, y, sample_weight, reset=True)

    @available_if(learns_online)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; the first call starts afresh.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : estimator
        """
        if X is None:
            raise ValueError("partial_fit learns from rows: give X, or call fit() of a model without rows")
        return self._learn(X, y, sample_weight, reset=False)

    @available_if(_has_mean)
    @by_parts
    def predict(self, X: Any) -> np.ndarray:
        """Posterior mean of ``mean(p, X)``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            If ``mean`` returns another shape than (M, n).
        """
        assert self.mean is not None  # or there is no predict
        X, theta = self._validate_X(X), self.particles_
        means = self._functions.mean(self.mean, theta, X)
        check_shape(means, (len(theta), len(X)), "mean", "(M, n)")
        return self.particle_weights_ @ means

    @by_parts
    def score_samples(self, X: Any, y: Any = None) -> np.ndarray:
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

    def score(self, X: Any, y: Any = None) -> float:
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

    def _unchecked_model(self) -> CustomModel:
        return custom_model(self, self._has_rows)

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> CustomModel:
        model, disagreement = checked(self._unchecked_model(), Rows.of(X, y), self)
        if disagreement:
            self._doubt(
                f"log_prior does not seem to be the normalised log density of sample_prior: {disagreement}; "
                "the log evidence is as wrong as the prior",
            )
        self._ends = range_of_draws(model.counted(), generator(0))
        return model

    def _prior_conflict(self, rows: Rows) -> str | None:
        return outside_of_draws(self._ends, self.particles_, self.particle_weights_)
