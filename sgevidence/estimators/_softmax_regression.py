"""Bayesian softmax regression with a running log evidence."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from .._compat import fit_context
from ..history import Rows
from ..models import FarColumns, SoftmaxModel, near
from ..rows import at_once, label_indices, read_labels
from ..units import Fold, Units, class_centers
from ._calls import learns_online
from ._documentation import documented
from ._folding import by_parts
from ._linear_predictor import LinearPredictor
from ._response import response_in
from ._terms import TERM_CONSTRAINTS, of_columns, parted


@documented
class BayesianSoftmaxRegression(ClassifierMixin, LinearPredictor):
    """Softmax regression p(y = k | x) ∝ exp(w_k·x + b_k) with a log evidence that each chunk updates.

    All K weight vectors are kept, with entries N(0, coef_scale²) and b_k − b₀ₖ ~ N(0, intercept_scale²)
    (journal paper, App. B.2).  b₀ₖ are the logarithms of the shares of the classes in the first call, half
    a row added to each, and 0 with ``standardize=False``.

    Parameters
    ----------
    columns : array-like or None, default=None
        Names or indices of the columns of X that the model uses, or a mask; None is all.  ``[]`` is the null
        model, the intercept alone.  Models of the same X that differ in ``columns`` can be compared.
    formula : str or None, default=None
        Columns, factors, products, ``poly(x, 2)`` and ``bs(x, df=6)`` of a data frame, such as
        ``"species ~ width * site"``.  Columns of strings are factors, and ``fit(frame)`` finds y;
        ``"~ width"`` needs ``fit(frame, y)``.  Groups and ``s(x)`` are refused.  It needs formulae.
    fit_intercept : bool, default=True
    coef_scale : float, default=1.0
        Prior standard deviation of each coefficient.
    effect_scale : float, default=1.0
        Two levels of a factor differ by N(0, effect_scale²) in the logit of each class.
    intercept_scale : float or None, default=None
        Prior standard deviation of each intercept; None: 2.5, and 1 with ``standardize=False``.
    {units}
    {parameters of every estimator}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    columns_ : ndarray of shape (n_columns,)
        Indices of the columns that the model uses, in the order of ``coef_``.
    coef_, coef_std_ : ndarray of shape (n_classes, n_columns)
        Posterior mean and standard deviation, one row per class, also for two classes.
    intercept_ : ndarray of shape (n_classes,)
        Posterior mean.
    {attributes of every estimator}

    See Also
    --------
    BayesianLinearRegression : The same for numbers.
    EvidenceModelAverager : Combine models by their evidence.

    Notes
    -----
    ``sample_weight`` multiplies a row's log-likelihood: the row counts that many times.

    References
    ----------
    S. A. Cameron, H. C. Eggers, S. Kroon (2019), Entropy 21, 1109.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sgevidence import BayesianSoftmaxRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianSoftmaxRegression(random_state=0).fit(X, y)
    >>> abs(model.log_evidence_ + 42.1) < 2
    True
    >>> model.predict_proba(X).shape
    (150, 3)
    """

    _model: SoftmaxModel | FarColumns

    _parameter_constraints: dict = {
        **LinearPredictor._parameter_constraints,
        **{name: TERM_CONSTRAINTS[name] for name in ("formula", "effect_scale")},
    }

    def __init__(
        self,
        *,
        columns: Any = None,
        formula: str | None = None,
        fit_intercept: bool = True,
        coef_scale: float = 1.0,
        effect_scale: float = 1.0,
        intercept_scale: float | None = None,
        standardize: bool = True,
        units: Units | None = None,
        sampler: Any = None,
        random_state: Any = None,
        verbose: bool | int = False,
        n_jobs: int | None = None,
    ) -> None:
        self.columns = columns
        self.formula = formula
        self.fit_intercept = fit_intercept
        self.coef_scale = coef_scale
        self.effect_scale = effect_scale
        self.intercept_scale = intercept_scale
        self.standardize = standardize
        self.units = units
        self.sampler = sampler
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @available_if(learns_online)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
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
        self : estimator

        Raises
        ------
        ValueError
            As in :meth:`fit`, and for a label that is not among the classes.
        """
        return self._learn(X, y, sample_weight, reset=False, classes=classes)

    @by_parts
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log posterior predictive probabilities, averaged over particles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        rows = Rows.of(self._validate_X(X))
        log_p = self._average_over_particles(
            rows, lambda theta, block: self._model.log_probabilities(theta, block.X)
        )
        return log_p.T

    @by_parts
    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior predictive probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    @by_parts
    def decision_function(self, X: Any) -> np.ndarray:
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

    @by_parts
    def predict(self, X: Any) -> np.ndarray:
        """The most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decode(np.argmax(self.predict_log_proba(X), axis=1))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy of :meth:`predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or RowSource
        y : array-like of shape (n_samples,)
            None if X is a :class:`RowSource`, or a frame that has the response of the formula.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        X, y, sample_weight = at_once(self, X, y, sample_weight)
        return super().score(X, read_labels(response_in(self, X, y)), sample_weight)

    def _moments_of_rows(self, theta: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.exp(self._model.log_probabilities(theta[None], X)[:, 0].T),)

    def _decode(self, y: np.ndarray) -> np.ndarray:
        return self.classes_[y]

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
        X, y = self._validate_pair(X, y, reset, y_numeric=False)
        check_classification_targets(y := read_labels(y))
        return X, y

    def _encode(self, y: Any, reset: bool, classes: Any) -> np.ndarray:
        """Labels as indices into ``classes_``."""
        return label_indices(self, y, reset, classes)

    _kind = "classes"

    def _units_of(self, rows: Rows, fold: Fold | None = None) -> Units:
        found = Units.of_inputs(rows, len(self.columns_), self._fits_intercept, fold)
        return found._replace(intercept_center=class_centers(rows, len(self.classes_), fold), kind=self._kind)

    @property
    def _centers(self) -> tuple[float, ...]:
        """b₀ₖ; ValueError if ``units=`` are of other classes."""
        assert self._units is not None
        centers = self._units.intercept_center
        if not isinstance(centers, tuple) or len(centers) != len(self.classes_):
            raise ValueError(f"units= are not of the {len(self.classes_)} classes {self.classes_.tolist()}")
        return centers

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> SoftmaxModel | FarColumns:
        model = SoftmaxModel(
            n_features=X.shape[1],
            n_classes=len(self.classes_),
            fit_intercept=self._fits_intercept,
            coef_scale=self.coef_scale,
            intercept_scale=self._intercept_scale,
            intercept_centers=() if self._units is None or not self._fits_intercept else self._centers,
        )
        return near(softmax_model(self, model) if self._has_terms else model, X)


def softmax_model(model: Any, plain: SoftmaxModel) -> Any:
    """The softmax of a coding; ValueError for terms whose scale would be inferred."""
    coding = model._units.coding
    if named := [term.name for term in coding.block_terms]:
        raise ValueError(
            f"formula={model.formula!r}: BayesianSoftmaxRegression has no term {named[0]}: write "
            "C(g) for a factor, bs(x, df=6) for a curve, or take BayesianGLM('bernoulli', ...)"
        )
    return of_columns(SoftmaxWithTerms, plain, coding)


@dataclass(frozen=True)
class SoftmaxWithTerms(SoftmaxModel):
    n_linear: int = 0

    def parameters(self, theta):
        return parted(super().parameters(theta), self.n_linear)
