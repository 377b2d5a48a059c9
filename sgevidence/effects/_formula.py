"""Formulas as lme4, brms and bambi write them, turned into linear effects and terms; formulas within one.

``formulae`` parses them; of its tree the operators are taken, and functions of a closed list.  Nothing is
evaluated by Python.

    y ~ x + region        linear effect of numbers, Factor of text and categories;   ~ x + region: y is given
    x * region, x:region  Interaction, with and without its main effects
    log(y) ~ x            the model of log(y), the evidence of y;   offset(log(n)) a known addend
    I(x**2), poly(x, 2)   columns that are made of others (:mod:`.language`);   . all other columns
    (1 + days | subject)  Group("subject", by="days");  (1 | g / h) groups and groups within them
    (0 + days | subject)  Group("subject", by="days", intercept=False, origin=0)
    (days || subject)     Group("subject", by="days", correlated=False, origin=0), also in two parts
    (1 + cond | subject)  Group("subject", by=Factor("cond")) where cond has levels
    s(age), s(age, k=8)   Smooth;   bs(x, df=5, degree=3) BSpline;   C(year) Factor of numbers
    T(x, "a"), C(x, Poly) Factor, printed against a level or by polynomials;   mo(x) Monotone
"""

from difflib import get_close_matches
from functools import lru_cache, reduce
from itertools import combinations, product
from math import prod
from typing import Any, NamedTuple

from ._columns import column_names
from ._curves import BSpline, Smooth
from ._factors import Factor, Group, Interaction, Monotone
from ._terms import (
    MAX_FORMULAS,
    Call,
    constant,
    factors_of,
    hereditary,
    lacks_terms_within,
    numeric,
    parts,
    term_of,
    with_slope,
)
from ._text_columns import has_levels
from .language import (
    ELSEWHERE,
    NO_RESPONSE,
    FormulaTree,
    MadeName,
    Response,
    WithMade,
    component_words,
    effect_words,
    fitted,
    leaves,
    name_words,
    nearest,
    parsed,
    shown,
    surv_of,
)

#: Functions that a formula may call, beside those that make columns.
TERM_FUNCTIONS = ("s", "bs", "C", "T", "mo")

#: Terms of one column that are in no product.
CURVES = Smooth | BSpline | Monotone


class Formula(NamedTuple):
    """A formula, resolved for the columns of a frame."""

    response: str | None  #: None: y is given beside the frame
    linear: tuple  #: columns of numbers
    terms: tuple
    intercept: bool
    columns: tuple[str, ...]  #: all columns of the frame on the right-hand side
    doubts: tuple[str, ...]  #: of columns of text that may be meant as numbers
    made: dict[str, tuple]  #: columns that are made of others, and how


@lru_cache  # every call of a stream asks, and 400 columns take 60 ms to read
def response_of(text: str) -> Response:
    """The column on the left, and what the formula makes of it; a name of None where nothing is there."""
    return response_in_tree(text, parsed(text))


def response_name(text: str) -> str:
    """The column on the left; ValueError where the formula names none, and nobody gives y."""
    if (name := response_of(text).name) is None:
        raise ValueError(NO_RESPONSE.format(text))
    return name


@lru_cache
def offset_of(text: str) -> tuple | None:
    """The expression of offset(…) in a formula; None where there is none."""
    terms = [term for term in parsed(text).terms if is_offset(term)]
    return terms[0].components[0].name.tree[1] if terms else None


def is_offset(term: Any) -> bool:
    components = getattr(term, "components", ())
    trees = [getattr(getattr(part, "name", None), "tree", ("",)) for part in components]
    if len(trees) > 1 and any(tree[0] == "offset" for tree in trees):
        raise ValueError(
            f"offset() is a term of its own, and not in {':'.join(map(component_words, components))}"
        )
    return bool(trees) and trees[0][0] == "offset"


def response_in_tree(text: str, tree: FormulaTree) -> Response:
    if tree.response is None:
        return Response(None)
    name = name_of(text, tree.response, "the response")
    return (
        Response.of(text, name, name.tree) if isinstance(name, MadeName) else Response(name, name_words(name))
    )


