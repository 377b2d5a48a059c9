"""Which columns belong into a linear regression: the posterior over all subsets."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from .._compat import HasMethods, Interval, StrOptions, fit_context
from ..estimators import documented
from ..units import Units
from ._answers import SubsetAnswers, given_of
from ._learning import SubsetLearning


def _keeps_sums(self: "EvidenceFeatureSelector") -> bool:
    if self.estimator is None:
        return True
    raise AttributeError(
        f"with estimator={type(self.estimator).__name__}() there is no partial_fit: the posterior of each "
        "subset follows from all rows, and not from sums of them; fit all rows at once"
    )


@documented
class EvidenceFeatureSelector(SubsetLearning, SubsetAnswers, SelectorMixin, RegressorMixin, BaseEstimator):
    """Selects columns of a regression by the evidence of all subsets, and predicts with their average.

    Each subset of the columns is the model of :class:`BayesianLinearRegression`, or of ``estimator``, with
    these ``columns``; the null model, the intercept alone, is among them.  To 20 columns (or groups) all
    subsets are enumerated, to 10 with an ``estimator``; beyond, two chains over subsets are run until they
    agree.

    Parameters
    ----------
    estimator : BayesianGLM, BayesianSoftmaxRegression or None, default=None
        The regression of counts, classes or another family on all columns; None: the linear one.
        Its own parameters say what the priors are, so that ``noise_std``, ``coef_prior``, ``coef_scale``,
        ``standardize`` and the like stay as they are by default.
    noise_std : float or None, default=None
        Known σ; None: unknown.
    always : array-like, default=()
        Names or indices of columns that are in every model.
    groups : sequence of array-likes or None, default=None
        Names or indices of columns that enter a model together, such as those of one factor.  A column that
        is in none of the groups enters alone; None: every column enters alone.
    coef_prior : {"independent", "g", "hyper-g", "unit-information", "bric"}, default="independent"
        "independent": each coefficient has the prior of :class:`BayesianLinearRegression`.  The others are
        g-priors, Gaussian or a mixture of Gaussians in the shape of the columns' own covariance, with flat
        priors of the intercept and of log σ (Liang et al. 2008).  "g": Zellner and Siow's, a Cauchy
        distribution (g ~ InvGamma(1/2, n r²/2) with r = ``rscale``); "hyper-g": p(g) ∝ (1 + g)^(−3/2);
        "unit-information": g = n, worth one row; "bric": g = max(n, p²) (Fernández, Ley and Steel 2001).
        They do not depend on the units of columns and y.  All log evidences are then relative to the null
        model, since flat priors have no constant, and cannot be compared with those of other models.
    rscale : float or {"medium", "wide", "ultrawide"}, default=1.0
        Scale r of ``coef_prior="g"``: 1 is Zellner and Siow's own; the words are those of ``regressionBF`` of
        the R package BayesFactor, √2/4 (its default), 1/2 and √2/2.
    size_prior : {"beta-binomial", "uniform"}, default="beta-binomial"
        Prior of subsets: "beta-binomial" gives each number of columns (or groups) the same probability, and
        shares it among the subsets of that size, which allows for having looked at many columns (Scott and
        Berger 2010); "uniform" gives all subsets the same probability, and so expects half of the columns.
    fit_intercept : bool, default=True
    coef_scale : float, default=1.0
        Prior standard deviation of a coefficient, as in :class:`BayesianLinearRegression`.
    intercept_scale : float or None, default=None
        Prior standard deviation of the intercept; None: 1.
    noise_prior : tuple of two floats or None, default=None
        Shape and scale of an inverse gamma prior of σ².
    noise_scale : float or None, default=None
        Scale of the half-Student-t prior of σ; None: 1.  At most one of ``noise_std``, ``noise_prior`` and
        ``noise_scale`` may be given.
    tolerance : float, default=0.03
        With an ``estimator``: standard error of the log evidence, nats, at which no more subsets are weighed
        by draws, and to which each of them is.  Where it is not reached by 64 of them,
        ``log_evidence_std_`` says so.  Linear regressions are exact.
    {units}
        With an ``estimator`` its own parameters say so.
    random_state : int, RandomState instance or None, default=None
        Random numbers of the chains over subsets, where there are many columns.  With an ``estimator`` the
        seeds of its draws, too; if None, each subset has the ``random_state`` of the estimator.
    verbose : bool or int, default=False
        Print how far the search and the draws are, every two seconds at most.  An interrupt (Ctrl-C) leaves
        the selector as it was before the call.

    Attributes
    ----------
    inclusion_probabilities_ : ndarray of shape (n_features,)
        Posterior probability that a column is in the model.
    models_ : DataFrame, or Table where pandas is not installed
        The best subsets, at most 100, with the columns that :func:`compare` has, and ``columns`` (names or
        indices, as ``BayesianLinearRegression`` takes them), ``size``, ``log_prior`` (nats).  ``report()`` is
        that of a comparison, for a paper.
    log_evidence_, log_evidence_std_ : float
        Log evidence of the average over subsets, in nats; the standard error is 0 where all linear
        regressions are enumerated.  With a g-prior it is relative to the null model, as those of
        ``models_``.
    evidence_is_relative_ : bool
        Whether ``log_evidence_`` is relative to the null model.
    coef_, coef_std_ : ndarray of shape (n_features,), or (n_classes, n_features) of a softmax
        Mean and standard deviation of the coefficients, which are 0 where a column is not in the model.
    intercept_ : float, or ndarray of shape (n_classes,)
        Posterior mean.
    noise_std_ : float
        Posterior mean; only of linear regressions.
    classes_ : ndarray of shape (n_classes,)
        Only of classifiers.
    units_ : Units
        Units in which the priors are stated, those of the ``estimator`` if there is one; there are none with
        ``standardize=False``, nor with ``coef_prior="g"``.
    n_samples_seen_ : int

    Warns
    -----
    EvidenceWarning
        When an answer is first asked for: if the chains differ by more than 0.05 in an inclusion probability,
        if columns are collinear beyond double precision, or if prior and data contradict each other.  With an
        ``estimator`` in ``fit``: if the errors of the evidences leave more than 0.05 of an inclusion
        probability open, or if the draws that carry the probability are in doubt.

    See Also
    --------
    BayesianLinearRegression : One subset.
    EvidenceModelAverager : Averages models of any kind, in a list.

    Notes
    -----
    ``partial_fit`` keeps the triangular factor of [1, X, y], so that a stream gives what one ``fit`` gives.
    Subsets are weighed when an attribute or a method asks for them, not at
    each call of a stream.  ``sample_weight`` multiplies a row's log-likelihood and means repetition.

    With an ``estimator`` Laplace's approximation of the evidences, some Newton steps each, leads the search.
    Chains over many columns of a log-concave family draw where to go next by the Hessian of all columns at
    the mode of the subset where they are, and accept by Laplace's evidence of the next.  The most probable
    subsets are then weighed by draws: around their modes where the posterior is log-concave, which takes
    milliseconds, or by the sampler of the estimator on these columns, hundredths of a second.  More are drawn
    until the error of the log evidence is below the tolerance, 1 % of the probability is left, or the 64 that
    are weighed at most would take little of what is left.  The differences between these and Laplace's
    evidences correct the other subsets, and correction and scatter are the error of those.  All is done in
    ``fit``.  A null model needs a parameter: an intercept, or a column in ``always``.

    ``transform`` and ``get_support`` keep the columns whose inclusion probability is at least one half, the
    median probability model, which under conditions predicts best among single models (Barbieri and Berger
    2004); ``predict`` averages over the subsets with all but 10⁻¹⁰ of the probability, 2000 at most; with an
    ``estimator`` over 2000 draws from those that were weighed.

    References
    ----------
    D. Madigan, J. York (1995), International Statistical Review 63, 215.
    A. Zellner, A. Siow (1980), in: Bayesian Statistics, Valencia, 585.
    C. Fernández, E. Ley, M. F. J. Steel (2001), Journal of Econometrics 100, 381.
    M. M. Barbieri, J. O. Berger (2004), Annals of Statistics 32, 870.
    F. Liang, R. Paulo, G. Molina, M. A. Clyde, J. O. Berger (2008), Journal of the American Statistical
    Association 103, 410.
    J. G. Scott, J. O. Berger (2010), Annals of Statistics 38, 2587.
    M. A. Clyde, J. Ghosh, M. L. Littman (2011), Journal of Computational and Graphical Statistics 20, 80.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sgevidence import EvidenceFeatureSelector
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = EvidenceFeatureSelector().fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [1, 2, 3, 4, 5, 8]
    >>> selector.inclusion_probabilities_.round(2)[:4].tolist()
    [0.07, 0.99, 1.0, 1.0]

    Counts, with the family that says so:

    >>> import numpy as np
    >>> from sgevidence import BayesianGLM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 3))
    >>> y = rng.poisson(np.exp(0.5 + 0.6 * X[:, 1]))
    >>> counts = EvidenceFeatureSelector(BayesianGLM("poisson"), random_state=0).fit(X, y)
    >>> counts.get_support().tolist()
    [False, True, False]
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "noise_std": [Interval(Real, 0, None, closed="neither"), None],
        "always": ["array-like"],
        "groups": [list, tuple, None],
        "coef_prior": [StrOptions({"independent", "g", "hyper-g", "unit-information", "bric"})],
        "rscale": [Real, str],
        "size_prior": [StrOptions({"beta-binomial", "uniform"})],
        "fit_intercept": ["boolean"],
        "coef_scale": [Interval(Real, 0, None, closed="neither")],
        "intercept_scale": [Interval(Real, 0, None, closed="neither"), None],
        "noise_prior": [tuple, list, None],
        "noise_scale": [Interval(Real, 0, None, closed="neither"), None],
        "tolerance": [Interval(Real, 0, None, closed="neither")],
        "standardize": ["boolean"],
        "units": [Units, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        noise_std: float | None = None,
        always: Any = (),
        groups: Sequence[Any] | None = None,
        coef_prior: str = "independent",
        rscale: float | str = 1.0,
        size_prior: str = "beta-binomial",
        fit_intercept: bool = True,
        coef_scale: float = 1.0,
        intercept_scale: float | None = None,
        noise_prior: tuple[float, float] | None = None,
        noise_scale: float | None = None,
        tolerance: float = 0.03,
        standardize: bool = True,
        units: Units | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimator = estimator
        self.noise_std = noise_std
        self.always = always
        self.groups = groups
        self.coef_prior = coef_prior
        self.rscale = rscale
        self.size_prior = size_prior
        self.fit_intercept = fit_intercept
        self.coef_scale = coef_scale
        self.intercept_scale = intercept_scale
        self.noise_prior = noise_prior
        self.noise_scale = noise_scale
        self.tolerance = tolerance
        self.standardize = standardize
        self.units = units
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        trials: Any = None,
        event: Any = None,
        entry: Any = None,
    ) -> Self:
        """Forget what was seen and learn from these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        offset : float or array-like of shape (n_samples,), optional
            Added to the linear predictor of a :class:`BayesianGLM`.
        trials : int or array-like of shape (n_samples,), optional
            The family ``"binomial"`` needs them.
        event : bool or array-like of shape (n_samples,), optional
            False where a time is censored.
        entry : float or array-like of shape (n_samples,), optional
            Rows are there only because y was beyond it.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            On bad input; nothing has changed then.
        """
        known = given_of(offset, trials, event, entry)
        return self._learn(X, y, sample_weight, reset=True, known=known)

    @available_if(_keeps_sums)
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more rows; the first call starts afresh.  Linear regressions only.

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
        return self._learn(X, y, sample_weight, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            child = get_tags(self.estimator)
            tags.estimator_type, tags.target_tags = child.estimator_type, child.target_tags
            tags.classifier_tags, tags.regressor_tags = child.classifier_tags, child.regressor_tags
        return tags
