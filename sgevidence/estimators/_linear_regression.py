"""Bayesian linear regression with a running log evidence."""

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from .._compat import Interval, StrOptions, fit_context
from ..effects import EffectsModel
from ..history import Rows
from ..models import LinearModel
from ..rows import RowSource, WithKnown, at_once, check_prior_pair, is_dask, with_known
from ..samplers import SGAIS, Exact
from ..units import Fold, Units
from ._calls import learns_online
from ._documentation import documented
from ._folding import by_parts
from ._linear_predictor import KnownOrUnknownNoise, LinearPredictor
from ._response import checked_std, read_names, response_in, sum_beside_weights, with_std
from ._terms import TERM_CONSTRAINTS, effects_model, response_made

#: Parameters that state the noise; at most one of them may be given.
NOISE = ("noise_std", "noise_prior", "noise_scale")


@documented
class BayesianLinearRegression(KnownOrUnknownNoise, RegressorMixin, LinearPredictor):
    """Linear regression y ~ N(w·x + b, σ²) with a log evidence that every chunk of rows updates.

    The priors are w_j ~ N(0, coef_scale²), b ~ N(0, intercept_scale²) and, if σ is unknown,
    σ ~ half-Student-t(3, noise_scale) or σ² ~ InvGamma(noise_prior), independent of w (journal paper,
    App. B.1, where σ is known).  The evidence is exact, in streams, too.

    Parameters
    ----------
    noise_std : float or None, default=None
        Known σ, in the unit of y; None: unknown, inferred with the others.
    columns : array-like or None, default=None
        Names or indices of the columns of X that the model uses, or a mask; None is all.  ``[]`` is the null
        model, the intercept alone.  Models of the same X that differ in ``columns`` can be compared.
    terms : list or None, default=None
        :class:`Group`, :class:`Factor`, :class:`Smooth` and :class:`Interaction` terms, in addition to the
        linear effects of the columns.  A column whose levels a group or a factor uses has no linear effect,
        and may hold strings.
    formula : str or None, default=None
        Columns and terms of a data frame, such as ``"y ~ age + region + (1 + days | subject) + s(speed)"``.
        Columns of strings are factors, and ``fit(frame)`` finds y; ``"~ age"`` needs ``fit(frame, y)``.
        Knots and polynomials are those of the rows of the first call, also of a stream.  It needs
        the package formulae.
    noise : str or None, default=None
        Formula of log σ, such as ``noise="~ group"``, in addition to a ``formula`` of the mean: columns,
        factors, products and curves.  A change of a column by its standard deviation changes log σ by N(0,
        coef_scale²), and two levels of a factor differ by N(0, effect_scale²).  The prior of σ, and
        ``noise_std_``, are for a row whose columns have their mean values.  The evidence is no longer exact.
    fit_intercept : bool, default=True
    coef_scale : float, default=1.0
        Prior standard deviation of a coefficient; with ``standardize=True`` in standard deviations of y per
        standard deviation of the column.  Factors, groups and curves have ``effect_scale``.
    effect_scale : float, default=1.0
        Prior scale of the effects of terms that have no ``scale`` of their own, in units of the linear
        predictor: two levels of a factor differ by N(0, effect_scale²), and standard deviations of groups and
        curves are half-Student-t(3, effect_scale).
    intercept_scale : float or None, default=None
        Prior standard deviation of the intercept; None: 1.
    prior : {"normal", "jzs"}, default="normal"
        ``"jzs"``: effects in units of σ under Cauchy-like priors, μ and log σ flat, as in R's BayesFactor
        (Rouder et al. 2012).  Every term has a scale of its own, g ~ InvGamma(½, r²/2): r is √2/4 for the
        covariates together, ½ for factors and their interactions, and ``scale``, 1, for each effect of a
        group, which are independent, and for a curve.  ``log_evidence_`` is then a log Bayes factor against
        the mean alone, and is compared with others of its kind only.
    noise_prior : tuple of two floats or None, default=None
        Shape and scale of an inverse gamma prior of σ².  None: σ ~ half-Student-t(3, ``noise_scale``), which
        has a heavy tail, and 4 % of its mass below a twentieth of its scale; InvGamma(1, 1) nearly excludes σ
        < 0.1.
    noise_scale : float or None, default=None
        Scale of that half-Student-t; None: 1, which suits a standardised y.  The prior ends at 10⁻³⁰ scales,
        so that rows that lie on a plane exactly have a finite evidence, too.  At most one of ``noise_std``,
        ``noise_prior`` and ``noise_scale`` may be given.
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
    noise_std_ : float
        Posterior mean of σ, or the known σ.
    evidence_is_relative_ : bool
        With ``prior="jzs"``: ``log_evidence_`` is relative to the mean alone.
    {attributes of every estimator}

    See Also
    --------
    BayesianSoftmaxRegression : The same for classes.
    EvidenceModelAverager : Combine models by their evidence.

    Notes
    -----
    ``sample_weight`` multiplies a row's log-likelihood: the row counts that many times.  Rows of
    weight zero are dropped.  With ``known_std`` of ``fit``, y_i ~ N(w·x_i + b, s_i²) without other noise.
    This is a meta-analysis with a common effect or, with a group that has one level per row, with random
    effects.  ``fit`` on an array equals ``partial_fit`` on it with the same seed, bit for bit.

    References
    ----------
    S. A. Cameron, H. C. Eggers, S. Kroon (2019), Entropy 21, 1109; J. N. Rouder, R. D. Morey, P. L. Speckman,
    J. M. Province (2012), Default Bayes factors for ANOVA designs, J. of Mathematical Psychology 56, 356.
    L. V. Hedges, J. L. Vevea (1998), Fixed- and random-effects models in meta-analysis, Psychological Methods
    3, 486.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sgevidence import BayesianLinearRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BayesianLinearRegression(random_state=0)
    >>> for chunk in range(0, 442, 100):
    ...     model = model.partial_fit(X[chunk : chunk + 100], y[chunk : chunk + 100])
    >>> abs(model.log_evidence_ + 2423) < 4
    True
    >>> model.coef_.shape
    (10,)
    """

    _model: LinearModel | EffectsModel

    _parameter_constraints: dict = {
        **LinearPredictor._parameter_constraints,
        **TERM_CONSTRAINTS,
        "prior": [StrOptions({"normal", "jzs"})],
        "noise_std": [Interval(Real, 0, None, closed="neither"), None],
        "noise_prior": [tuple, list, None],
        "noise_scale": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        noise_std: float | None = None,
        *,
        columns: Any = None,
        terms: Any = None,
        formula: str | None = None,
        noise: str | None = None,
        fit_intercept: bool = True,
        coef_scale: float = 1.0,
        effect_scale: float = 1.0,
        intercept_scale: float | None = None,
        prior: str = "normal",
        noise_prior: tuple[float, float] | None = None,
        noise_scale: float | None = None,
        standardize: bool = True,
        units: Units | None = None,
        sampler: Any = None,
        random_state: Any = None,
        verbose: bool | int = False,
        n_jobs: int | None = None,
    ) -> None:
        self.noise_std = noise_std
        self.columns = columns
        self.terms = terms
        self.formula = formula
        self.noise = noise
        self.fit_intercept = fit_intercept
        self.coef_scale = coef_scale
        self.effect_scale = effect_scale
        self.intercept_scale = intercept_scale
        self.prior = prior
        self.noise_prior = noise_prior
        self.noise_scale = noise_scale
        self.standardize = standardize
        self.units = units
        self.sampler = sampler
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, known_std: Any = None) -> Self:
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowSource or Dask collection
        y : array-like of shape (n_samples,), optional
            None if X is a :class:`RowSource`, or a frame that has the response of the formula.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        known_std : float, str or array-like of shape (n_samples,), optional
            Standard error of each y, in its unit (of ``log(y) ~ …`` in that of log y), as studies of a
            meta-analysis report it; or the name of a column of X, which is no covariate then.  By default
            all rows share one noise.  In the place of ``sample_weight`` and of the parameters of the noise.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            On bad input, and if the likelihood vanishes for all particles; nothing has changed then.
        TypeError
            For ``known_std`` of rows in files or in Dask collections.
        DivergenceError
            If the particles leave the finite numbers; nothing has changed then.
        """
        return self._learn(with_std(X, known_std), y, sample_weight, reset=True)

    @available_if(learns_online)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, known_std: Any = None) -> Self:
        """Learn from more rows; the first call starts afresh.  Parameters and errors as in :meth:`fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowSource or Dask collection
        y : array-like of shape (n_samples,), optional
        sample_weight : array-like of shape (n_samples,), optional
        known_std : float, str or array-like of shape (n_samples,), optional
            In every call, or in none.

        Returns
        -------
        self : estimator

        Notes
        -----
        After a call of fewer rows than parameters the evidence is made, with its warnings, when it is read.
        """
        return self._learn(with_std(X, known_std), y, sample_weight, reset=False)

    @by_parts
    def predict(self, X: Any, return_std: bool = False, known_std: Any = None) -> Any:
        """Posterior predictive mean, averaged over particles; of ``log(y) ~ …`` the median of y.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the predictive standard deviation, noise included; not of ``log(y) ~ …``.
        known_std : float, str or array-like of shape (n_samples,), optional
            Standard errors of these rows, which ``return_std=True`` needs where ``fit`` was given some; 0 for
            the standard deviation of the effect itself.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if ``return_std``.
        """
        known, _ = read_names(WithKnown(X, known_std=known_std))
        X = self._validate_X(X)
        cloud = self.particles_, self.particle_weights_
        mean = self._decode(self._model.predictive_mean(*cloud, X))
        self._refuse_moments(return_std and known.known_std is None)
        super()._refuse_moments(return_std)
        if known.known_std is not None and self._std_unit is None:
            raise ValueError("the rows of fit came without known_std=, and share a noise: leave it out here")
        if not return_std:
            return mean
        std = self._model.predictive_std(*cloud, X) * self._unit_of_y
        if known.known_std is None or self._std_unit is None:
            return mean, std
        effect = np.sqrt(np.maximum(std**2 - self._std_unit**2, 0.0))
        return mean, np.hypot(effect, checked_std(known.known_std, X, least=0.0))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draws from the posterior predictive distribution; not with ``known_std`` of ``fit``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None
            By default the estimator's own.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            Each entry from a particle of its own.
        """
        self._refuse_new_noise()
        return super().sample_y(X, n_samples, random_state)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R² of :meth:`predict`.

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
        return super().score(X, response_in(self, X, y), sample_weight)

    @property
    def evidence_is_relative_(self) -> bool:  # type: ignore[override]
        """Whether ``log_evidence_`` is relative to the mean alone."""
        return self.prior == "jzs"

    def _prior_notes(self) -> list[str]:
        if not self.evidence_is_relative_:
            return super()._prior_notes()
        return self._said("JZS, effects in units of σ; log evidence relative to the mean alone")

    def _sampler(self) -> Any:
        found = super()._sampler()
        is_closed = isinstance(found, Exact) or (isinstance(found, SGAIS) and found.proposal is not None)
        if self.evidence_is_relative_ and not is_closed:
            raise TypeError(
                "prior='jzs' is improper, and has a closed form: leave sampler= as it is, or Exact()"
            )
        return found

    # -- rows with standard errors of their own ---------------------------------------------------

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, classes: Any = None) -> Self:
        known = with_known(X)
        if known.known_std is not None and (isinstance(known.X, RowSource) or is_dask(known.X)):
            raise TypeError("known_std= is of rows in arrays and frames, not of files and Dask collections")
        return super()._learn(X, y, sample_weight, reset=reset, classes=classes)

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> Rows:
        """A row of standard error s counts (s₀/s)² times beside a noise of s₀, as far as θ is concerned.

        s₀ is a power of two near those of the first call, so that weights are about one whatever the unit.
        """
        known, names = read_names(with_known(X))
        if reset:
            self._std_unit, self._named_columns = None, names
        elif (known.known_std is None) != (self._std_unit is None):
            raise ValueError("known_std= is of all rows or of none, and the first call decides")
        if known.known_std is not None:
            self._refuse_beside_std(sample_weight)
            std = checked_std(known.known_std, known.X if y is None else y)
            if self._std_unit is None:
                self._std_unit = float(2.0 ** np.round(np.mean(np.log2(std))))
            sample_weight = (self._std_unit / std) ** 2
        return super()._rows(self._without_named(known.X), y, sample_weight, reset, classes)

    def _refuse_beside_std(self, sample_weight: Any) -> None:
        """ValueError for what says the noise in another way."""
        given = [name for name in (*NOISE, "noise") if getattr(self, name) is not None]
        given += ["prior='jzs'"] * self.evidence_is_relative_ + ["sample_weight"] * (
            sample_weight is not None
        )
        if given:
            raise ValueError(f"known_std= says the noise of each row: leave out {', '.join(given)}")

    def _counts(self, rows: Rows) -> np.ndarray:
        return rows.weight if self._std_unit is None else np.ones(len(rows))

    @property
    def _beside_model(self) -> Callable[[Rows], float] | None:
        if self._std_unit is None:
            return super()._beside_model
        return partial(sum_beside_weights, self._units, self._std_unit)

    def _columns_of(self, X: Any) -> np.ndarray:
        return super()._columns_of(self._without_named(X))

    def _rows_to_score(self, X: Any, y: Any = None) -> Rows:
        self._refuse_new_noise()
        return super()._rows_to_score(X, y)

    def _refuse_moments(self, are_asked_for: bool) -> None:
        if are_asked_for:
            self._refuse_new_noise()
        super()._refuse_moments(are_asked_for)

    def _refuse_new_noise(self) -> None:
        """ValueError for densities and draws of new rows, whose standard errors nobody has said."""
        if self._std_unit is not None:
            raise ValueError(
                "rows were fitted with known_std=, and the noise of new rows is not known: "
                "predict(X, return_std=True, known_std=...) takes it, with 0 for the effect itself"
            )

    @property
    def _not_replicated(self) -> str | None:  # type: ignore[override]
        return None if self._std_unit is None else "rows with known_std= are not replicated"

    @property
    def noise_std_(self) -> float:
        """Posterior mean of σ, or the known σ."""
        if self._std_unit is not None:
            raise AttributeError("rows were fitted with known_std= of their own, and share no noise_std_")
        return super().noise_std_

    def _parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        named = super()._parameters(theta)
        return named if self._std_unit is None else {k: v for k, v in named.items() if k != "noise_std"}

    def _prior_conflict(self, rows: Rows) -> str | None:
        return None if self.evidence_is_relative_ else super()._prior_conflict(rows)

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
        return self._validate_pair(X, y, reset, y_numeric=True)

    def _encode(self, y: Any, reset: bool, classes: Any) -> np.ndarray:
        return y.astype(np.float64, copy=False)

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> LinearModel | EffectsModel:
        linear = linear_model(self, len(self.columns_), self._units)
        return effects_model(self, linear, False) if self._has_terms else linear

    def _units_of(self, rows: Rows, fold: Fold | None = None) -> Units:
        return Units.of_regression(rows, self._wants_intercept, fold=fold, response=response_made(self))

    _kind = "numbers"


def linear_model(parameters: Any, n_features: int, units: Units | None = None) -> LinearModel:
    """The model of an estimator that has the parameters of :class:`BayesianLinearRegression`.

    A known noise is in the unit of y; ``units`` are those of the rows that the model sees.  ValueError if the
    noise is stated twice.
    """
    given = [name for name in NOISE if getattr(parameters, name) is not None]
    if getattr(parameters, "evidence_is_relative_", False):
        given += ["intercept_scale"] * (parameters.intercept_scale is not None)
        given += [name for name in ("coef_scale", "effect_scale") if getattr(parameters, name, 1.0) != 1.0]
        if given:
            raise ValueError(f"prior='jzs' has scales of its own: leave out {', '.join(given)}")
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} are given, but only one of {', '.join(NOISE)} can hold")
    prior, noise_std = parameters.noise_prior, parameters.noise_std or getattr(parameters, "_std_unit", None)
    return LinearModel(
        n_features=n_features,
        fit_intercept=getattr(parameters, "_wants_intercept", parameters.fit_intercept),
        coef_scale=parameters.coef_scale,
        intercept_scale=1.0 if parameters.intercept_scale is None else parameters.intercept_scale,
        noise_std=noise_std if noise_std is None or units is None else noise_std / units.y_scale,
        noise_prior=None if prior is None else check_prior_pair(prior, "noise_prior"),
        noise_scale=1.0 if parameters.noise_scale is None else float(parameters.noise_scale),
    )
