"""Evidence algorithms: one file, one published method, one object with scikit-learn parameters."""

from ._base import (
    ChunkRecord,
    DivergenceError,
    EvidenceResult,
    EvidenceWarning,
    complaints,
    diagnostics,
    evidence_path,
    thinned,
)
from ._sgais import SGAIS, SGAISState

__all__ = [
    "SGAIS",
    "ChunkRecord",
    "DivergenceError",
    "EvidenceResult",
    "EvidenceWarning",
    "SGAISState",
    "complaints",
    "diagnostics",
    "evidence_path",
    "thinned",
]
