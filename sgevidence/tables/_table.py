"""A table that prints, where pandas is not installed."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np


class Table:
    """Columns of equal length with a name for each row, for readers who may not have pandas.

    Parameters
    ----------
    columns : mapping of str to sequence
    index : sequence of str
        Names of the rows.

    Notes
    -----
    ``table["column"]`` is an array, ``table[["a", "b"]]`` a table of these columns.

    Examples
    --------
    >>> from sgevidence.tables import Table
    >>> table = Table({"log_evidence": [-1.25, -3.0], "rank": [1, 2]}, ["one", "two"])
    >>> table
         log_evidence  rank
    one         -1.25     1
    two         -3.00     2
    """

    def __init__(self, columns: Mapping[str, Sequence[Any] | np.ndarray], index: Sequence[str]):
        self._columns = {name: np.asarray(values) for name, values in columns.items()}
        self.index = list(index)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, list):
            return Table({name: self._columns[name] for name in key}, self.index)
        return self._columns[key]

    def round(self, decimals: int) -> "Table":
        """Round the numbers.

        Parameters
        ----------
        decimals : int

        Returns
        -------
        Table
        """
        rounded = {k: np.round(v, decimals) if v.dtype.kind == "f" else v for k, v in self._columns.items()}
        return Table(rounded, self.index)

    def to_frame(self) -> Any:
        """The table for pandas.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        from pandas import DataFrame

        return DataFrame(self._columns, index=self.index)

    def to_string(self) -> str:
        """The table as text, columns aligned.

        Returns
        -------
        str
        """
        columns = [["", *self.index]] + [[name, *_cells(v)] for name, v in self._columns.items()]
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths))
            )
            for row in zip(*columns)
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.to_string()

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in ["", *self.columns])
        rows = zip(self.index, *map(_cells, self._columns.values()))
        body = "".join(
            f"<tr><th>{escape(name)}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
            for name, *cells in rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(values: np.ndarray) -> list[str]:
    """Numbers of a column with as many decimals as the one that needs most, at most six digits' worth."""
    if values.dtype.kind != "f":
        return [str(v) for v in values]
    texts = [f"{v:.6g}" for v in values]
    decimals = max((len(t.partition(".")[2]) for t in texts if "e" not in t), default=0)
    return [t if "e" in t or "n" in t else f"{v:.{decimals}f}" for t, v in zip(texts, values)]
