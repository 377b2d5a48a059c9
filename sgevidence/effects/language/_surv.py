"""The left of a formula as R writes times: Surv(time, dead) ~ x.

    Surv(t), Surv(t, dead)            times, of which some are censored on the right
    Surv(start, stop, dead)           late entries
    Surv(t, dead, type="left")        censored on the left
    Surv(lo, hi, type="interval2")    bounds

``dead`` is a column, or a comparison such as ``status == 2`` and ``status == "dead"``.  A formula is read
without it, as one whose response is the time.
"""

import re
from typing import Any, NamedTuple

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
            raise ValueError(f"{text!r}: {part.strip()!r} in Surv(…) is no column and no comparison of one")
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
