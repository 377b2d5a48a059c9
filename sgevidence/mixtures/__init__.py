"""Mixtures of any family of components: the evidence of every number of them from strata of those in use."""

from ._evidence import MixtureEvidence, mixture_evidence

__all__ = ["MixtureEvidence", "mixture_evidence"]
