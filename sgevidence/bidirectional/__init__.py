"""How wrong is an evidence on data of the prior?  Stochastic bounds on both sides."""

from ._error import BidirectionalError, bidirectional_error

__all__ = ["BidirectionalError", "bidirectional_error"]
