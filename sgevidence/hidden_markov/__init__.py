"""Hidden Markov models: a mixture whose allocations are a chain."""

from ._estimator import BayesianHMM
from ._evidence import HiddenStatePosterior, hidden_state_evidence, why_no_evidence
from ._forward import filtered, sample_states
from ._model import HiddenMarkovModel
from ._sampler import HiddenStateEvidence

__all__ = [
    "BayesianHMM",
    "HiddenStatePosterior",
    "hidden_state_evidence",
    "why_no_evidence",
    "HiddenMarkovModel",
    "filtered",
    "sample_states",
    "HiddenStateEvidence",
]
