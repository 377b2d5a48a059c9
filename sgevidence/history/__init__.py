"""What was seen: rows and a bounded sample of them."""

from ._reservoir import Reservoir
from ._rows import Rows

__all__ = ["Reservoir", "Rows"]