def resolved(text: str, X: Any) -> Formula:
    """The formula for a frame, whose columns of text become factors; ValueError for what it cannot say."""
    tree = parsed(text, column_names(X))
    reader = Reader(text, WithMade(X, {}), [], {})
    linear: list[Any] = []
    terms: list[Any] = []
    intercept = False
    for term in tree.terms:
        kind = type(term).__name__
        if kind == "Intercept":
            intercept = True
        elif kind != "GroupSpecificTerm" and is_offset(term):
            reader.use(*leaves(term.components[0].name.tree))
        elif kind != "GroupSpecificTerm":
            for made in product(*(reader.part(part) for part in term.components)):
                if len(made) == 1 and not isinstance(made[0], CURVES | Factor):
                    linear.append(made[0])
                elif len(made) == 1:
                    terms.append(made[0])
                elif not any(isinstance(part, CURVES) for part in made):
                    known = [set(parts(term)) for term in terms]  # x:z is z:x
                    terms += [Interaction(*made)] * (set(made) not in known)
                else:
                    words = ":".join(map(component_words, term.components))
                    raise ValueError(f"{text!r}: interactions are of columns and factors, not {words}")
    terms += reader.groups(tree)
    lines_of_curves(text, terms, reader)
    alone = [term for term in terms if lacks_terms_within(term, linear, terms)]
    terms = [term for term in terms if term not in alone]
    for made in map(reader.product, alone):
        (terms if isinstance(made, Interaction) else linear).append(made)
    response = response_in_tree(text, tree)
    if response.name in reader.used:
        raise ValueError(f"{text!r} has its response {response.name!r} on the right, too")
    of_levels = [
        term.name
        for term in terms
        if isinstance(term, Factor | Interaction) and all(isinstance(part, Factor) for part in parts(term))
    ]
    if of_levels and not intercept:
        hint = ", and write f * h for the means of all cells" * (":" in of_levels[0])
        raise ValueError(
            f"{shown(text)} has no intercept, and the effects of the levels of {of_levels[0]!r} sum to zero: "
            f"leave out 0, with which effects_ are those of all levels, too{hint}"
        )
    doubts, used, trees = tuple(dict.fromkeys(reader.doubts)), tuple(reader.used), dict(reader.X.trees)
    return Formula(response.name, tuple(linear), tuple(terms), intercept, used, doubts, trees)


class Reader(NamedTuple):
    """Components of a formula as columns, factors and curves of a frame."""

    text: str
    X: WithMade
    doubts: list[str]
    used: dict[str, None]  #: columns of the frame

    def use(self, *names: str) -> None:
        """Note columns of the frame that the formula uses; ValueError for one that X does not have."""
        for name in names:
            if name not in (known := column_names(self.X.frame)):
                close = get_close_matches(str(name), list(map(str, known)), n=1)
                hint = f"{close[0]!r} is near, and " if close else ""
                raise ValueError(
                    f"{shown(self.text, piece=str(name))}: X has no column {name!r}, {hint}its columns are "
                    f"{known[:20]}"
                )
            self.used[str(name)] = None

    def made(self, name: Any) -> list[str]:
        """Columns that a name stands for: itself, or those that are made of others."""
        if not isinstance(name, MadeName):
            self.use(name)
            return [name]
        if name.tree[0] == "offset":
            raise ValueError(f"{shown(self.text)}: offset() stands alone, + offset(…)")
        for leaf in leaves(name.tree):
            self.use(leaf)
            if has_levels(self.X.frame, leaf, self.doubts):
                raise ValueError(
                    f"{shown(self.text)}: {name} is of numbers, and the column {leaf!r} has levels"
                )
        return self.add(fitted(name, name.tree, self.X.frame))

    def product(self, term: Interaction) -> Any:
        """A term whose numbers are one column, their product; the column without factors."""
        trees = [self.X.trees.get(column, ("column", column)) for column in numeric(term)]
        [name] = self.add({Interaction(*numeric(term)).name: ("I", reduce(lambda a, b: ("*", a, b), trees))})
        factors = factors_of(term)
        return Interaction(name, *factors) if factors else name

    def add(self, trees: dict[str, tuple]) -> list[str]:
        """Names of columns that are made; ValueError for one that the frame has, too."""
        if clash := next((one for one in trees if one in column_names(self.X.frame)), None):
            raise ValueError(
                f"{shown(self.text)}: X has a column named {clash!r}, which the formula makes, too: rename it"
            )
        self.X.trees.update(trees)
        self.X.columns[:] = [*column_names(self.X.frame), *self.X.trees]
        return list(trees)

    def groups(self, tree: FormulaTree) -> list[Group]:
        """Terms of groups: effects that are correlated, and one term of all others of a group."""
        found: dict[tuple[str, ...], list[Group]] = {}
        for part in tree.parts:
            for key, terms in part.by_group(lambda one: name_of(self.text, one, "a group")).items():
                self.use(*key)
                key = next((one for one in found if sorted(one) == sorted(key)), key)
                effects = [slope for term in terms for slope in self.slopes(term)]
                full = None not in effects and any(not isinstance(one, str) for one in effects)
                together = not part.independent and (len(effects) > 1 or full)
                found.setdefault(key, []).append(self.group(key, effects, together))
        return [group for key, blocks in found.items() for group in self.joined(key, blocks)]

    def group(self, key: tuple[str, ...], effects: list[Any], correlated: bool) -> Group:
        slopes = tuple(effect for effect in effects if effect is not None)
        # levels that are correlated with slopes are measured at the mean, others where a column is zero
        is_at_zero = any(isinstance(one, str) for one in slopes) and not (correlated and None in effects)
        name, one = key if len(key) > 1 else key[0], slopes[0] if len(slopes) == 1 else slopes or None
        origin = 0.0 if is_at_zero else None
        return Group(name, by=one, correlated=correlated, intercept=None in effects, origin=origin)

    def joined(self, key: tuple[str, ...], blocks: list[Group]) -> list[Group]:
        """The blocks of a group, those whose effects are independent as one."""
        apart = [effect for one in blocks if not one.correlated for effect in one.effects]
        together = [one for one in blocks if one.correlated]
        return [self.group(key, apart, False)] * bool(apart) + together

    def part(self, part: Any) -> list[Any]:
        """Columns, or a factor, or a curve."""
        if type(part).__name__ == "Variable":
            name = name_of(self.text, part, "a column")
            names = self.made(name)
            has = not isinstance(name, MadeName) and has_levels(self.X.frame, name, self.doubts)
            return [Factor(name)] if has else names
        call, words = part.call, component_words(part)
        if call.callee not in TERM_FUNCTIONS:
            raise ValueError(
                f"{shown(self.text, piece=call.callee)}: {call.callee}() is none of the functions of a "
                f"formula{nearest(call.callee)}"
            )
        if not call.args or not hasattr(call.args[0], "name"):
            is_text = call.args and isinstance(constant(call.args[0]), str)
            hint = ", and what is in quotes is a text: write its name alone, in backticks if it has spaces"
            raise ValueError(f"{words}: the argument must be the name of a column{hint * bool(is_text)}")
        names = self.made(call.args[0].name)
        if len(names) > 1:
            raise ValueError(f"{words}: {call.callee}() is of one column")
        return [term_of(Call(words, call.callee, names[0], call.args[1:], call.kwargs))]

    def slopes(self, term: Any) -> list[Any]:
        """Columns, factors and products of factors of the slopes of a group; None for its level."""
        if effect_words(term.expr) == "1":
            return [None]
        found = []
        for made in product(*(self.part(part) for part in term.expr.components)):
            factors = [isinstance(part, Factor) for part in made]
            if any(isinstance(part, CURVES) for part in made) or (len(made) > 1 and not all(factors)):
                raise ValueError(
                    f"{shown(self.text)}: slopes of a group are of columns of numbers, of factors and of "
                    f"products of factors, not of {effect_words(term.expr)}: I(a * b) makes a column of two"
                )
            found.append(made[0] if len(made) == 1 else Interaction(*made))
        return found


