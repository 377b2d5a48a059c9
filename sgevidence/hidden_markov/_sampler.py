r"""The evidence of a hidden Markov model, for rows that come as they come.

The first rows, and all rows whenever they have grown enough, are answered for anew
(:func:`~sgevidence.hidden_markov.hidden_state_evidence`).  Between these the draws are weighed by the forward
algorithm, p(y_t | y_<t, θ), which needs the filter of the last row only.

Symbols: ``theta`` = draws (M, d), ``alpha`` = their filters of the last row (K, M).
"""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._compat import Interval
from ..history import Rows
from ..particles import Weights
from ..samplers import ChunkRecord, OnlineSampler, Progress
from ._evidence import hidden_state_evidence, why_no_evidence
from ._model import HiddenMarkovModel

#: Draws of the posterior.
N_POSTERIOR_DRAWS = 1000


class SequenceState(NamedTuple):
    """Everything that the next rows need; a value, never changed in place."""

    rows: Rows
    theta: np.ndarray
    all_weights: Weights
    alpha: np.ndarray
    log_evidence: float
    log_evidence_std: float
    in_use: np.ndarray  #: p(1 … K states have rows), when all rows were last answered for
    doubt: str = ""

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return len(self.rows)


class HiddenStateEvidence(OnlineSampler):
    """Search of sequences, importance sampling and bridges by regions, for hidden Markov models."""

    _parameter_constraints: dict = {"tolerance": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, tolerance: float = 0.03) -> None:
        self.tolerance = tolerance

    def _init(self, model: Any, rng: np.random.Generator) -> SequenceState:
        """Draws of the prior."""
        theta, K = model.sample_prior(rng, N_POSTERIOR_DRAWS), model.n_states
        p = model.emission.n_features
        nothing = Rows(np.empty((0, p)), np.empty(0), np.empty(0))
        alpha = np.full((K, N_POSTERIOR_DRAWS), 1 / K)
        return SequenceState(nothing, theta, Weights.ones(N_POSTERIOR_DRAWS), alpha, 0.0, 0.0, np.eye(K)[0])

    def _update(
        self, state: SequenceState, model: Any, rows: Rows, rng: np.random.Generator, progress: Progress
    ) -> tuple[SequenceState, list[ChunkRecord]]:
        """Absorb rows, the first of which continues the last sequence unless y says that it starts one."""
        before = state
        all_rows = state.rows.join(rows) if state.n_rows else rows.copy()
        if why := why_no_evidence(model, len(all_rows)):
            raise ValueError(f"there is no evidence of this hidden Markov model: {why}")
        carried = state if not len(rows) else self._weighed(state, model, rows, all_rows)
        if carried is None:
            progress(f"sequences of {model.n_states} states of {len(all_rows)} rows")
            state, spent = self._answered(model, all_rows, rng)
        else:
            state, spent = carried, float(len(rows) * len(state.theta))
        record = ChunkRecord(
            n_samples=state.n_rows,
            log_evidence=state.log_evidence,
            log_evidence_std=state.log_evidence_std,
            log_predictive=state.log_evidence - before.log_evidence,
            ess=state.all_weights.ess,
            n_particles=len(state.theta),
            n_proposals=int(carried is None),
            n_likelihoods=spent,
            total_weight=all_rows.total_weight,
        )
        progress.chunk(record, before.n_rows)
        return state, [record]

    def _own_doubts(self, state: SequenceState, records: list[ChunkRecord]) -> list[str]:
        return [state.doubt] if state.doubt else []

    def _weighed(
        self, state: SequenceState, model: HiddenMarkovModel, rows: Rows, all_rows: Rows
    ) -> SequenceState | None:
        """The state with its draws weighed by the rows; None where too few of them count."""
        if model.n_states == 1 or not state.n_rows:
            return None
        alpha, log_p = model.filtered(state.theta, rows, state.alpha)
        weights = state.all_weights.add(log_p.sum(axis=0))
        # share of the draws that count, below which all rows are answered for anew
        if not weights.ess >= 0.5 * weights.M:
            return None
        gain = weights.log_mean - state.all_weights.log_mean
        var = state.log_evidence_std**2 + weights.relative_variance - state.all_weights.relative_variance
        return state._replace(
            rows=all_rows,
            all_weights=weights,
            alpha=alpha[-1],
            log_evidence=state.log_evidence + gain,
            log_evidence_std=float(np.sqrt(max(var, state.log_evidence_std**2))),
        )

    def _answered(
        self, model: HiddenMarkovModel, rows: Rows, rng: np.random.Generator
    ) -> tuple[SequenceState, float]:
        """The state from all rows."""
        found = hidden_state_evidence(model, rows, rng, N_POSTERIOR_DRAWS, self.tolerance)
        alpha = model.last_filter(found.theta, rows)
        state = SequenceState(
            rows=rows,
            theta=found.theta,
            all_weights=Weights.ones(N_POSTERIOR_DRAWS),
            alpha=alpha,
            log_evidence=found.log_evidence,
            log_evidence_std=found.log_evidence_std,
            in_use=found.in_use,
            doubt=found.doubt,
        )
        return state, found.n_likelihoods
