"""Tables that print in eighty columns, with or without pandas."""

from ._table import Table
from ._words import ROUNDING, WIDTH, shortened, to_digits, with_errors

__all__ = ["ROUNDING", "WIDTH", "Table", "shortened", "to_digits", "with_errors"]
