"""The evidence of a posterior that was sampled elsewhere: warped bridge sampling from draws at hand."""

from ._draws import from_bridgestan, from_pymc
from ._evidence import BridgeEvidence, bridge_evidence

__all__ = ["BridgeEvidence", "bridge_evidence", "from_bridgestan", "from_pymc"]
