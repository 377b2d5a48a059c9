"""What every evidence algorithm returns, and the errors it may raise."""

from typing import Any, NamedTuple

import numpy as np


class DivergenceError(RuntimeError):
    """The particles left the region where the model can be evaluated; the message says what to change."""


class ChunkRecord(NamedTuple):
    """What happened to one chunk."""

    n_samples: int  #: rows absorbed, this chunk included
    log_evidence: float  #: log p(y_≤n), nats
    log_evidence_std: float  #: its standard error, nats
    log_predictive: float  #: log p(y_chunk | y_<n), nats
    n_annealing_steps: int
    ess: float  #: smallest effective sample size of its steps
    lambdas: np.ndarray  #: the annealing schedule, ending in 1
    n_refused: int  #: particles a kernel left where they were
    n_likelihoods: float  #: likelihood evaluations, particles × rows
    n_gradients: float  #: gradient evaluations, particles × rows


def evidence_path(records: list[ChunkRecord]) -> dict[str, np.ndarray]:
    """Records as a dictionary of arrays of equal length; ``lambdas`` is an array of arrays."""
    columns: dict[str, Any] = {name: [getattr(r, name) for r in records] for name in ChunkRecord._fields}
    lambdas = np.empty(len(records), dtype=object)
    lambdas[:] = columns.pop("lambdas")
    return {name: np.asarray(values) for name, values in columns.items()} | {"lambdas": lambdas}


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
