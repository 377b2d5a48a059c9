"""Mixtures: the evidence of every number of components, of any family, from strata of those in use."""

from ._evidence import MixturePosterior, Strata, mixture_evidence, strata_up_to
from ._hidden_evidence import HiddenStatePosterior, hidden_state_evidence, why_no_evidence
from ._limits import is_affordable, why_not_affordable

__all__ = [
    "HiddenStatePosterior",
    "MixturePosterior",
    "Strata",
    "hidden_state_evidence",
    "is_affordable",
    "mixture_evidence",
    "strata_up_to",
    "why_no_evidence",
    "why_not_affordable",
]
