"""Closed forms as a sampler; and the answer and doubts of samplers that take all rows at once."""

from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np

from .._compat import Interval
from ..answers import exact_answer
from ..history import Rows
from ..models import Model
from ..particles import Weights, systematic
from ._base import EvidenceResult, Progress, Sampler
from ._records import ChunkRecord, diagnostics, evidence_path

#: Effective draws below which the error bar, which is made of the same draws, says little.
MIN_EFFECTIVE_DRAWS = 50.0
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
    if weights.ess >= max(MIN_EFFECTIVE_DRAWS, share * weights.M):
        return []
    return [
        f"only {weights.ess:.1f} of {weights.M} draws count: the log evidence is probably too low, by "
        f"far more than its standard error says; {advice}"
    ]


def doubts_of_lineages(n_lineages: float, more: str) -> list[str]:
    """If the posterior descends from a few independent draws, whose number is no measure of their share."""
    # effective number of independent draws behind the posterior below which modes may have been lost
    if n_lineages >= 4.0:
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


class Exact(Sampler):
    """Log evidence by formula, with standard error 0, and independent draws from the posterior.

    There is a formula for linear regression and for a mixture of one component.  With an unknown noise it
    leaves an integral over σ² alone, which is done by quadrature to 1e-6 nats.

    Parameters
    ----------
    n_particles : int, default=1000
        Draws from the posterior; the log evidence does not depend on them.  A thousand give predictions
        to 3 % of the posterior width.

    Notes
    -----
    *Source*: thesis §5.2.1, where it is the reference of the linear model; with unknown noise the same
    Gaussian integral at each σ², and the trapezoid rule over log σ²; the normal–inverse-gamma formula for one
    component.

    *Cost*: one pass over the rows, n d² + d³.

    *When not to use it*: for rows that come as a stream, since all are needed at once.

    Examples
    --------
    >>> from sgevidence import BayesianLinearRegression
    >>> from sgevidence.samplers import Exact
    >>> model = BayesianLinearRegression(noise_std=1.0, sampler=Exact(), standardize=False)
    >>> fitted = model.fit([[0.0], [1.0]], [0.0, 1.0])
    >>> round(fitted.log_evidence_, 3), fitted.log_evidence_std_
    (-2.843, 0.0)
    """

    _parameter_constraints: dict = {"n_particles": [Interval(Integral, 1, None, closed="left")]}

    def __init__(self, n_particles: int = 1000) -> None:
        self.n_particles = n_particles

    def _run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        try:
            found = exact_answer(model, model.sums(rows), rng, self.n_particles)
        except ValueError as error:
            raise ValueError(
                "there is an exact log evidence only for linear regression and for a mixture with "
                f"n_components=1, not for {model!r}: use SGAIS()"
            ) from error
        if found is None:
            raise ValueError(f"the exact log evidence is not a number: {_largest(rows)}")
        std = found.log_evidence_std
        return answer(found.log_evidence, std, found.theta, Weights.ones(len(found.theta)), rows, start)


def _largest(rows: Rows) -> str:
    """Where the largest value is."""
    values = rows.X if rows.y is None else np.column_stack([rows.X, rows.y])
    row, column = np.unravel_index(np.argmax(np.abs(values)), values.shape)
    return f"row {row} has the value {values[row, column]:.3g}; rescale the rows, or drop it"
