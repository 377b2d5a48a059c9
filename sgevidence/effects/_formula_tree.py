"""The tree that ``formulae`` makes of a formula, its parts (… | g), and names as a formula writes them.

Nothing is multiplied out before its terms are counted: (a + b)**100000000 would not end.

Symbols: ``node`` = node of the tree of operators.
"""

import re
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from math import comb
from typing import Any, NamedTuple

from ._surv import without_surv

#: Terms of a formula at most, before equal ones are taken together; and its highest power of a sum.
MAX_EXPANDED_TERMS, MAX_POWER = 1000, 10
#: Types of nodes that hold one other node.
AROUND = {"Grouping": "expression", "Unary": "right", "Assign": "value"}


class FormulaTree(NamedTuple):
    """A formula that could be read; components are variables and calls of formulae."""

    response: Any
    terms: list[Any]
    parts: list[list[Any]]  #: terms of each (… | g), whose effects are correlated

    def n_parts(self, group: tuple[str, ...]) -> int:
        """Parts that have effects of a group, whose columns are as a formula writes them."""
        return sum(any(group_key(term) == sorted(group) for term in part) for part in self.parts)


def parsed(text: str) -> FormulaTree:
    """The tree of a formula; ValueError for what cannot be read or told."""
    try:
        from formulae.parser import Parser
        from formulae.resolver import Resolver
        from formulae.scanner import Scanner
    except ImportError as error:
        raise ImportError("formula= needs formulae: pip install formulae") from error
    text = without_surv(text)
    try:
        tokens = Scanner(text).scan()
        refuse_tokens(text, tokens)
        parser = Parser(tokens)
        node = parser.parse()
        if not parser.at_end():
            rest = parser.peek().lexeme
            hint = ": effects of a group stand in parentheses, as (1 + x | g)" * (rest == "|")
            raise Unreadable(f"the formula {text!r} cannot be read from {rest!r} on{hint}")
        refuse_nodes(text, node)
        n_expanded(text, node)
        found = Resolver(node).resolve()
        if type(found).__name__ != "Model" or found.response is None:
            raise Unreadable(f"the formula {text!r} has no response: write y ~ …")
        for bar in bars(node):
            refuse_constants(text, bar.left)
        parts = [terms_in(Resolver(bar).resolve()) for bar in bars(node)]
    except Unreadable as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError(
            f"the formula {text[:60]!r}… is too deep to be read: give columns= instead"
        ) from None
    except Exception as error:  # of formulae, whose errors are of many types
        words = "write 1 or 0 first, as in (1 + x | g)" if "'Intercept'" in str(error) else error
        words = "a backtick has no end" if isinstance(error, IndexError) else words
        words = "^ is no power of a column: give the data a column of it" if "^" in str(error) else words
        raise ValueError(f"the formula {text!r} cannot be read: {words}") from error
    refuse_parts(text, found.terms, parts)
    return FormulaTree(found.response.term.components[0], found.terms, parts)


class Unreadable(Exception):
    """A formula that this module refuses."""


def refuse_tokens(text: str, tokens: list[Any]) -> None:
    kinds = [token.kind for token in tokens]
    for one, following in pairwise(kinds):
        if one == following == "PIPE":
            raise Unreadable(
                f"{text!r}: for || write one part for each effect, (1 | g) + (0 + x | g), whose levels are "
                "measured at the mean of x; for lme4's give terms=[Group(..., by=..., correlated=False, "
                "origin=0)]"
            )
    for token in tokens:
        if token.kind == "STRING":
            raise Unreadable(
                f"{text!r}: {token.lexeme} in quotes is a text and no column: write its name, in backticks "
                "if it has spaces"
            )


def refuse_nodes(text: str, node: Any) -> None:
    """Numbers and literals in the place of columns, and options that are given twice."""
    kind = type(node).__name__
    if kind == "Literal" and (node.value is None or isinstance(node.value, bool) or node.value not in (0, 1)):
        raise Unreadable(f"{text!r}: {node.value!r} is no column; 1 and 0 say whether there is an intercept")
    if kind == "Call":
        names = [arg.name.name.lexeme for arg in node.args if type(arg).__name__ == "Assign"]
        if twice := [name for name in names if names.count(name) > 1]:
            raise Unreadable(f"{text!r}: the option {twice[0]} is given twice")
        return
    if kind == "Binary" and node.operator.kind == "STAR_STAR":
        refuse_power(text, node)
        return refuse_nodes(text, node.left)
    for child in children(node):
        refuse_nodes(text, child)


