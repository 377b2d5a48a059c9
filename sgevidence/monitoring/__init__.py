"""Change points of streams and series, by evidence."""

from ._detection import Detection
from ._discrete import CategorySegment, CountSegment
from ._gaussian import NormalSegment, RegressionSegment
from ._monitor import EvidenceMonitor
from ._segment import Segmentation, segment
from ._series import SeriesSegment

__all__ = [
    "EvidenceMonitor",
    "Detection",
    "segment",
    "Segmentation",
    "NormalSegment",
    "CategorySegment",
    "CountSegment",
    "RegressionSegment",
    "SeriesSegment",
]
