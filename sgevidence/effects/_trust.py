"""Whether an integral by weighted points may be believed.

An answer that is not is none: the model is annealed instead.
"""

import numpy as np

from ._integral import Integral, is_heavy

#: Effective points without which the error bar says little.
MIN_EFFECTIVE = 80.0
#: Largest standard error, nats.
MAX_STD = 0.1


def doubt(found: Integral | None) -> str | None:
    """Why an integral cannot be trusted, in words; None if it can."""
    if found is None:
        return "the posterior of the hyperparameters has no maximum that can be found"
    if found.ess < MIN_EFFECTIVE:
        return f"only {found.ess:.0f} of {len(found.log_w)} points count"
    if is_heavy(found.log_w):
        return "the weights have a tail so heavy that their mean has no error bar"
    if found.std > MAX_STD:
        return f"the standard error is {found.std:.2f} nats"
    return None


def widened(found: Integral | None, error: float) -> Integral | None:
    """The integral with an error of the density in its error bar."""
    return None if found is None else found._replace(std=float(np.hypot(found.std, error)))


def check(found: Integral | None) -> Integral:
    """The integral itself; ArithmeticError with the words of :func:`doubt`."""
    words = doubt(found)
    if found is None or words is not None:
        raise ArithmeticError(words)
    return found
