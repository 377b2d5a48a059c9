"""Which columns: the posterior over subsets of them."""

from ._selector import EvidenceFeatureSelector

__all__ = ["EvidenceFeatureSelector"]
