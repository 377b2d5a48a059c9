"""Fitted estimators in other libraries' forms."""

from ._arviz import to_arviz

__all__ = ["to_arviz"]
