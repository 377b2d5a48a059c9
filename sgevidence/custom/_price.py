"""The price of a user's model, in evaluations of its log likelihood and seconds, and doubts about it.

Boxes take about as many for most posteriors of one, two or three parameters
(:mod:`~sgevidence.answers._cubature`).
A survey of the prior takes 1.6 to 2.6 evaluations for each of its draws, more by numerical gradients.
Annealing takes 6·10⁴ to 13·10⁴ √d for a Gaussian that is a third to a hundredth of the prior wide, three to
five in ten of them with gradients, and up to ten times as many for hierarchies.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..answers import MAX_PARAMETERS, is_short
from ..estimators import ConditionalEstimator, described
from ..exceptions import CallLimitError, ImpossibleRowsError, warn_caller
from ..history import Rows
from ..rows import generator
from ..samplers import SGAIS
from ._model import CustomModel


class WatchedFunctions(ConditionalEstimator):
    """Base of the estimator of a user's model, which says where its functions cannot be relied on."""

    _model: CustomModel
    max_calls: int | None

    @property
    @described
    def diagnostics_(self) -> dict[str, float]:
        """``n_failed`` counts θ where functions failed, ``n_calls`` evaluations of ``log_likelihood``."""
        failures = self._model.failures
        return super().diagnostics_ | {"n_failed": failures.n_failed, "n_calls": failures.n_likelihoods}

    def _run(self, *arguments: Any) -> None:
        with self._counted():
            super()._run(*arguments)
        self._doubt_failures()
        self._doubt_unresolved()

    def _update(self, *arguments: Any) -> None:
        with self._counted():
            super()._update(*arguments)
        self._doubt_failures()
        self._doubt_unresolved()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Failures of a call are counted in a model of its own: a call that is refused leaves no trace."""
        self._model = self._model.counted()
        failures = self._model.failures
        before = failures.n_likelihoods if failures.n_calls else 0  # those of the check are of the first
        failures.max_likelihoods = np.inf if self.max_calls is None else before + self.max_calls
        with _failures_named(self._model):
            yield

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
