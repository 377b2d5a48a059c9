"""Evidence algorithms: one file, one published method, one object with scikit-learn parameters.

The moves of particles and the other parts of :class:`SGAIS` are offered here, too.
"""

from .._names_above import names_above
from ..transitions import HMC, SGHMC, ModeSearch, Proposal
from ._ais import AIS
from ._base import SILENT, EvidenceResult, OnlineSampler, Parts, Progress, Sampler, check_history, under_way
from ._direct import Exact, answer, doubts_of_few
from ._laplace import Laplace
from ._nested import NestedSampling, bottleneck, descend, evidence, founders
from ._records import ChunkRecord, diagnostics, evidence_path, thinned
from ._sgais import SGAIS, chunk_edges, pieces
from ._until_precise import DOUBTFUL_P_VALUE, Pool, UntilPrecise, pool, shared, sharing

__all__ = [
    "SIR",
    "SGNHT",
    "HarmonicMean",
    "MixtureEvidence",
    "PriorSampling",
    "SequentialNestedSampling",
    "SequentialSGMCMC",
    "SGAIS",
    "AIS",
    "NestedSampling",
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
    "diagnostics",
    "evidence_path",
    "pool",
    "thinned",
    "OnlineSampler",
    "Sampler",
    "answer",
    "doubts_of_few",
    "Parts",
    "check_history",
    "under_way",
    "chunk_edges",
    "pieces",
    "bottleneck",
    "descend",
    "evidence",
    "founders",
    "HMC",
    "SGHMC",
    "ModeSearch",
    "Proposal",
]

__getattr__, __dir__ = names_above(__name__)
