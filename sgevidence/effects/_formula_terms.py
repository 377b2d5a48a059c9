"""Terms of the calls in a formula: of one column, with a level, a number or a name as further arguments.

C(x), T(x, "ref"), C(x, Treatment("ref")), C(x, Poly)     Factor
mo(x)                                                     Monotone
s(x, k=20, by=g), s(x, bs="cc", period=12)                Smooth
s(x, k=20)                                                Smooth
bs(x, knots=c(1, 2)), bs(x, df=5, degree=3)                                     BSpline
"""

from typing import Any, NamedTuple

from ._curves import DEFAULT_BASIS, BSpline, Smooth
from ._factor import Factor
from ._monotone import Monotone
from .language import argument_words

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
