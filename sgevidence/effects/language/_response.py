r"""Functions of the response: log(y) ~ x is a model of z = g(y) whose evidence is that of y.

    p(y | X) = p(z | X) |g'(y)|

g is one function, or several within one another, of one column, each of which rises or falls all the way:
log, log1p, sqrt, logit, and arithmetic with numbers.

Symbols: ``y`` = the column (n,), ``z`` = g(y) (n,), ``steps`` = g, the innermost first.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from ._formula_tokens import shown


class Step(NamedTuple):
    """A function, its inverse, and the logarithm of its slope at y."""

    forward: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    log_slope: Callable[[Any], Any]


#: Functions of the left-hand side.  What lies below zero of sqrt(y) is a y of zero to predictions.
RESPONSE_STEPS = {
    "log": Step(np.log, np.exp, lambda y: -np.log(y)),
    "log2": Step(np.log2, np.exp2, lambda y: -np.log(y * np.log(2.0))),
    "log10": Step(np.log10, lambda z: 10.0**z, lambda y: -np.log(y * np.log(10.0))),
    "log1p": Step(np.log1p, np.expm1, lambda y: -np.log1p(y)),
    "logit": Step(logit, expit, lambda y: -np.log(y) - np.log1p(-y)),
    "sqrt": Step(np.sqrt, lambda z: np.maximum(z, 0.0) ** 2, lambda y: -np.log(2.0) - 0.5 * np.log(y)),
}
#: Slopes of + and − with a number are one; those of the other operators are the number, or one over it.
ARITHMETIC = ("+", "-", "*", "/")


class Response(NamedTuple):
    """The column on the left of a formula, and the functions that it stands in."""

    name: str | None  #: None where the formula has no left
    words: str = ""  #: as a formula writes it
    steps: tuple = ()  #: names of functions, and pairs (operator, number), (operator, number, "number first")

    @classmethod
    def of(cls, text: str, words: str, tree: tuple) -> "Response":
        """A response that is made; ValueError for functions that have no inverse."""
        steps: list[Any] = []
        while tree[0] != "column":
            operation, *arguments = tree
            if operation in RESPONSE_STEPS:
                steps.append(operation)
                tree = arguments[0]
            elif operation == "I":
                tree = arguments[0]
            elif operation in ARITHMETIC and any(one[0] == "number" for one in arguments):
                is_first = arguments[0][0] == "number"
                number, tree = arguments if is_first else arguments[::-1]
                steps.append((operation, number[1], is_first))
                if operation in "*/" and (number[1] == 0 or (is_first and operation == "/")):
                    raise ValueError(
                        f"{shown(text)}: the response {words} has no inverse: write log(y) or sqrt(y)"
                    )
            else:
                raise ValueError(
                    f"{shown(text)}: the response {words} is no column in {', '.join(RESPONSE_STEPS)} or "
                    "arithmetic with numbers, whose inverse predictions need: make the column in the frame"
                )
        return cls(tree[1], words, tuple(steps[::-1]))

    @property
    def is_as_it_is(self) -> bool:
        return not self.steps

    def made(self, y: np.ndarray) -> np.ndarray:
        """z = g(y); ValueError naming a row that has none."""
        with np.errstate(all="ignore"):
            z = np.asarray(y, dtype=np.float64)
            for step in self.steps:
                z = of_step(step).forward(z)
        if not (is_finite := np.isfinite(z)).all():
            row = int(np.argmin(is_finite))
            raise ValueError(
                f"{self.words} is not finite where y is {y[row]:g}, as in row {row}, counted from 0"
            )
        return z

    def restored(self, z: np.ndarray) -> np.ndarray:
        """y of z."""
        with np.errstate(over="ignore"):
            for step in self.steps[::-1]:
                z = of_step(step).inverse(z)
        return z

    def log_slope(self, y: np.ndarray) -> np.ndarray:
        """log |g'(y)|, (n,)."""
        found, z = np.zeros(len(y)), np.asarray(y, dtype=np.float64)
        with np.errstate(all="ignore"):
            for step in self.steps:
                found = found + of_step(step).log_slope(z)
                z = of_step(step).forward(z)
        return found


def of_step(step: Any) -> Step:
    """The function of a step, which is a name, or arithmetic with a number."""
    if isinstance(step, str):
        return RESPONSE_STEPS[step]
    operation, c, is_first = step
    if operation == "+":
        return Step(lambda y: y + c, lambda z: z - c, lambda y: 0.0)
    if operation == "-" and is_first:
        return Step(lambda y: c - y, lambda z: c - z, lambda y: 0.0)
    if operation == "-":
        return Step(lambda y: y - c, lambda z: z + c, lambda y: 0.0)
    c = 1.0 / c if operation == "/" else c
    return Step(lambda y: c * y, lambda z: z / c, lambda y: np.log(abs(c)))
