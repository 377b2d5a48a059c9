"""Algorithms of the source documents that only published settings and figures reach: one file each."""

from ._bidirectional_error import BidirectionalError, bidirectional_error
from ._harmonic import HarmonicMean
from ._prior_sampling import PriorSampling
from ._sequential import SequentialSGMCMC, SequentialState
from ._sequential_nested import SequentialNestedSampling, SequentialNestedState
from ._sgld import sgld
from ._sgnht import SGNHT, sgnht
from ._sir import SIR

__all__ = [
    "BidirectionalError",
    "bidirectional_error",
    "sgld",
    "sgnht",
    "SIR",
    "SGNHT",
    "SequentialSGMCMC",
    "SequentialNestedSampling",
    "PriorSampling",
    "HarmonicMean",
    "SequentialNestedState",
    "SequentialState",
]
