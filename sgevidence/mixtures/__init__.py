"""Mixtures: the evidence of every number of components, of any family, from strata of those in use."""

from ._allocation_draws import statistics, weighed
from ._evidence import MixturePosterior, Strata, mixture_evidence, strata_up_to
from ._limits import is_affordable, why_not_affordable

__all__ = [
    "MixturePosterior",
    "Strata",
    "is_affordable",
    "mixture_evidence",
    "strata_up_to",
    "why_not_affordable",
    "weighed",
    "statistics",
]
