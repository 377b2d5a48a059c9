"""Evidence algorithms: one file, one published method, one object with scikit-learn parameters."""

from ._base import SILENT, DivergenceError, EvidenceResult, EvidenceWarning, Progress
from ._records import ChunkRecord, complaints, diagnostics, evidence_path, thinned
from ._sgais import SGAIS
from ._state import SGAISState

__all__ = [
    "SGAIS",
    "SILENT",
    "ChunkRecord",
    "DivergenceError",
    "EvidenceResult",
    "EvidenceWarning",
    "Progress",
    "SGAISState",
    "complaints",
    "diagnostics",
    "evidence_path",
    "thinned",
]
