r"""The state of the sequential sampler between two sets of rows, and its report of the evidence.

    log Ẑ = Σ_n log (1/M) Σ_i p(y_n | θ_i)                                        (4.4)

Symbols: ``U_i`` = Σ_n [M W_i − 1], a particle's share of the error of all means so far, (M,).
"""

from typing import Any, NamedTuple

import numpy as np

from ..history import Anchor, Memory, Rows
from ..particles import Weights
from ..samplers import ChunkRecord
from ..targets import STRAY_SQUARED, Path, anchored_at_mode
from ..transitions import Streams


class SequentialState(NamedTuple):
    """Everything the next rows need; a value, never changed in place."""

    theta: np.ndarray  #: draws from the posterior of the rows in ``memory``
    weights: Weights  #: likelihood of the rows in ``pending``
    log_Z: float
    deviation: np.ndarray  #: U_i, (M,)
    initial_var: float  #: variance of log Ẑ from ``initial``
    memory: Memory
    pending: Rows | None = None  #: the chunk that is not yet complete

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return self.memory.n_rows + (0 if self.pending is None else len(self.pending))

    @property
    def n(self) -> float:
        """Their total weight."""
        return self.memory.n + (0.0 if self.pending is None else self.pending.total_weight)

    @property
    def all_weights(self) -> Weights:
        """Weights of the cloud as a sample of the posterior of all rows seen."""
        return self.weights

    @property
    def log_evidence(self) -> float:
        """Log evidence of all rows seen, nats."""
        return self.log_Z + self.weights.log_mean

    @property
    def deviations(self) -> np.ndarray:
        """U_i with the chunk that is coming in."""
        return self.deviation + self.weights.M * self.weights.W - 1.0

    @property
    def log_evidence_std(self) -> float:
        """From the spread of U_i, and what a sample of the rows has left in the anchored sums, nats."""
        M = self.weights.M
        shared_var = self.initial_var + self.memory.doubt_var(self.theta, self.weights.W)
        return float(np.sqrt(shared_var + np.sum(self.deviations**2) / (M * (M - 1))))

    def anchored(self, path: Path, rng: Streams) -> tuple["SequentialState", Anchor, Any]:
        """The cloud in slots, and sums over history and chunk in the same slots.

        They stay at the old anchor while the cloud is near it, and else go near the mode.
        """
        model, memory, chunk, _ = path
        if memory.anchor is not None:
            theta = model.canonicalize(self.theta, memory.labels)
            sums = memory.anchor.plus(Anchor.of(model, memory.anchor.a, chunk))
            if memory._replace(anchor=sums).anchor_distance(theta.mean(axis=0)) ** 2 < STRAY_SQUARED:
                return self._replace(theta=theta), sums, memory.labels
        labels = model.slot_reference(self.theta)
        theta = model.canonicalize(self.theta, labels)
        _, anchor = anchored_at_mode(path, theta.mean(axis=0), rng.rows)
        return self._replace(theta=theta), anchor, labels

    def record(self, before: "SequentialState", words: dict) -> ChunkRecord:
        """Record of the chunk from the state before to this one."""
        still = dict(n_annealing_steps=0, ess=float(self.weights.M), lambdas=np.zeros(0))
        return ChunkRecord(
            n_samples=self.n_rows,
            log_evidence=self.log_evidence,
            log_evidence_std=self.log_evidence_std,
            log_predictive=self.log_evidence - before.log_evidence,
            n_particles=self.weights.M,
            total_weight=self.n,
            anchor_distance=self.memory.anchor_distance(self.weights.W @ self.theta),
            **still | words,
        )
