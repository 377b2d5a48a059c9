"""Tables that print in eighty columns, with or without pandas."""

from ._table import (
    LINE_WIDTH,
    ROUNDING_SHARE,
    Summarised,
    Table,
    in_html,
    in_latex,
    in_lines,
    in_markdown,
    in_pandas,
    to_digits,
    with_errors,
)

__all__ = [
    "ROUNDING_SHARE",
    "LINE_WIDTH",
    "Summarised",
    "Table",
    "in_html",
    "in_latex",
    "in_lines",
    "in_markdown",
    "in_pandas",
    "to_digits",
    "with_errors",
]
