"""Columns that a formula makes of others, and the calls in its tree that say so.

The columns, ``log(x)``, ``I(x ** 2 + z)``, ``poly(x, 2)``, come from a closed list.  An expression is a
tree of tuples, (operation, argument, …), with leaves ("column", name) and ("number", v).  Nothing of a
formula is looked up in Python: an operation is a key of the tables below or is refused.

Statistics of center(), scale() and poly() are those of the first rows; afterwards they are numbers in the
tree.  Orthogonal polynomials of the first rows obey, in z = (x − mean) / sd,

    p_0 = 1,    p_{k+1} = (z − α_k) p_k − β_k p_{k−1},    α_k = ⟨z p_k, p_k⟩ / ⟨p_k, p_k⟩,
    β_k = ⟨p_k, p_k⟩ / ⟨p_{k−1}, p_{k−1}⟩,

and are divided by their root sum of squares, as poly() of R.

Each call in the tree of a formula that makes columns becomes a variable whose name has its expression.  Calls
that are terms of their own, s(), C() and others, stay calls.

Symbols: ``node`` = node of the tree that formulae parses, ``tree`` = expression, ``X`` = frame.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy.special import expit, logit

from .._columns import column_names, numbers
from ._formula_tokens import MadeName, Unreadable, new_token, shown

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


#: Functions of other programs, and what says here what they say.
ELSEWHERE = {
    "se": "known standard errors are noise_std= of BayesianLinearRegression where they are equal",
    "cens": "censored times are event= of BayesianGLM.fit with a family of times",
    "Surv": "give the time as y and event= to BayesianGLM.fit with a family of times",
    "me": "errors of measurement of a column have no term: model them with your own log density",
    "mi": "missing values have no term: fill them in before, or leave the rows out",
    "trials": "the number of trials is trials= of BayesianGLM.fit, family 'binomial'",
    "cbind": "give the successes as y and trials= to BayesianGLM.fit, family 'binomial'",
    "prop": "give the successes as y and trials= to BayesianGLM.fit, family 'binomial'",
    "proportion": "give the successes as y and trials= to BayesianGLM.fit, family 'binomial'",
    "p": "give the successes as y and trials= to BayesianGLM.fit, family 'binomial'",
    "censored": "give the time as y and event= to BayesianGLM.fit with a family of times",
    "trunc": "times that are seen from an entry on have entry= of BayesianGLM.fit, and other limits no term",
    "mvbind": "fit a model for each response",
    "bf": "noise= and zeros= are the formulas of other parameters",
    "weights": "weights are sample_weight= of fit",
    "lag": "make the lagged column in the frame, frame['y'].shift(1), or see BayesianAutoregression",
    "ar": "see BayesianAutoregression",
    "strata": "write C(g) or (1 | g); for hazards of another form fit a model for each level",
    "frailty": "write (1 | g)",
    "cluster": "write (1 | g)",
    "pspline": "write s(x)",
    "ridge": "write the columns alone, whose prior is coef_scale=",
    "tt": "split the rows at times, Surv(start, stop, dead)",
    "te": "write s(x) + s(z) + x:z",
    "ti": "write s(x) + s(z) + x:z",
    "t2": "write s(x) + s(z) + x:z",
    "ns": "write s(x), or bs(x, df=5)",
    "cr": "write s(x), or bs(x, df=5)",
    "gp": "write s(x)",
    "hsgp": "write s(x)",
    "rcs": "write s(x), or bs(x, df=5)",
    "cut": "make the column in the frame, pandas.cut(...)",
    "ifelse": "make the column in the frame, numpy.where(...)",
    "S": "write the column alone, or C(x) of numbers: effects of levels sum to zero",
    "cc": "write s(x, period=12)",
    "relevel": "write T(x, 'a')",
    "power": "write I(x**2)",
    "factor": "write C(x)",
    "as.factor": "write C(x)",
    "interaction": "write a:b",
    "gr": "write the column of the group alone, (1 | g)",
    "mm": "groups of which a row has several have no term",
    "B": "write I(...) for arithmetic; successes are y of BayesianGLM.fit",
    "Q": "write the column in backticks",
    "diag": "write (x || g)",
    "us": "write (x | g)",
    "cs": "write (1 | g) + (1 | g:f); effects that differ between thresholds have no term",
    "ar1": "write (x | g); see BayesianAutoregression for a series",
}
#: Precedence is written out by parentheses.
KIND_OF_OPERATOR = {
    "PLUS": "+", "MINUS": "-", "STAR": "*", "SLASH": "/", "STAR_STAR": "**", "GREATER": ">", "LESS": "<",
    "GREATER_EQUAL": ">=", "LESS_EQUAL": "<=", "EQUAL_EQUAL": "==", "BANG_EQUAL": "!=",
}  # fmt: skip


def with_made_names(text: str, node: Any) -> Any:
    """The tree of a formula whose calls that make columns are variables."""
    kind = type(node).__name__
    if kind == "Call":
        name = callee_of(node)
        if name in MADE:
            tree = tree_of(text, node)
            return variable(tree)
        node.args = [argument(text, one) for one in node.args]
    for attribute in ("expression", "left", "right"):
        if hasattr(node, attribute) and kind in ("Grouping", "Binary", "Unary"):
            setattr(node, attribute, with_made_names(text, getattr(node, attribute)))
    return node


def argument(text: str, node: Any) -> Any:
    """An argument of a call that stays one, s(log(x)): a column that is made of others, or as it is."""
    if type(node).__name__ == "Call" and callee_of(node) in MADE:
        return with_made_names(text, node)
    return node


def variable(tree: tuple) -> Any:
    from formulae.expr import Variable

    return Variable(new_token("IDENTIFIER", MadeName.of(words_of(tree), tree), 0))


def callee_of(node: Any) -> str:
    """The function of a call, without the module that it may be written with."""
    name = getattr(getattr(node.callee, "name", None), "lexeme", "")
    return re.sub(r"^(np|numpy|math)\.", "", str(name))


def tree_of(text: str, node: Any, depth: int = 0) -> tuple:
    """The expression of a node; Unreadable, with the place, for what is not in the closed list."""
    kind = type(node).__name__
    if depth > MAX_NESTED_OPERATIONS:
        raise Unreadable(f"{shown(text)}: more than {MAX_NESTED_OPERATIONS} operations stand in one another")
    if kind == "Grouping":
        return tree_of(text, node.expression, depth + 1)
    if kind == "Literal":
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise Unreadable(
                f"{shown(text, piece=str(node.value))}: {node.value!r} is neither a column nor a number"
            )
        return ("number", float(node.value))
    if kind == "QuotedName":
        return ("column", node.expression.lexeme[1:-1])
    if kind == "Variable" and node.level is None:
        return ("column", str(node.name.lexeme))
    if kind == "Unary":
        inner = tree_of(text, node.right, depth + 1)
        return inner if node.operator.kind == "PLUS" else ("-", ("number", 0.0), inner)
    if kind == "Binary" and node.operator.kind in KIND_OF_OPERATOR:
        sides = (tree_of(text, one, depth + 1) for one in (node.left, node.right))
        return (KIND_OF_OPERATOR[node.operator.kind], *sides)
    if kind == "Call":
        return tree_of_call(text, node, depth)
    piece = getattr(getattr(node, "operator", None), "lexeme", "")
    raise Unreadable(f"{shown(text, piece=piece)}: {piece or kind} has no place within a function of columns")


def tree_of_call(text: str, node: Any, depth: int) -> tuple:
    name = callee_of(node)
    if name not in MADE:
        raise Unreadable(
            f"{shown(text, piece=name)}: {name}() is none of the functions of a column{nearest(name)}"
        )
    operation = ALIASES.get(name, name)
    options = {one.name.name.lexeme: one.value for one in node.args if type(one).__name__ == "Assign"}
    given = [one for one in node.args if type(one).__name__ != "Assign"]
    n_given, allowed = (2, {"degree", "raw"}) if operation == "poly" else (1, set())
    if not given or len(given) > n_given or options.keys() - allowed:
        what = "a column, a degree and raw=True" if operation == "poly" else "one column, and no options"
        raise Unreadable(f"{shown(text, piece=name + '(')}: {name}() has {what}")
    inner = tree_of(text, given[0], depth + 1)
    if not is_of_columns(inner):
        raise Unreadable(f"{shown(text, piece=name + '(')}: {name}() names no column")
    if operation == "I":
        return inner if depth else ("I", inner)
    if operation in (*FUNCTIONS, "center", "scale"):
        return (operation, inner)
    if depth:
        raise Unreadable(
            f"{shown(text, piece=name + '(')}: {name}() stands for itself, and not within another function"
        )
    if operation == "offset":
        return ("offset", inner)
    degree = getattr(given[1] if len(given) > 1 else options.get("degree"), "value", None)
    raw = getattr(options.get("raw"), "value", None if "raw" in options else False)
    if type(degree) is not int or not 1 <= degree <= MAX_DEGREE or not isinstance(raw, bool):
        raise Unreadable(
            f"{shown(text, piece='poly(')}: the degree of poly() is a whole number from 1 to {MAX_DEGREE}"
        )
    return ("poly", inner, degree, raw)


def is_of_columns(tree: tuple) -> bool:
    return tree[0] == "column" or any(isinstance(one, tuple) and is_of_columns(one) for one in tree[1:])


def nearest(name: str) -> str:
    """The nearest thing that works, for a message about a function."""
    if name in ELSEWHERE:
        return f": {ELSEWHERE[name]}"
    close = get_close_matches(name, [*MADE, "s", "bs", "C"], n=1)
    near = f", of which {close[0]}() is the nearest" if close else ""
    return f", s, bs, C, {', '.join(MADE)}{near}: make another column in the frame"


def words_of(tree: tuple) -> str:
    """An expression as a formula writes it, in one spelling."""
    operation, *arguments = tree
    if operation == "column":
        return name_words(arguments[0])
    if operation == "number":
        return np.format_float_positional(arguments[0], trim="-")
    if operation == "poly":
        return f"poly({words_of(arguments[0])}, {arguments[1]}{', raw=True' * arguments[2]})"
    if operation in OPERATORS:
        sides = [f"({words_of(one)})" if one[0] in OPERATORS else words_of(one) for one in arguments]
        return f" {operation} ".join(sides)
    return f"{operation}({words_of(arguments[0])})"


def name_words(name: Any) -> str:
    """A column's name, in backticks where a formula needs them."""
    text = str(name)
    is_plain = re.fullmatch(r"[^\W\d_][\w.]*", text) and text not in ("True", "False", "None")
    return text if is_plain or isinstance(name, MadeName) else f"`{text}`"
