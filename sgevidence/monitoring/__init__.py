"""Change points of streams and series, by evidence."""

from ._detection import Detection
from ._monitor import EvidenceMonitor
from ._normal import NormalSegment
from ._regression import RegressionSegment
from ._series import SeriesSegment

__all__ = ["EvidenceMonitor", "Detection", "NormalSegment", "RegressionSegment", "SeriesSegment"]
