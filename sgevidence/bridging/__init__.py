"""The evidence of a posterior that was sampled elsewhere: warped bridge sampling from draws at hand."""

from ._evidence import BridgeEvidence, bridge_evidence
from ._programs import from_bridgestan, from_pymc

__all__ = ["BridgeEvidence", "bridge_evidence", "from_bridgestan", "from_pymc"]
