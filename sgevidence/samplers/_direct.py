r"""Samplers of independent draws, which take all rows at once: closed forms, and the prior (thesis Eq. 3.6).

    Ẑ = (1/M) Σ_i p(D | θ_i),   θ_i ~ p(θ)

Symbols: ``M`` = draws, ``theta`` = θ_i (M, d), ``ell`` = log p(D | θ_i) (M,).
"""

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


#: Draws weighted at a time, so that the likelihoods of a block of rows stay small.
DRAWS_AT_A_TIME = 2000


class PriorSampling(Sampler):
    """Mean likelihood over draws from the prior (thesis Eq. 3.6): unbiased, and useless for many rows.

    Parameters
    ----------
    n_particles : int, default=10000
        Draws M.  The standard error falls as 1/√M once the draws reach the posterior; how many that
        takes grows as the volume of the prior over that of the posterior, e^H, so that ten thousand
        suffice for about five nats of information.

    Notes
    -----
    *Cost*: M likelihoods of all rows, no gradients.  Memory is that of the draws, M d numbers.

    *When not to use it*: for more than a few parameters or some tens of rows.  No draw then comes near the
    posterior and log Ẑ is too low: for one parameter, a hundred rows and ten draws (thesis Fig. 3.2)
    typically by 24 nats.  The standard error cannot tell: from one set of weights it is at most one nat,
    whatever is missing.  An ``EvidenceWarning`` is given when fewer than 50 draws count.  It is a good
    check of other samplers on a handful of rows, where nothing can go wrong with it.

    References
    ----------
    S. A. Cameron, thesis, §3.1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.samplers import PriorSampling
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import LinearModel
    >>> model, rows = LinearModel(1, noise_std=1.0), Rows.of([[-1.0], [0.0], [1.0]], [-1.0, 0.5, 1.0])
    >>> result = PriorSampling().run(model, rows, np.random.default_rng(0))
    >>> bool(abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std)
    True
    """

    _parameter_constraints: dict = {"n_particles": [Interval(Integral, 2, None, closed="left")]}

    def __init__(self, n_particles: int = 10_000) -> None:
        self.n_particles = n_particles

    def _run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        M = self.n_particles
        theta, ell = [], []
        for done in range(0, M, DRAWS_AT_A_TIME):
            progress(f"{done} of {M} draws")
            theta.append(model.sample_prior(rng, min(DRAWS_AT_A_TIME, M - done)))
            ell.append(model.sum_log_likelihood(theta[-1], rows))
        weights = Weights(np.concatenate(ell))
        if not weights.ess:
            raise ValueError(
                f"the likelihood is zero or not a number for all {M} draws from the prior: no log evidence "
                "can be given"
            )
        log_Z, std = weights.log_mean, np.sqrt(weights.relative_variance)  # Eq. (3.6)
        result = answer(log_Z, std, np.concatenate(theta), weights, rows, start, n_likelihoods=M * len(rows))
        return result.doubted(doubts_of_few(weights, "raise n_particles, or use SGAIS()"), model)
