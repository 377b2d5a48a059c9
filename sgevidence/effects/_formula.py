"""Formulas as lme4, brms and bambi write them, turned into linear effects and terms.

``formulae`` parses them; of its tree the operators are taken, and the functions below.  Nothing is evaluated.

    y ~ x + region        linear effect of numbers, Factor of strings and categories
    x * region, x:region  Interaction, with and without its main effects
    (1 + days | subject)  Group("subject", by="days");  (1 | g / h) groups and groups within them
    (0 + days | subject)  Group("subject", by="days", intercept=False); beside (1 | subject) independent of it
    bs(x, df=5, degree=3) BSpline
    s(age), s(age, k=8)   Smooth;   C(year) Factor of numbers;   log(x), sqrt(x) transformed columns
"""

import re
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from ._b_spline import BSpline
from ._columns import TRANSFORMS, Transformed, column
from ._factor import Factor
from ._group import Group
from ._interaction import Interaction
from ._smooth import Smooth

#: Functions that a formula may call.
FUNCTIONS = ("s", "bs", "C", *TRANSFORMS)


class Formula(NamedTuple):
    """A formula, resolved for the columns of a frame."""

    response: str
    linear: tuple  #: columns of numbers
    terms: tuple
    intercept: bool
    columns: tuple[str, ...]  #: all columns of the right-hand side


def response_of(text: str) -> str:
    """The column on the left."""
    return _name(parsed(text).response.term.components[0], "the response")


def resolved(text: str, X: Any) -> Formula:
    """The formula for a frame, whose columns of strings become factors; ValueError for what it cannot say."""
    tree = parsed(text)
    linear: list[Any] = []
    terms: list[Any] = []
    groups: dict[Any, list[Any]] = {}
    used: list[Any] = []
    intercept = False
    for term in tree.terms:
        kind = type(term).__name__
        if kind == "Intercept":
            intercept = True
        elif kind == "GroupSpecificTerm":
            names = tuple(_name(part, "a group") for part in term.factor.components)
            for name in names:
                column(X, name)  # refuses one that X does not have
            key = names[0] if len(names) == 1 else names
            effect = None if type(term.expr).__name__ == "Intercept" else _numeric(term.expr, X)
            groups.setdefault(key, []).append(effect)
            used += [*names, *([] if effect is None else [effect])]
        else:
            parts = [_part(part, X) for part in term.components]
            used += [getattr(part, "column", part) for part in parts]
            if len(parts) == 1 and not isinstance(parts[0], Factor | Smooth | BSpline):
                linear.append(parts[0])
            elif len(parts) == 1:
                terms.append(parts[0])
            elif len(parts) == 2 and not any(isinstance(part, Smooth | BSpline) for part in parts):
                terms.append(Interaction(*parts))
            else:
                raise ValueError(f"{text!r}: interactions are of two columns or factors, not {term}")
    for key, effects in groups.items():
        slopes = tuple(effect for effect in effects if effect is not None)
        group = Group(key, by=slopes or None, intercept=None in effects)
        n_parts = count_parts(text, group.label)
        if 1 < n_parts < len(effects):
            raise ValueError(
                f"{text!r}: some effects of {group.label!r} are correlated and others are not: write one "
                "(1 + … | g), or one term for each effect"
            )
        terms.append(group._replace(correlated=n_parts < 2))
    columns, response = dict.fromkeys(str(getattr(name, "column", name)) for name in used), response_of(text)
    if response in columns:
        raise ValueError(f"{text!r} has its response {response!r} on the right, too")
    return Formula(response, tuple(linear), tuple(terms), intercept, tuple(columns))


def is_numeric(values: np.ndarray) -> bool:
    """Whether a column has a linear effect; that of dates is refused where numbers are read."""
    are_objects = values.dtype.kind == "O"
    return values.dtype.kind in "fiubmM" or (
        are_objects and all(isinstance(v, Number) for v in values.tolist())
    )


def count_parts(text: str, group: str) -> int:
    """Parts (… | group) of a formula: effects of several are independent."""
    return len(re.findall(rf"\|\s*{re.escape(group)}\s*\)", text))


def parsed(text: str) -> Any:
    try:
        from formulae import model_description
        from formulae.parser import ParseError, Parser
        from formulae.resolver import ResolverError
        from formulae.scanner import ScanError, Scanner
    except ImportError as error:
        raise ImportError("formula= needs formulae: pip install formulae") from error
    if power := re.search(r"[\w`]+\s*(\*\*|\^)", text):
        raise ValueError(f"{text!r}: {power[0]} is no power of a column: give the data a column of it")
    if "||" in text:
        raise ValueError(f"{text!r}: for || give terms=[Group(..., by=..., correlated=False)]")
    try:
        parser = Parser(Scanner(text).scan())
        parser.parse()  # which model_description does, too, and drops all after the end that it finds
        tree = model_description(text)
    except (ParseError, ScanError, TypeError, ResolverError) as error:
        words = "write 1 or 0 first, as in (1 + x | g)" if "'Intercept'" in str(error) else error
        raise ValueError(f"the formula {text!r} cannot be read: {words}") from error
    if not parser.at_end():
        rest = parser.peek().lexeme
        hint = ": effects of a group stand in parentheses, as (1 + x | g)" * (rest == "|")
        raise ValueError(f"the formula {text!r} cannot be read from {rest!r} on{hint}")
    if tree.response is None:
        raise ValueError(f"the formula {text!r} has no response: write y ~ …")
    return tree


def _part(part: Any, X: Any) -> Any:
    """A column, a factor or a curve."""
    if type(part).__name__ == "Variable":
        name = _name(part, "a column")
        return name if is_numeric(column(X, name)) else Factor(name)
    call = part.call
    if call.callee not in FUNCTIONS:
        raise ValueError(f"{part.name} is none of the functions of a formula, {', '.join(FUNCTIONS)}")
    if len(call.args) != 1 or not hasattr(call.args[0], "name"):
        raise ValueError(f"{part.name}: the argument must be the name of a column")
    name = call.args[0].name
    column(X, name)  # refuses one that X does not have
    options = {key: getattr(value, "value", value) for key, value in call.kwargs.items()}
    for key, value in options.items():
        if not isinstance(value, int | None):
            raise ValueError(f"{part.name}: {key} must be a whole number")
    if call.callee == "s":
        if options.keys() - {"k"}:
            raise ValueError(f"{part.name}: s() has the option k, its number of splines")
        return Smooth(name, options.get("k", 10))
    if call.callee == "bs":
        if options.keys() - {"df", "degree"}:
            raise ValueError(f"{part.name}: bs() has the options df and degree")
        return BSpline(name, options.get("df"), options.get("degree", 3))
    if options:
        raise ValueError(f"{part.name}: {call.callee}() has no options")
    return Factor(name) if call.callee == "C" else Transformed(call.callee, name)


def _numeric(term: Any, X: Any) -> Any:
    """The column of a slope."""
    parts = [_part(part, X) for part in term.components]
    if len(parts) != 1 or isinstance(parts[0], Factor | Smooth | BSpline):
        raise ValueError(f"slopes of a group are of columns of numbers, not of {term}")
    return parts[0]


def _name(part: Any, what: str) -> str:
    if type(part).__name__ != "Variable":
        raise ValueError(f"{what} must be a column as it is, not {part}")
    if part.reference is not None:
        raise ValueError(f"{part.name}[{part.reference}]: {what} has no level to choose in a formula")
    return part.name
