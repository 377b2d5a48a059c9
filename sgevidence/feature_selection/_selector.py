"""Which columns belong into a linear regression: the posterior over all subsets."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import validate_data

from .._compat import Interval, StrOptions, check_sample_weight, fit_context
from ..estimators import (
    Units,
    all_or_nothing,
    column_indices,
    fingerprint,
    generator,
    linear_model,
    refuse_changes,
    refuse_extreme,
    refuse_unreadable,
    settings,
)
from ..history import Rows
from ._reports import SubsetReports, Weighed

#: Parameters of the independent prior, and what they are if nobody has stated them.
UNUSED_WITH_G = dict(noise_std=None, noise_prior=None, noise_scale=None, coef_scale=1.0, intercept_scale=1.0)


class EvidenceFeatureSelector(SubsetReports, SelectorMixin, RegressorMixin, BaseEstimator):
    """Selects columns of a linear regression by the evidence of all subsets, and predicts with their average.

    Each subset of the columns is the model of :class:`BayesianLinearRegression` with these ``columns``; the
    null model, the intercept alone, is among them.  To 20 columns (or groups) all subsets are enumerated;
    beyond, two chains over subsets are run until they agree.

    Parameters
    ----------
    noise_std : float or None, default=None
        Known σ; None: unknown.
    always : array-like, default=()
        Names or indices of columns that are in every model.
    groups : sequence of array-likes or None, default=None
        Names or indices of columns that go in together, as those of one factor.  A column in no group goes in
        alone; None: all do.
    coef_prior : {"independent", "g"}, default="independent"
        "independent": each coefficient has the prior of :class:`BayesianLinearRegression`.  "g": Zellner and
        Siow's prior, a Cauchy distribution in the shape of the columns' own covariance (a mixture of
        g-priors, g ~ InvGamma(1/2, n/2)), and flat priors of the intercept and of log σ (Liang et al. 2008).
        It does not depend on the units of columns and y.  All log evidences are then relative to the null
        model, since flat priors have no constant, and cannot be compared with those of other models.
    size_prior : {"beta-binomial", "uniform"}, default="beta-binomial"
        Prior of subsets: "beta-binomial" gives each number of columns (or groups) the same probability, and
        shares it among the subsets of that size, which allows for having looked at many columns (Scott and
        Berger 2010); "uniform" gives all subsets the same probability, and so expects half of the columns.
    fit_intercept : bool, default=True
    coef_scale, intercept_scale : float, default=1.0
        Prior standard deviations: they suit standardised columns.
    noise_prior : tuple of two floats or None, default=None
        Shape and scale of an inverse gamma prior of σ².
    noise_scale : float or None, default=None
        Scale of the half-Student-t prior of σ; None: 1.  At most one of ``noise_std``, ``noise_prior`` and
        ``noise_scale`` may be given.
    standardize : bool, default=False
        As in :class:`BayesianLinearRegression`: the priors are stated for columns and a y of mean 0 and
        standard deviation 1 in the rows of the first call.
    random_state : int, RandomState instance or None, default=None
        Random numbers of the chains over subsets, where there are more than 20 columns.

    Attributes
    ----------
    inclusion_probabilities_ : ndarray of shape (n_features,)
        Posterior probability that a column is in the model.
    models_ : DataFrame, or Table where pandas is not installed
        The best subsets, at most 100: ``columns`` (names or indices, as ``BayesianLinearRegression`` takes
        them), ``size``, ``log_evidence``, ``log_prior`` (nats), ``probability``.
    log_evidence_, log_evidence_std_ : float
        Log evidence of the average over subsets, in nats; the standard error is 0 where all are enumerated.
        With ``coef_prior="g"`` it is relative to the null model, as those of ``models_``.
    evidence_is_relative_ : bool
        Is that so?
    coef_, coef_std_ : ndarray of shape (n_features,)
        Mean and standard deviation of the coefficients, which are 0 where a column is not in the model.
    intercept_, noise_std_ : float
        Posterior means.
    n_samples_seen_ : int

    Warns
    -----
    EvidenceWarning
        When an answer is first asked for: if the chains differ by more than 0.05 in an inclusion probability,
        if columns are collinear beyond double precision, or if prior and data contradict each other.

    See Also
    --------
    BayesianLinearRegression : One subset.
    EvidenceModelAverager : Averages models of any kind, in a list.

    Notes
    -----
    ``partial_fit`` keeps the sums of squares and products of [1, X, y], without rounding, so that a stream
    gives what one ``fit`` gives.  Subsets are weighed when an attribute or a method asks for them, not at
    each call of a stream.  ``sample_weight`` multiplies a row's log-likelihood and means repetition.

    ``transform`` and ``get_support`` keep the columns whose inclusion probability is at least one half, the
    median probability model, which under conditions predicts best among single models (Barbieri and Berger
    2004); ``predict`` averages over the subsets with all but 10⁻¹⁰ of the probability, 2000 at most.

    References
    ----------
    D. Madigan, J. York (1995), International Statistical Review 63, 215.
    A. Zellner, A. Siow (1980), in: Bayesian Statistics, Valencia, 585.
    M. M. Barbieri, J. O. Berger (2004), Annals of Statistics 32, 870.
    F. Liang, R. Paulo, G. Molina, M. A. Clyde, J. O. Berger (2008), Journal of the American Statistical
    Association 103, 410.
    J. G. Scott, J. O. Berger (2010), Annals of Statistics 38, 2587.
    M. A. Clyde, J. Ghosh, M. L. Littman (2011), Journal of Computational and Graphical Statistics 20, 80.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import EvidenceFeatureSelector
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = EvidenceFeatureSelector().fit(scale(X), scale(y))
    >>> selector.get_support(indices=True).tolist()
    [1, 2, 3, 4, 5, 8]
    >>> selector.inclusion_probabilities_.round(2)[:4].tolist()
    [0.07, 0.98, 1.0, 1.0]
    """

    _settings: dict[str, Any]  #: parameters of the first call

    _parameter_constraints: dict = {
        "noise_std": [Interval(Real, 0, None, closed="neither"), None],
        "always": ["array-like"],
        "groups": [list, tuple, None],
        "coef_prior": [StrOptions({"independent", "g"})],
        "size_prior": [StrOptions({"beta-binomial", "uniform"})],
        "fit_intercept": ["boolean"],
        "coef_scale": [Interval(Real, 0, None, closed="neither")],
        "intercept_scale": [Interval(Real, 0, None, closed="neither")],
        "noise_prior": [tuple, list, None],
        "noise_scale": [Interval(Real, 0, None, closed="neither"), None],
        "standardize": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        noise_std: float | None = None,
        *,
        always: Any = (),
        groups: Sequence[Any] | None = None,
        coef_prior: str = "independent",
        size_prior: str = "beta-binomial",
        fit_intercept: bool = True,
        coef_scale: float = 1.0,
        intercept_scale: float = 1.0,
        noise_prior: tuple[float, float] | None = None,
        noise_scale: float | None = None,
        standardize: bool = False,
        random_state: Any = None,
    ) -> None:
        self.noise_std = noise_std
        self.always = always
        self.groups = groups
        self.coef_prior = coef_prior
        self.size_prior = size_prior
        self.fit_intercept = fit_intercept
        self.coef_scale = coef_scale
        self.intercept_scale = intercept_scale
        self.noise_prior = noise_prior
        self.noise_scale = noise_scale
        self.standardize = standardize
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            On bad input; nothing has changed then.
        """
        return self._learn(X, y, sample_weight, reset=True)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more rows; the first call starts afresh.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            As in :meth:`fit`, and if parameters have changed since the first call.
        """
        return self._learn(X, y, sample_weight, reset=not self.__sklearn_is_fitted__())

    def _learn(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Self:
        with all_or_nothing(self):
            parameters = settings(self)
            if not reset:
                refuse_changes(self._settings, parameters)
            rows = self._rows(X, y, sample_weight, reset)
            if reset:
                self._settings, self._rng = parameters, generator(self.random_state)
                self._units = self._units_of(rows)
                self._model = linear_model(self, self.n_features_in_, self._units)
                self._always, self._groups = self._resolved()
                self._sums, self.n_samples_seen_, self.data_fingerprint_ = None, 0, 0
            new = self._model.sums(rows if self._units is None else self._units.rows(rows))
            self._sums = new if self._sums is None else self._sums.plus(new)
            self.n_samples_seen_ += len(rows)
            assert rows.y is not None
            self.data_fingerprint_ = fingerprint(rows.y, rows.weight, self.data_fingerprint_)
            self._weighed = Weighed()
        return self

    def _units_of(self, rows: Rows) -> Units | None:
        """Units of the first rows, where the prior is stated in them; the g-prior has no unit."""
        if self.coef_prior == "independent":
            return Units.of_regression(rows, self.fit_intercept) if self.standardize else None
        for name, default in UNUSED_WITH_G.items():
            if getattr(self, name) != default:
                raise ValueError(
                    f'coef_prior="g" has no use for {name} = {getattr(self, name)!r}: it has no scale'
                )
        return None

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Rows:
        """Validated rows of positive weight."""
        refuse_unreadable(X=X, y=y, sample_weight=sample_weight)
        X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, y_numeric=True)
        if y.dtype.kind not in "fiub":
            raise ValueError(f"y must be numbers, got {y.dtype.name}, such as {y[0]!r}")
        y = y.astype(np.float64, copy=False)
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        refuse_extreme(sample_weight=weight)
        if not self.standardize:
            refuse_extreme(X=X, y=y)
        kept = weight > 0
        return Rows(X[kept], y[kept], weight[kept])

    def _resolved(self) -> tuple[list[int], list[list[int]]]:
        """Columns of every model, and those that go in together, by number."""
        names = getattr(self, "feature_names_in_", None)
        p = self.n_features_in_
        always = column_indices(list(self.always), p, names).tolist()
        groups = [column_indices(list(group), p, names).tolist() for group in self.groups or ()]
        used = [*always, *(j for group in groups for j in group)]
        if twice := sorted({j for j in used if used.count(j) > 1}):
            raise ValueError(f"columns {twice[:5]} are in two of always and groups")
        if not all(groups):
            raise ValueError("a group has no columns")
        alone = sorted(set(range(p)) - set(used))
        return always, sorted([*groups, *([j] for j in alone)])
