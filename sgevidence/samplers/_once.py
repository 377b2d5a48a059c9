"""The answer of a sampler that takes all rows at once."""

from time import perf_counter
from typing import Any

import numpy as np

from ..history import Rows
from ..particles import Weights, systematic
from ._base import EvidenceResult
from ._records import ChunkRecord, diagnostics, evidence_path

#: Effective draws below which the error bar, which is made of the same draws, says little.
ENOUGH = 50.0
#: Effective number of independent draws behind the posterior below which modes may have been lost.
FEW_LINEAGES = 4.0
#: Most posterior draws of a result; of more a systematic sample is kept.
MAX_DRAWS = 5000


def answer(
    log_evidence: float,
    std: float,
    theta: np.ndarray,
    weights: Weights,
    rows: Rows,
    start: float,
    **record: Any,
) -> EvidenceResult:
    """One record for all rows; draws whose weight vanishes are no draws from the posterior and go."""
    kept = weights.W > 0.0
    one = ChunkRecord(
        n_samples=len(rows),
        log_evidence=float(log_evidence),
        log_evidence_std=float(std),
        log_predictive=float(log_evidence),
        ess=weights.ess,
        n_particles=weights.M,
        total_weight=rows.total_weight,
        **record,
    )
    return EvidenceResult(
        log_evidence=one.log_evidence,
        log_evidence_std=one.log_evidence_std,
        theta=theta[kept],
        weights=weights.W[kept],
        path=evidence_path([one]),
        n_likelihoods=float(one.n_likelihoods),
        n_gradients=float(one.n_gradients),
        wall_time=perf_counter() - start,
        diagnostics=diagnostics([one]),
    )


def doubts_of_few(weights: Weights, advice: str, share: float = 0.0) -> list[str]:
    """If few draws carry the whole estimate, or less than this share of them, its error bar means little."""
    if weights.ess >= max(ENOUGH, share * weights.M):
        return []
    return [
        f"only {weights.ess:.1f} of {weights.M} draws count: the log evidence is probably too low, by "
        f"far more than its standard error says; {advice}"
    ]


def doubts_of_lineages(n_lineages: float, more: str) -> list[str]:
    """If the posterior descends from a few independent draws, whose number is no measure of their share."""
    if n_lineages >= FEW_LINEAGES:
        return []
    return [
        f"the draws of the posterior descend from {n_lineages:.1f} draws of the prior or of a contour, so a "
        f"mode may have been met by chance or missed: raise {more}"
    ]


def thinned_draws(
    theta: np.ndarray, weights: Weights, rng: np.random.Generator
) -> tuple[np.ndarray, Weights]:
    """At most MAX_DRAWS of them, drawn in proportion to their weights and counted."""
    if len(theta) <= MAX_DRAWS:
        return theta, weights
    kept, times = np.unique(systematic(weights.W, rng, MAX_DRAWS), return_counts=True)
    return theta[kept], Weights(np.log(times))
