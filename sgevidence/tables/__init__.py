"""Tables that print in eighty columns, with or without pandas."""

from ._summarised import Summarised
from ._table import Table, in_pandas
from ._words import ROUNDING, WIDTH, to_digits, with_errors

__all__ = ["ROUNDING", "WIDTH", "Summarised", "Table", "in_pandas", "to_digits", "with_errors"]
