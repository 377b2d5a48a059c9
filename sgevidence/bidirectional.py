"""How wrong is an evidence on data of the prior?  Stochastic bounds on both sides."""

from ._names_above import names_above

__all__ = ["BidirectionalError", "bidirectional_error"]  # noqa: F822

__getattr__, __dir__ = names_above(__name__)