def lines_of_curves(text: str, terms: list[Any], reader: "Reader") -> None:
    """Add the line of each level that has a curve of its own, as the line of all comes with a curve."""
    for curve in [term for term in terms if isinstance(term, Smooth) and term.by is not None]:
        reader.use(curve.by)
        is_cyclic, groups = curve.period is not None, [term for term in terms if isinstance(term, Group)]
        if group := next((one for one in groups if one.column == curve.by), None):
            if not is_cyclic and curve.column not in group.slopes:
                terms[terms.index(group)] = with_slope(group, curve.column)
            continue
        made_of = [parts(term) for term in terms if not isinstance(term, Group)]
        factors = [one for some in made_of for one in some if isinstance(one, Factor)]
        own = next((one for one in factors if one.column == curve.by), None)
        if own is None and not has_levels(reader.X.frame, curve.by, reader.doubts):
            raise ValueError(
                f"{text!r}: by={curve.by} of {curve.name} is a column of numbers: write C({curve.by}) + "
                f"{curve.name} for a factor, (1 | {curve.by}) + {curve.name} for a group"
            )
        own = Factor(curve.by) if own is None else own
        lines = [own] if is_cyclic else [own, Interaction(curve.column, own)]
        known = [set(some) for some in made_of]
        terms += [term for term in lines if set(parts(term)) not in known]


def name_of(text: str, part: Any, what: str) -> str:
    if type(part).__name__ != "Variable":
        hint = f": {ELSEWHERE[part.call.callee]}" if part.call.callee in ELSEWHERE else ""
        raise ValueError(
            f"{shown(text)}: {what} must be a column as it is, not {component_words(part)}{hint}"
        )
    if part.reference is not None:
        raise ValueError(f"{part.name}[{part.reference}]: {what} has no level to choose in a formula")
    return part.name


