"""Fitted estimators in files and in other libraries' forms."""

from ._arviz import to_arviz
from ._saved import load, save, trusted_types

__all__ = ["load", "save", "to_arviz", "trusted_types"]
