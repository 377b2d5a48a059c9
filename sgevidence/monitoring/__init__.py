"""Change points of streams and series, by evidence."""

from ._detection import Detection
from ._discrete import CategorySegment, CountSegment
from ._monitor import EvidenceMonitor
from ._normal import NormalSegment
from ._regression import RegressionSegment
from ._segment import EvidenceDetector, Segmentation, segment
from ._series import SeriesSegment

__all__ = [
    "EvidenceMonitor",
    "Detection",
    "EvidenceDetector",
    "segment",
    "Segmentation",
    "NormalSegment",
    "CategorySegment",
    "CountSegment",
    "RegressionSegment",
    "SeriesSegment",
]
