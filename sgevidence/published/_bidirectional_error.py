"""How wrong is an evidence on data of the prior?  Bidirectional Monte Carlo, thesis §3.1.4.

Parameters drawn from the prior are an exact draw from the posterior of the rows that they simulate.  So
log Z can be bounded on both sides: an estimate of Z without bias is hardly ever much too high, and one of
1/Z hardly ever much too low,

    Pr[log Ẑ ≥ log Z + a] ≤ e^{−a}.                                               (3.10)

Symbols
-------
=======  ==================  ==============================================================
θ*       ``exact``           the draw from prior and posterior
f_t      ``step.target``     t-th unnormalised posterior, f_t = f_{t−1} · p(new rows | θ)
w_i      ``weights``         Π_t f_t(θ_{t−1}) / f_{t−1}(θ_{t−1})
M        ``M``               particles
=======  ==================  ==============================================================

A sequence of T distributions with fixed kernels is run forward from the prior and back from an exact draw.
"""

from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from .._compat import Interval, StrOptions, validate_params
from ..custom import BayesianModel
from ..estimators import EvidenceEstimator
from ..history import Memory, Rows
from ..kernels import Coordinates, hmc
from ..particles import Cloud, Weights, multinomial
from ..rows import generator
from ..samplers import AIS, Progress
from ..targets import Likelihood, Path, Target
from ..transitions import HMC, Rung, State, Streams
from ._sir import SIR

#: Moves whose coordinates and steps can be used again.
PILOT = HMC(conditional=False)


class Step(NamedTuple):
    """From f_{t−1} to f_t, and a kernel that leaves f_t invariant and is its own reverse."""

    new: Rows  # f_t = f_{t−1} · p(new | θ)
    target: Target
    coordinates: Coordinates
    eps: float

    def log_ratio(self, theta):
        """log f_t − log f_{t−1}, (M,)."""
        return self.target.model.sum_log_likelihood(theta, self.new)

    def move(self, theta, rng):
        """Equal trajectories: in reverse order they are the same."""

        def value_and_grad(phi):
            value, grad = self.target.value_and_grad(self.coordinates.unwhiten(phi))
            return value, grad @ self.coordinates.L

        phi, here = self.coordinates.whiten(theta), None
        L = PILOT.leapfrog_steps(self.eps)
        for _ in range(2):  # trajectories of a move
            eps = self.eps * rng.uniform(0.5, 1.2, len(phi))
            phi, info = hmc(phi, value_and_grad, rng, eps=eps, L=L, here=here)
            here = info.here
        return self.coordinates.unwhiten(phi)


def ais_steps(model, rows, M, T, rng) -> list[Step]:
    """Powers of the likelihood: the λ_t of an adaptive pilot, interpolated, with its next kernel for each."""
    pilot: list[Rung] = []
    start = State(Cloud.planted(model.sample_prior(rng, M)), Memory.empty())
    AIS(M, move=PILOT).anneal(pilot.append)(start, Path(model, start.memory, rows), Streams.one(rng))
    position = np.linspace(0, len(pilot), T + 1)
    lams = np.interp(position, np.arange(len(pilot) + 1), np.r_[0.0, [rung.lam for rung in pilot]])
    steps = []
    for last, lam, k in zip(lams, lams[1:], np.ceil(position[1:]).astype(int) - 1):
        target = Target(model, Likelihood(rows.scaled(lam)))
        coordinates = pilot[k].coordinates
        assert coordinates is not None  # the pilot moves by trajectories
        steps.append(Step(rows.scaled(lam - last), target, coordinates, pilot[k].eps))
    return steps


def sir_steps(model, rows, M, rng) -> list[Step]:
    """Growing sets of rows, cut as a pilot cuts them."""
    rungs: list[Rung] = []
    sampler = SIR(M, move=PILOT)
    walk = sampler.steps(sampler.init(model, rng), model, rows, rng, rungs.append)
    pieces = [piece for _, _, piece in walk]
    return [
        Step(piece, rung.target, rung.coordinates, rung.eps)
        for piece, rung in zip(pieces, rungs)
        if rung.coordinates is not None  # as it is of trajectories
    ]


# effective sample size, as a fraction of M, below which the bounds by SIR resample
def forward(steps, model, M, rng, threshold=0.5, path=None) -> float:
    """log Ẑ from the prior; with a path, that of a run in which the first particle follows it."""
    theta, weights, log_Z = model.sample_prior(rng, M), Weights.ones(M), 0.0
    for t, step in enumerate(steps):
        if path is not None:
            theta[0] = path[t]
        weights = weights.add(step.log_ratio(theta))
        if weights.ess < threshold * M:
            parents = multinomial(weights.W, rng)
            if path is not None:
                parents = np.r_[0, multinomial(weights.W, rng, M - 1)]
            theta, log_Z, weights = theta[parents], log_Z + weights.log_mean, Weights.ones(M)
        theta = step.move(theta, rng)
    return log_Z + weights.log_mean


