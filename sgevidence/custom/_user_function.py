"""A user's function of θ and rows: checked, copied and differentiated, and where it fails it counts as −∞.

Three things go wrong inside a function that somebody else has written, long after its first call:

* **It raises** ``LinAlgError`` or an ``ArithmeticError`` for one extreme θ of many, as the Cholesky factor
  of a matrix that is not positive definite there.  The cloud is halved until those θ are alone, and they are
  impossible.
* **It returns nan or +∞.**  Where its arithmetic has left the range of floating point numbers on the way
  (overflow, underflow, a division by zero), θ is as impossible as if it had raised.  Any other nan is a
  mistake of the function, and so is the log evidence that would be made of what is left: it is refused.
* **It returns one buffer** that its next call overwrites.

Failures are counted, since −∞ where the posterior is makes another model of it.

**Gradients.**  A function that autograd cannot differentiate, or one of a single θ, becomes an autograd
primitive whose derivative is that of central differences, or what the user says.  Trajectories are proposals
with a Metropolis test, so that the answer does not depend on how good these derivatives are; only how far a
step can go does.

**Coordinates.**  ``log_likelihood(p, X, y)`` is a function of parameters as their author thinks of them: by
name or as an array, all at once or one θ at a time, with rows or without.  The engine wants f(z (M, d), X, y)
→ (M, n) that autograd can follow.  :class:`RowFunction` is the way from one to the other.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive
from autograd.tracer import getval, isbox

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


#: Step of central differences of functions of standard normals: Hessians are differences of these gradients,
#: and the fourth root of the rounding is where a second difference is best.
STEP_OF_NORMALS = np.finfo(float).eps ** 0.25


def numerical(function: Callable) -> Callable:
    """function(z (M, d)) -> (M, ...) with derivatives by central differences: 2 d more evaluations."""
    f = primitive(function)

    def vjp(ans: np.ndarray, z: np.ndarray) -> Callable:
        def back(g: np.ndarray) -> np.ndarray:
            grad = np.zeros(z.shape)
            for j, step in enumerate(STEP_OF_NORMALS * np.eye(z.shape[1])):
                with np.errstate(all="ignore"):
                    slope = g * (function(z + step) - function(z - step)) / (2 * STEP_OF_NORMALS)
                slope[~np.isfinite(slope)] = 0.0  # at an edge of the support
                grad[:, j] = slope.reshape(len(z), -1).sum(axis=1)
            return grad

        return back

    defvjp(f, vjp)
    return f


def with_gradient(function: Callable, gradient: Callable, names: Sequence[str] | None) -> Callable:
    """function(p) -> (M, n) whose derivatives are gradient(p), a dictionary of (M, n, *shape).

    ``names`` is None where p and its gradient are arrays and no dictionaries.
    """

    def of(p: Any) -> Any:
        leaves = [p] if names is None else [p[name] for name in names]

        def joined(values: Sequence[Any]) -> Any:
            return values[0] if names is None else dict(zip(names, values))

        found: list = []

        def vjp(k: int, ans: np.ndarray, *values: np.ndarray) -> Callable:
            def back(g: np.ndarray) -> np.ndarray:
                if not found:
                    found.append(gradient(joined(values)))
                if names is not None and set(found[0]) != set(names):
                    raise ValueError(f"gradient must return a dictionary with the keys {list(names)}")
                slopes = np.asarray(found[0] if names is None else found[0][names[k]], dtype=float)
                expected = (*ans.shape, *values[k].shape[1:])
                if slopes.size != np.prod(expected):
                    of_what = "" if names is None else f" of {names[k]!r}"
                    raise ValueError(
                        f"gradient{of_what} must have the shape {expected}: of each row under each parameter "
                        f"vector; it has {slopes.shape}"
                    )
                return np.einsum("mn,mn...->m...", g, slopes.reshape(expected))

            return back

        f = primitive(lambda *values: function(joined(values)))
        defvjp(f, *(partial(vjp, k) for k in range(len(leaves))))
        return f(*leaves)

    return of


def one_at_a_time(function: Callable, single: Callable) -> Callable:
    """function(p, *rows) for one particle, made for all M: (M, n); ``single`` takes (p of all, m)."""

    def of_all(p: Any, *rows: Any) -> Any:
        M = len(p if not isinstance(p, dict) else next(iter(p.values())))
        values = [_copy(function(single(p, m), *rows)) for m in range(M)]
        shapes = {value.shape for value in values}
        if len(shapes) > 1:
            raise ValueError(f"a function of one θ returned arrays of different shapes: {sorted(shapes)}")
        return anp.stack(values) if any(map(isbox, values)) else np.stack(values)

    return of_all


def _copy(value: Any) -> Any:
    """An array of its own: the function may return one buffer each time."""
    return value + 0.0 if isbox(value) else np.array(value, dtype=float)


@dataclass(frozen=True)
class RowFunction:
    """log p(rows | z), of functions that were given by a user; picklable if they are."""

    function: Callable  #: (p, X, y) -> (M, n), or (p) -> (M,) without rows
    prior: Any  #: gives p for coordinates z
    vectorized: bool = True  #: False: functions take one θ, and return (n,), or a number without rows
    gradient: Any = "autograd"  #: a callable returns the derivatives in p, (M, n, *shape) by name
    has_rows: bool = True

    def __post_init__(self) -> None:
        check_arguments(self.function, self.has_rows)

    def __call__(
        self, z: Any, X: np.ndarray, y: np.ndarray | None, charge: Callable[[int], Any] = int
    ) -> Any:
        """log p of each row under each particle, (M, n); of no rows (M, 1).

        ``charge`` is told how many parameter vectors the function is given, those of differences among them.
        """
        rows = (X, y) if self.has_rows else ()

        def values(p: Any) -> Any:
            charge(_length(p))
            return self._values(p, rows)

        if self.gradient == "autograd":
            return values(self.prior.natural(z))
        if self.gradient == "numerical":
            return numerical(lambda t: np.asarray(values(self.prior.natural(t)), dtype=float))(z)
        p = self.prior.natural(z)
        return with_gradient(
            lambda q: np.asarray(values(q), dtype=float),
            lambda q: self._gradients(q, rows),
            list(p) if isinstance(p, dict) else None,
        )(p)

    def _values(self, p: Any, rows: tuple) -> Any:
        value = self._of_all(self.function)(_protected(p), *rows)
        M = _length(p)
        if not self.has_rows and np.shape(value) == (M,):
            value = anp.reshape(value, (M, 1))
        return value

    def _of_all(self, function: Callable) -> Callable:
        return function if self.vectorized else one_at_a_time(function, self.prior.single)

    def _gradients(self, p: Any, rows: tuple) -> Any:
        if self.vectorized:
            return self.gradient(_protected(p), *rows)
        M = _length(p)
        each = [self.gradient(self.prior.single(p, m), *rows) for m in range(M)]
        if isinstance(p, dict):
            return {name: np.array([slopes[name] for slopes in each], dtype=float) for name in each[0]}
        return np.array(each, dtype=float)

    def mean(self, function: Callable, z: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Another function of p and X, such as the mean of y, at each row under each particle, (M, n)."""
        return np.array(self._of_all(function)(_protected(self.prior.natural(z)), X), dtype=float)

    def simulate(self, function: Callable, z: np.ndarray, X: Any, rng: np.random.Generator) -> np.ndarray:
        """function(p, X, rng) with one θ for each row: scalars are (n,), or one row at a time."""
        if self.vectorized:
            return np.array(function(_protected(self.prior.simulated(z)), X, rng))
        p = self.prior.natural(z)
        parts = [
            np.array(function(self.prior.single(p, i), None if X is None else X[i : i + 1], rng))
            for i in range(len(z))
        ]
        return np.concatenate([part.reshape(1, *part.shape[part.ndim > 0 :]) for part in parts])


