"""The command ``watch``: it reads lines as they come and prints the changes that a monitor declares.

Lines of text are read as rows of numbers.
"""

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import typer

from ..io import save
from ..monitoring import Detection, EvidenceMonitor
from ..rows import ROW_NAMES, TextFormat
from ._models import WATCHED_ROWS, resumed, unescaped


class LineFormat(NamedTuple):
    """How lines separate columns and write numbers, and the columns that are read, all by default."""

    columns: Sequence[str] = ()  #: names, or numbers counted from 1
    sep: str | None = None  #: None: commas, semicolons, tabs or blanks
    decimal: str = "."
    thousands: str | None = None

    def cells(self, line: str) -> list[str]:
        """Texts between separators, without quotes."""
        if self.sep is not None:
            return [cell.strip() for cell in next(csv.reader([line.strip("\r\n")], delimiter=self.sep), [])]
        seps = r"\s*[;\t]\s*|\s+" if "," in (self.decimal, self.thousands) else r"\s*[,;\t]\s*|\s+"
        return [cell.strip('"') for cell in re.split(seps, line.strip(" \r\n"))] if line.strip() else []

    def number(self, text: str) -> float | None:
        """The finite number that a text is; None if it is none."""
        try:
            value = float(text.replace(self.thousands or "\0", "").replace(self.decimal, "."))
        except ValueError:
            return None
        return value if isfinite(value) else None

    def sniffed(self, header: str) -> "LineFormat":
        """With the separator of a header: text may hold blanks, and 1,5 is no two numbers after a;b."""
        found = next((sep for sep in "\t;," if sep in header and sep != self.decimal), None)
        return self._replace(sep=found) if self.sep is None else self


#: All columns of numbers.
PLAIN = LineFormat()
#: Headers of a column that says when its row was.
WHEN = ("year", "date", "datetime", "timestamp", "period")
#: A date that needs no header: 2024-05-31, 2024-05, 31.05.2024, 5/31/2024, with or without a time of day.
DATE = re.compile(r"(\d{4}-\d\d(-\d\d)?|\d{1,2}[./]\d{1,2}[./]\d{4})([T ]\d\d:\d\d.*)?")


class LineRow(NamedTuple):
    """Numbers of a line, and its year or date."""

    values: list[float]
    when: str | None


def bounded_lines(stream: Any, name: str) -> Iterator[str]:
    """Lines of a stream; ValueError of one that is too long to be a row."""
    # characters of a line: a stream without line ends is no table, and must not fill the memory
    max_line = 1_000_000
    number = 0
    while line := stream.readline(max_line):
        number += 1
        if len(line) == max_line:
            raise ValueError(f"{name}, line {number}: more than {max_line} characters; a row must be a line")
        yield line


def rows_of_lines(
    lines: Iterable[str],
    name: str,
    form: LineFormat = PLAIN,
    say: Callable[[str], Any] = lambda words: None,
) -> Iterator[LineRow]:
    """Rows of the columns that are read; a first line of words is a header.

    A first column that numbers or names the rows is left out, and so is a column of years or dates, which is
    in ``when``; both are said.  ValueError names file, line and
    column of what is no number, or of a row of another length.
    """
    header: list[str] | None = None
    width: int | None = None
    kept: list[int] = []
    dated: int | None = None
    for number, line in enumerate(lines, start=1):
        if number == 1 and form.columns:
            form = form.sniffed(line)
        cells = form.cells(line)
        if not any(cells):
            continue
        if number == 1 and all(form.number(cell) is None for cell in cells):
            header, form = cells, form.sniffed(line)
            continue
        if width is None:
            width = len(cells)
            if header is not None and len(header) == width - 1:  # R's row names have no header
                header = ["", *header]
            dated = date_column(header, cells)
            kept = columns_read(header, width, form.columns, dated, name, say)
        if len(cells) != width:
            raise ValueError(f"{name}, line {number}: {len(cells)} numbers, the lines before have {width}")
        row = [form.number(cells[k]) for k in kept]
        for k, value in zip(kept, row):
            if value is None:
                column = repr(header[k]) if header is not None and len(header) == width else k + 1
                words = f"{name}, line {number}, column {column}: {cells[k]!r} is no finite number"
                raise ValueError(
                    words
                    if form.columns or width == 1
                    else f"{words}: name the columns of numbers by --column"
                )
        when = None if dated is None else cells[dated].strip().removesuffix(".0")
        yield LineRow([value for value in row if value is not None], when)


