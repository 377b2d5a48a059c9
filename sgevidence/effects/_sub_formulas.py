"""All formulas within one, for a search over them."""

from collections.abc import Iterable, Mapping
from itertools import combinations, product
from math import prod
from typing import Any

from ._formula import is_offset, response_of
from .language import FormulaTree, component_words, effect_words, name_words, parsed, surv_of

#: Formulas at most that are listed.
MAX_FORMULAS = 4096


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


def hereditary(terms: Iterable, needs: Mapping[Any, set]) -> list[tuple]:
    """Subsets of terms, small ones first, each with those of the terms that its members need.

    At most one more than :data:`MAX_FORMULAS` of them.
    """
    place = {term: k for k, term in enumerate(terms)}
    wanted = {term: needs[term] & place.keys() for term in place}
    found: list[frozenset] = [frozenset()]
    for term in sorted(place, key=lambda term: len(wanted[term])):  # what a term needs comes before it
        found += [some | {term} for some in found if wanted[term] <= some][: MAX_FORMULAS + 1 - len(found)]
    places = sorted((sorted(place[term] for term in some) for some in found), key=lambda p: (len(p), p))
    names = list(place)
    return [tuple(names[k] for k in some) for some in places]


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
