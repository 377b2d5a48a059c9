"""Whether an integral by weighted points may be believed.

An answer that is not is none: the model is annealed instead.
"""

from ..particles import Weights
from ..targets import pareto_k
from ._integral import Integral

#: Effective points without which the error bar says little, and most Pareto k (Vehtari et al. 2024).
MIN_EFFECTIVE, MAX_PARETO_K = 80.0, 0.7
#: Share of Z beyond the largest weight, by the fitted tail, up to which k does not matter.
MAX_TAIL_SHARE = 0.02
#: Largest standard error, nats.
MAX_STD = 0.1


def doubt(found: Integral | None) -> str | None:
    """Why an integral cannot be trusted, in words; None if it can."""
    if found is None:
        return "the posterior of the hyperparameters has no maximum that can be found"
    if found.ess < MIN_EFFECTIVE:
        return f"only {found.ess:.0f} of {len(found.log_w)} points count"
    k, largest = pareto_k(found.log_w), Weights(found.log_w).W.max()
    if k > MAX_PARETO_K and largest > MAX_TAIL_SHARE * (1 - k):
        return f"the weights have a tail so heavy that their mean has no error bar (Pareto k {k:.2f})"
    if found.std > MAX_STD:
        return f"the standard error is {found.std:.2f} nats"
    return None


def check(found: Integral | None) -> Integral:
    """The integral itself; ArithmeticError with the words of :func:`doubt`."""
    words = doubt(found)
    if found is None or words is not None:
        raise ArithmeticError(words)
    return found