def date_column(header: list[str] | None, cells: list[str]) -> int | None:
    """The first column that says when its row was, by its header or by its first date; None if none does."""
    titles = header if header is not None and len(header) == len(cells) else [""] * len(cells)
    are_dates = (
        title.lower() in WHEN or DATE.fullmatch(cell) is not None for title, cell in zip(titles, cells)
    )
    return None if len(cells) == 1 else next((k for k, is_date in enumerate(are_dates) if is_date), None)


def columns_read(
    header: list[str] | None,
    width: int,
    wanted: Sequence[str],
    dated: int | None,
    name: str,
    say: Callable[[str], Any],
) -> list[int]:
    """Numbers of the columns that are read; without ``wanted``, all but those that name the rows."""
    found = []
    for column in wanted:
        if header is not None and column in header:
            found.append(header.index(column))
        elif column.isdecimal() and 1 <= int(column) <= width:
            found.append(int(column) - 1)
        else:
            raise ValueError(
                f"{name} has no column {column!r}: its columns are {header or list(range(1, width + 1))}"
            )
    if wanted:
        return found
    names = header if header is not None and len(header) == width else None
    if dated is not None:
        title = dated + 1 if names is None else repr(names[dated])
        say(f"column {title} says when a row was seen, and is not watched: --column names columns to watch")
    is_numbered = names is not None and width > 1 and names[0].lower() in ROW_NAMES
    if names is not None and is_numbered and dated != 0:
        say(f"column {names[0]!r} numbers or names the rows and is left out: --column names those to be read")
    left = [k for k in range(width) if k != dated and not (is_numbered and k == 0)]
    if names is not None and width > 1 and not is_numbered and len(left) > 1:
        read = ", ".join(repr(names[k]) for k in left)
        words = "all columns are read" if dated is None else "the others are read"
        say(f"{words}, {read}: --column names those to be read")
    return left


def print_changes(asked: Any) -> None:
    """A line for each change, when it is declared; ``asked`` has the options of ``watch``."""
    data, checkpoint = asked.data, asked.checkpoint
    with open_or_stdin(data, asked.encoding) as stream:
        monitor = EvidenceMonitor(hazard=asked.hazard, threshold=asked.threshold)
        if checkpoint is not None:
            monitor = resumed(monitor, Path(checkpoint))
        n_seen = getattr(monitor, "n_samples_seen_", 0)
        form = LineFormat(asked.column or (), unescaped(asked.sep), asked.decimal, asked.thousands)
        name = "standard input" if data == "-" else data
        rows = rows_of_lines(bounded_lines(stream, name), name, form, partial(typer.echo, err=True))
        if data != "-" and sum(1 for _ in islice(rows, n_seen)) < n_seen:
            raise ValueError(f"{checkpoint} has seen {n_seen} rows, and {data} has fewer")
        for row in rows:
            monitor.partial_fit(as_dated(row))
            for found in monitor.detections_[-1:] if monitor.drift_detected else ():
                words = json.dumps(found._asdict(), default=float) if asked.as_json else in_a_line(found, row)
                typer.echo(words)
            if checkpoint is not None and monitor.n_samples_seen_ % WATCHED_ROWS == 0:
                save(monitor, checkpoint)
        if checkpoint is not None and getattr(monitor, "n_samples_seen_", 0) > n_seen:
            save(monitor, checkpoint)


def as_dated(row: LineRow) -> Any:
    """A table of one row, with its year or date as the index, which a monitor remembers and saves."""
    if row.when is None:
        return [row.values]
    try:
        from pandas import DataFrame
    except ImportError as error:
        raise ImportError("years and dates of rows need pandas: pip install pandas") from error
    return DataFrame([row.values], index=[row.when])


def in_a_line(found: Detection, row: LineRow) -> str:
    """A change by the year or date of its rows, or by their numbers."""
    at = f"row {found.declared_row}" if row.when is None else row.when
    place = f"row {found.change_row}" if found.time is None else found.time
    return (
        f"{at}: a change at {place}, probability {found.probability:.3f}, "
        f"log Bayes factor {found.log_bayes_factor:.1f}"
    )


def open_or_stdin(path: str, encoding: str) -> Any:
    """A file of text, or standard input, which stays open."""
    TextFormat(encoding=encoding).refuse_unknown_encoding()
    if path != "-":
        return open(path, encoding=encoding)
    if encoding != "utf-8" and isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding=encoding)
    return nullcontext(sys.stdin)
