"""The tree that ``formulae`` makes of a formula, its parts (… | g), and names as a formula writes them.

Nothing is multiplied out before its terms are counted: (a + b)**100000000 would not end.

Symbols: ``node`` = node of the tree of operators.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import comb
from typing import Any, NamedTuple

from ._formula_tokens import MadeName, Unreadable, new_token, shown, tokens_of, without_carets
from ._made_columns import ELSEWHERE, MADE, callee_of, name_words, nearest, tree_of, with_made_names, words_of
from ._response import surv_of, without_surv

#: Terms of a formula at most, before equal ones are taken together; and its highest power of a sum.
MAX_EXPANDED_TERMS, MAX_POWER = 1000, 10
#: Stands on the left of ~ x, and is the name of no column.
UNNAMED = "\N{NULL}"
NO_RESPONSE = "the formula {!r} has no response: write y ~ …, or ~ … and give y"
#: Types of nodes that hold one other node.
AROUND = {"Grouping": "expression", "Unary": "right", "Assign": "value"}


class Part(NamedTuple):
    """Effects of a group that one (… | g) names."""

    terms: list[Any]
    independent: bool  #: (… || g)

    def by_group(self, name_of: Callable[[Any], str]) -> dict[tuple[str, ...], list[Any]]:
        """Effects of each group; there are two of (1 | g / h)."""
        found: dict[tuple[str, ...], list[Any]] = {}
        for term in self.terms:
            found.setdefault(tuple(map(name_of, term.factor.components)), []).append(term)
        return found


class FormulaTree(NamedTuple):
    """A formula that could be read; components are variables and calls of formulae."""

    response: Any  #: None of ~ x, whose y is given
    terms: list[Any]
    parts: list[Part]

    def written(self, group: tuple[str, ...]) -> str:
        """The parts of a group as a formula writes them, the columns of the group in this order."""
        texts, key = [], ":".join(group)
        for part in self.parts:
            effects = [effect_words(term.expr) for term in part.terms if group_key(term) == sorted(group)]
            effects = effects if "1" in effects else ["0", *effects]
            bar = "||" if part.independent and len(effects) > 1 else "|"
            texts += [f"({' + '.join(effects)} {bar} {key})"] * (effects != ["0"])
        return " + ".join(texts)


def parsed(text: str, names: Sequence[Any] | None = None) -> FormulaTree:
    """The tree of a formula, for the columns of a frame; ValueError for what cannot be read or told.

    Without ``names`` a dot, all other columns, is a variable of that name.
    """
    try:
        from formulae.parser import Parser
        from formulae.resolver import Resolver
    except ImportError as error:
        raise ImportError("formula= needs formulae: pip install formulae") from error
    if not text.strip():
        raise ValueError(NO_RESPONSE.format(text))
    if names is not None and (surv := surv_of(text)) is not None:  # whose columns a dot leaves out
        names = [name for name in names if name not in surv.columns]
    text = without_carets(without_surv(text))
    try:
        tokens = tokens_of(text, names)
        is_one_sided = tokens[0].kind == "TILDE"
        parser = Parser([new_token("BQNAME", f"`{UNNAMED}`", 1)] * is_one_sided + tokens)
        node = tree_of_tokens(text, parser)
        refuse_left(text, node)
        refuse_nodes(text, node)
        n_expanded(text, node)
        refuse_two_meanings(text, node)
        node = with_made_names(text, node)
        found = Resolver(node).resolve()
        if type(found).__name__ != "Model" or found.response is None:
            raise Unreadable(NO_RESPONSE.format(text))
        for bar in bars(node):
            refuse_constants(text, bar.left)
        parts = [Part(terms_in(Resolver(bar).resolve()), bar.operator.lexeme == "||") for bar in bars(node)]
    except Unreadable as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError(
            f"the formula {text[:60]!r}… is too deep to be read: give columns= instead"
        ) from None
    except Exception as error:  # of formulae, whose errors are of many types
        words = "write 1 or 0 first, as in (1 + x | g)" if "'Intercept'" in str(error) else error
        raise ValueError(f"the formula {text!r} cannot be read: {words}") from error
    refuse_parts(text, found.terms, [part.terms for part in parts])
    response = None if is_one_sided else found.response.term.components[0]
    return FormulaTree(response, found.terms, parts)


def tree_of_tokens(text: str, parser: Any) -> Any:
    """The tree of all tokens; Unreadable, with the place, where they cannot be read on."""
    try:
        node = parser.parse()
    except RecursionError:
        raise
    except Exception as error:  # of formulae, whose errors are of many types
        at = parser.tokens[min(parser.current, len(parser.tokens) - 1)].place
        words = "the formula ends too early" if "parse ''" in str(error) else error
        words = "write ~ between y and the columns" if "assignment target" in str(error) else words
        raise Unreadable(f"the formula {shown(text, at)} cannot be read: {words}") from error
    if not parser.at_end():
        rest = parser.peek()
        hint = ": effects of a group stand in parentheses, as (1 + x | g)" * (rest.kind == "PIPE")
        raise Unreadable(
            f"the formula {shown(text, rest.place)} cannot be read from {rest.lexeme!r} on{hint}"
        )
    return node


def refuse_left(text: str, node: Any) -> None:
    """Unreadable for additions of brms to the response, y | cens(c), and for responses of several columns."""
    if type(node).__name__ != "Binary" or node.operator.kind != "TILDE":
        return
    left = node.left
    if type(left).__name__ == "Binary" and left.operator.kind == "PIPE":
        hints = [f"{callee_of(one)}(){nearest(callee_of(one))}" for one in calls(left.right)]
        raise Unreadable(
            f"{shown(text, left.operator.place)}: the response is one column, and nothing stands beside it; "
            + "; ".join(hints or ["groups stand on the right"])
        )
    if type(left).__name__ == "Binary" and left.operator.kind == "SLASH":
        raise Unreadable(
            f"{shown(text, left.operator.place)}: the response is one column: {ELSEWHERE['p']}; arithmetic "
            "with numbers stands in I(y / 2)"
        )
    if type(left).__name__ == "Call" and callee_of(left) not in MADE:
        name = callee_of(left)
        raise Unreadable(
            f"{shown(text, 1)}: the response is a column or a function of it, not {name}(){nearest(name)}"
        )


def refuse_two_meanings(text: str, node: Any) -> None:
    """A column in backticks whose name is that of a column which the formula makes."""
    names = {str(one) for one in variables(node)}
    for call in calls(node):
        words = words_of(tree_of(text, call)) if callee_of(call) in MADE else ""
        if words in names:
            raise Unreadable(
                f"{shown(text)}: {words} is a function and, in backticks, a column: rename the column"
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
        if any(True for arg in node.args for _ in bars(arg)):
            name = callee_of(node)
            raise Unreadable(f"{shown(text, piece=name)}: {name}() holds no part (… | g){nearest(name)}")
        if node.args and isinstance(getattr(node.args[0], "value", None), str):
            raise Unreadable(
                f"{shown(text)}: {node.args[0].lexeme} in quotes is a text and no column: write its name, in "
                "backticks if it has spaces"
            )
        return
    is_part = kind == "Binary" and node.operator.kind == "PIPE"
    if is_part and any(True for child in children(node) for _ in bars(child)):
        raise Unreadable(
            f"{shown(text, node.operator.place)}: a part has one |: write (x | g) for effects of this formula"
        )
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
        raise Unreadable(f"{text!r}: ** is no power of a column, which is I(x**2), or poly(x, 2)")
    power = getattr(node.right, "value", None)
    if not isinstance(power, int) or isinstance(power, bool) or not 1 <= power <= MAX_POWER:
        raise Unreadable(f"{text!r}: the power of a sum is a whole number from 1 to {MAX_POWER}")


def n_expanded(text: str, node: Any) -> int:
    """Terms at most that a node stands for; Unreadable if they are too many to be written out."""
    count, kind = partial(n_expanded, text), type(node).__name__
    if kind in AROUND:
        return count(getattr(node, AROUND[kind]))
    if kind != "Binary":
        is_dot = isinstance(getattr(getattr(node, "name", None), "lexeme", None), MadeName)
        return 2 if is_dot else 1  # all other columns of a frame that is not here
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


def calls(node: Any) -> Iterator[Any]:
    """Calls that stand for themselves in a formula."""
    if type(node).__name__ == "Call":
        yield node
    for child in children(node):
        yield from calls(child)


def variables(node: Any) -> Iterator[Any]:
    """Names of columns that stand for themselves in a formula."""
    if type(node).__name__ in ("Variable", "QuotedName"):
        yield node.name.lexeme if hasattr(node, "name") else node.expression.lexeme[1:-1]
    for child in children(node):
        yield from variables(child)


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
    return call_words(part.call)


def call_words(call: Any) -> str:
    """A call with its arguments."""
    arguments = [argument_words(one) for one in call.args]
    options = [f"{name}={argument_words(value)}" for name, value in call.kwargs.items()]
    return f"{call.callee}({', '.join([*arguments, *options])})"


def argument_words(given: Any) -> str:
    """An argument of a call: a column, a number, a text in quotes, or another call."""
    if hasattr(given, "callee"):
        return call_words(given)
    if hasattr(given, "name"):
        return name_words(given.name)
    if hasattr(given, "symbol"):
        parts = [argument_words(one) for one in given.args]
        return given.symbol.join(["", *parts] if len(parts) == 1 else parts)
    value = getattr(given, "value", given)
    return f'"{value}"' if isinstance(value, str) else str(value)
