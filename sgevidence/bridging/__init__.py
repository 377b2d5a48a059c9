"""The evidence of a posterior that was sampled elsewhere: warped bridge sampling from draws at hand."""

from ._evidence import BridgeEvidence, bridge_evidence

__all__ = ["BridgeEvidence", "bridge_evidence"]
