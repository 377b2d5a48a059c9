"""A user's log likelihood as a function of unconstrained coordinates and rows.

``log_likelihood(p, X, y)`` is a function of parameters as their author thinks of them: by name or as an
array, all at once or one θ at a time, with rows or without.  The engine wants f(z (M, d), X, y) → (M, n)
that autograd can follow.  This is the way from one to the other.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import autograd.numpy as anp
import numpy as np

from ._gradients import numerical, one_at_a_time, with_gradient
from ._user_function import read_only


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
