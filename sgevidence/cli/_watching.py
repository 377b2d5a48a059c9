"""The command ``watch``: it reads lines as they come and prints the changes that a monitor declares."""

import io
import json
import sys
from contextlib import nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import typer

from ..io import save
from ..monitoring import Detection, EvidenceMonitor
from ..rows import TextFormat
from ._checkpoints import WATCHED_ROWS, resumed
from ._lines import LineFormat, LineRow, bounded_lines, rows_of_lines
from ._terminal import unescaped


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
