"""Lines of text as rows of numbers."""

import re
from collections.abc import Iterable, Iterator
from math import isfinite


def rows_of_lines(lines: Iterable[str], name: str) -> Iterator[list[float]]:
    """Numbers between commas, semicolons or blanks; a first line of words is a header.

    ValueError names file, line and column of what is no number, or of a row of another length.
    """
    width: int | None = None
    for number, line in enumerate(lines, start=1):
        cells = [cell for cell in re.split(r"[,;\s]+", line.strip()) if cell]
        if not cells:
            continue
        row = [number_of(cell) for cell in cells]
        if number == 1 and all(value is None for value in row):
            continue
        for column, (cell, value) in enumerate(zip(cells, row), start=1):
            if value is None:
                raise ValueError(f"{name}, line {number}, column {column}: {cell!r} is no finite number")
        if width is not None and len(row) != width:
            raise ValueError(f"{name}, line {number}: {len(row)} numbers, the lines before have {width}")
        width = len(row)
        yield [value for value in row if value is not None]


def number_of(text: str) -> float | None:
    """The finite number that a text is; None if it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None
