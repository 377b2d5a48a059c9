"""Evidence algorithms: one file, one published method, one object with scikit-learn parameters."""

from ._base import ChunkRecord, DivergenceError, EvidenceResult, evidence_path
from ._sgais import SGAIS, SGAISState

__all__ = ["SGAIS", "ChunkRecord", "DivergenceError", "EvidenceResult", "SGAISState", "evidence_path"]