def check_arguments(function: Callable, has_rows: bool) -> None:
    """Refuse (TypeError) a log likelihood that cannot take the arguments it will be given."""
    arguments = ("p", "X", "y") if has_rows else ("p",)
    try:
        inspect.signature(function).bind(*arguments)
    except ValueError:  # a function written in C need not have a signature
        return
    except TypeError as error:
        note = "y is None where fit gets none" if has_rows else "fit() without rows"
        raise TypeError(
            f"log_likelihood is called as log_likelihood({', '.join(arguments)}) ({note}): {error}"
        ) from error


def _length(p: Any) -> int:
    """Number of parameter vectors."""
    return len(next(iter(p.values())) if isinstance(p, dict) else p)


def _protected(p: Any) -> Any:
    """Arrays that cannot be written through, in a dictionary of its own."""
    return {name: read_only(value) for name, value in p.items()} if isinstance(p, dict) else read_only(p)


def standard_normals(rng: np.random.Generator, size: int, d: int) -> np.ndarray:
    """Draws from N(0, I), (size, d)."""
    return rng.standard_normal((size, d))


def standard_log_density(z: Any) -> Any:
    """log N(z; 0, I), (M,)."""
    return anp.sum(-0.5 * z**2 - 0.5 * np.log(2 * np.pi), axis=1)
