"""Public names of a room that stand in rooms above it: these are imported when a name is first asked for.

``published`` stands above ``samplers``, which offers its algorithms: an import would be a circle.
"""

import importlib
import sys
from collections.abc import Callable
from typing import Any

#: By room, the names that it offers and the rooms in which they stand.
NAMES_ABOVE = {
    "samplers": dict.fromkeys(
        ["SIR", "SGNHT", "HarmonicMean", "PriorSampling", "SequentialNestedSampling", "SequentialSGMCMC"],
        "published",
    )
    | {"MixtureEvidence": "mixture.strata"},
    "kernels": dict.fromkeys(["sgld", "sgnht"], "published"),
    "bidirectional": dict.fromkeys(["BidirectionalError", "bidirectional_error"], "published"),
}


def names_above(room: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a room, by its dotted name."""
    package, _, name_of_room = room.rpartition(".")
    homes = NAMES_ABOVE[name_of_room]

    def found(name: str) -> Any:
        if name in homes:
            return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {room!r} has no attribute {name!r}")

    return found, lambda: sorted({*vars(sys.modules[room]), *homes})
