"""Terms of the calls in a formula: of one column, with a level, a number or a name as further arguments.

C(x), T(x, "ref"), C(x, Treatment("ref")), C(x, Poly)     Factor
mo(x)                                                     Monotone
s(x, k=20)                                                Smooth
bs(x, df=5, degree=3)                                     BSpline
"""

from typing import Any, NamedTuple

from ._b_spline import BSpline
from ._factor import Factor
from ._formula_tree import argument_words
from ._monotone import Monotone
from ._smooth import Smooth

#: Codings of a factor by the names that other programs give them.
TREATMENT, POLYNOMIAL, SUM_TO_ZERO = (
    ("Treatment", "contr.treatment"),
    ("Poly", "contr.poly"),
    ("Sum", "contr.sum"),
)
#: Options of other programs, and what says here what they say.
OPTIONS_ELSEWHERE = {"bs": ": for effects of the levels of g write (1 | g)"}


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
            raise self.refuse(f"the argument must be the name of a column{' and one more' * n_others}")
        if wrong := sorted(self.options.keys() - set(known)):
            has = f"has the options {' and '.join(known)}" if known else "has no options"
            hint = OPTIONS_ELSEWHERE.get(wrong[0], "")
            raise self.refuse(f"{self.callee}() {has}, and not {wrong[0]}{hint}")

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
    call.check("k")
    return Smooth(call.column, call.whole("k", 10))


def b_spline(call: Call) -> BSpline:
    """A curve of fixed flexibility."""
    call.check("df", "degree")
    return BSpline(call.column, call.whole("df", None), call.whole("degree", 3))


def constant(given: Any) -> Any:
    """A number or a text; None of anything else."""
    if type(given).__name__ == "LazyOperator" and len(given.args) == 1:
        inner = constant(given.args[0])
        return -inner if given.symbol == "-" and isinstance(inner, int | float) else None
    return getattr(given, "value", None)