def reverse(steps, exact, M, rng) -> float:
    """−log mean 1/w of chains from the exact draw back to the prior."""
    theta, weights = np.repeat(exact, M, axis=0), Weights.ones(M)
    for step in reversed(steps):
        theta = step.move(theta, rng)
        weights = weights.add(-step.log_ratio(theta))
    return -weights.log_mean


def backward_path(steps, exact, rng) -> list[np.ndarray]:
    """θ_0 … θ_{T−1} of one reverse chain from the exact draw."""
    theta, path = exact, []
    for step in reversed(steps):
        theta = step.move(theta, rng)
        path.append(theta[0])
    return path[::-1]


class BidirectionalError(NamedTuple):
    """Bounds of log Z and what the estimator said, one entry a simulated data set; nats.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_repeats,)
        Stochastic bounds of the log evidence.
    log_evidence, log_evidence_std : ndarray of shape (n_repeats,)
        The estimator's own, and its standard error.
    """

    lower: np.ndarray
    upper: np.ndarray
    log_evidence: np.ndarray
    log_evidence_std: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """upper − lower: how well log Z is known."""
        return self.upper - self.lower

    @property
    def error_at_least(self) -> np.ndarray:
        """By how much the estimator misses the bounds; 0 between them."""
        return np.maximum(np.maximum(self.lower - self.log_evidence, self.log_evidence - self.upper), 0.0)

    @property
    def error_at_most(self) -> np.ndarray:
        """Its distance from the farther bound."""
        return np.maximum(np.abs(self.log_evidence - self.lower), np.abs(self.log_evidence - self.upper))


@validate_params(
    {
        "estimator": [EvidenceEstimator],
        "n_rows": [Interval(Integral, 1, None, closed="left")],
        "X": ["array-like", None],
        "n_features": [Interval(Integral, 1, None, closed="left"), None],
        "n_classes": [Interval(Integral, 2, None, closed="left")],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"ais", "sir"})],
        "n_particles": [Interval(Integral, 2, None, closed="left")],
        "n_temperatures": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    },
    prefer_skip_nested_validation=True,
)
def bidirectional_error(
    estimator,
    n_rows,
    *,
    X=None,
    n_features=None,
    n_classes=2,
    n_repeats=10,
    method="ais",
    n_particles=100,
    n_temperatures=100,
    random_state=None,
    verbose=False,
) -> BidirectionalError:
    """Error of an estimator's log evidence on data that its own prior simulates (thesis §3.1.4).

    Each repeat draws parameters from the prior and rows from the parameters, bounds log Z of these rows
    from below and above, and fits a clone of the estimator, with its own sampler, on them.

    Parameters
    ----------
    estimator : estimator
        Any of this package, with ``units=`` or ``standardize=False``; not changed.  A :class:`BayesianModel`
        must have ``sample_rows``.
    n_rows : int
        Rows to simulate.
    X : array-like of shape (n_rows, n_features), optional
        Inputs of a regression or classification.  By default columns of independent standard normals,
        with ``units=`` in these.
    n_features : int, optional
        Columns where X is not given; 1 by default.  A ``BayesianModel`` with neither X nor n_features is
        taken for a density: what its ``sample_rows(theta, None, rng)`` returns are the rows themselves.
    n_classes : int, default=2
        Classes of a classifier.
    n_repeats : int, default=10
        Simulated data sets.
    method : {"ais", "sir"}, default="ais"
        How the bounds are made: along powers of the likelihood, or along growing sets of rows.
    n_particles : int, default=100
        M in each direction.
    n_temperatures : int, default=100
        T of AIS; the gap closes as T or M grow.
    random_state : int, RandomState instance or None, default=None
        Random numbers of the simulation, the bounds and the clones.
    verbose : bool or int, default=False
        Print one line per repeat.

    Returns
    -------
    BidirectionalError
        Arrays of shape (n_repeats,): ``lower``, ``upper``, ``log_evidence``, ``log_evidence_std``, and
        derived from them ``gap``, ``error_at_least`` and ``error_at_most``.

    Raises
    ------
    ValueError
        If X does not have n_rows rows, or the model cannot simulate, also because ``standardize=True``
        without ``units=`` takes its priors from rows.

    Notes
    -----
    A pilot run fixes the sequence of distributions and the HMC kernel of each; forward and reverse runs
    then use the same kernels, which adapt to nothing.

    *ais*: the lower bound is log (1/M) Σ w_i of M chains from the prior (Alg. 6, no resampling).  The reverse
    chains start at the exact draw, take the reversed kernels (HMC is its own reverse) in the opposite
    order, and give the upper bound −log (1/M) Σ 1/w_i.  With few temperatures 1/w_i is heavy-tailed, as in
    the harmonic mean, and the bound loose.

    *sir*: the lower bound is that of Alg. 7.  For the upper bound one path is run in reverse from the exact
    draw and kept among M − 1 particles of a forward run (conditional sequential Monte Carlo): 1/Ẑ of that run
    has mean 1/Z, and its gap closes with M.

    Each bound is violated by more than a nats with a probability of at most e^{−a}.  It is log Z of all K!
    labellings of a mixture that is bounded: forward chains are spread over them, and reverse chains forget
    theirs on the way to the prior.

    The error is typical for data of the prior.  On real data that no parameters of the prior explain it
    may be larger.

    *Cost*: per repeat two short trajectories of M particles on all rows at each temperature in each
    direction, a pilot of a fraction of that, and the fit.

    *When not to use it*: to judge the evidence of a real data set, of which no exact posterior draw is known.

    References
    ----------
    R. B. Grosse, Z. Ghahramani, R. P. Adams (2015), Sandwiching the marginal likelihood using bidirectional
    Monte Carlo, arXiv:1511.02543.  C. Andrieu, A. Doucet, R. Holenstein (2010), Particle Markov chain Monte
    Carlo methods (the conditional run).

    Examples
    --------
    >>> from sgevidence import BayesianLinearRegression
    >>> from sgevidence.bidirectional import bidirectional_error
    >>> model = BayesianLinearRegression(noise_std=1.0, standardize=False)
    >>> result = bidirectional_error(model, 50, n_features=2, n_repeats=2, n_temperatures=50, random_state=0)
    >>> bool((result.error_at_most < 2).all())
    True
    """
    rng = generator(random_state)
    progress = Progress("bidirectional_error", verbose)
    found = []
    for i, (simulation, bounds, fit) in enumerate(rng.spawn(3) for _ in range(n_repeats)):
        inputs = _inputs(n_rows, X, n_features, estimator, simulation)
        blank, model = _blank(estimator, inputs, n_classes)
        exact = model.sample_prior(simulation, 1)
        is_given = X is not None or n_features is not None
        rows = _simulated(blank, model, exact, n_rows, inputs, is_given, simulation)
        if method == "ais":
            steps = ais_steps(model, rows, n_particles, n_temperatures, bounds)
            lower = forward(steps, model, n_particles, bounds, threshold=0.0)
            upper = reverse(steps, exact, n_particles, bounds)
        else:
            steps = sir_steps(model, rows, n_particles, bounds)
            lower = forward(steps, model, n_particles, bounds)
            path = backward_path(steps, exact, bounds)
            upper = forward(steps, model, n_particles, bounds, path=path)
        blank.set_params(random_state=int(fit.integers(2**31)))
        classes = np.arange(n_classes) if is_classifier(blank) else None
        given = rows if blank._units is None else blank._units.restored_rows(rows)
        fitted = blank._learn(given.X, given.y, None, reset=True, classes=classes)
        lower, upper = (bound - blank._log_unit * n_rows for bound in (lower, upper))
        found.append((lower, upper, fitted.log_evidence_, fitted.log_evidence_std_))
        progress.done(f"repeat {i}: log Z in [{lower:.2f}, {upper:.2f}], estimate {found[-1][2]:.2f}")
    return BidirectionalError(*np.array(found).T)


