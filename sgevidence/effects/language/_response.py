"""The left of a formula: functions of the response, and Surv(time, dead).

**Functions.**  log(y) ~ x is a model of z = g(y) whose evidence is that of y.

    p(y | X) = p(z | X) |g'(y)|

g is one function, or several within one another, of one column, each of which rises or falls all the way:
log, log1p, sqrt, logit, and arithmetic with numbers.

**Times** are written as in R:

    Surv(t), Surv(t, dead)            times, of which some are censored on the right
    Surv(start, stop, dead)           late entries
    Surv(t, dead, type="left")        censored on the left
    Surv(lo, hi, type="interval2")    bounds

``dead`` is a column, or a comparison such as ``status == 2`` and ``status == "dead"``.  A formula is read
without it, as one whose response is the time.

Symbols: ``y`` = the column (n,), ``z`` = g(y) (n,), ``steps`` = g, the innermost first.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from ._formula_tokens import shown


class Step(NamedTuple):
    """A function, its inverse, and the logarithm of its slope at y."""

    forward: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    log_slope: Callable[[Any], Any]


#: Functions of the left-hand side.  What lies below zero of sqrt(y) is a y of zero to predictions.
RESPONSE_STEPS = {
    "log": Step(np.log, np.exp, lambda y: -np.log(y)),
    "log2": Step(np.log2, np.exp2, lambda y: -np.log(y * np.log(2.0))),
    "log10": Step(np.log10, lambda z: 10.0**z, lambda y: -np.log(y * np.log(10.0))),
    "log1p": Step(np.log1p, np.expm1, lambda y: -np.log1p(y)),
    "logit": Step(logit, expit, lambda y: -np.log(y) - np.log1p(-y)),
    "sqrt": Step(np.sqrt, lambda z: np.maximum(z, 0.0) ** 2, lambda y: -np.log(2.0) - 0.5 * np.log(y)),
}
#: Slopes of + and − with a number are one; those of the other operators are the number, or one over it.
ARITHMETIC = ("+", "-", "*", "/")


class Response(NamedTuple):
    """The column on the left of a formula, and the functions that it stands in."""

    name: str | None  #: None where the formula has no left
    words: str = ""  #: as a formula writes it
    steps: tuple = ()  #: names of functions, and pairs (operator, number), (operator, number, "number first")

    @classmethod
    def of(cls, text: str, words: str, tree: tuple) -> "Response":
        """A response that is made; ValueError for functions that have no inverse."""
        steps: list[Any] = []
        while tree[0] != "column":
            operation, *arguments = tree
            if operation in RESPONSE_STEPS:
                steps.append(operation)
                tree = arguments[0]
            elif operation == "I":
                tree = arguments[0]
            elif operation in ARITHMETIC and any(one[0] == "number" for one in arguments):
                is_first = arguments[0][0] == "number"
                number, tree = arguments if is_first else arguments[::-1]
                steps.append((operation, number[1], is_first))
                if operation in "*/" and (number[1] == 0 or (is_first and operation == "/")):
                    raise ValueError(
                        f"{shown(text)}: the response {words} has no inverse: write log(y) or sqrt(y)"
                    )
            else:
                raise ValueError(
                    f"{shown(text)}: the response {words} is no column in {', '.join(RESPONSE_STEPS)} or "
                    "arithmetic with numbers, whose inverse predictions need: make the column in the frame"
                )
        return cls(tree[1], words, tuple(steps[::-1]))

    @property
    def is_as_it_is(self) -> bool:
        return not self.steps

    def made(self, y: np.ndarray) -> np.ndarray:
        """z = g(y); ValueError naming a row that has none."""
        with np.errstate(all="ignore"):
            z = np.asarray(y, dtype=np.float64)
            for step in self.steps:
                z = of_step(step).forward(z)
        if not (is_finite := np.isfinite(z)).all():
            row = int(np.argmin(is_finite))
            raise ValueError(
                f"{self.words} is not finite where y is {y[row]:g}, as in row {row}, counted from 0"
            )
        return z

    def restored(self, z: np.ndarray) -> np.ndarray:
        """y of z."""
        with np.errstate(over="ignore"):
            for step in self.steps[::-1]:
                z = of_step(step).inverse(z)
        return z

    def log_slope(self, y: np.ndarray) -> np.ndarray:
        """log |g'(y)|, (n,)."""
        found, z = np.zeros(len(y)), np.asarray(y, dtype=np.float64)
        with np.errstate(all="ignore"):
            for step in self.steps:
                found = found + of_step(step).log_slope(z)
                z = of_step(step).forward(z)
        return found


