"""The history of a stream: rows, a bounded sample of them, and sums over all of them."""

from ._anchor import Anchor
from ._doubt import N_BLOCKS, Doubt
from ._engine import workers
from ._folded import ADDED_AT_ONCE, FoldedRows, add_all, add_in_order
from ._influence import N_DRAWS, Influence
from ._memory import MAX_HIGH_LEVERAGE_SHARE, Memory
from ._reservoir import Reservoir
from ._rows import Rows

__all__ = [
    "ADDED_AT_ONCE",
    "MAX_HIGH_LEVERAGE_SHARE",
    "N_BLOCKS",
    "N_DRAWS",
    "Anchor",
    "Doubt",
    "FoldedRows",
    "Influence",
    "Memory",
    "Reservoir",
    "Rows",
    "add_all",
    "add_in_order",
    "workers",
]
