r"""Columns that a formula makes of others, ``log(x)``, ``I(x ** 2 + z)``, ``poly(x, 2)``, from a closed list.

An expression is a tree of tuples, (operation, argument, …), with leaves ("column", name) and ("number", v).
Nothing of a formula is looked up in Python: an operation is a key of the tables below or is refused.

Statistics of center(), scale() and poly() are those of the first rows; afterwards they are numbers in the
tree.  Orthogonal polynomials of the first rows obey, in z = (x − mean) / sd,

    p_0 = 1,    p_{k+1} = (z − α_k) p_k − β_k p_{k−1},    α_k = ⟨z p_k, p_k⟩ / ⟨p_k, p_k⟩,
    β_k = ⟨p_k, p_k⟩ / ⟨p_{k−1}, p_{k−1}⟩,

and are divided by their root sum of squares, as poly() of R.

Symbols: ``tree`` = expression; ``X`` = frame.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit, logit

from .._columns import column_names, numbers

#: Functions of one column.
FUNCTIONS = {
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "exp": np.exp,
    "expm1": np.expm1, "abs": np.abs, "sin": np.sin, "cos": np.cos, "tan": np.tan, "logit": logit,
    "expit": expit,
}  # fmt: skip
OPERATORS = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power, ">": np.greater,
    "<": np.less, ">=": np.greater_equal, "<=": np.less_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
#: Functions whose statistics are those of the first rows.
STATEFUL = ("center", "scale", "poly")
#: Other spellings of these functions.
ALIASES = {"standardize": "scale", "ln": "log"}
MADE = (*FUNCTIONS, *STATEFUL, *ALIASES, "I", "offset")
#: Highest degree of poly(), and operations within one another at most.
MAX_DEGREE, MAX_NESTED_OPERATIONS = 20, 50


class WithMade:
    """A frame, and columns that are made of its columns when they are asked for."""

    def __init__(self, frame: Any, trees: dict[str, tuple]) -> None:
        self.frame, self.trees = frame, trees
        self.columns = [*column_names(frame), *trees]

    def __getitem__(self, name: Any) -> Any:
        return evaluated(self.trees[name], self.frame) if name in self.trees else self.frame[name]

    def __len__(self) -> int:
        return len(self.frame)


def evaluated(tree: tuple, X: Any) -> Any:
    """Values of an expression, (n,); a number where no column is in it."""
    operation, *arguments = tree
    if operation == "column":
        return numbers(X, arguments[0])
    if operation == "number":
        return arguments[0]
    if operation in ("I", "offset"):
        return evaluated(arguments[0], X)
    if operation == "polynomial":
        return polynomial(evaluated(arguments[0], X), *arguments[1:])
    values = [evaluated(one, X) for one in arguments]
    with np.errstate(all="ignore"):
        found = (FUNCTIONS | OPERATORS)[operation](*values)
    return np.asarray(found, dtype=np.float64)


def leaves(tree: tuple) -> Iterator[str]:
    """Names of the columns in an expression."""
    if tree[0] == "column":
        yield tree[1]
    for one in tree[1:]:
        if isinstance(one, tuple) and one and isinstance(one[0], str):
            yield from leaves(one)


def fitted(name: str, tree: tuple, X: Any) -> dict[str, tuple]:
    """Columns, by name, that an expression stands for, with the statistics of the rows X in their trees."""
    if tree[0] == "poly":
        inner = with_statistics(tree[1], X)
        return {
            f"{name}[{k}]": part for k, part in enumerate(polynomials(name, inner, tree[2], tree[3], X), 1)
        }
    return {name: with_statistics(tree, X)}


def with_statistics(tree: tuple, X: Any) -> tuple:
    if tree[0] in ("column", "number"):
        return tree
    inner = tuple(with_statistics(one, X) for one in tree[1:])
    if tree[0] not in STATEFUL:
        return (tree[0], *inner)
    x = evaluated(inner[0], X)
    centred = ("-", inner[0], ("number", float(np.mean(x))))
    if tree[0] == "center":
        return centred
    sd = float(np.std(x, ddof=1)) if len(x) > 1 else 0.0
    if not sd > 0:
        raise ValueError("scale() needs a column that varies in the first call: center() has no unit")
    return ("/", centred, ("number", sd))


def polynomials(name: str, inner: tuple, degree: int, is_raw: bool, X: Any) -> list[tuple]:
    """Expressions of poly(); ValueError if the rows have too few values for the degree."""
    if is_raw:
        return [("**", inner, ("number", float(k))) for k in range(1, degree + 1)]
    x = evaluated(inner, X)
    if len(np.unique(x)) <= degree:
        raise ValueError(f"{name} needs more than {degree} different values in the first call")
    center, size = float(np.mean(x)), float(np.std(x))
    z, before, p = (x - center) / size, np.zeros(len(x)), np.ones(len(x))
    recurrence: list[tuple[float, float]] = []
    norms: list[float] = []
    for _ in range(degree):
        square = float(p @ p)
        alpha, beta = float((z * p) @ p) / square, square / norms[-1] if norms else 0.0
        recurrence.append((alpha, beta))
        norms.append(square)
        before, p = p, (z - alpha) * p - beta * before
    norms.append(float(p @ p))
    constants = center, size, tuple(recurrence)
    return [("polynomial", inner, k, norms[k] ** 0.5, constants) for k in range(1, degree + 1)]


def polynomial(x: np.ndarray, degree: int, norm: float, constants: tuple) -> np.ndarray:
    """One of the orthogonal polynomials of the first rows at x, (n,)."""
    center, size, recurrence = constants
    z, before, p = (x - center) / size, np.zeros(np.shape(x)), np.ones(np.shape(x))
    for alpha, beta in recurrence[:degree]:
        before, p = p, (z - alpha) * p - beta * before
    return p / norm
