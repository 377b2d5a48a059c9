"""Evidence algorithms: one file, one published method, one object with scikit-learn parameters.

The moves of particles and the other parts of :class:`SGAIS` are offered here, too."""

from ..transitions import HMC, SGHMC, SGNHT, Escort, ModeSearch, Proposal
from ._ais import AIS
from ._base import SILENT, EvidenceResult, OnlineSampler, Progress, Sampler
from ._direct import Exact, PriorSampling, answer
from ._harmonic import HarmonicMean
from ._laplace import Laplace
from ._nested import NestedSampling
from ._records import ChunkRecord, diagnostics, evidence_path, thinned
from ._sequential import SequentialSGMCMC, SequentialState
from ._sequential_nested import SequentialNestedSampling, SequentialNestedState
from ._sgais import SGAIS
from ._sharing import shared, sharing
from ._sir import SIR
from ._until_precise import DOUBTFUL_P_VALUE, Pool, UntilPrecise, pool

__all__ = [
    "SGAIS",
    "AIS",
    "SIR",
    "SequentialSGMCMC",
    "NestedSampling",
    "SequentialNestedSampling",
    "PriorSampling",
    "HarmonicMean",
    "Laplace",
    "Exact",
    "UntilPrecise",
    "DOUBTFUL_P_VALUE",
    "shared",
    "sharing",
    "SILENT",
    "ChunkRecord",
    "EvidenceResult",
    "Pool",
    "Progress",
    "SequentialNestedState",
    "SequentialState",
    "diagnostics",
    "evidence_path",
    "pool",
    "thinned",
    "OnlineSampler",
    "Sampler",
    "answer",
    "HMC",
    "SGHMC",
    "SGNHT",
    "Escort",
    "ModeSearch",
    "Proposal",
]