def of_step(step: Any) -> Step:
    """The function of a step, which is a name, or arithmetic with a number."""
    if isinstance(step, str):
        return RESPONSE_STEPS[step]
    operation, c, is_first = step
    if operation == "+":
        return Step(lambda y: y + c, lambda z: z - c, lambda y: 0.0)
    if operation == "-" and is_first:
        return Step(lambda y: c - y, lambda z: c - z, lambda y: 0.0)
    if operation == "-":
        return Step(lambda y: y - c, lambda z: z + c, lambda y: 0.0)
    c = 1.0 / c if operation == "/" else c
    return Step(lambda y: c * y, lambda z: z / c, lambda y: np.log(abs(c)))


#: Beginning of a formula with Surv(…).
HEAD = re.compile(r"\s*Surv\s*\(")
#: An argument: an option's name, a column, and a value that the column is compared with.
ARGUMENT = re.compile(
    r"""\s*(?:(?P<option>\w+)\s*=(?!=)\s*)?
    (?:(?P<text>"[^"]*"|'[^']*')|(?P<name>`[^`]+`|[^\W\d][\w.]*))
    (?:\s*==\s*(?P<value>"[^"]*"|'[^']*'|-?\d+(?:\.\d+)?|True|False|TRUE|FALSE))?\s*$""",
    re.VERBOSE,
)
#: Names of the arguments of each type, in their order.
TYPES = {
    "right": ("time", "event"),
    "left": ("time", "event"),
    "counting": ("time", "time2", "event"),
    "interval2": ("time", "time2"),
}


class Surv(NamedTuple):
    """Columns of Surv(…)."""

    kind: str
    time: str  #: start, or lower bound, where there are two
    time2: str | None
    event: str | None
    value: Any  #: that the event's column has where the event came; None: the column says it itself

    @property
    def response(self) -> str:
        """The column that stands for y."""
        return self.time if self.time2 is None or self.kind == "interval2" else self.time2

    @property
    def columns(self) -> list[str]:
        return [name for name in (self.time, self.time2, self.event) if name is not None]


def surv_of(text: str) -> Surv | None:
    """Columns of Surv(…) on the left; None where there is no Surv; ValueError for what cannot be read."""
    found = _parted(text)
    return None if found is None else _read(text, found[0])


def without_surv(text: str) -> str:
    """The formula whose response is the column of times."""
    found = _parted(text)
    return text if found is None else f"`{_read(text, found[0]).response}` {found[1]}"


def _parted(text: str) -> tuple[str, str] | None:
    """Text within Surv(…), and the rest of the formula."""
    head = HEAD.match(text)
    if head is None:
        return None
    end = text.find(")", head.end())  # no argument has parentheses
    if end < 0 or not text[end + 1 :].lstrip().startswith("~"):
        raise ValueError(f"{text!r}: write Surv(time, dead) ~ …, with names of columns alone")
    return text[head.end() : end], text[end + 1 :].lstrip()


def _read(text: str, inside: str) -> Surv:
    options: dict[str, re.Match] = {}
    given: list[re.Match] = []
    for part in inside.split(","):
        found = ARGUMENT.match(part)
        if found is None:
            raise ValueError(
                f"{text!r}: {part.strip()!r} in Surv(…) is no column and no comparison with ==: make a "
                'column of it in the frame; bounds are Surv(lower, upper, type="interval2"), lower -inf '
                "where a time is only known to be below upper"
            )
        if found["option"] in options:
            raise ValueError(f"{text!r}: the option {found['option']} is given twice")
        if found["option"]:
            options[found["option"]] = found
        else:
            given.append(found)
    kind_of = options.pop("type", None)
    n = len(given) + len(options)
    kind = ("counting" if n == 3 else "right") if kind_of is None else (kind_of["text"] or "").strip("\"'")
    if kind not in TYPES:
        raise ValueError(f"{text!r}: type= of Surv(…) is one of {', '.join(TYPES)}")
    free = [name for name in TYPES[kind] if name not in options]
    named = options | dict(zip(free, given))
    if len(given) > len(free) or (wrong := set(named) - set(TYPES[kind])):
        words = sorted(wrong) if len(given) <= len(free) else [part[0].strip() for part in given[len(free) :]]
        raise ValueError(
            f"{text!r}: Surv(…) of type {kind!r} has {', '.join(TYPES[kind])}, and no {words[0]}"
        )
    if missing := [name for name in TYPES[kind] if name not in named and name != "event"]:
        raise ValueError(f"{text!r}: Surv(…) of type {kind!r} lacks {missing[0]}")
    if bad := [
        part for name, part in named.items() if not part["name"] or (part["value"] and name != "event")
    ]:
        raise ValueError(f"{text!r}: {bad[0][0].strip()!r} in Surv(…) is no column")
    columns = {name: part["name"].strip("`") for name, part in named.items()}
    value = _value(named["event"]["value"]) if "event" in named else None
    return Surv(kind, columns["time"], columns.get("time2"), columns.get("event"), value)


def _value(text: str | None) -> Any:
    """A number, a text or a truth value."""
    if text is None:
        return None
    if text[0] in "\"'":
        return text[1:-1]
    return text.lower() == "true" if text.lower() in ("true", "false") else float(text)
