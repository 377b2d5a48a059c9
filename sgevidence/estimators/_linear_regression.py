"""Bayesian linear regression with a running log evidence."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from .._compat import Interval, StrOptions
from ..effects import EffectsModel
from ..history import Rows
from ..models import LinearModel
from ..rows import at_once, check_prior_pair
from ..samplers import SGAIS, Exact
from ..units import Fold, Units
from ._documentation import documented
from ._lazy import by_parts
from ._linear_predictor import KnownOrUnknownNoise, LinearPredictor
from ._response import response_in
from ._terms import TERM_CONSTRAINTS, effects_model, response_made

#: Parameters that state the noise; at most one of them may be given.
NOISE = ("noise_std", "noise_prior", "noise_scale")


@documented
class BayesianLinearRegression(KnownOrUnknownNoise, RegressorMixin, LinearPredictor):
    """Linear regression y ~ N(w·x + b, σ²) whose log evidence grows with every chunk of rows.

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
        :class:`Group`, :class:`Factor`, :class:`Smooth` and :class:`Interaction` terms, beside the linear
        effects of the columns that no group and no factor names.  Columns of levels may be strings.
    formula : str or None, default=None
        Columns and terms of a data frame, such as ``"y ~ age + region + (1 + days | subject) + s(speed)"``.
        Columns of strings are factors, and ``fit(frame)`` finds y.  It needs ``formulae``
        (``pip install formulae``).
    noise : str or None, default=None
        Columns, factors, products and curves on which σ depends, beside a ``formula``: ``noise="~ group"``.
        Coefficients are N(0, coef_scale²), nats of log σ for a standard deviation of a column, and levels of
        a factor differ by N(0, effect_scale²).  The prior of σ is that of rows whose columns have their
        means, as ``noise_std_`` is.  The evidence is no longer exact.
    fit_intercept : bool, default=True
    coef_scale : float, default=1.0
        Prior standard deviation of a coefficient: with ``standardize=True`` standard deviations of y for
        one of the column.
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
        has 4 % below a twentieth of its scale and a heavy tail: InvGamma(1, 1) all but excludes σ < 0.1.
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
    ``sample_weight`` multiplies a row's log-likelihood and means repetition.  Rows of weight zero
    are dropped.  ``fit`` on an array equals ``partial_fit`` on it with the same seed, bit for bit.

    References
    ----------
    S. A. Cameron, H. C. Eggers, S. Kroon (2019), Entropy 21, 1109; J. N. Rouder, R. D. Morey, P. L. Speckman,
    J. M. Province (2012), Default Bayes factors for ANOVA designs, J. of Mathematical Psychology 56, 356.

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

    @by_parts
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Posterior predictive mean, averaged over particles; of ``log(y) ~ …`` the median of y.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the predictive standard deviation, noise included; not of ``log(y) ~ …``.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if ``return_std``.
        """
        X, cloud = self._validate_X(X), (self.particles_, self.particle_weights_)
        mean = self._decode(self._model.predictive_mean(*cloud, X))
        self._refuse_moments(return_std)
        if not return_std:
            return mean
        std = self._model.predictive_std(*cloud, X)
        return mean, std * self._unit_of_y

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

    def _decode(self, y: np.ndarray) -> np.ndarray:
        return y if self._units is None else self._units.restored_y(y)


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
    prior, noise_std = parameters.noise_prior, parameters.noise_std
    return LinearModel(
        n_features=n_features,
        fit_intercept=getattr(parameters, "_wants_intercept", parameters.fit_intercept),
        coef_scale=parameters.coef_scale,
        intercept_scale=1.0 if parameters.intercept_scale is None else parameters.intercept_scale,
        noise_std=noise_std if noise_std is None or units is None else noise_std / units.y_scale,
        noise_prior=None if prior is None else check_prior_pair(prior, "noise_prior"),
        noise_scale=1.0 if parameters.noise_scale is None else float(parameters.noise_scale),
    )
