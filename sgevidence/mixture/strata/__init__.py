"""Mixtures: the evidence of every number of components, of any family, from strata of those in use."""

from ._allocation_draws import statistics, weighed
from ._answer import SharedWalk, is_known, mixture_answer, mixture_strata
from ._evidence import MixturePosterior, Strata, mixture_evidence, strata_up_to
from ._limits import why_not_affordable
from ._mixture_evidence import MixtureEvidence
from ._permanents import log_permanent

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
