"""What SGAIS carries from one set of rows to the next, and the step that renews its particles.

Symbols as in :mod:`sgevidence.samplers._sgais`.
"""

from typing import NamedTuple

import numpy as np

from ..history import Anchor, Reservoir, Rows
from ..particles import Genealogy, Weights


class SGAISState(NamedTuple):
    """Everything the next rows need; a value, never changed in place."""

    theta: np.ndarray
    weights: Weights
    log_Z: float
    genealogy: Genealogy
    noise_var: float  #: variance of log Ẑ that all particles share, from sub-samples of the history
    history: Reservoir
    pending: Rows | None = None  #: rows that weigh on the cloud already, but are not history yet
    ell: np.ndarray | float = 0.0  #: their log-likelihood at each particle
    anchor: Anchor | None = None  #: sums over the history at one point
    reference: tuple | None = None  #: slots of the canonical labelling
    log_eps: float = 0.0  #: adapted HMC step

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return self.history.n_rows + (0 if self.pending is None else len(self.pending))

    @property
    def n(self) -> float:
        """Their total weight."""
        return self.history.n + (0.0 if self.pending is None else self.pending.total_weight)

    @property
    def all_weights(self) -> Weights:
        """Weights of the cloud as a sample of the posterior of all rows seen."""
        return self.weights.add(self.ell)

    @property
    def log_evidence(self) -> float:
        """log Ẑ = log (1/M) Σ w_i, nats."""
        return self.log_Z + self.all_weights.log_mean

    @property
    def log_evidence_std(self) -> float:
        """From the spread of the weight over ancestors, and the noise of sub-samples, nats."""
        return float(np.sqrt(self.genealogy.variance(self.all_weights.W) + self.noise_var))


class Streams(NamedTuple):
    """Separate random streams, so that the number of draws from one never shifts another."""

    noise: np.random.Generator
    resampling: np.random.Generator
    rows: np.random.Generator


def anchor_distance(state: SGAISState) -> float:
    """Of the cloud's mean, in posterior widths per √d."""
    if state.anchor is None:
        return np.nan
    u = state.all_weights.W @ state.theta - state.anchor.a
    return float(np.sqrt(max(u @ state.anchor.H @ u, 0.0) / len(u)))


def resample(state: SGAISState, scheme, M: int, rng) -> SGAISState:
    """M particles in proportion to w_i, then w_i ← mean w, which is folded into Ẑ (§4.2)."""
    parents = scheme(state.weights.W, rng, M)
    return state._replace(
        theta=state.theta[parents],
        weights=Weights.ones(M),
        log_Z=state.log_Z + state.weights.log_mean,
        genealogy=state.genealogy.descend(parents, state.weights.W),
    )


def check_likelihood(ell, state: SGAISState, model, chunk) -> None:
    """Rows that are impossible under every particle have no evidence: say which."""
    possible = np.isfinite(ell) & np.isfinite(state.weights.log_w)
    if possible.any():
        return
    with np.errstate(all="ignore"):
        bad = ~np.isfinite(model.log_likelihood(state.theta, chunk)).any(axis=0)
    rows = np.flatnonzero(bad) if bad.any() else np.arange(len(chunk))
    raise ValueError(
        f"the likelihood is zero or not a number for all particles at rows {rows[:10].tolist()} of the "
        f"chunk that starts after row {state.history.n_rows}: no log evidence can be given"
    )
