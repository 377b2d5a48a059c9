"""The best subsets in eighty columns: which columns, log evidence, probability."""

from typing import Any

import numpy as np

from ..tables import Table, shortened, with_errors

#: Columns that the summary reads, and rows that it prints.
COLUMNS, PRINTED = ("size", "log_evidence", "log_evidence_std", "probability"), 20


class Summarised:
    """Prints the best subsets while it has the columns for it; any part of it prints as usual."""

    def __repr__(self: Any) -> str:
        is_whole = set(COLUMNS) <= set(self.columns) and len(self.index) > 0
        return summary(self) if is_whole else super().__repr__()


class SubsetTable(Summarised, Table):
    """Subsets where pandas is not installed."""


def summary(table: Any) -> str:
    """The first rows, each with the columns of its subset."""
    found = {name: np.asarray(table[name])[:PRINTED] for name in COLUMNS}
    cells: dict[str, Any] = {
        "size": found["size"],
        "log evidence ± error": with_errors(found["log_evidence"], found["log_evidence_std"]),
        "probability": [f"{p:.3f}" for p in found["probability"]],
    }
    taken = sum(2 + max(map(len, [name, *map(str, column)])) for name, column in cells.items())
    names = shortened([str(name) for name in table.index[:PRINTED]], taken)
    more = len(table.index) - PRINTED
    return Table(cells, names).to_string() + (f"\n… and {more} more" if more > 0 else "")
