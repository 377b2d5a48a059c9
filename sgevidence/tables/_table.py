"""A table that prints, where pandas is not installed."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from itertools import zip_longest
from textwrap import wrap
from typing import Any

import numpy as np

from ._words import WIDTH

#: Fewest characters of a line of a name.
MIN_NAME_WIDTH = 12


class Table:
    """Columns of equal length with a name for each row, for readers who may not have pandas.

    Parameters
    ----------
    columns : mapping of str to sequence
    index : sequence of str
        Names of the rows; a name that is too long for a line of eighty characters takes several.
    index_name : str, default=""
        Heading of the names.

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

    def __init__(
        self, columns: Mapping[str, Sequence[Any] | np.ndarray], index: Sequence[str], index_name: str = ""
    ):
        self._columns = {name: np.asarray(values) for name, values in columns.items()}
        self.index, self.index_name = list(index), index_name

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
        columns = [[name, *_cells(values)] for name, values in self._columns.items()]
        widths = [max(map(len, column)) for column in columns]
        room = WIDTH - sum(widths) - 2 * len(widths)
        names = [_wrapped(name, room) for name in [self.index_name, *self.index]]
        first = max(len(line) for lines in names for line in lines)
        out = []
        for lines, *cells in zip(names, *columns):
            numbers = "".join("  " + cell.rjust(width) for cell, width in zip(cells, widths))
            out += [a.ljust(first) + b for a, b in zip_longest(lines, [numbers], fillvalue="")]
        return "\n".join(line.rstrip() for line in out)

    def __repr__(self) -> str:
        return self.to_string()

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in [self.index_name, *self.columns])
        rows = zip(self.index, *map(_cells, self._columns.values()))
        body = "".join(
            f"<tr><th>{escape(name)}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
            for name, *cells in rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def in_pandas(table: Table) -> Any:
    """The table as a DataFrame where pandas is installed."""
    return table if find_spec("pandas") is None else table.to_frame().infer_objects()


def _wrapped(name: str, room: int) -> list[str]:
    """Lines of a name; one where not even a short line would fit beside the numbers."""
    if len(name) <= room or room < MIN_NAME_WIDTH:
        return [name]
    return wrap(name, room, subsequent_indent="  ", break_on_hyphens=False)


def _cells(values: np.ndarray) -> list[str]:
    """Numbers of a column with as many decimals as the one that needs most, at most six digits' worth."""
    if values.dtype.kind != "f":
        return [str(v) for v in values]
    texts = [f"{v:.6g}" for v in values]
    decimals = max((len(t.partition(".")[2]) for t in texts if "e" not in t), default=0)
    return [t if "e" in t or "n" in t else f"{v:.{decimals}f}" for t, v in zip(texts, values)]
