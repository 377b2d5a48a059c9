"""Tables that print in eighty columns, with or without pandas."""

from ._table import Table
from ._words import WIDTH, shortened, to_digits, with_errors

__all__ = ["WIDTH", "Table", "shortened", "to_digits", "with_errors"]
