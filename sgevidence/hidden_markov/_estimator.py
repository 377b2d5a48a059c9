"""Bayesian hidden Markov model with a running log evidence."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from .._compat import Interval, StrOptions, fit_context
from ..estimators import documented, learnt
from ..rows import at_once
from ..units import Units
from ._predictions import refuse_misplaced
from ._rows import GAUSSIANS, EmissionRows


@documented
class BayesianHMM(EmissionRows):
    """Hidden Markov model: a mixture whose components follow each other in time.

    The rows of the transition matrix are Dirichlet(transition_concentration, + stickiness on the diagonal),
    and the rows of a state have the distribution and the priors of a component of :class:`BayesianGMM` or
    :class:`BayesianCategoricalMixture`, or are Poisson counts.  The evidence, of K states, is over all K!
    labellings of the states and over all sequences of states.

    Parameters
    ----------
    n_states : int, default=1
        Number of states K, up to 6.  One state has independent rows: "no regimes".
    emission : {"gaussian", "full", "spherical", "poisson", "categorical"}, default="gaussian"
        Distribution of a row given its state: Gaussian with a variance of each column, with any covariance,
        or with one variance; counts; levels.  Columns are independent given the state, but for "full".
    transition_concentration : float, default=1.0
        Concentration of the Dirichlet priors of the rows of the transition matrix; 1 is uniform.
    stickiness : float, default=0.0
        Added to the concentration of staying in a state: transitions that the prior is worth.
    initial_concentration : float or None, default=None
        Concentration of a Dirichlet prior of the first state of each sequence; None: all states are equally
        likely.
    transitions : str, list of column names or indices, or None, default=None
        Columns of X that move the probabilities of transitions into their row, such as ``"~ rain + wind"`` or
        ``[2, 3]``, by a multinomial logit of up to three states.  The evidence is that of all other columns,
        or of those before the tilde: ``"y ~ rain"`` and ``"y ~ 1"`` compare on one frame.  At the mean of the
        moving columns the transition matrix has its Dirichlet prior.  They do not move the first state of a
        sequence, unless that begins with a row of nan, from which a transition leads into the next.
    transition_coef_scale : float, default=1.0
        Prior standard deviation of their coefficients, one for each state and next state, for a change of a
        column by its standard deviation; a column of two values changes by their distance.
    mean_scale : float, default=2.0
        Prior standard deviation of a mean in units of its state's σ, of Gaussians.
    variance_prior : tuple of two floats, default=(1.0, 1.0)
        Shape and scale of the inverse gamma prior of a variance, of Gaussians.
    rate_prior : tuple of two floats, default=(2.0, 1.0)
        Shape a and rate b of the gamma prior of a Poisson rate, in units of the mean count of the rows of the
        first call, (Σ y + ½)/n, or for counts as given with ``standardize=False``.
    category_concentration : float, default=0.5
        Concentration of the Dirichlet priors of the probabilities of levels; 0.5 is Jeffreys' prior.
    categories : list of array-likes or None, default=None
        Levels of each column of a categorical emission; None: those of the first call.
    condition_on : int, default=0
        Rows at the beginning of each sequence that are left out of evidence and units, so that it is that of
        the rows that an autoregression of ``max_order`` explains.
    tolerance : float, default=0.03
        Error of the log evidence, nats, at which sampling stops; 0.03 is what a Bayes factor needs.  No error
        bar is below 0.02 but where the evidence is exact, and where the tolerance is not reached at an
        affordable price, ``log_evidence_std_`` says what was.
    {units}
        Counts have the mean count for a unit of their rates, and levels have none.
    random_state : int, RandomState instance or None, default=None
        An int makes every ``fit`` the same.
    verbose : bool or int, default=False
        Print one line per call, and a note every two seconds.

    Attributes
    ----------
    transition_matrix_ : ndarray of shape (n_states, n_states)
        Posterior mean, from and to, states relabelled to common slots in the order of their first mean, rate
        or level.
    initial_probabilities_ : ndarray of shape (n_states,)
        Posterior mean of the probabilities of the first state; 1/K each without a prior.
    transition_coefs_ : ndarray of shape (n_states, n_states, n_columns)
        Posterior means with ``transitions=``, by a unit of each column: the change of the log probability of
        a next state, less the mean change over next states.  ``transition_matrix_`` and ``dwell_times_`` are
        at the mean of the columns.
    dwell_times_ : ndarray of shape (n_states,)
        Posterior medians of the mean number of rows that a state lasts, 1/(1 − p(stay)).
    means_, covariances_ : ndarray
        Posterior means, with a Gaussian emission; shapes are those of :class:`BayesianGMM`.
    rates_ : ndarray of shape (n_states, n_features)
        Posterior means, with a Poisson emission.
    category_probabilities_ : list of ndarray of shape (n_states, n_levels)
        Posterior means, with a categorical emission.
    categories_ : list of ndarray
        Levels of each column, of a categorical emission.
    n_states_in_use_proba_ : ndarray of shape (n_states,)
        Posterior probability that 1 … ``n_states`` of the states have rows.
    {attributes of every estimator}

    See Also
    --------
    BayesianGMM : Independent rows.
    BayesianAutoregression : Rows that depend on those before, without regimes.
    EvidenceSearch : How many states.

    Notes
    -----
    *Evidence*: a search finds sequences of states, from all of which Gibbs chains start, and importance
    sampling answers from the mean of their conditionals p(θ | x, z); where states overlap or are too many,
    bridges do (Frühwirth-Schnatter 2004).  It is exact for one state, and for few rows, Kⁿ up to 20 000.
    A stream is weighed row by row, and answered for anew from all rows when draws no longer suffice.

    *Missing values*: a row of nan only is a step without observation.  A level may be missing by itself;
    of numbers, a row is there or missing as a whole.

    *Cost*: 2000 rows of two columns take about 1, 2 and 4 s with two, three and four separated states, and
    up to 8 s where there are more states than the rows tell apart, whose error bar is then some tenths.  Time
    grows with the rows; columns that move transitions take some eight times as long, more with three states.

    References
    ----------
    S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models
    using bridge sampling techniques, Econometrics Journal 7, 143.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianHMM
    >>> X = np.random.default_rng(0).poisson(np.repeat([1.0, 6.0, 1.0], 20))[:, None]
    >>> one, two = (BayesianHMM(K, emission="poisson", random_state=0).fit(X) for K in (1, 2))
    >>> two.log_evidence_ - one.log_evidence_ > 10
    True
    >>> two.predict(X)[[0, 30, 59]]
    array([0, 1, 0])
    """

    _dimensions = EmissionRows._dimensions | {
        "transition_matrix": ("state", "next_state"),
        "transition_coefs": ("state", "next_state", "moving_column"),
        "initial_probabilities": ("state",),
        "dwell_times": ("state",),
        "means": ("state", "feature"),
        "covariances": ("state", "feature", "other_feature"),
        "rates": ("state", "feature"),
        "category_probabilities": ("state", "level"),
    }

    _parameter_constraints: dict = {
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "emission": [StrOptions({*GAUSSIANS, "poisson", "categorical"})],
        "transition_concentration": [Interval(Real, 0, None, closed="neither")],
        "stickiness": [Interval(Real, 0, None, closed="left")],
        "initial_concentration": [Interval(Real, 0, None, closed="neither"), None],
        "transitions": ["array-like", str, None],
        "transition_coef_scale": [Interval(Real, 0, None, closed="neither")],
        "mean_scale": [Interval(Real, 0, None, closed="neither")],
        "variance_prior": [tuple, list],
        "rate_prior": [tuple, list],
        "category_concentration": [Interval(Real, 0, None, closed="neither")],
        "categories": ["array-like", None],
        "condition_on": [Interval(Integral, 0, None, closed="left")],
        "tolerance": [Interval(Real, 0, None, closed="neither")],
        "standardize": ["boolean"],
        "units": [Units, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_states: int = 1,
        *,
        emission: str = "gaussian",
        transition_concentration: float = 1.0,
        stickiness: float = 0.0,
        initial_concentration: float | None = None,
        transitions: Any = None,
        transition_coef_scale: float = 1.0,
        mean_scale: float = 2.0,
        variance_prior: tuple[float, float] = (1.0, 1.0),
        rate_prior: tuple[float, float] = (2.0, 1.0),
        category_concentration: float = 0.5,
        categories: Sequence[Any] | None = None,
        condition_on: int = 0,
        tolerance: float = 0.03,
        standardize: bool = True,
        units: Units | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_states = n_states
        self.emission = emission
        self.transition_concentration = transition_concentration
        self.stickiness = stickiness
        self.initial_concentration = initial_concentration
        self.transitions = transitions
        self.transition_coef_scale = transition_coef_scale
        self.mean_scale = mean_scale
        self.variance_prior = variance_prior
        self.rate_prior = rate_prior
        self.category_concentration = category_concentration
        self.categories = categories
        self.condition_on = condition_on
        self.tolerance = tolerance
        self.standardize = standardize
        self.units = units
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_levels = self.emission == "categorical"
        tags.input_tags.allow_nan = of_levels  # of numbers, rows are missing as a whole
        tags.input_tags.categorical = tags.input_tags.string = of_levels
        tags.input_tags.positive_only = self.emission == "poisson"
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None, lengths: Any = None) -> Self:
        """Forget what was seen and learn from these sequences.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or RowSource
            Rows in the order of time, one sequence after the other.
        y : None
            Ignored: lengths are given by name.
        lengths : array-like of int, optional
            Rows of each sequence; None: one.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            On bad input, lengths that do not add up or stand in the place of y, and of more rows or
            states than there is an evidence for; nothing has changed then.
        """
        X, *_ = at_once(self, X, None)
        refuse_misplaced(X, y)
        return self._learn(X, (lengths, True), None, reset=True)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: None = None, lengths: Any = None, new_sequence: bool = False) -> Self:
        """Learn from rows that continue the last sequence; the first call starts afresh.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or RowSource
        y : None
            Not used.
        lengths : array-like of int, optional
            Rows of each sequence, the first of which continues the last one seen; None: all of them do.
        new_sequence : bool, default=False
            Whether a sequence begins with the first of these rows.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            As in :meth:`fit`, and if parameters of the model have changed since the first call.
        """
        X, *_ = at_once(self, X, None)
        refuse_misplaced(X, y)
        return self._learn(X, (lengths, new_sequence), None, reset=False)

    # -- what was learnt ------------------------------------------------------------------------

    @property
    def transition_matrix_(self) -> np.ndarray:
        """Posterior mean of the transition matrix, from and to."""
        return self._state_mean("transition_matrix")

    @property
    def transition_coefs_(self) -> np.ndarray:
        """Posterior means of the coefficients of columns that move transitions."""
        return self._state_mean("transition_coefs")

    @property
    def initial_probabilities_(self) -> np.ndarray:
        """Posterior mean of the probabilities of the first state of a sequence."""
        if self.initial_concentration is None:
            self._must_have_learnt("initial_probabilities_")
            return np.full(self.n_states, 1 / self.n_states)
        return self._state_mean("initial_probabilities")

    @learnt
    def dwell_times_(self) -> np.ndarray:
        """Posterior medians of the mean number of rows that a state lasts."""
        return np.median(self.posterior_samples()["dwell_times"], axis=0)

    @property
    def means_(self) -> np.ndarray:
        """Posterior means of the means."""
        return self._state_mean("means")

    @property
    def covariances_(self) -> np.ndarray:
        """Posterior means of the covariances."""
        return self._state_mean("covariances")

    @property
    def rates_(self) -> np.ndarray:
        """Posterior means of the rates of counts."""
        return self._state_mean("rates")

    @property
    def category_probabilities_(self) -> list[np.ndarray]:
        """Posterior means of the probabilities of the levels of each column."""
        mean = self._state_mean("category_probabilities")
        return np.split(mean, np.cumsum([len(levels) for levels in self.categories_])[:-1], axis=1)

    @learnt
    def n_states_in_use_proba_(self) -> np.ndarray:
        """Posterior probability that 1 … ``n_states`` of the states have rows."""
        assert self._stream is not None
        return self._stream.state.in_use
