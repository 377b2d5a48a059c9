"""All formulas within one, for a search over them."""

from itertools import combinations, product
from typing import Any

from ._formula import count_parts, parsed, response_of

#: Terms up to which all subsets are listed.
MAX_TERMS = 12


def sub_formulas(formula: str) -> list[str]:
    """All formulas with some of the terms of one, an interaction only with both of its main effects.

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
    if len(fixed) + len(groups) > MAX_TERMS:
        raise ValueError(f"{formula!r} has more than {MAX_TERMS} terms: list the formulas that matter")
    subsets = [
        one for k in range(len(fixed) + 1) for one in combinations(fixed, k) if _is_complete(one, fixed)
    ]
    choices = [_nested(key, effects, count_parts(formula, key) > 1) for key, effects in groups.items()]
    found = []
    for terms, chosen in product(subsets, product(*choices)):
        right = [":".join(parts) for parts in terms] + [text for text in chosen if text]
        right = [intercept] * (intercept == "0" or not right) + right
        found.append(f"{response_of(formula)} ~ {' + '.join(right)}")
    return found


def _effect(expression: Any) -> str:
    is_intercept = type(expression).__name__ == "Intercept"
    return "1" if is_intercept else ":".join(part.name for part in expression.components)


def _is_complete(terms: tuple, fixed: list) -> bool:
    """Whether each product comes with all of its parts that are terms themselves."""
    return all(
        (part,) in terms or (part,) not in fixed for parts in terms if len(parts) > 1 for part in parts
    )


def _nested(key: str, effects: list[str], independent: bool) -> list[str]:
    """No effects of a group, an intercept, and all of them."""
    apart = [f"({effect if effect == '1' else f'0 + {effect}'} | {key})" for effect in effects]
    together = f"({' + '.join(effects if '1' in effects else ['0', *effects])} | {key})"
    whole = " + ".join(apart) if independent else together
    return list(dict.fromkeys(["", *["(1 | " + key + ")"] * ("1" in effects), whole]))
