"""What every evidence algorithm returns, and the errors it may raise."""

from typing import NamedTuple

import numpy as np


class DivergenceError(RuntimeError):
    """The particles left the region where the model can be evaluated; the message says what to change."""


class EvidenceWarning(UserWarning):
    """The answer should not be trusted as it is; the message says what to change."""


class EvidenceResult(NamedTuple):
    """The answer of a sampler."""

    log_evidence: float  #: nats
    log_evidence_std: float  #: nats
    theta: np.ndarray  #: posterior draws, (M, d)
    weights: np.ndarray  #: their normalised weights, (M,)
    path: dict[str, np.ndarray]  #: see :func:`evidence_path`
    n_likelihoods: float  #: particles × rows
    n_gradients: float  #: particles × rows
    wall_time: float  #: seconds
