"""Bayesian hidden Markov model with a running log evidence."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from .._compat import Interval, StrOptions, fit_context
from ..history import Rows
from ..models import (
    Categorical,
    ComponentFamily,
    DiagonalGaussian,
    FullGaussian,
    HiddenMarkovModel,
    PoissonGamma,
    SphericalGaussian,
)
from ..samplers import HiddenStateEvidence
from ._documentation import documented
from ._given import at_once
from ._hmm_predictions import StatePredictions
from ._input import check_count, check_prior_pair, refuse_extreme, refuse_unreadable
from ._levels import checksum, codes_of, decoded, given_levels, levels_of
from ._sequences import positions
from ._units import Fold, Units, refuse_few

#: Families of the components whose columns are numbers, with a mean and a variance.
GAUSSIANS: dict[str, Any] = {
    "gaussian": DiagonalGaussian,
    "full": FullGaussian,
    "spherical": SphericalGaussian,
}


@documented
class BayesianHMM(StatePredictions):
    """Hidden Markov model: a mixture whose components follow each other in time, with an evidence of K states.

    The rows of the transition matrix are Dirichlet(transition_concentration, + stickiness on the diagonal),
    and the rows of a state have the distribution and the priors of a component of :class:`BayesianGMM` or
    :class:`BayesianCategoricalMixture`, or are Poisson counts.  The evidence is over all K! labellings of the
    states and over all sequences of states.

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
        Of a Dirichlet prior of the first state of each sequence; None: all states are equally likely.
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
    dwell_times_ : ndarray of shape (n_states,)
        Posterior medians of the mean number of rows that a state lasts, 1/(1 − p(stay)).
    means_, covariances_ : ndarray
        Of Gaussians, as of :class:`BayesianGMM`.
    rates_ : ndarray of shape (n_states, n_features)
        Of counts: posterior means of the rates.
    category_probabilities_ : list of ndarray of shape (n_states, n_levels)
        Of levels.
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
    *Evidence*: two halves of particles go along the rows with the forward algorithm as their likelihood
    (Chopin 2007), and Gibbs sweeps and a bridge sharpen the answer where states are well known
    (Frühwirth-Schnatter 2004).  It is exact for one state, and for some ten rows.  A stream is weighed row
    by row, and answered for anew from all rows when draws no longer suffice.

    *Missing values*: a row of nan only is a step without observation.  A level may be missing by itself;
    of numbers, a row is there or missing as a whole.

    *Cost*: 2000 rows of one column take about 2, 5 and 8 s with two, three and four states.

    References
    ----------
    S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models
    using bridge sampling techniques, Econometrics Journal 7, 143.
    N. Chopin (2007), Inference and model choice for sequentially ordered hidden Markov models, Journal of the
    Royal Statistical Society B 69, 269.

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

    _takes_missing = True
    _not_replicated = None
    _dimensions = StatePredictions._dimensions | {
        "transition_matrix": ("state", "next_state"),
        "initial_probabilities": ("state",),
        "dwell_times": ("state",),
        "means": ("state", "feature"),
        "covariances": ("state", "feature", "other_feature"),
        "rates": ("state", "feature"),
        "category_probabilities": ("state", "level"),
    }
    sampler = None
    categories_: list[np.ndarray]
    _place: int  #: rows of the last sequence, those left out among them

    _parameter_constraints: dict = {
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "emission": [StrOptions({*GAUSSIANS, "poisson", "categorical"})],
        "transition_concentration": [Interval(Real, 0, None, closed="neither")],
        "stickiness": [Interval(Real, 0, None, closed="left")],
        "initial_concentration": [Interval(Real, 0, None, closed="neither"), None],
        "mean_scale": [Interval(Real, 0, None, closed="neither")],
        "variance_prior": [tuple, list],
        "rate_prior": [tuple, list],
        "category_concentration": [Interval(Real, 0, None, closed="neither")],
        "categories": ["array-like", None],
        "condition_on": [Interval(Integral, 0, None, closed="left")],
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
        mean_scale: float = 2.0,
        variance_prior: tuple[float, float] = (1.0, 1.0),
        rate_prior: tuple[float, float] = (2.0, 1.0),
        category_concentration: float = 0.5,
        categories: Sequence[Any] | None = None,
        condition_on: int = 0,
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
        self.mean_scale = mean_scale
        self.variance_prior = variance_prior
        self.rate_prior = rate_prior
        self.category_concentration = category_concentration
        self.categories = categories
        self.condition_on = condition_on
        self.standardize = standardize
        self.units = units
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = self.emission == "categorical"
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
            Not used.
        lengths : array-like of int, optional
            Rows of each sequence; None: one.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            On bad input, lengths that do not add up and counts that are none among it, and of more rows or
            states than there is an evidence for; nothing has changed then.
        """
        X, *_ = at_once(self, X, None)
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
        return self._learn(X, (lengths, new_sequence), None, reset=False)

    # -- what was learnt ------------------------------------------------------------------------

    @property
    def transition_matrix_(self) -> np.ndarray:
        """Posterior mean of the transition matrix, from and to."""
        return self._state_mean("transition_matrix")

    @property
    def initial_probabilities_(self) -> np.ndarray:
        """Posterior mean of the probabilities of the first state of a sequence."""
        if self.initial_concentration is None:
            self._must_have_learnt("initial_probabilities_")
            return np.full(self.n_states, 1 / self.n_states)
        return self._state_mean("initial_probabilities")

    @property
    def dwell_times_(self) -> np.ndarray:
        """Posterior medians of the mean number of rows that a state lasts."""
        self._must_have_learnt("dwell_times_")
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

    @property
    def n_states_in_use_proba_(self) -> np.ndarray:
        """Posterior probability that 1 … ``n_states`` of the states have rows."""
        self._must_have_learnt("n_states_in_use_proba_")
        assert self._stream is not None
        return self._stream.state.in_use

    def _state_mean(self, name: str) -> np.ndarray:
        self._must_have_learnt(f"{name}_")
        if name not in self._parameters(self.particles_[:1]):
            raise AttributeError(f"there are no {name}_ with emission={self.emission!r}")
        return self._posterior_mean_and_std(name)[0]

    def _parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        named = super()._parameters(theta)
        leaves = 1.0 - np.diagonal(named["transition_matrix"], axis1=1, axis2=2)
        return named if self.n_states == 1 else named | {"dwell_times": 1.0 / np.maximum(leaves, 1e-12)}

    def _prior_notes(self) -> list[str]:
        sticky = f", + {self.stickiness:g} to stay" if self.stickiness else ""
        (a, b), (shape, scale) = self.rate_prior, self.variance_prior
        of_rows = {
            "poisson": f"rates Gamma({a:g}, {b:g})",
            "categorical": f"levels Dirichlet({self.category_concentration:g})",
        }.get(
            self.emission, f"means N(0, ({self.mean_scale:g} σ)²), variances InvGamma({shape:g}, {scale:g})"
        )
        return self._said(f"{of_rows}, transitions Dirichlet({self.transition_concentration:g}{sticky})")

    # -- rows -----------------------------------------------------------------------------------

    def _sampler(self) -> HiddenStateEvidence:
        return HiddenStateEvidence()

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
        """Numbers that are there or missing by rows, counts, or levels as they came."""
        if self.emission == "categorical":
            if getattr(getattr(X, "dtype", None), "kind", "") == "c":
                raise ValueError("Complex data not supported: levels are strings or numbers")
            return validate_data(self, X, reset=reset, dtype=object, ensure_all_finite=False), None
        X = validate_data(
            self, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite="allow-nan"
        )
        gaps = np.isnan(X)
        if (partly := np.flatnonzero(gaps.any(axis=1) & ~gaps.all(axis=1))).size:
            raise ValueError(
                f"row {partly[0]} of X contains NaN in some columns and not in others, in all {len(partly)} "
                "such rows: a row is observed as a whole, or missing as a whole, which is a step without "
                "observation"
            )
        known = X[~gaps.any(axis=1)]
        if not self.standardize:
            refuse_extreme(X=known)
        if self.emission == "poisson" and (known.size and (known.min() < 0 or np.any(known % 1))):
            wrong = known[(known < 0) | (known % 1 != 0)][0]
            raise ValueError(
                f"X has the value {wrong:g}, which is no count: Negative values in data passed to a Poisson "
                'emission, or fractions, have no likelihood; numbers are for emission="gaussian"'
            )
        return X, None

    def _encode_X(self, X: np.ndarray, reset: bool) -> np.ndarray:
        """Codes of levels, nan where a row has none at all."""
        if self.emission != "categorical":
            return X
        if reset and self.categories is None:
            self.categories_ = levels_of(X, "ignore")
        elif reset:
            self.categories_ = given_levels(self.categories, X.shape[1], "ignore")
        codes = codes_of(X, self.categories_, "ignore", getattr(self, "feature_names_in_", None))
        codes[np.all(codes < 0, axis=1)] = np.nan
        return codes

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> Rows:
        """Rows whose y says where sequences start, without those that are conditioned on.

        A step without observation is a row of weight zero.
        """
        refuse_unreadable(takes_missing=True, X=X)
        lengths, begins = (None, False) if y is None else y
        X = self._encode_X(self._validate(X, None, reset)[0], reset)
        place = positions(len(X), lengths, 0 if reset or begins else self._place)
        self._place = int(place[-1]) + 1
        kept = place >= self.condition_on
        X, starts = np.ascontiguousarray(X[kept]), place[kept] == self.condition_on
        observed = ~np.all(np.isnan(X), axis=1)
        return Rows(X, starts.astype(float), observed.astype(float))

    def _identity(self, rows: Rows) -> np.ndarray:
        """Rows, and where sequences start."""
        levels = float(checksum(self.categories_)) if self.emission == "categorical" else 0.0
        return np.column_stack([rows.X + levels, rows.y])

    def _as_given(self, X: np.ndarray) -> np.ndarray:
        if self.emission != "categorical":
            return super()._as_given(X)
        return decoded(X.astype(int), self.categories_)

    def _with_gaps(self, new: np.ndarray, X: np.ndarray) -> np.ndarray:
        if self.emission != "categorical":
            return super()._with_gaps(new, X)
        return np.where(np.isnan(X) | (X < 0), X, new)

    # -- units and priors -----------------------------------------------------------------------

    def _take_units(self, rows: Rows, may_wait: bool, fold: Fold | None = None) -> bool:
        """Levels have no unit."""
        if self.emission != "categorical":
            return super()._take_units(rows, may_wait, fold)
        self._units = None
        return True

    def _units_of(self, rows: Rows, fold: Fold | None = None) -> Units:
        known = rows.take(np.flatnonzero(rows.weight > 0))
        if self.emission != "poisson":
            return Units.of_density(known, self.emission == "spherical", fold)
        refuse_few(known)
        p, n = rows.X.shape[1], len(known)
        means = np.log((known.X.sum(axis=0) + 0.5) / n)
        one = np.ones(p)
        return Units(np.zeros(p), one, 0.0, 1.0, 0.0, tuple(means.tolist()), one, self._kind)

    @property
    def _kind(self) -> str:
        kinds = {"poisson": "rows of counts", "spherical": "rows, one unit"}
        return kinds.get(self.emission, "rows")

    def _watch_units(self, rows: Rows, starts: bool) -> None:
        """Counts have no unit that a stream could leave, and missing rows have no place in one."""
        if self.emission != "poisson":
            super()._watch_units(rows.take(np.flatnonzero(rows.weight > 0)), starts)

    def _prior_conflict(self, rows: Rows) -> None:
        """States are not compared with their prior, of which some of them may consist."""

    def _update(self, sampler: Any, rows: Rows, reset: bool, progress: Any) -> None:
        super()._update(sampler, rows, reset, progress)
        assert self._stream is not None
        if (doubt := self._stream.state.doubt) is not None:
            self._doubt(doubt)

    def _emission_family(self, X: np.ndarray) -> ComponentFamily:
        """The family of the rows of a state, whose features lose no digits on these."""
        p, known = X.shape[1], X[~np.all(np.isnan(X), axis=1)]
        if self.emission == "poisson":
            means = np.zeros(p) if self._units is None else np.array(self._units.intercept_center)
            return PoissonGamma(
                check_prior_pair(self.rate_prior, "rate_prior"), tuple(np.exp(means).tolist())
            )
        if self.emission == "categorical":
            n_levels = tuple(len(levels) for levels in self.categories_)
            return Categorical(n_levels, self.category_concentration)
        variance_prior = check_prior_pair(self.variance_prior, "variance_prior")
        family = GAUSSIANS[self.emission](p, self.mean_scale, variance_prior)
        return family.at(known) if len(known) else family

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> HiddenMarkovModel:
        return HiddenMarkovModel(
            emission=self._emission_family(X),
            n_states=check_count(self.n_states, "n_states"),
            concentration=self.transition_concentration,
            stickiness=self.stickiness,
            initial_concentration=self.initial_concentration,
        )
