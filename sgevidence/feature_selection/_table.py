"""The best subsets as a table in eighty columns."""

from typing import Any

import numpy as np

from ..tables import Summarised, Table, with_errors

#: Columns of the table that a summary reads.
PRINTED = ("log_evidence", "log_evidence_std", "probability")


class Subsets(Summarised):
    """The summary of a table of subsets."""

    columns: Any
    index: Any
    __getitem__: Any

    def _summary(self, as_text: bool) -> tuple[Table, list[str]] | None:
        if not set(PRINTED) <= set(self.columns) or not len(self.index):
            return None
        log_Z, std, p = (np.asarray(self[name]) for name in PRINTED)
        cells = {"log evidence ± error": with_errors(log_Z, std), "probability": [f"{one:.3f}" for one in p]}
        return Table(cells, [str(name) for name in self.index], "columns"), []


class SubsetTable(Subsets, Table):  # type: ignore[misc]
    """The best subsets where pandas is not installed."""
