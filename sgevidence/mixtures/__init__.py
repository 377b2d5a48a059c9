"""Mixtures of any family of components: the evidence of every number of them from strata of those in use."""

from ._evidence import (
    MixturePosterior,
    Strata,
    is_affordable,
    mixture_evidence,
    strata_up_to,
    why_not_affordable,
)

__all__ = [
    "MixturePosterior",
    "Strata",
    "is_affordable",
    "mixture_evidence",
    "strata_up_to",
    "why_not_affordable",
]
