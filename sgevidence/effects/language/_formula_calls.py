"""Calls in the tree of a formula that make columns: each becomes a variable whose name has its expression.

Calls that are terms of their own, s(), C() and others, stay calls.

Symbols: ``node`` = node of the tree that formulae parses, ``tree`` = expression of :mod:`._made_columns`.
"""

import re
from difflib import get_close_matches
from typing import Any

import numpy as np

from ._formula_tokens import MadeName, Unreadable, new_token, shown
from ._made_columns import ALIASES, FUNCTIONS, MADE, MAX_DEGREE, MAX_NESTED_OPERATIONS, OPERATORS

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
