"""Gradients of functions that autograd cannot differentiate, and functions of one θ at a time.

A function becomes an autograd primitive whose derivative is that of central differences, or what the user
says.  Trajectories are proposals with a Metropolis test, so that the answer does not depend on how good
these derivatives are; only how far a step can go does.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive
from autograd.tracer import isbox

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
