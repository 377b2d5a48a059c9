"""Tables that print in eighty columns, with or without pandas."""

from ._summarised import Summarised
from ._table import Table
from ._words import ROUNDING, WIDTH, to_digits, with_errors

__all__ = ["ROUNDING", "WIDTH", "Summarised", "Table", "to_digits", "with_errors"]
