"""Tables that print in eighty columns, with or without pandas."""

from ._table import ROUNDING, WIDTH, Summarised, Table, to_digits, with_errors

__all__ = ["ROUNDING", "WIDTH", "Summarised", "Table", "to_digits", "with_errors"]
