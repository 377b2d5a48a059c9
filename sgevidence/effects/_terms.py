"""Terms of a linear predictor: parts, terms that cannot be, and terms of the calls in a formula.

Calls are terms as follows.

    C(x), T(x, "ref"), C(x, Treatment("ref")), C(x, Poly)    Factor
    mo(x)                                                    Monotone
    s(x), s(x, k=20, by=g), s(x, bs="cc", period=12)         Smooth
    bs(x, knots=c(1, 2)), bs(x, df=5, degree=3)              BSpline
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from ._curves import DEFAULT_BASIS, BSpline, Smooth
from ._factors import Factor, Group, Interaction, Monotone, is_of_levels
from ._text_columns import declared_levels_in, ordered_levels_in
from .language import argument_words

#: Splines of a curve: their matrices have the square of that many entries.
MAX_SPLINES = 1000
#: Formulas at most that are listed.
MAX_FORMULAS = 4096

Term = Group | Factor | Smooth | BSpline | Interaction | Monotone


def parts(term: Any) -> tuple:
    """Factors and columns that a fixed term is made of."""
    return tuple(term) if isinstance(term, Interaction) else (term,)


def categories_of(X: Any, term: Term) -> Any:
    """All levels of a factor that the term, or its column, declares; None of others and of groups."""
    if isinstance(term, Monotone):
        return ordered_levels_in(X, term.column) if term.categories is None else term.categories
    if not isinstance(term, Factor):
        return None
    return declared_levels_in(X, term.column) if term.categories is None else term.categories


def numeric(term: Term) -> list:
    """Columns of numbers that a term needs, which have a linear effect."""
    if isinstance(term, Interaction):
        return [part for part in term if not isinstance(part, Factor)]
    if isinstance(term, Smooth):
        return [term.column] if term.period is None else []
    return list(term.columns_of_slopes) if isinstance(term, Group) else []


def factors_of(term: Term) -> list[Factor]:
    """Factors that a term is made of."""
    made = parts(term) if not isinstance(term, Group) else sum((parts(slope) for slope in term.slopes), ())
    return [part for part in made if isinstance(part, Factor)]


def check(term: Any) -> None:
    """Refuse what is not a term, or has a scale or a number that cannot be."""
    if not isinstance(term, Term):
        raise TypeError(f"terms are Group, Factor, Smooth, BSpline, Monotone and Interaction, got {term!r}")
    for part in parts(term):
        named = getattr(part, "column", part)
        if not isinstance(named, Hashable):
            raise TypeError(f"the column of a term must be a name or a number, got {named!r}")
        scale = getattr(part, "scale", None)
        is_number = isinstance(scale, Real) and not isinstance(scale, bool) and 0 < float(scale) < np.inf
        if scale is not None and not is_number:
            raise ValueError(f"the scale of a term must be a positive number, got {scale!r}")
        categories = getattr(part, "categories", None)
        if isinstance(categories, str) or not (categories is None or isinstance(categories, Iterable)):
            raise TypeError(f"categories must be a sequence of levels or None, got {categories!r}")
        if not isinstance(getattr(part, "correlated", True), bool | np.bool_):
            raise TypeError(f"correlated must be True or False, got {part.correlated!r}")
    if isinstance(term, Interaction) and len(term) < 2:
        raise ValueError(f"an Interaction is of two or more columns or factors, got {term!r}")
    if isinstance(term, Group):
        check_group(term)
    if isinstance(term, Smooth):
        # least number of splines of a curve: two dimensions are the line
        refuse_outside(term, "n_basis", term.n_basis, 5)
        check_smooth(term)
    if isinstance(term, BSpline):
        refuse_outside(term, "degree", term.degree, 0)
        refuse_outside(term, "df", term.n_contrasts, max(term.degree, 1))
        refuse_knots(term)
        if term.df is not None and term.knots is not None:
            raise ValueError(f"{term.name}: df and knots are given, and the knots say how many there are")


def check_smooth(term: Smooth) -> None:
    if term.basis not in ("ps", "bs", "cr"):
        raise ValueError(f"{term.name}: basis must be 'ps', 'bs' or 'cr', got {term.basis!r}")
    if not isinstance(term.by, Hashable):
        raise TypeError(f"{term.name}: by must be a column, got {term.by!r}")
    is_number = isinstance(term.period, Real) and not isinstance(term.period, bool)
    if term.period is not None and not (is_number and 0 < float(term.period) < np.inf):
        raise ValueError(f"{term.name}: the period must be a positive number, got {term.period!r}")
    if term.knots is not None and (term.basis == "ps" or term.period is not None):
        raise ValueError(f"{term.name}: knots are those of basis='bs' and 'cr'")
    refuse_knots(term)


def refuse_knots(term: Smooth | BSpline) -> None:
    if term.knots is None:
        return
    given = term.knots if isinstance(term.knots, Iterable) and not isinstance(term.knots, str) else ["x"]
    are_numbers = all(isinstance(one, Real) and not isinstance(one, bool) for one in given)
    found = np.array(list(given), float) if are_numbers else np.array([np.nan])
    if not np.isfinite(found).all() or len(set(found.tolist())) < len(found):
        raise ValueError(f"{term.column!r}: knots must be different finite numbers, got {term.knots!r}")


def check_group(term: Group) -> None:
    for slope in term.slopes:
        if isinstance(slope, Interaction) and not all(isinstance(part, Factor) for part in slope):
            raise ValueError(f"products among the slopes of Group({term.column!r}) are of factors alone")
    if not term.intercept and sum(map(is_of_levels, term.slopes)) > 1:
        raise ValueError(
            f"Group({term.column!r}, intercept=False) has more than one factor: leave the intercept in"
        )
    if not term.effects:
        raise ValueError(f"Group({term.column!r}, intercept=False) has no effects: give by=")
    if term.origin is None:
        return
    given = term.origins if isinstance(term.origin, Real | list | tuple) else ("x",)
    are_numbers = all(isinstance(one, Real) and not isinstance(one, bool) for one in given)
    if isinstance(term.origin, bool) or not (are_numbers and np.isfinite(np.array(given, float)).all()):
        raise ValueError(f"origin must be a finite number, or one for each of by=, got {term.origin!r}")
    if len(given) != len(term.slopes) or not given:
        raise ValueError(f"origin={term.origin!r} must be one value for each of the columns by={term.by!r}")


def with_scales(terms: Sequence[Term], effect_scale: float, jzs: bool) -> tuple[Term, ...]:
    """Terms whose scales are those of the estimator where they have none of their own."""

    def scaled(term: Any) -> Any:
        if isinstance(term, Interaction):
            return Interaction(*map(scaled, term))
        if getattr(term, "scale", 0.0) is not None or (jzs and isinstance(term, Factor)):
            return term
        # two levels of a factor differ by a normal of this scale, as the values of a 0/1 column do
        return term._replace(scale=effect_scale * (0.5**0.5 if isinstance(term, Factor) else 1.0))

    return tuple(map(scaled, terms))


def refuse_outside(term: Term, name: str, value: Any, least: int) -> None:
    if not (isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value)):
        raise ValueError(f"{term.name}: {name} must be a whole number from {least} on, got {value!r}")
    if int(value) > MAX_SPLINES:
        raise ValueError(f"{term.name}: {name} must be at most {MAX_SPLINES}, got {value}")


#: Codings of a factor by the names that other programs give them.
TREATMENT, POLYNOMIAL, SUM_TO_ZERO = (
    ("Treatment", "contr.treatment"),
    ("Poly", "contr.poly"),
    ("Sum", "contr.sum"),
)
#: Bases of curves, cyclic ones among them, and what to write for those of other programs.
BASES = ("ps", "bs", "cr", "cc")
HINTS = {
    "re": ": for effects of the levels of g write (1 | g)",
    "fs": ": for curves of the levels of g write (1 | g) + s(x, by=g)",
    "cp": ": write bs='cc'",
    "tp": ": thin plates of one column are near 'bs'; leave bs= out",
}


def with_slope(group: Group, column: Any) -> Group:
    """A group whose levels have lines of their own, which are correlated where it has had none."""
    is_first = not group.slopes
    return group._replace(by=(*group.slopes, column), correlated=group.correlated or is_first)


def lacks_terms_within(term: Any, linear: Sequence[str], terms: Iterable[Term]) -> bool:
    """Whether a line or a product within a product of numbers lacks, without which its zero matters."""
    if not isinstance(term, Interaction) or len(own := numeric(term)) < 2:
        return False
    known = {frozenset([column]) for column in linear}
    for one in terms:
        columns = numeric(one)
        if isinstance(one, Interaction) and len(columns) > 1:
            known |= {frozenset(columns)} if len(columns) == len(one) else set()
        else:  # slopes, curves and lines of levels have the lines of their columns beside them
            known |= {frozenset([column]) for column in columns}
    size = len(own) + (len(own) < len(term))  # the product of levels has that of numbers within it
    return any(frozenset(some) not in known for k in range(1, size) for some in combinations(own, k))


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


class Call(NamedTuple):
    """A call whose first argument is a column: what else it is given."""

    words: str  #: as the formula writes it
    callee: str
    column: str
    others: list  #: further arguments, as formulae has them
    options: dict[str, Any]

    def refuse(self, what: str) -> ValueError:
        """The error that says what is wrong."""
        return ValueError(f"{self.words}: {what}")

    def check(self, *known: str, n_others: int = 0) -> None:
        """ValueError for arguments that the function does not have."""
        if len(self.others) > n_others:
            named = f", and options have their names, as {known[0]}=…" if known else ""
            raise self.refuse(f"the argument must be the name of a column{' and one more' * n_others}{named}")
        if wrong := sorted(self.options.keys() - set(known)):
            has = f"has the options {' and '.join(known)}" if known else "has no options"
            raise self.refuse(f"{self.callee}() {has}, and not {wrong[0]}")

    def whole(self, name: str, default: Any) -> Any:
        """A whole number; the default where the call has no such option."""
        found = constant(self.options[name]) if name in self.options else default
        if name in self.options and (not isinstance(found, int) or isinstance(found, bool)):
            raise self.refuse(f"{name} must be a whole number")
        return found


def term_of(call: Call) -> Any:
    """The term of a call; ValueError for what it cannot say."""
    return {"C": factor, "T": factor, "mo": monotone, "s": smooth, "bs": b_spline}[call.callee](call)


def factor(call: Call) -> Factor:
    """A factor, with the level that it is printed against."""
    call.check("ref", n_others=1)
    given = [*call.others, *call.options.values()]
    if call.callee == "T":
        if len(given) != 1 or (level := constant(given[0])) is None:
            raise call.refuse('T() has a level, in quotes where it is a text: T(x, "a")')
        return Factor(call.column, reference=level)
    if call.options:
        raise call.refuse('C() has no options: write T(x, "a") for the level a to compare with')
    if not given:
        return Factor(call.column)
    coding = getattr(given[0], "callee", getattr(given[0], "name", None))
    levels = [*getattr(given[0], "args", []), *getattr(given[0], "kwargs", {}).values()]
    if coding in TREATMENT and len(levels) == 1 and (level := constant(levels[0])) is not None:
        return Factor(call.column, reference=level)
    if coding in (*POLYNOMIAL, *SUM_TO_ZERO) and not levels:
        return Factor(call.column, polynomial=coding in POLYNOMIAL)
    raise call.refuse(
        f"{argument_words(given[0])} is no coding of a factor: write C(x), whose effects sum to zero, "
        'T(x, "a") for effects against the level a, or C(x, Poly)'
    )


def monotone(call: Call) -> Monotone:
    """A monotone effect."""
    call.check()
    return Monotone(call.column)


def smooth(call: Call) -> Smooth:
    """A curve whose flexibility is inferred."""
    by, basis = call.options.get("by"), call.options.get("bs")
    if call.others and hasattr(call.others[0], "name"):
        raise call.refuse(f"s() is of one column{HINTS.get(constant(basis), ': write s(x) + s(z) + x:z')}")
    call.check("k", "by", "bs", "period", "knots")
    if by is not None and not hasattr(by, "name"):
        raise call.refuse("by must be the name of a column")
    kind = "ps" if basis is None else constant(basis)
    if kind not in BASES:
        raise call.refuse(f"bs must be one of {', '.join(map(repr, BASES))}{HINTS.get(kind, '')}")
    period = constant(call.options["period"]) if "period" in call.options else None
    if (kind == "cc") != (period is not None) and basis is not None:
        raise call.refuse('bs="cc" and period= come together: period=12 for months, 7 for days of a week')
    if "period" in call.options and not isinstance(period, int | float):
        raise call.refuse("period must be a number")
    return Smooth(
        call.column,
        call.whole("k", DEFAULT_BASIS),
        by=None if by is None else by.name,
        period=period,
        basis="ps" if kind == "cc" else kind,
        knots=knots(call),
    )


def b_spline(call: Call) -> BSpline:
    """A curve of fixed flexibility."""
    call.check("df", "degree", "knots")
    return BSpline(call.column, call.whole("df", None), call.whole("degree", 3), knots=knots(call))


def knots(call: Call) -> tuple[float, ...] | None:
    """Numbers of knots=c(1, 2); None without them."""
    if (given := call.options.get("knots")) is None:
        return None
    found = tuple(constant(one) for one in getattr(given, "args", [given]))
    if getattr(given, "callee", "c") != "c" or not all(isinstance(one, int | float) for one in found):
        raise call.refuse("knots must be numbers, knots=c(1, 2.5)")
    return found


def constant(given: Any) -> Any:
    """A number or a text; None of anything else."""
    if type(given).__name__ == "LazyOperator" and len(given.args) == 1:
        inner = constant(given.args[0])
        return -inner if given.symbol == "-" and isinstance(inner, int | float) else None
    return getattr(given, "value", None)
