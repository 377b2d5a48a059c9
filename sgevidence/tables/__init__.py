"""Tables that print in eighty columns, with or without pandas."""

from ._table import Table
from ._words import ROUNDING, WIDTH, to_digits, with_errors

__all__ = ["ROUNDING", "WIDTH", "Table", "to_digits", "with_errors"]
