"""The history of a stream: rows, a bounded sample of them, and sums over all of them."""

from ._anchor import N_BLOCKS, Anchor, Doubt
from ._engine import task_workers, workers
from ._influence import N_INFLUENCE_DRAWS, Influence
from ._memory import MAX_HIGH_LEVERAGE_SHARE, Memory, Reservoir
from ._rows import ADDED_AT_ONCE, FoldedRows, Rows, add_all, add_in_order

__all__ = [
    "ADDED_AT_ONCE",
    "MAX_HIGH_LEVERAGE_SHARE",
    "N_BLOCKS",
    "N_INFLUENCE_DRAWS",
    "Anchor",
    "Doubt",
    "FoldedRows",
    "Influence",
    "Memory",
    "Reservoir",
    "Rows",
    "add_all",
    "add_in_order",
    "task_workers",
    "workers",
]
