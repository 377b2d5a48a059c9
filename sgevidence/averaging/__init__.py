"""Models weighted by their evidence: one file for weights, predictions, pipelines and metadata each."""

from ._averager import EvidenceModelAverager

__all__ = ["EvidenceModelAverager"]
