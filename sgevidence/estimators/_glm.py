"""Bayesian generalised linear regression with a running log evidence."""

from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from .._compat import StrOptions, fit_context
from ..effects import EffectsModel
from ..history import Rows
from ..models import FAMILIES, Family, FarColumns, GLMModel, near
from ._conditional import LinearPredictor
from ._documentation import documented
from ._glm_predictions import GLMPredictions
from ._input import refuse_unreadable
from ._known import joined, with_known
from ._labels import label_indices, two_labels
from ._stream import learns_online
from ._terms import TERM_CONSTRAINTS, effects_model
from ._units import Units


@documented
class BayesianGLM(GLMPredictions):
    """Regression y ~ family(η), η = w·x + b + offset, whose log evidence grows with every chunk of rows.

    The priors are w_j ~ N(0, coef_scale²) and b − b₀ ~ N(0, intercept_scale²).  b₀ is the link of the mean
    of the first call, half a count added, so that the unit of the exposure cancels in every Bayes factor;
    it is 0 with ``standardize=False``.  Parameters that a family has beside η have the priors below,
    independent of w and b.

    Parameters
    ----------
    family : str or Family, default="poisson"
        One of

        * ``"gaussian"``: y ~ N(η, σ²), σ ~ half-Student-t(3);
        * ``"student_t"``: y = η + σ t(ν), σ ~ half-Student-t(3), ν ~ Gamma(2, rate 0.1);
        * ``"bernoulli"``: two classes, p = 1 / (1 + e^(−η)); a classifier;
        * ``"binomial"``: successes among ``trials``, p = 1 / (1 + e^(−η));
        * ``"poisson"``: counts of mean e^η;
        * ``"negative_binomial"``: counts of mean μ = e^η and variance μ + α μ², α ~ Exp(1);
        * ``"gamma"``: positive numbers of mean e^η and variance e^(2η) / k, k ~ Exp(1);
        * ``"zero_inflated_poisson"``: counts, of which a share is zero whatever the rate; share ~ U(0, 1);

        or an object of :mod:`sgevidence.models` with another link or prior, such as
        ``Bernoulli(link="probit")`` or ``NegativeBinomial(dispersion=scipy.stats.expon(scale=0.1))``.
    columns : array-like or None, default=None
        Names or indices of the columns of X that the model uses, or a mask; None is all.  ``[]`` is the null
        model, the intercept alone.  Models of the same X that differ in ``columns`` can be compared.
    terms : list or None, default=None
        :class:`Group`, :class:`Factor`, :class:`Smooth` and :class:`Interaction` terms, beside the linear
        effects of the columns that no group and no factor names.  Columns of levels may be strings.
    formula : str or None, default=None
        Columns and terms of a data frame, such as ``"y ~ age + region + (1 + days | subject) + s(speed)"``.
        Columns of strings are factors, and ``fit(frame)`` finds y.  The extra ``formula`` has its parser.
    fit_intercept : bool, default=True
    coef_scale : float, default=1.0
        Prior standard deviation of a coefficient.
    intercept_scale : float or None, default=None
        Prior standard deviation of the intercept; None: 2.5 for log and logit links, 1 for Gaussian and
        Student-t and with ``standardize=False``.
    {units}
    {parameters of every estimator}

    Attributes
    ----------
    columns_ : ndarray of shape (n_columns,)
        Indices of the columns that the model uses, in the order of ``coef_``.
    coef_, coef_std_ : ndarray of shape (n_columns,)
        Posterior mean and standard deviation.
    intercept_ : float
        Posterior mean.
    classes_ : ndarray of shape (2,)
        Only of ``"bernoulli"``: its labels, the second of which has probability p.
    {attributes of every estimator}

    See Also
    --------
    BayesianLinearRegression : Gaussian noise with an exact evidence.
    BayesianSoftmaxRegression : Any number of classes.

    Notes
    -----
    A rate per exposure has the logarithm of the exposure as ``offset``.  ``posterior_samples`` has the
    family's own parameters by name, such as ``dispersion``.

    Bernoulli, binomial and Poisson are answered from the mode of a log-concave posterior; the others are
    annealed.  A softmax regression of two classes has the same belief with scales smaller by √½.

    References
    ----------
    P. McCullagh, J. A. Nelder (1989), Generalized Linear Models, 2nd ed.; D. Lambert (1992), Zero-inflated
    Poisson regression, Technometrics 34, 1; M. A. Juárez, M. F. J. Steel (2010), Model-based clustering of
    non-Gaussian panel data based on skew-t distributions, Journal of Business & Economic Statistics 28, 52
    (the prior of ν).

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

    _has_offset: bool

    _parameter_constraints: dict = {
        **LinearPredictor._parameter_constraints,
        **TERM_CONSTRAINTS,
        "family": [StrOptions(set(FAMILIES)), Family],
    }

    def __init__(
        self,
        family: Any = "poisson",
        *,
        columns: Any = None,
        terms: Any = None,
        formula: str | None = None,
        fit_intercept: bool = True,
        coef_scale: float = 1.0,
        intercept_scale: float | None = None,
        standardize: bool = True,
        units: Units | None = None,
        sampler: Any = None,
        random_state: Any = None,
        verbose: bool | int = False,
        n_jobs: int | None = None,
    ) -> None:
        self.family = family
        self.columns = columns
        self.terms = terms
        self.formula = formula
        self.fit_intercept = fit_intercept
        self.coef_scale = coef_scale
        self.intercept_scale = intercept_scale
        self.standardize = standardize
        self.units = units
        self.sampler = sampler
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @property
    def _family(self) -> Family:
        """The default one where the parameter is none: tags are asked for before it is validated."""
        if isinstance(self.family, Family):
            return self.family
        return FAMILIES.get(str(self.family), FAMILIES["poisson"])

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None, trials: Any = None
    ) -> Self:
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowSource or Dask collection
        y : array-like of shape (n_samples,)
            Numbers that the family can have; of ``"bernoulli"`` labels of two kinds.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        offset : float or array-like of shape (n_samples,), optional
            Added to the linear predictor; zero by default.  If it is given, later calls need one too.
        trials : int or array-like of shape (n_samples,), optional
            The family ``"binomial"`` needs them in every call; the other families refuse them.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            On bad input, such as rows that have no density under the family, and if the likelihood vanishes
            for all particles; nothing has changed then.
        DivergenceError
            If the particles leave the finite numbers; nothing has changed then.

        Warns
        -----
        EvidenceWarning
            If y are not whole numbers where they should: then the evidence is not a probability.
        """
        return self._learn(with_known(X, offset, trials), y, sample_weight, reset=True)

    @available_if(learns_online)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        trials: Any = None,
        classes: Any = None,
    ) -> Self:
        """Learn from more rows; the first call starts afresh.  Parameters and errors as in :meth:`fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        offset : float or array-like of shape (n_samples,), optional
        trials : int or array-like of shape (n_samples,), optional
        classes : array-like of shape (2,), optional
            Both labels of ``"bernoulli"``, needed at the first call unless y has both of them or they are 0
            and 1.

        Returns
        -------
        self : estimator
        """
        rows = with_known(X, offset, trials)
        return self._learn(rows, y, sample_weight, reset=False, classes=classes)

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> Rows:
        if not (reset or self._has_offset) and with_known(X).offset is not None:
            raise ValueError(
                "the model was fitted without an offset, and has forgotten the exposure of those rows: give "
                "offset=0.0 in the first call for none"
            )
        rows = super()._rows(X, y, sample_weight, reset, classes)
        if (words := self._doubt_of(rows)) is not None:
            self._doubt(words)
        return rows

    def _doubt_of(self, rows: Rows) -> str | None:
        return self._family.doubt(rows.y)  # type: ignore[arg-type]

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
        """Offset and trials become the last columns of X."""
        X, offset, trials = with_known(X)
        if reset:
            self._has_offset = offset is not None
        self._check_known(offset, trials)
        refuse_unreadable(X=X)
        X, y = self._validate_pair(X, y, reset, y_numeric=not self._is_classifier)
        X, family = joined(X, offset, trials), self._family
        if self._is_classifier:
            y = column_or_1d(y, warn=True)
            if (kind := type_of_target(y, input_name="y", raise_unknown=True)) != "binary":
                words = f"Only binary classification is supported. The type of the target is {kind}"
                raise ValueError(f"{words}: see BayesianSoftmaxRegression for more classes")
        else:
            family.refuse(y, *([X[:, -1]] if family.has_trials else []))
        return X, y

    def _columns_of(self, X: Any) -> np.ndarray:
        X, offset, trials = with_known(X)
        self._check_known(offset, trials)
        return joined(super()._columns_of(X), offset, trials)

    def _check_known(self, offset: Any, trials: Any) -> None:
        """Where rows before had an offset, zero in silence would be another exposure."""
        if offset is None and self._has_offset:
            raise ValueError(
                "the model was fitted with an offset: give the offset of these rows, 0.0 for none"
            )
        if (trials is None) == self._family.has_trials:
            needs = "needs trials=, the number of trials of each row, in every call"
            raise ValueError(f"binomial {needs}" if trials is None else "only binomial has trials")

    def _encode(self, y: Any, reset: bool, classes: Any) -> np.ndarray:
        """Numbers; of labels 0 and 1."""
        if self._is_classifier:
            index = label_indices(self, y, reset, classes, of_first=two_labels)
            if len(self.classes_) != 2:
                raise ValueError(f"family='bernoulli' has two classes, not {self.classes_.tolist()}")
            return index.astype(np.float64)
        if classes is not None:
            raise ValueError("classes are those of family='bernoulli'")
        if reset and hasattr(self, "classes_"):
            del self.classes_  # of another family
        return y.astype(np.float64, copy=False)

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> GLMModel | FarColumns:
        model = GLMModel(
            n_features=X.shape[1] - self._has_offset - self._family.has_trials,
            family=self._family,
            fit_intercept=self.fit_intercept,
            coef_scale=self.coef_scale,
            intercept_scale=self._intercept_scale,
            has_offset=True,
            intercept_center=0.0 if self._units is None else float(self._units.intercept_center),  # type: ignore
        )
        if self._has_terms:
            model = effects_model(self, model, self._has_offset)
        return model if isinstance(model, EffectsModel) else near(model, X)
