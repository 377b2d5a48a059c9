"""Evidence algorithms: one file, one published method, one object with scikit-learn parameters."""

from ._base import DivergenceError, EvidenceResult, EvidenceWarning
from ._records import ChunkRecord, complaints, diagnostics, evidence_path, thinned
from ._sgais import SGAIS
from ._state import SGAISState

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
