"""Models weighted by their evidence: one file for weights, predictions, pipelines and metadata each."""

from ._averager import EvidenceModelAverager
from ._model_mixture import AverageSummary, ModelTable

__all__ = ["AverageSummary", "EvidenceModelAverager", "ModelTable"]
