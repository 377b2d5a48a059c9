"""A user's own model with a running log evidence."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from .._compat import fit_context
from ..exceptions import ImpossibleRowsError
from ..history import Rows
from ..models import CustomModel, dimension_of
from ._base import EvidenceEstimator
from ._conditional import ConditionalEstimator
from ._documentation import documented
from ._input import generator
from ._stream import learns_online

#: Share of all θ at which a function may fail without a word: those that trajectories reach far out.
MAX_FAILED_SHARE = 0.01


@documented
class BayesianModel(ConditionalEstimator):
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
    {parameters of every estimator}

    Attributes
    ----------
    {attributes of every estimator}

    Notes
    -----
    Gradients come from autograd.  Functions defined at module level make the estimator picklable.

    The functions get read-only arrays.  The first call tries them at a few draws from the prior, and
    compares 2000 draws of ``sample_prior`` with ``log_prior``: a forgotten Jacobian, a scale that is wrong
    by a fifth, or a missing constant of 0.3 nats (in some ten dimensions, if the prior is not too far from
    Gaussian) give a warning.

    A θ at which a function raises ``LinAlgError`` or an ``ArithmeticError``, or returns nan because its
    arithmetic has overflowed, counts as impossible: the log density there is −inf.
    ``diagnostics_["n_failed"]`` counts these θ; more than a hundredth of all give a warning.  Any other nan
    is refused.

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

    _model: CustomModel

    def __init__(
        self,
        sample_prior: Callable,
        log_prior: Callable,
        log_likelihood: Callable,
        *,
        sample_rows: Callable | None = None,
        sampler: Any = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.sample_prior = sample_prior
        self.log_prior = log_prior
        self.log_likelihood = log_likelihood
        self.sample_rows = sample_rows
        self.sampler = sampler
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            On bad input; if one of the functions returns a wrong shape, nan or +inf, or fails at all θ; and
            if the likelihood vanishes for all particles.  Nothing has changed then.

        Warns
        -----
        EvidenceWarning
            If draws of ``sample_prior`` do not look like draws from ``log_prior``, or a function fails often.
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
        return self._learn(X, y, sample_weight, reset=False)

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

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
        if y is None:
            return validate_data(self, X, reset=reset, dtype=np.float64, order="C"), None
        return validate_data(self, X, y, reset=reset, dtype=np.float64, order="C", y_numeric=True)

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> CustomModel:
        model = self._unchecked_model()
        # not the sampler's stream, nor its count: both are as they were
        disagreement = model.counted().check(Rows.of(X, y), generator(0))
        if disagreement:
            self._doubt(
                f"log_prior does not seem to be the normalised log density of sample_prior: {disagreement}; "
                "the log evidence is as wrong as the prior",
                stacklevel=6,
            )
        return model

    @property
    def diagnostics_(self) -> dict[str, float]:
        """How the sampling went: see the class's Attributes; ``n_failed`` counts θ where functions failed."""
        return super().diagnostics_ | {"n_failed": self._model.failures.n_failed}

    def _run(self, *arguments: Any) -> None:
        with self._counted():
            super()._run(*arguments)
        self._doubt_failures()

    def _update(self, *arguments: Any) -> None:
        with self._counted():
            super()._update(*arguments)
        self._doubt_failures()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Failures of a call are counted in a model of its own: a call that is refused leaves no trace."""
        self._model = self._model.counted()
        with _failures_named(self._model):
            yield

    def _doubt_failures(self) -> None:
        """Warn where functions fail so often that the posterior may be there."""
        failures = self._model.failures
        if failures.share > MAX_FAILED_SHARE:
            self._doubt(
                f"a function failed at {failures.share:.0%} of all θ, which count as impossible: "
                f"{failures.example}",
                stacklevel=7,
            )

    def _unchecked_model(self) -> CustomModel:
        d = dimension_of(self.sample_prior, generator(0))
        return CustomModel(self.sample_prior, self.log_prior, self.log_likelihood, d, self.sample_rows)


@contextmanager
def _failures_named(model: CustomModel) -> Iterator[None]:
    """Rows that are impossible because a function fails are an error of the function, not of the rows."""
    before = model.failures.n_failed
    try:
        yield
    except ImpossibleRowsError as error:
        if model.failures.n_failed == before:
            raise
        raise ValueError(f"{model.failures.example}; no particle is left that explains the rows") from error
