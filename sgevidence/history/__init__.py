"""What was seen: rows, a bounded sample of them, and sums over all of them."""

from ._anchor import Anchor
from ._doubt import N_BLOCKS, Doubt
from ._memory import Memory
from ._reservoir import Reservoir
from ._rows import Rows

__all__ = ["N_BLOCKS", "Anchor", "Doubt", "Memory", "Reservoir", "Rows"]
