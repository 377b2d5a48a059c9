"""Bayesian generalised linear regression with a running log evidence."""

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from .._compat import StrOptions, fit_context
from ..history import Rows
from ..models import Family, FarColumns, GLMModel, Poisson, near
from ._conditional import LinearPredictor
from ._documentation import documented
from ._input import refuse_unreadable
from ._offset import WithOffset, joined, with_offset
from ._stream import learns_online

FAMILIES: dict[str, Family] = {"poisson": Poisson()}


@documented
class BayesianGLM(RegressorMixin, LinearPredictor):
    """Regression y ~ family(η), η = w·x + b + offset, whose log evidence grows with every chunk of rows.

    The priors are w_j ~ N(0, coef_scale²) and b ~ N(0, intercept_scale²).

    Parameters
    ----------
    family : {"poisson"}, default="poisson"
        Counts with the log link, y ~ Poisson(e^η).
    columns : array-like or None, default=None
        Names or indices of the columns of X that the model uses, or a mask; None is all.  ``[]`` is the null
        model, the intercept alone.  Models of the same X that differ in ``columns`` can be compared.
    fit_intercept : bool, default=True
    coef_scale, intercept_scale : float, default=1.0
        Prior standard deviations: they suit standardised columns.
    standardize : bool, default=False
        State the priors for columns of mean 0 and standard deviation 1: those of the rows of the first call,
        which stay for the whole stream.  Coefficients and predictions are in the data's units.  Without an
        intercept columns are divided by their root mean squares.
    {parameters of every estimator}

    Attributes
    ----------
    columns_ : ndarray of shape (n_columns,)
        Indices of the columns that the model uses, in the order of ``coef_``.
    coef_, coef_std_ : ndarray of shape (n_columns,)
        Posterior mean and standard deviation.
    intercept_ : float
        Posterior mean.
    {attributes of every estimator}

    See Also
    --------
    BayesianLinearRegression : The same with Gaussian noise.

    Notes
    -----
    A rate per exposure has the logarithm of the exposure as ``offset``.

    References
    ----------
    P. McCullagh, J. A. Nelder (1989), Generalized Linear Models, 2nd ed., Chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianGLM
    >>> rng = np.random.default_rng(0)
    >>> X, hours = rng.standard_normal((200, 2)), rng.uniform(1, 10, 200)
    >>> y = rng.poisson(hours * np.exp(X @ [1.0, -0.5]))
    >>> model = BayesianGLM(random_state=0).fit(X, y, offset=np.log(hours))
    >>> bool(np.all(abs(model.coef_ - [1.0, -0.5]) < 0.2))
    True
    >>> model.predict(X[:3], offset=np.log(hours[:3])).shape
    (3,)
    """

    _model: GLMModel | FarColumns
    _has_offset: bool

    _parameter_constraints: dict = {
        **LinearPredictor._parameter_constraints,
        "family": [StrOptions(set(FAMILIES))],
    }

    def __init__(
        self,
        family: str = "poisson",
        *,
        columns: Any = None,
        fit_intercept: bool = True,
        coef_scale: float = 1.0,
        intercept_scale: float = 1.0,
        standardize: bool = False,
        sampler: Any = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.family = family
        self.columns = columns
        self.fit_intercept = fit_intercept
        self.coef_scale = coef_scale
        self.intercept_scale = intercept_scale
        self.standardize = standardize
        self.sampler = sampler
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Self:
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Counts.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        offset : float or array-like of shape (n_samples,), optional
            Added to the linear predictor; zero by default.  If it is given, later calls need one too.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            On bad input, and if the likelihood vanishes for all particles; nothing has changed then.
        DivergenceError
            If the particles leave the finite numbers; nothing has changed then.

        Warns
        -----
        EvidenceWarning
            If y are not whole numbers: then the evidence is not a probability.
        """
        return self._learn(WithOffset(X, offset), y, sample_weight, reset=True)

    @available_if(learns_online)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Self:
        """Learn from more rows; the first call starts afresh.  Parameters and errors as in :meth:`fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        self : estimator
        """
        return self._learn(WithOffset(X, offset), y, sample_weight, reset=False)

    def predict(self, X: Any, return_std: bool = False, offset: Any = None) -> Any:
        """Posterior predictive mean, averaged over particles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the predictive standard deviation, that of y itself included.
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if ``return_std``.
        """
        X, cloud = self._validate_X(with_offset(X, offset)), (self.particles_, self.particle_weights_)
        mean = self._model.predictive_mean(*cloud, X)
        return (mean, self._model.predictive_std(*cloud, X)) if return_std else mean

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """R² of :meth:`predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return super().score(with_offset(X, offset), y, sample_weight)

    def score_samples(self, X: Any, y: Any = None, offset: Any = None) -> np.ndarray:
        """Log predictive probability of each row, in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            If None, the score that the model itself expects: minus the entropy of its prediction, by the
            entropies of the particles' predictions and the predictive variance.
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return super().score_samples(with_offset(X, offset), y)

    def log_predictive(self, X: Any, y: Any = None, offset: Any = None) -> float:
        """Joint log predictive probability of rows, log p(rows | rows seen), in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        offset : float or array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return super().log_predictive(with_offset(X, offset), y)

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = None, offset: Any = None
    ) -> np.ndarray:
        """Draws from the posterior predictive distribution.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None
            By default the estimator's own.
        offset : float or array-like of shape (n_rows,), optional

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
        """
        return super().sample_y(with_offset(X, offset), n_samples, random_state)

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> Rows:
        rows = super()._rows(X, y, sample_weight, reset, classes)
        if np.any(rows.y != np.round(rows.y)):  # type: ignore[arg-type]
            self._doubt("y are not counts: the log evidence is not that of a distribution", stacklevel=5)
        return rows

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
        """The offset becomes the last column of X."""
        X, offset = with_offset(X, None)
        if reset:
            self._has_offset = False
        self._check_offset(offset)
        refuse_unreadable(X=X)
        X, y = self._validate_pair(X, y, reset, y_numeric=True)
        if np.any(y < 0):
            raise ValueError(f"y must be counts, but has the negative value {y.min()}")
        self._has_offset = self._has_offset or offset is not None
        return joined(X, offset), y

    def _columns_of(self, X: Any) -> np.ndarray:
        X, offset = with_offset(X, None)
        self._check_offset(offset)
        return joined(super()._columns_of(X), offset)

    def _check_offset(self, offset: Any) -> None:
        """Where rows before had an offset, zero in silence would be another exposure."""
        if offset is None and self._has_offset:
            raise ValueError(
                "the model was fitted with an offset: give the offset of these rows, 0.0 for none"
            )

    def _encode(self, y: Any, reset: bool, classes: Any) -> np.ndarray:
        return y.astype(np.float64, copy=False)

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> GLMModel | FarColumns:
        model = GLMModel(
            n_features=X.shape[1] - 1,
            family=FAMILIES[self.family],
            fit_intercept=self.fit_intercept,
            coef_scale=self.coef_scale,
            intercept_scale=self.intercept_scale,
            has_offset=True,
        )
        return near(model, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
