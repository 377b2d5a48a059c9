"""Formulas as lme4, brms and bambi write them, turned into linear effects and terms.

``formulae`` parses them; of its tree the operators are taken, and the functions below.  Nothing is evaluated.

    y ~ x + region        linear effect of numbers, Factor of text and categories
    x * region, x:region  Interaction, with and without its main effects
    (1 + days | subject)  Group("subject", by="days");  (1 | g / h) groups and groups within them
    (0 + days | subject)  Group("subject", by="days", intercept=False); beside (1 | subject) independent of it
    bs(x, df=5, degree=3) BSpline
    s(age), s(age, k=8)   Smooth;   C(year) Factor of numbers;   log(x), sqrt(x) transformed columns
    T(x, "a"), C(x, Poly) Factor, printed against a level or by polynomials;   mo(x) Monotone
"""

from typing import Any, NamedTuple

from ._b_spline import BSpline
from ._columns import TRANSFORMS, Transformed, column
from ._factor import Factor
from ._formula_terms import Call, constant, term_of
from ._formula_tree import component_words, effect_words, name_words, parsed
from ._group import Group
from ._interaction import Interaction
from ._monotone import Monotone
from ._smooth import Smooth
from ._terms import parts
from ._text_columns import has_levels

#: Functions that a formula may call.
FUNCTIONS = ("s", "bs", "C", "T", "mo", *TRANSFORMS)

#: Terms of one column that are in no product.
CURVES = Smooth | BSpline | Monotone


class Formula(NamedTuple):
    """A formula, resolved for the columns of a frame."""

    response: str
    linear: tuple  #: columns of numbers
    terms: tuple
    intercept: bool
    columns: tuple[str, ...]  #: all columns of the right-hand side
    doubts: tuple[str, ...]  #: of columns of text that may be meant as numbers


def response_of(text: str) -> str:
    """The column on the left."""
    return _name(parsed(text).response, "the response")


def resolved(text: str, X: Any) -> Formula:
    """The formula for a frame, whose columns of text become factors; ValueError for what it cannot say."""
    tree = parsed(text)
    reader = _Reader(X, [])
    linear: list[Any] = []
    terms: list[Any] = []
    groups: dict[tuple[str, ...], list[Any]] = {}
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
            key = next((one for one in groups if sorted(one) == sorted(names)), names)
            effect = None if effect_words(term.expr) == "1" else reader.slope(term.expr)
            groups.setdefault(key, []).append(effect)
            used += [*names, *([] if effect is None else [effect])]
        else:
            made = [reader.part(part) for part in term.components]
            used += [name for part in made for name in columns_of(part)]
            if len(made) == 1 and not isinstance(made[0], CURVES | Factor):
                linear.append(made[0])
            elif len(made) == 1:
                terms.append(made[0])
            elif not any(isinstance(part, CURVES) for part in made):
                terms.append(Interaction(*made))
            else:
                raise ValueError(f"{text!r}: interactions are of columns and factors, not {term}")
    for key, effects in groups.items():
        slopes = tuple(effect for effect in effects if effect is not None)
        group = Group(key if len(key) > 1 else key[0], by=slopes or None, intercept=None in effects)
        n_parts = tree.n_parts(tuple(map(name_words, key)))
        terms.append(group._replace(correlated=n_parts < 2))
    lines_of_curves(text, terms, reader)
    columns, response = dict.fromkeys(str(getattr(name, "column", name)) for name in used), response_of(text)
    if response in columns:
        raise ValueError(f"{text!r} has its response {response!r} on the right, too")
    doubts = tuple(dict.fromkeys(reader.doubts))
    return Formula(response, tuple(linear), tuple(terms), intercept, tuple(columns), doubts)


class _Reader(NamedTuple):
    """Components of a formula as columns, factors and curves of a frame."""

    X: Any
    doubts: list[str]

    def part(self, part: Any) -> Any:
        """A column, a factor or a curve."""
        if type(part).__name__ == "Variable":
            name = _name(part, "a column")
            return Factor(name) if has_levels(self.X, name, self.doubts) else name
        call = part.call
        if call.callee not in FUNCTIONS:
            raise ValueError(f"{part.name} is none of the functions of a formula, {', '.join(FUNCTIONS)}")
        if not call.args or not hasattr(call.args[0], "name"):
            is_text = call.args and isinstance(constant(call.args[0]), str)
            hint = ", and what is in quotes is a text: write its name alone, in backticks if it has spaces"
            raise ValueError(f"{part.name}: the argument must be the name of a column{hint * bool(is_text)}")
        name = call.args[0].name
        column(self.X, name)  # refuses one that X does not have
        given = Call(component_words(part), call.callee, name, call.args[1:], call.kwargs)
        if call.callee not in TRANSFORMS:
            return term_of(given)
        given.check()
        return Transformed(call.callee, name)

    def slope(self, term: Any) -> Any:
        """The column of a slope."""
        parts = [self.part(part) for part in term.components]
        if len(parts) != 1 or isinstance(parts[0], CURVES | Factor):
            raise ValueError(f"slopes of a group are of columns of numbers, not of {effect_words(term)}")
        return parts[0]


def columns_of(part: Any) -> list[Any]:
    """Names of the columns that a part of a formula is made of."""
    by = getattr(part, "by", None)
    return [getattr(part, "column", part), *([] if by is None else [by])]


def lines_of_curves(text: str, terms: list[Any], reader: _Reader) -> None:
    """Add the line of each level that has a curve of its own, as the line of all comes with a curve."""
    for curve in [term for term in terms if isinstance(term, Smooth) and term.by is not None]:
        column(reader.X, curve.by)  # refuses one that X does not have
        is_cyclic, groups = curve.period is not None, [term for term in terms if isinstance(term, Group)]
        if group := next((one for one in groups if one.column == curve.by), None):
            if not is_cyclic and curve.column not in group.slopes:
                terms[terms.index(group)] = group._replace(by=(*group.slopes, curve.column))
            continue
        made_of = [parts(term) for term in terms if not isinstance(term, Group)]
        factors = [one for some in made_of for one in some if isinstance(one, Factor)]
        own = next((one for one in factors if one.column == curve.by), None)
        if own is None and not has_levels(reader.X, curve.by, reader.doubts):
            raise ValueError(
                f"{text!r}: by={curve.by} of {curve.name} is a column of numbers: write C({curve.by}) + "
                f"{curve.name} for a factor, (1 | {curve.by}) + {curve.name} for a group"
            )
        own = Factor(curve.by) if own is None else own
        lines = [own] if is_cyclic else [own, Interaction(curve.column, own)]
        known = [set(some) for some in made_of]
        terms += [term for term in lines if set(parts(term)) not in known]


def _name(part: Any, what: str) -> str:
    if type(part).__name__ != "Variable":
        raise ValueError(f"{what} must be a column as it is, not {part}")
    if part.reference is not None:
        raise ValueError(f"{part.name}[{part.reference}]: {what} has no level to choose in a formula")
    return part.name
