"""Mixtures: the evidence of every number of components, of any family, from strata of those in use."""

from ._allocation_draws import log_permanent, statistics, weighed
from ._answer import MixtureEvidence, SharedWalk, is_known, mixture_answer, mixture_strata
from ._evidence import MixturePosterior, Strata, mixture_evidence, strata_up_to
from ._limits import why_not_affordable

__all__ = [
    "SharedWalk",
    "is_known",
    "mixture_answer",
    "mixture_strata",
    "MixturePosterior",
    "Strata",
    "mixture_evidence",
    "strata_up_to",
    "why_not_affordable",
    "weighed",
    "statistics",
    "log_permanent",
    "MixtureEvidence",
]
