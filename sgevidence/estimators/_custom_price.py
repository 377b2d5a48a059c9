"""The price of a user's model: how many evaluations of its log likelihood a fit takes, and how long they are.

Boxes take about as many for most posteriors of one, two or three parameters (:mod:`..answers._cubature`).
Annealing takes 6·10⁴ to 13·10⁴ √d for a Gaussian that is a third to a hundredth of the prior wide, three to
five in ten of them with gradients, and up to ten times as many for hierarchies.
"""

from typing import Any, NamedTuple

from ..answers import MAX_PARAMETERS
from ..exceptions import CallLimitError, warn_caller
from ..history import Rows
from ..models import CustomModel
from ..rows import generator
from ..samplers import SGAIS

#: Evaluations by boxes of one, two and three parameters, more for narrow posteriors.
BY_BOXES = (1_300, 8_000, 22_000)
#: Evaluations by annealing for √d, and share of them that have gradients.
ANNEALED, GRADIENT_SHARE = 7e4, 0.3
#: Factor by which an estimate may be too high: a limit that is lower still is refused at once.
UNCERTAINTY = 4.0
#: Seconds from which a fit that nobody has limited is announced.
LONG = 600.0


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

    CallLimitError where ``max_calls`` is far less than what is to be expected.
    """
    counted = model.counted()
    disagreement = counted.check(rows, generator(0))  # not the sampler's stream
    model.failures.n_likelihoods = counted.failures.n_likelihoods
    found = price(model, estimator, counted.failures.seconds_per_call * len(rows) / model.n_checked(rows))
    if found is None:
        return model, disagreement
    if estimator.verbose:
        print(f"[{type(estimator).__name__}] expects {found}", flush=True)
    most = estimator.max_calls
    if most is not None and most < found.n_calls / UNCERTAINTY:
        raise CallLimitError(f"max_calls={most} will not do: {found}; {ADVICE}")
    if most is None and found.seconds > LONG:
        warn_caller(f"this fit is long: {found}; max_calls= sets a limit, and {ADVICE}")
    return model, disagreement


#: How to pay less.
ADVICE = (
    "a log_likelihood that takes many parameter vectors at once, a gradient= of your own, or "
    "sampler=Laplace() costs less"
)


def price(model: CustomModel, estimator: Any, seconds_per_call: float) -> Price | None:
    """The estimate for the default sampler; None for others, whose calls their parameters tell."""
    sampler, d = estimator._sampler(), model.n_params
    if not isinstance(sampler, SGAIS) or sampler.proposal is None:
        return None
    if model.has_normal_coordinates and d <= MAX_PARAMETERS:
        return Price(BY_BOXES[d - 1], seconds_per_call, "boxes; ten times as many if they do not answer")
    per_gradient = 1 + 2 * d if model.gradient == "numerical" else 1
    n = ANNEALED * d**0.5 * (1 - GRADIENT_SHARE + GRADIENT_SHARE * per_gradient)
    return Price(n, seconds_per_call, f"annealing {d} parameters; hard posteriors take ten times as many")


def _time(seconds: float) -> str:
    for unit, size in (("days", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return f"{seconds * 1e6:.2g} µs"
