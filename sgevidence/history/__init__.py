"""What was seen: rows, a bounded sample of them, and sums over all of them."""

from ._anchor import Anchor
from ._memory import Memory
from ._reservoir import Reservoir
from ._rows import Rows

__all__ = ["Anchor", "Memory", "Reservoir", "Rows"]