# -- data of the prior ---------------------------------------------------------------------------


def _inputs(n_rows, X, n_features, estimator, rng):
    """The inputs that are given, in the units of the prior, or independent standard normals."""
    units = estimator.units
    if X is None:
        return rng.standard_normal((n_rows, n_features or (1 if units is None else len(units.scale))))
    X = np.asarray(X, dtype=float)
    return X if units is None else units.X(X)


def _blank(estimator, inputs, n_classes):
    """An unfitted clone, and its model: coordinates of a regression depend on the values of its inputs."""
    blank = clone(estimator)
    if blank.standardize and blank.units is None:
        raise ValueError(
            "standardize=True takes the prior's units from the rows: no rows are drawn from such a prior; "
            "give units= of a fitted estimator, or standardize=False and inputs and priors of scale one"
        )
    if blank.standardize:
        blank._units = blank.units.selected(range(inputs.shape[1]), blank._kind)
    if is_classifier(blank):
        blank._encode(np.arange(n_classes), True, None)
    if "columns" in blank.get_params():
        blank.columns_ = np.arange(inputs.shape[1])
    if isinstance(blank, BayesianModel):  # there are no rows yet to try the functions at
        return blank, blank._unchecked_model()
    return blank, blank._make_model(inputs, None)


def _simulated(blank, model, exact, n_rows, inputs, is_given, rng) -> Rows:
    """Rows from exactly these parameters; inputs nobody asked for are no part of a model of one's own."""
    if isinstance(blank, BayesianModel):
        if not is_given:
            drawn = np.asarray(model.sample_rows(np.repeat(exact, n_rows, axis=0), None, rng), dtype=float)
            return Rows.of(drawn.reshape(n_rows, -1))
    elif not (is_regressor(blank) or is_classifier(blank)):
        return Rows.of(model.sample_rows(exact, n_rows, rng)[0])  # without labels
    if len(inputs) != n_rows:
        raise ValueError(f"X has {len(inputs)} rows, n_rows is {n_rows}")
    return Rows.of(inputs, model.sample_rows(np.repeat(exact, n_rows, axis=0), inputs, rng))
