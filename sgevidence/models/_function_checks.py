"""Is a user's likelihood a function of one θ, and is its gradient one?  Asked once, before sampling."""

from typing import Any

import numpy as np

from ._evaluation import NUMERICAL_ERRORS, value_and_grad
from ._gradients import numerical
from ._user_function import UserFunction

#: Draws from the prior at which the functions are asked again, alone and for their gradient.
TRIED = 5
#: Relative difference of log likelihoods that is no rounding, of single precision either.
MAX_DIFFERENCE = 1e-3
#: Relative difference of gradients that central differences do not explain.
MAX_GRADIENT_DIFFERENCE = 0.02


def check_independence(function: UserFunction, theta: np.ndarray, rows: Any) -> None:
    """The value of the likelihood at a draw from the prior is the same whoever else is in the cloud."""
    some = theta[:TRIED]
    with np.errstate(all="ignore"):
        together = _values(function, some, rows)
        alone = np.concatenate([_values(function, t[None], rows) for t in some])
        wrong = np.abs(together - alone) > MAX_DIFFERENCE * (1 + np.abs(alone))
    if np.any(wrong):
        m, r = np.argwhere(wrong)[0]
        raise ValueError(
            f"{function.name} is {together[m, r]:.6g} at {function.words(some[m])} among {len(some)} "
            f"parameter vectors, and {alone[m, r]:.6g} alone: the first axis of parameters counts vectors, "
            "which must not be mixed, and a likelihood is not random"
        )


def check_gradient(function: UserFunction, theta: np.ndarray, rows: Any, gradient: Any) -> None:
    """Autograd can differentiate the function at possible θ, else TypeError; a stated gradient is right."""

    def total(t: Any) -> Any:
        return function.as_it_comes(t, rows.X, rows.y, shape=(len(rows),)) @ np.ones(len(rows))

    with np.errstate(all="ignore"):
        some = theta[:TRIED]
        if not len(some):
            return
        try:
            found = value_and_grad(total, some)[1]
        except NUMERICAL_ERRORS:
            return
        except Exception as error:
            if gradient != "autograd":
                raise
            raise TypeError(
                f"autograd cannot differentiate {function.name} ({type(error).__name__}: {error}): use "
                "autograd.numpy and autograd.scipy inside of it and of functions in priors, or "
                "gradient='numerical'"
            ) from error
        if not callable(gradient):
            return
        expected = value_and_grad(numerical(lambda t: np.asarray(total(t))), some)[1]
    size = np.abs(expected).max(axis=1, keepdims=True) + 1e-6
    wrong = np.abs(found - expected) > MAX_GRADIENT_DIFFERENCE * size
    if wrong.any(axis=1).sum() > len(some) / 2:  # at an edge or a jump, differences are none
        m = int(np.argmax(wrong.any(axis=1)))
        raise ValueError(
            f"gradient is not the derivative of {function.name}: at {function.words(some[m])} it gives "
            f"{found[m]} in the coordinates of the sampler, and differences give {expected[m]}"
        )


def _values(function: UserFunction, theta: np.ndarray, rows: Any) -> np.ndarray:
    """As they come, (M, n)."""
    return np.asarray(function.as_it_comes(theta, rows.X, rows.y, shape=(len(rows),)))