def sub_formulas(formula: str) -> list[str]:
    """All formulas with some of the terms of one, without two that say the same.

    An interaction comes only with its main effects and the interactions within it.  Slopes of a group and a
    curve come only with the line, which they have in any case.

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
        For a formula that cannot be read, and for more than 4096 formulas.

    See Also
    --------
    EvidenceSearch : Fits and compares them.
    term_probabilities : How probable each term is.

    Examples
    --------
    >>> from sgevidence import sub_formulas
    >>> sub_formulas("y ~ dose * sex")
    ['y ~ 1', 'y ~ dose', 'y ~ sex', 'y ~ dose + sex', 'y ~ dose + sex + dose:sex']
    """
    tree = without_dot(formula)
    fixed: dict[tuple[str, ...], str] = {}
    needs: dict[Any, set[tuple[str, ...]]] = {}  # terms that come with a term
    groups: dict[tuple[str, ...], list[str]] = {}
    intercept = "0"
    always: list[str] = []
    for term in tree.terms:
        kind = type(term).__name__
        if kind == "Intercept":
            intercept = "1"
        elif is_offset(term):
            always = [component_words(term.components[0])]
        elif kind == "GroupSpecificTerm":
            names = tuple(component_words(part) for part in term.factor.components)
            key = next((one for one in groups if sorted(one) == sorted(names)), names)
            groups.setdefault(key, []).append(effect_words(term.expr))
        else:
            words = [component_words(part) for part in term.components]
            fixed[tuple(sorted(words))] = ":".join(words)
            needs[tuple(sorted(words))] = lower(term.components)
    choices = []
    for key, effects in groups.items():
        choices.append(_nested(":".join(key), effects, tree.written(key)))
        needs[choices[-1][-1]] = {(effect,) for effect in effects if effect != "1"}
    subsets = hereditary(fixed, needs)
    if len(subsets) * prod(map(len, choices)) > MAX_FORMULAS:
        raise ValueError(f"more than {MAX_FORMULAS} formulas are within {formula!r}: list those that matter")
    is_surv = surv_of(formula) is not None  # whose response is more than a column
    response = formula.partition("~")[0].strip() if is_surv else response_of(formula).words
    found = []
    for terms, chosen in product(subsets, product(*choices)):
        if any(needs.get(term, set()) & set(fixed) - set(terms) for term in chosen):
            continue
        right = [fixed[term] for term in terms] + [text for text in chosen if text]
        right = [intercept] * (intercept == "0" or not right) + right + always
        found.append(f"{response} ~ {' + '.join(right)}".lstrip())
    return found


def formula_terms(formula: str) -> dict[tuple, str | None]:
    """Terms of a formula, alike in whichever order a product is written, and how they are written.

    ``effect | group`` is each effect of a group.  None: the line that comes with a slope or a curve.
    """
    found: dict[tuple, str | None] = {}
    for term in without_dot(formula).terms:
        lines: set[tuple[str, ...]] = set()
        if type(term).__name__ == "GroupSpecificTerm":
            group = [component_words(part) for part in term.factor.components]
            effect = effect_words(term.expr)
            found[(effect, *sorted(group))] = f"{effect} | {':'.join(group)}"
            lines |= {(effect,)} if effect != "1" else set()
        elif type(term).__name__ != "Intercept" and not is_offset(term):
            names = [component_words(part) for part in term.components]
            found[(None, *sorted(names))] = ":".join(names)
            lines = lower(term.components) if len(names) == 1 else lines
        for line in lines:
            found.setdefault((None, *line), None)
    return found


def lower(components: list) -> set[tuple[str, ...]]:
    """Main effects and interactions within an interaction, and the lines of a curve."""
    names = sorted(component_words(part) for part in components)
    if len(names) > 1:
        return {some for k in range(1, len(names)) for some in combinations(names, k)}
    call = getattr(components[0], "call", None)
    if call is None or call.callee != "s":
        return set()
    x, by = name_words(call.args[0].name), getattr(call.kwargs.get("by"), "name", None)
    of_all: list[tuple[str, ...]] = [] if "period" in call.kwargs else [(x,)]
    if by is None:
        return set(of_all)
    of_levels = [tuple(sorted([*line, name_words(by)])) for line in ((), *of_all)]
    return {*of_all, *of_levels}


def _nested(key: str, effects: list[str], whole: str) -> list[str]:
    """No effects of a group, an intercept, and all of them."""
    return list(dict.fromkeys(["", *["(1 | " + key + ")"] * ("1" in effects), whole]))


def without_dot(formula: str) -> FormulaTree:
    """The tree of a formula whose columns can be told without a frame."""
    tree = parsed(formula)
    if is_dotted(tree):
        raise ValueError(f"{formula!r}: . stands for all other columns of a frame: write their names")
    return tree


def is_dotted(tree: FormulaTree) -> bool:
    """Whether a tree that was read without a frame has a dot."""
    components = [part for term in tree.terms for part in getattr(term, "components", ())]
    return any(getattr(part.name, "tree", ("",))[0] == "." for part in components)


def has_dot(formula: str) -> bool:
    """Whether a formula says *all other columns*."""
    return is_dotted(parsed(formula))
