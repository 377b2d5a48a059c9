"""Formulas as lme4, brms and bambi write them, turned into linear effects and terms.

``formulae`` parses them; of its tree the operators are taken, and the functions below.  Nothing is evaluated.

    y ~ x + region        linear effect of numbers, Factor of strings and categories
    x * region, x:region  Interaction, with and without its main effects
    (1 + days | subject)  Group("subject", by="days");  (1 | g / h) groups and groups within them
    (0 + days | subject)  Group("subject", by="days", intercept=False); beside (1 | subject) independent of it
    s(age), s(age, k=8)   Smooth;   C(year) Factor of numbers;   log(x), sqrt(x) transformed columns
"""

import re
from itertools import combinations, product
from typing import Any, NamedTuple

from ._columns import TRANSFORMS, Transformed, column
from ._smooth import Smooth
from ._terms import Factor, Group, Interaction

#: Functions that a formula may call.
FUNCTIONS = ("s", "C", *TRANSFORMS)


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
            key = names[0] if len(names) == 1 else names
            effect = None if type(term.expr).__name__ == "Intercept" else _numeric(term.expr, X)
            groups.setdefault(key, []).append(effect)
            used += [*names, *([] if effect is None else [effect])]
        else:
            parts = [_part(part, X) for part in term.components]
            used += [getattr(part, "column", part) for part in parts]
            if len(parts) == 1 and not isinstance(parts[0], Factor | Smooth):
                linear.append(parts[0])
            elif len(parts) == 1:
                terms.append(parts[0])
            elif len(parts) == 2 and not any(isinstance(part, Smooth) for part in parts):
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
    columns = dict.fromkeys(str(getattr(name, "column", name)) for name in used)
    return Formula(response_of(text), tuple(linear), tuple(terms), intercept, tuple(columns))


def count_parts(text: str, group: str) -> int:
    """Parts (… | group) of a formula: effects of several are independent."""
    return len(re.findall(rf"\|\s*{re.escape(group)}\s*\)", text))


def parsed(text: str) -> Any:
    try:
        from formulae import model_description
        from formulae.parser import ParseError
        from formulae.scanner import ScanError
    except ImportError as error:
        raise ImportError("formula= needs formulae: pip install formulae") from error
    if "||" in text:
        raise ValueError(f"{text!r}: for || give terms=[Group(..., by=..., correlated=False)]")
    try:
        tree = model_description(text)
    except (ParseError, ScanError, TypeError) as error:
        raise ValueError(f"the formula {text!r} cannot be read: {error}") from error
    if tree.response is None:
        raise ValueError(f"the formula {text!r} has no response: write y ~ …")
    return tree


def _part(part: Any, X: Any) -> Any:
    """A column, a factor or a curve."""
    if type(part).__name__ == "Variable":
        name = _name(part, "a column")
        is_linear = column(X, name).dtype.kind in "fiubMm"  # dates are refused when they are read
        return name if is_linear else Factor(name)
    call = part.call
    if call.callee not in FUNCTIONS:
        raise ValueError(f"{part.name} is none of the functions of a formula, {', '.join(FUNCTIONS)}")
    if len(call.args) != 1 or not hasattr(call.args[0], "name"):
        raise ValueError(f"{part.name}: the argument must be the name of a column")
    name = call.args[0].name
    options = {key: getattr(value, "value", value) for key, value in call.kwargs.items()}
    if call.callee == "s":
        if options.keys() - {"k"}:
            raise ValueError(f"{part.name}: s() has the option k, its number of splines")
        return Smooth(name, int(options.get("k", 10)))
    if options:
        raise ValueError(f"{part.name}: {call.callee}() has no options")
    return Factor(name) if call.callee == "C" else Transformed(call.callee, name)


def _numeric(term: Any, X: Any) -> Any:
    """The column of a slope."""
    parts = [_part(part, X) for part in term.components]
    if len(parts) != 1 or isinstance(parts[0], Factor | Smooth):
        raise ValueError(f"slopes of a group are of columns of numbers, not of {term}")
    return parts[0]


