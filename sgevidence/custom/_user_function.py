"""A user's function of θ: what it returns is checked and copied, and where it fails counts as −∞.

Three things go wrong inside a function that somebody else has written, long after its first call:

* **It raises** ``LinAlgError`` or an ``ArithmeticError`` for one extreme θ of many, as the Cholesky factor
  of a matrix that is not positive definite there.  The cloud is halved until those θ are alone, and they are
  impossible.
* **It returns nan or +∞.**  Where its arithmetic has left the range of floating point numbers on the way
  (overflow, underflow, a division by zero), θ is as impossible as if it had raised.  Any other nan is a
  mistake of the function, and so is the log evidence that would be made of what is left: it is refused.
* **It returns one buffer** that its next call overwrites.

Failures are counted, since −∞ where the posterior is makes another model of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import autograd.numpy as anp
import numpy as np
from autograd.tracer import getval

from ..exceptions import CallLimitError
from ..models import NUMERICAL_ERRORS

#: θ of one call whose nan is looked into: each costs one more call of the user's function.
MAX_EXAMINED = 20


@dataclass
class Failures:
    """How often a user's functions were asked, and where they failed."""

    n_calls: int = 0  #: θ at which a function was evaluated
    n_failed: int = 0  #: of these, the θ that count as impossible because it failed there
    n_likelihoods: int = 0  #: θ that the log likelihood was given, for differences, too
    max_likelihoods: float = np.inf  #: of these, the most that may be
    seconds_per_call: float = 0.0  #: of the log likelihood at many θ, as its check has found
    example: str = ""  #: function, error and θ of the first failure

    def add(self, name: str, error: BaseException, where: str) -> None:
        """One more θ at which a function failed."""
        self.n_failed += 1
        self.example = self.example or f"{name} failed with {type(error).__name__} ({error}) at {where}"

    def count(self, more: "Failures") -> None:
        """Failures that have been counted elsewhere."""
        self.n_calls += more.n_calls
        self.n_failed += more.n_failed
        self.charge(more.n_likelihoods)
        self.example = self.example or more.example

    def charge(self, n: int) -> None:
        """More evaluations of the log likelihood; CallLimitError where they are too many."""
        self.n_likelihoods += n
        if self.n_likelihoods > self.max_likelihoods:
            raise CallLimitError(
                f"log_likelihood would be evaluated {self.n_likelihoods} times and more, which max_calls "
                "does not allow: nothing has changed"
            )

    def plus(self, other: "Failures") -> "Failures":
        """Both counts."""
        both = replace(self)
        both.count(other)
        return both

    @property
    def share(self) -> float:
        """Share of all θ at which a function failed."""
        return self.n_failed / max(self.n_calls, 1)


class UserFunction(NamedTuple):
    """A user's function, and what messages call it."""

    name: str  #: in messages
    function: Callable  #: (theta (M, d), *rows) -> array of shape (M, ...)
    letters: str  #: the shape of its answer in letters, for messages
    failures: Failures  #: where they are counted
    words: Callable[[np.ndarray], str] = "θ = {}".format  #: how messages call a θ

    def __call__(self, theta: Any, *rows: Any, shape: tuple[int, ...] = ()) -> Any:
        """Values at θ (M, d), (M, *shape), an array of their own; −∞ where the function fails.

        ValueError if the answer has another shape, or is nan or +∞ though nothing has overflowed; if the
        function writes into what it is given.
        """
        value = self.as_it_comes(theta, *rows, shape=shape)
        plain = getval(value)
        if plain.size and not np.max(plain) < np.inf:
            failed = self._overflowed(getval(theta), plain, rows)
            value = anp.where(failed.reshape(-1, *[1] * len(shape)), -np.inf, value)
        return value

    def as_it_comes(self, theta: Any, *rows: Any, shape: tuple[int, ...] = ()) -> Any:
        """Values as the function returns them, nan and +∞ included; −∞ where it raises."""
        self.failures.n_calls += len(theta)
        return self._halved(theta, rows, shape)

    def _halved(self, theta: Any, rows: tuple, shape: tuple[int, ...]) -> Any:
        """Values at all θ, those that raise apart from the others."""
        try:
            value = self.function(read_only(theta), *map(read_only, rows))
        except NUMERICAL_ERRORS as error:
            if len(theta) == 1:
                self.failures.add(self.name, error, self.words(getval(theta)[0]))
                return np.full((1, *shape), -np.inf)
            middle = len(theta) // 2
            return anp.concatenate([self._halved(t, rows, shape) for t in (theta[:middle], theta[middle:])])
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise ValueError(
                f"{self.name} writes into an array that it is given: let it work on a copy"
            ) from error
        check_shape(value, (len(theta), *shape), self.name, self.letters)
        return value + 0.0  # a copy, in autograd's trace as outside of it

    def _overflowed(self, theta: np.ndarray, value: np.ndarray, rows: tuple) -> np.ndarray:
        """Which θ have no log density because the arithmetic has left its range there, (M,)."""
        wrong = np.isnan(value) | (value == np.inf)
        failed = wrong.reshape(len(theta), -1).any(axis=1)
        finite = np.flatnonzero(failed & np.isfinite(theta).all(axis=1))  # others are no fault of its own
        for i in finite[:MAX_EXAMINED]:
            try:
                with np.errstate(over="raise", under="raise", divide="raise", invalid="ignore"):
                    self.function(read_only(theta[i : i + 1]), *map(read_only, rows))
            except NUMERICAL_ERRORS as error:
                self.failures.add(self.name, error, self.words(theta[i]))
                continue
            where = f" at a row with X = {rows[0][np.argmax(wrong[i])]}" if rows else ""
            raise ValueError(
                f"{self.name} is {value[i][wrong[i]].flat[0]}{where} at {self.words(theta[i])}, and nothing "
                "has overflowed there: a log density is a number or -inf"
            )
        self.failures.n_failed += len(finite[MAX_EXAMINED:])
        return failed


def check_shape(value: Any, expected: tuple[int, ...], name: str, letters: str) -> None:
    """A wrong shape would broadcast to a wrong number: ValueError."""
    shape = getattr(value, "shape", None)  # autograd's tracers have one
    if shape != expected:
        got = f"a {type(value).__name__}" if shape is None else shape
        raise ValueError(f"{name} must return the shape {letters}, here {expected}, but returned {got}")


def read_only(array: Any) -> Any:
    """A view that cannot be written through; what is no array (autograd's tracers, None) as it is."""
    if not isinstance(array, np.ndarray):
        return array
    view = array.view()
    view.flags.writeable = False
    return view