def refuse_constants(text: str, node: Any) -> None:
    """Both 1 and 0 among the effects of a group, of which formulae takes the first and R the last."""
    stated, rest = [], [node]
    while rest:
        one = rest.pop()
        rest += children(one)
        if type(one).__name__ == "Literal":
            stated.append(one.value)
    if len(stated) > 1:
        raise Unreadable(f"{text!r}: 1 or 0 stands once in a part (… | g)")


def refuse_power(text: str, node: Any) -> None:
    if n_expanded(text, node.left) < 2:
        raise Unreadable(f"{text!r}: ** is no power of a column: give the data a column of it")
    power = getattr(node.right, "value", None)
    if not isinstance(power, int) or isinstance(power, bool) or not 1 <= power <= MAX_POWER:
        raise Unreadable(f"{text!r}: the power of a sum is a whole number from 1 to {MAX_POWER}")


def n_expanded(text: str, node: Any) -> int:
    """Terms at most that a node stands for; Unreadable if they are too many to be written out."""
    count, kind = partial(n_expanded, text), type(node).__name__
    if kind in AROUND:
        return count(getattr(node, AROUND[kind]))
    if kind != "Binary":
        return 1
    operator, a = node.operator.kind, count(node.left)
    if operator == "STAR_STAR":
        power = min(getattr(node.right, "value", MAX_POWER), MAX_POWER)
        found = sum(comb(a, k) for k in range(1, power + 1))
    else:
        b = count(node.right)
        products = {"COLON": a * b, "PIPE": a * b, "STAR": a * b + a + b, "TILDE": b}
        found = products.get(operator, a + b)
    if found > MAX_EXPANDED_TERMS:
        raise Unreadable(
            f"the formula {text[:60]!r}… has more than {MAX_EXPANDED_TERMS} terms: write those that matter"
        )
    return found


def children(node: Any) -> list[Any]:
    kind = type(node).__name__
    if kind in AROUND:
        return [getattr(node, AROUND[kind])]
    return [node.left, node.right] if kind == "Binary" else []


def bars(node: Any) -> Iterator[Any]:
    """Nodes of operators |, those within another one left out."""
    if type(node).__name__ == "Binary" and node.operator.kind == "PIPE":
        yield node
    else:
        for child in children(node):
            yield from bars(child)


def terms_in(found: Any) -> list[Any]:
    """Terms of what a node stands for."""
    return list(found.terms) if type(found).__name__ == "Model" else [found]


def refuse_parts(text: str, terms: list[Any], parts: list[list[Any]]) -> None:
    """Effects of groups that the formula loses, or has in two parts, where nobody can tell what is meant."""

    def keys(some: list[Any]) -> list[tuple]:
        are_effects = [term for term in some if type(term).__name__ == "GroupSpecificTerm"]
        return [(effect_words(term.expr), *group_key(term)) for term in are_effects]

    found, kept = [key for part in parts for key in keys(part)], keys(terms)
    if twice := [key for key in found if found.count(key) > 1]:
        effect, *group = twice[0]
        raise ValueError(
            f"{text!r}: the effect {effect} of {':'.join(group)!r} is in two parts (… | {':'.join(group)}): "
            "write it once"
        )
    if sorted(found) != sorted(kept):
        raise ValueError(
            f"{text!r}: a part (… | g) is added to others, and neither taken away nor multiplied"
        )
    for _, *group in found:
        n_parts = sum(any(key[1:] == tuple(group) for key in keys(part)) for part in parts)
        if 1 < n_parts < sum(key[1:] == tuple(group) for key in found):
            raise ValueError(
                f"{text!r}: some effects of {':'.join(group)!r} are correlated and others are not: write one "
                "(1 + … | g), or one term for each effect"
            )


def group_key(term: Any) -> list[str]:
    """Columns of a group, in one order."""
    return sorted(component_words(part) for part in term.factor.components)


def effect_words(expression: Any) -> str:
    """An effect of a group as a formula writes it."""
    if type(expression).__name__ == "Intercept":
        return "1"
    return ":".join(component_words(part) for part in expression.components)


def component_words(part: Any) -> str:
    """A variable, or a call, as a formula writes it."""
    if type(part).__name__ != "Call":
        return name_words(part.name) + (f"[{part.reference}]" if part.reference is not None else "")
    call = part.call
    arguments = [name_words(one.name) if hasattr(one, "name") else str(one) for one in call.args]
    options = [f"{name}={option(value)}" for name, value in call.kwargs.items()]
    return f"{call.callee}({', '.join([*arguments, *options])})"


def option(value: Any) -> Any:
    """The value of an option of a call."""
    return getattr(value, "value", getattr(value, "name", value))


def name_words(name: Any) -> str:
    """A column's name, in backticks where a formula needs them."""
    text = str(name)
    is_plain = re.fullmatch(r"[^\W\d_][\w.]*", text) and text not in ("True", "False", "None")
    return text if is_plain else f"`{text}`"