def _name(part: Any, what: str) -> str:
    if type(part).__name__ != "Variable":
        raise ValueError(f"{what} must be a column as it is, not {part}")
    return part.name


#: Terms up to which all subsets are listed.
MAX_TERMS = 12


def sub_formulas(formula: str) -> list[str]:
    """All formulas with some of the terms of one, without two that say the same.

    An interaction comes only with its main effects.  Slopes of a group and a curve come only with the line,
    which they have in any case.

    Parameters
    ----------
    formula : str
        Such as ``"y ~ dose * sex + (1 + days | subject)"``.  A group comes without effects, with an
        intercept, or with an intercept and slopes.

    Returns
    -------
    list of str
        From the null model to the formula itself, for ``EvidenceSearch(model, {"formula": ...})``.

    Raises
    ------
    ImportError
        Without ``formulae``.
    ValueError
        For a formula that cannot be read, and for more than twelve terms.

    See Also
    --------
    EvidenceSearch : Fits and compares them.

    Examples
    --------
    >>> from sgevidence import sub_formulas
    >>> sub_formulas("y ~ dose * sex")
    ['y ~ 1', 'y ~ dose', 'y ~ sex', 'y ~ dose + sex', 'y ~ dose + sex + dose:sex']
    """
    tree = parsed(formula)
    fixed: list[tuple[str, ...]] = []
    needs: dict[Any, set[tuple[str, ...]]] = {}  # terms that come with a term
    groups: dict[str, list[str]] = {}
    intercept = "0"
    for term in tree.terms:
        kind = type(term).__name__
        if kind == "Intercept":
            intercept = "1"
        elif kind == "GroupSpecificTerm":
            key = ":".join(part.name for part in term.factor.components)
            groups.setdefault(key, []).append(_effect(term.expr))
        else:
            fixed.append(tuple(part.name for part in term.components))
            needs[fixed[-1]] = _parts(term.components)
    if len(fixed) + len(groups) > MAX_TERMS:
        raise ValueError(f"{formula!r} has more than {MAX_TERMS} terms: list the formulas that matter")
    choices = []
    for key, effects in groups.items():
        choices.append(_nested(key, effects, count_parts(formula, key) > 1))
        needs[choices[-1][-1]] = {(effect,) for effect in effects if effect != "1"}
    subsets = [terms for k in range(len(fixed) + 1) for terms in combinations(fixed, k)]
    found = []
    for terms, chosen in product(subsets, product(*choices)):
        if any(needs.get(term, set()) & set(fixed) - set(terms) for term in (*terms, *chosen)):
            continue
        right = [":".join(parts) for parts in terms] + [text for text in chosen if text]
        right = [intercept] * (intercept == "0" or not right) + right
        found.append(f"{response_of(formula)} ~ {' + '.join(right)}")
    return found


def _effect(expression: Any) -> str:
    is_intercept = type(expression).__name__ == "Intercept"
    return "1" if is_intercept else ":".join(part.name for part in expression.components)


def _parts(components: list) -> set[tuple[str, ...]]:
    """The main effects of an interaction, and the line of a curve."""
    if len(components) > 1:
        return {(part.name,) for part in components}
    call = getattr(components[0], "call", None)
    return {(call.args[0].name,)} if call is not None and call.callee == "s" else set()


def _nested(key: str, effects: list[str], independent: bool) -> list[str]:
    """No effects of a group, an intercept, and all of them."""
    apart = [f"({effect if effect == '1' else f'0 + {effect}'} | {key})" for effect in effects]
    together = f"({' + '.join(effects if '1' in effects else ['0', *effects])} | {key})"
    whole = " + ".join(apart) if independent else together
    return list(dict.fromkeys(["", *["(1 | " + key + ")"] * ("1" in effects), whole]))
