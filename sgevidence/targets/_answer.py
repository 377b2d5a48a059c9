"""What a density that covers the posterior says of rows: their evidence, and draws.

Symbols: ``theta`` = draws (M, d), ``log_w`` = their log-weights.
"""

from typing import NamedTuple

import numpy as np


class Answer(NamedTuple):
    """Evidence and posterior of rows, from a density that covers the posterior."""

    theta: np.ndarray  #: draws, (M, d)
    log_w: np.ndarray  #: their log-weights as draws from the posterior, up to a constant, (M,)
    log_evidence: float  #: nats
    log_evidence_std: float  #: nats
    n_likelihoods: float = 0.0  #: particles × rows
    n_gradients: float = 0.0  #: particles × rows
    is_exact: bool = False  #: independent draws of the posterior itself
