"""What was seen: rows, a bounded sample of them, and sums over all of them."""

from ._anchor import Anchor
from ._doubt import N_BLOCKS, Doubt
from ._engine import workers
from ._influence import N_DRAWS, Influence
from ._memory import MOST_CERTAIN, Memory
from ._reservoir import Reservoir
from ._rows import Rows

__all__ = [
    "MOST_CERTAIN",
    "N_BLOCKS",
    "N_DRAWS",
    "Anchor",
    "Doubt",
    "Influence",
    "Memory",
    "Reservoir",
    "Rows",
    "workers",
]
