"""Mixtures of any family of components: the evidence of every number of them from strata of those in use."""

from ._evidence import MixtureEvidence, is_affordable, mixture_evidence

__all__ = ["MixtureEvidence", "is_affordable", "mixture_evidence"]
