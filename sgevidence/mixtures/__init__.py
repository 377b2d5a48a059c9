"""Mixtures: evidence from allocations, and that of every number of components, of any family, from strata."""

from ._allocate import Allocate, asks_strata_first, is_sharp
from ._allocations import allocation_evidence, doubling_until, most_rows, patience, takes_allocations
from ._evidence import (
    MixturePosterior,
    Strata,
    is_affordable,
    mixture_evidence,
    strata_up_to,
    why_not_affordable,
)
from ._mode_switch import ModeSwitch

__all__ = [
    "Allocate",
    "MixturePosterior",
    "ModeSwitch",
    "Strata",
    "allocation_evidence",
    "asks_strata_first",
    "doubling_until",
    "is_affordable",
    "is_sharp",
    "mixture_evidence",
    "most_rows",
    "patience",
    "strata_up_to",
    "takes_allocations",
    "why_not_affordable",
]
