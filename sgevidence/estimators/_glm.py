"""Bayesian generalised linear regression with a running log evidence."""

from numbers import Integral
from typing import Any, Self

from sklearn.utils.metaestimators import available_if

from .._compat import Interval, StrOptions, fit_context
from ..models import FAMILIES, MAX_PIECES, Family
from ..rows import with_known
from ..units import Units
from ._calls import learns_online
from ._documentation import documented
from ._glm_predictions import GLMPredictions
from ._linear_predictor import LinearPredictor
from ._response import refuse_known_std
from ._terms import TERM_CONSTRAINTS


@documented
class BayesianGLM(GLMPredictions):
    """Regression y ~ family(η), η = w·x + b + offset, with a log evidence that each chunk of rows updates.

    The priors are w_j ~ N(0, coef_scale²) and b − b₀ ~ N(0, intercept_scale²).  b₀ is the link of the mean of
    the first call, half a count added, so that the unit of the exposure cancels in every Bayes factor.  For
    times, b₀ = log(sum of the times / (number of events + 1/2)).  With ``standardize=False``, b₀ = 0.
    Parameters that a family has in addition to η have the priors below, independent of w and b.

    Parameters
    ----------
    family : str, Family or None, default=None
        None: ``"poisson"`` if y are counts, whole numbers from zero of which one exceeds 1; any other y
        raises a ValueError that names the families that suit it.  Or one of

        * ``"gaussian"``: y ~ N(η, σ²), σ ~ half-Student-t(3);
        * ``"student_t"``: y = η + σ t(ν), σ ~ half-Student-t(3), ν ~ Gamma(2, rate 0.1);
        * ``"bernoulli"``: two classes, p = 1 / (1 + e^(−η)); a classifier;
        * ``"binomial"``: successes among ``trials``, p = 1 / (1 + e^(−η));
        * ``"poisson"``: counts of mean e^η;
        * ``"negative_binomial"``: counts of mean μ = e^η and variance μ + α μ², α ~ Exp(1);
        * ``"gamma"``: positive numbers of mean e^η and variance e^(2η) / k, k ~ Exp(1);
        * ``"zero_inflated_poisson"``, ``"zero_inflated_negative_binomial"``: counts, of which a share is zero
          whatever the rate; share ~ U(0, 1);
        * ``"hurdle_poisson"``, ``"hurdle_negative_binomial"``: counts that are zero with probability share ~
          U(0, 1), and others that are Poisson, or negative binomial, without zero;
        * ``"beta"``: shares between 0 and 1 of mean 1 / (1 + e^(−η)) and precision φ, 1/√(1 + φ) ~ U(0, 1);
        * ``"zero_one_beta"``: shares that are exactly 0 or 1 with a probability ~ U(0, 1), of these 1 with a
          probability ~ U(0, 1), and otherwise ``"beta"``;
        * ``"ordinal"``: levels in their order, P(y ≤ k) = 1 / (1 + e^(η − c_k)); a classifier.  Probabilities
          of the levels at η = 0 are uniform, Dirichlet(1), and there is no intercept;
        * ``"weibull"``, ``"lognormal"``, ``"loglogistic"``: times with log t = η + σ ε, σ ~
          half-Student-t(3); the shape of a Weibull is 1/σ;
        * ``"exponential"``: times with σ = 1, of mean e^η;
        * ``"piecewise_exponential"``: times with hazard e^(−η) λ_k in piece k, log λ_k ~ N(0, 1), between
          ``breaks``; e^(−w) is the hazard ratio of a Cox model;

        or an object of :mod:`sgevidence.models` with another link or prior, such as
        ``Bernoulli(link="probit")`` or ``NegativeBinomial(dispersion=scipy.stats.expon(scale=0.1))``.
    breaks : int, array-like or None, default=None
        Times at which the hazard of ``"piecewise_exponential"`` changes, or the number of its pieces, which
        then have equal numbers of events.  None: 5 pieces.
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
        Formula of log σ of ``"gaussian"`` and ``"student_t"``, such as ``noise="~ group"``, with one curve
        ``s(x, k=10)`` at most, in addition to a ``formula`` of the mean, as in
        :class:`BayesianLinearRegression`.
    zeros : str or None, default=None
        Formula, as ``noise``, of the logit of the share of zeros in zero-inflated and hurdle families.
    fit_intercept : bool, default=True
    coef_scale : float, default=1.0
        Prior standard deviation of a coefficient.  Factors, groups and curves have ``effect_scale``.
    effect_scale : float, default=1.0
        Prior scale of the effects of terms that have no ``scale`` of their own, in units of the linear
        predictor: two levels of a factor differ by N(0, effect_scale²), and standard deviations of groups and
        curves are half-Student-t(3, effect_scale).
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
    classes_ : ndarray of shape (n_classes,)
        Labels of ``"bernoulli"``, the second of which has probability p, or levels of ``"ordinal"``.
    {attributes of every estimator}

    See Also
    --------
    BayesianLinearRegression : Gaussian noise with an exact evidence.
    BayesianSoftmaxRegression : Any number of classes.

    Notes
    -----
    Times, numbers (``"gaussian"``, ``"student_t"``) and counts may be censored: give ``event``,
    or y with two columns of bounds.  An exact y contributes its density to the evidence, a censored one the
    probability of its interval.  ``entry`` is the value below which a row would not have been observed (left
    truncation).

    For a rate per exposure, ``offset`` is the logarithm of the exposure.  ``posterior_samples`` has the
    family's own parameters by name, such as ``dispersion``.

    The evidence comes from importance sampling with a Gaussian or Student t at the mode of the posterior; if
    that is too far from the posterior, or there is another mode, from annealing.  A softmax regression of two
    classes is the same model if its scales are smaller by √½.

    References
    ----------
    P. McCullagh, J. A. Nelder (1989), Generalized Linear Models, 2nd ed.; J. D. Kalbfleisch, R. L. Prentice
    (2002), The Statistical Analysis of Failure Time Data, 2nd ed.; J. P. Klein, M. L. Moeschberger (2003),
    Survival Analysis, 2nd ed.; D. Lambert (1992), Zero-inflated Poisson
    regression, Technometrics 34, 1; M. A. Juárez, M. F. J. Steel (2010), Model-based clustering of
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

    _parameter_constraints: dict = {
        **LinearPredictor._parameter_constraints,
        **TERM_CONSTRAINTS,
        "zeros": [str, None],
        "family": [StrOptions(set(FAMILIES)), Family, None],
        "breaks": [Interval(Integral, 1, MAX_PIECES, closed="both"), "array-like", None],
    }

    def __init__(
        self,
        family: Any = None,
        *,
        breaks: Any = None,
        columns: Any = None,
        terms: Any = None,
        formula: str | None = None,
        noise: str | None = None,
        zeros: str | None = None,
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
        self.family = family
        self.breaks = breaks
        self.columns = columns
        self.terms = terms
        self.formula = formula
        self.noise = noise
        self.zeros = zeros
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

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        trials: Any = None,
        event: Any = None,
        entry: Any = None,
        classes: Any = None,
        known_std: Any = None,
    ) -> Self:
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowSource or Dask collection
        y : array-like of shape (n_samples,) or (n_samples, 2)
            Values that the family can have; for ``"bernoulli"`` labels of two classes.  Two columns are a
            lower and an upper bound: equal where y is exact, −inf, inf or nan where there is no bound; for
            counts both ends are included.  Rows without any bound carry no information and are left out.  y
            may also be a structured array of scikit-survival, and a formula may begin with
            ``Surv(time, dead) ~``.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        offset : float or array-like of shape (n_samples,), optional
            Added to the linear predictor; zero by default.  If the first call has an offset, later calls need
            one, too.
        trials : int or array-like of shape (n_samples,), optional
            The family ``"binomial"`` needs them in every call; the other families refuse them.
        event : bool, str or array-like of shape (n_samples,), optional
            True where the event was observed at y, False where y is right-censored: the event came later, or
            the number is at least y.  By default all y are exact.  A string names a column of X, which is
            then no covariate.
        entry : float, str or array-like of shape (n_samples,), optional
            Delayed entry (left truncation): the row was observed only because its y exceeded this value.  A
            string names a column of X. By default no row is truncated.
        classes : array-like of shape (n_classes,), optional
            Levels of ``"ordinal"`` from the lowest to the highest, or both labels of ``"bernoulli"``.  By
            default those of y: numbers in their order, and of strings in that of an ordered pandas
            categorical.
        known_std : None
            Not here: :class:`BayesianLinearRegression` takes rows with standard errors of their own, with the
            same terms and formulas.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            On bad input, such as rows that have no density under the family, if the likelihood vanishes for
            all particles, and if no family is named and y is not of counts; nothing has changed then.
        TypeError
            If ``known_std`` is given.
        DivergenceError
            If the particles leave the finite numbers; nothing has changed then.

        Warns
        -----
        EvidenceWarning
            If y of a family of counts are not whole numbers: then the evidence is not a probability.
        """
        refuse_known_std(known_std)
        rows = with_known(X, offset, trials, event, entry)
        return self._learn(rows, y, sample_weight, reset=True, classes=classes)

    @available_if(learns_online)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        trials: Any = None,
        event: Any = None,
        entry: Any = None,
        classes: Any = None,
        known_std: Any = None,
    ) -> Self:
        """Learn from more rows; the first call starts afresh.  Parameters and errors as in :meth:`fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        offset : float or array-like of shape (n_samples,), optional
        trials : int or array-like of shape (n_samples,), optional
        event : bool, str or array-like of shape (n_samples,), optional
        entry : float, str or array-like of shape (n_samples,), optional
        classes : array-like of shape (n_classes,), optional
            Needed at the first call unless its y has all labels that may come, or they are 0 and 1.
        known_std : None
            Not here, as in :meth:`fit`.

        Returns
        -------
        self : estimator
        """
        refuse_known_std(known_std)
        rows = with_known(X, offset, trials, event, entry)
        return self._learn(rows, y, sample_weight, reset=False, classes=classes)
