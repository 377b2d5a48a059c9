"""Base of the estimator of a user's model: its prior, its rows, its price and doubts about it.

The price is a number of evaluations of the log likelihood.  Boxes take about as many as are foretold for most
posteriors of one, two or three parameters (:mod:`~sgevidence.answers._cubature`).  A survey of the prior
takes 1.6 to 2.6 for each of its draws, more by numerical gradients.  Annealing takes 6·10⁴ to 13·10⁴ √d for a
Gaussian that is a third to a hundredth of the prior wide, three to five in ten of them with gradients, and up
to ten times as many for hierarchies.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from ..answers import MAX_PARAMETERS, is_short
from ..estimators import DIMENSIONS, ConditionalEstimator, described
from ..exceptions import CallLimitError, ImpossibleRowsError, warn_caller
from ..history import Rows
from ..rows import generator, validated
from ..samplers import SGAIS
from ._model import CustomModel, dimension_of
from ._parameters import NamedPriors, PlainParameters, PriorTransform
from ._user_function import RowFunction, check_shape, standard_log_density, standard_normals

NO_ROWS = "this model was fitted without rows: its log_likelihood(p) has no rows to score or to add"


class UserFunctions(ConditionalEstimator):
    """Base of the estimator of a user's model, which says where its functions cannot be relied on."""

    _y_says_what_it_is = True
    _model: CustomModel
    _has_rows = True  #: of the call that is being made, or of the fit

    @property
    def _dimensions(self) -> dict[str, tuple[str, ...]]:  # type: ignore[override]
        """A user's own "coef" has a shape of its own."""
        return {"theta": DIMENSIONS["theta"]} if self.priors is None else {}

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> Rows:
        if not reset and not self._functions.has_rows:
            raise ValueError(NO_ROWS)
        self._has_rows = X is not None
        if X is not None:
            return super()._rows(X, y, sample_weight, reset, classes)
        if y is not None or sample_weight is not None:
            raise ValueError("y and sample_weight belong to rows: give X as well")
        return Rows.of(np.zeros((1, 1)))  # stands for the one value of log_likelihood(p)

    def _rows_to_score(self, X: Any, y: Any = None) -> Rows:
        self._must_be_fitted()
        if not self._functions.has_rows:
            raise ValueError(NO_ROWS)
        return super()._rows_to_score(X, y)

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
        if y is None:
            return validated(self, X, reset=reset, order="C"), None
        return validated(self, X, y, reset=reset, order="C", y_numeric=True)

    def _replicated(self, theta: np.ndarray, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        y = self._model.sample_rows(np.tile(theta, (len(X), 1)), X, rng)
        check_shape(y, (len(X),), "sample_rows", "(n,)")
        return y

    def _moments_of_rows(self, theta: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, ...]:
        return () if self.mean is None else (self._functions.mean(self.mean, theta[None], X)[0],)

    @property
    def _not_replicated(self) -> str | None:  # type: ignore[override]
        if self.sample_rows is None:
            return "this model cannot replicate rows: give it sample_rows=, a function (p, X, rng)"
        return None

    @property
    def _functions(self) -> RowFunction:
        return cast(RowFunction, self._model.row_log_likelihood)

    @property
    @described
    def diagnostics_(self) -> dict[str, float]:
        """``n_failed`` counts θ where functions failed, ``n_calls`` evaluations of ``log_likelihood``."""
        failures = self._model.failures
        return super().diagnostics_ | {"n_failed": failures.n_failed, "n_calls": failures.n_likelihoods}

    def _run(self, *arguments: Any) -> None:
        with self._counted():
            super()._run(*arguments)

    def _update(self, *arguments: Any) -> None:
        with self._counted():
            super()._update(*arguments)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Failures of a call are counted in a model of its own: a call that is refused leaves no trace."""
        self._model = self._model.counted()
        failures = self._model.failures
        before = failures.n_likelihoods if failures.n_calls else 0  # those of the check are of the first
        failures.max_likelihoods = np.inf if self.max_calls is None else before + self.max_calls
        with _failures_named(self._model):
            yield
        self._doubt_failures()
        self._doubt_unresolved()

    def _doubt_failures(self) -> None:
        """Warn where functions fail so often that the posterior may be there."""
        failures = self._model.failures
        # share of all θ at which a function may fail without a word: those that trajectories reach far out
        if failures.share > 0.01:
            self._doubt(
                f"a function failed at {failures.share:.0%} of all θ, which count as impossible: "
                f"{failures.example}",
            )

    def _doubt_unresolved(self) -> None:
        """Warn where the posterior is at values of a prior that are not those of their place in it."""
        prior, W = self._model.prior, self.particle_weights_
        with np.errstate(all="ignore"):
            unresolved = {} if prior is None else prior.unresolved(self.particles_[W > 0])
        for name, where in unresolved.items():
            # weight of particles whose parameters are not those of their place in the prior, in nats
            if (share := float(W[W > 0] @ where)) > 0.01:
                self._doubt(
                    f"{share:.0%} of the posterior of {name!r} is so far out in its prior that the quantiles "
                    "there are rounded: the log evidence is that of another prior; state one that "
                    "contains what the data say, or another parameter",
                )


#: The call of the constructor.
NEW_CALL = """

    BayesianModel(log_likelihood, priors={"rate": scipy.stats.gamma(2, scale=3)})

with log_likelihood(p, X, y) of a dictionary p of parameters; functions of unconstrained arrays are

    BayesianModel(log_likelihood, sample_prior=..., log_prior=...)"""


def custom_model(estimator: Any, has_rows: bool) -> CustomModel:
    """The model of the functions and priors that an estimator was given.

    TypeError or ValueError if there is not exactly one way to state the prior, or a prior cannot be used.
    """
    prior = _prior(estimator)
    if isinstance(prior, PlainParameters):
        draws, density = estimator.sample_prior, estimator.log_prior
    else:
        draws, density = partial(standard_normals, d=prior.dimension), standard_log_density
    rows = RowFunction(estimator.log_likelihood, prior, estimator.vectorized, estimator.gradient, has_rows)
    simulate = None if estimator.sample_rows is None else partial(rows.simulate, estimator.sample_rows)
    return CustomModel(draws, density, rows, prior.dimension, simulate, prior, estimator.gradient)


def _prior(estimator: Any) -> Any:
    ways = {
        "priors": estimator.priors is not None,
        "prior_transform and n_params": estimator.prior_transform is not None,
        "sample_prior and log_prior": not (estimator.sample_prior is None and estimator.log_prior is None),
    }
    given = [way for way, is_given in ways.items() if is_given]
    if len(given) != 1:
        words = " and ".join(given) or "none"
        raise TypeError(f"give the prior in one of three ways, {list(ways)}; given: {words}.{NEW_CALL}")
    if estimator.n_params is not None and estimator.prior_transform is None:
        raise TypeError("n_params is the number of coordinates of prior_transform, which was not given")
    if estimator.priors is not None:
        return NamedPriors(estimator.priors)
    if estimator.prior_transform is not None:
        if estimator.n_params is None:
            raise TypeError("prior_transform needs n_params, the number of coordinates of the unit cube")
        return PriorTransform(estimator.prior_transform, estimator.n_params, estimator.vectorized)
    if estimator.sample_prior is None or estimator.log_prior is None:
        raise TypeError(f"sample_prior and log_prior belong together: give both.{NEW_CALL}")
    return PlainParameters(dimension_of(estimator.sample_prior, generator(0)))


#: Seconds from which a fit that nobody has limited is announced.
ANNOUNCED_SECONDS = 600.0


class Price(NamedTuple):
    """The estimate after the first hundred calls."""

    n_calls: float  #: evaluations of log_likelihood that are to be expected
    seconds_per_call: float
    way: str  #: of the answer

    @property
    def seconds(self) -> float:
        return self.n_calls * self.seconds_per_call

    def __str__(self) -> str:
        return (
            f"about {self.n_calls:.0e} evaluations of log_likelihood ({self.way}), at "
            f"{_time(self.seconds_per_call)} each {_time(self.seconds)}"
        )


def checked(model: CustomModel, rows: Rows, estimator: Any) -> tuple[CustomModel, str | None]:
    """The model, whose count begins with the calls of its check, and what the check finds.

    CallLimitError where ``max_calls`` is far less than what is to be expected; a warning before it begins
    where it is less.
    """
    counted = model.counted()
    disagreement = counted.check(rows, generator(0))  # not the sampler's stream
    model.failures.n_likelihoods = counted.failures.n_likelihoods
    found = price(
        model, rows, estimator, counted.failures.seconds_per_call * len(rows) / model.n_checked(rows)
    )
    if found is None:
        return model, disagreement
    if estimator.verbose:
        print(f"[{type(estimator).__name__}] expects {found}", flush=True)
    most = estimator.max_calls
    # factor by which an estimate may be too high: a limit that is lower still is refused at once
    if most is not None and most < found.n_calls / 4.0:
        raise CallLimitError(f"max_calls={most} will not do: {found}; {ADVICE}")
    if most is not None and most < found.n_calls:
        warn_caller(f"max_calls={most} may not do, and ends the fit without an answer: {found}; {ADVICE}")
    if most is None and found.seconds > ANNOUNCED_SECONDS:
        warn_caller(f"this fit is long: {found}; max_calls= sets a limit, and {ADVICE}")
    return model, disagreement


#: How to pay less.
ADVICE = (
    "a log_likelihood that takes many parameter vectors at once, a gradient= of your own, or "
    "sampler=Laplace() costs less"
)


def price(model: CustomModel, rows: Rows, estimator: Any, seconds_per_call: float) -> Price | None:
    """The estimate for the default sampler; None for others, whose calls their parameters tell."""
    gradient_share = 0.3  # share of the evaluations by annealing that have gradients
    sampler, d = estimator._sampler(), model.n_params
    if not isinstance(sampler, SGAIS) or sampler.proposal is None:
        return None
    if model.has_normal_coordinates and d <= MAX_PARAMETERS:
        # evaluations by boxes of one, two and three parameters, more for narrow posteriors
        return Price(
            (1_300, 8_000, 22_000)[d - 1], seconds_per_call, "boxes; ten times as many if they do not answer"
        )
    if is_short(model, rows):
        n_draws = model.survey_of(estimator.max_calls or np.inf)
        way = f"a survey of the prior by {n_draws} draws; ten times as many if it does not answer"
        return Price(n_draws * model.calls_per_draw, seconds_per_call, way)
    # evaluations by annealing
    n = 7e4 * d**0.5 * (1 - gradient_share + gradient_share * model.calls_per_gradient)
    return Price(n, seconds_per_call, f"annealing {d} parameters; hard posteriors take ten times as many")


def _time(seconds: float) -> str:
    for unit, size in (("days", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return f"{seconds * 1e6:.2g} µs"


@contextmanager
def _failures_named(model: CustomModel) -> Iterator[None]:
    """Rows that are impossible because a function fails are an error of the function, not of the rows."""
    before = model.failures.n_failed
    try:
        yield
    except ImpossibleRowsError as error:
        if model.failures.n_failed == before:
            raise
        raise ValueError(f"{model.failures.example}; no particle is left that explains the rows") from error
