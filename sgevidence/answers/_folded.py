r"""The evidence of a log-concave posterior of rows that nobody holds, from a few sums over all of them.

1. The mode of a uniform sample of the rows is near that of all.
2. Newton steps from there ask for value, gradient and Hessian of all rows: two or three sums.  The last of
   them is an exact quadratic about the mode.
3. Rows that a sample would miss, such as the ten that alone have a column, are asked for: one more sum.
4. Draws of the Gaussian at the mode are weighed by the quadratic and the remainder of the third order, which
   the sample tells, with its error in the bar.  Where that is too noisy, draws are weighed by all rows: one
   more sum.
5. Where the Gaussian is too far from the posterior, a bridge (``_ladder.py``) leads to the posterior that
   quadratic and sample make, and its draws are weighed by all rows.

Symbols: ``q`` = N(m, P⁻¹), at the mode of the posterior; θ ``theta`` = draws, (M, d); φ ``phi`` = in
coordinates of q; a ``anchor`` = quadratic of the log-likelihood about the mode.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from ..history import (
    MAX_HIGH_LEVERAGE_SHARE,
    N_INFLUENCE_DRAWS,
    Anchor,
    FoldedRows,
    Influence,
    Memory,
    Reservoir,
    Rows,
)
from ..models import Model
from ..particles import Weights
from ..targets import Target, concave_mode, folded_mode, gaussian, sampled
from ._answer import Answer
from ._importance import MAX_PARETO_K, pareto_k
from ._log_concave import N_BRIDGE_CHAINS, N_PROPOSED, Draws, Gaussian, bridged, log_joint_by_sample, refined

#: Draws that are weighed by all rows: 0.03 nats where three quarters of them are effective.
N_WEIGHED = 400
#: Rows of the sample by which chains move, and the share of their draws that must be effective for all rows.
BRIDGED_ROWS, BRIDGED_SHARE = 5000, 0.5


class FoldsDoNotSuffice(ValueError):
    """A posterior that a few sums over its rows do not tell."""


class FoldedTarget(NamedTuple):
    """Log posterior of rows in parts: each value is one sum over all of them, in double precision."""

    model: Model
    rows: FoldedRows

    def value(self, theta: np.ndarray) -> np.ndarray:
        """(M,)."""
        model = self.model.in_double_precision()
        with np.errstate(all="ignore"):
            total = self.rows.fold(partial(model.sum_log_likelihood, theta)) + model.log_prior(theta)
        return np.where(np.isnan(total), -np.inf, total)

    def derivatives(self, a: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and −∇∇ at one point: (), (d,), (d, d)."""
        value, grad, hessian = self.rows.fold(partial(self.model.derivatives, a))
        prior_value, prior_grad, prior_hessian = self.model.prior_derivatives(a)
        return value + prior_value, grad + prior_grad, -hessian - prior_hessian


def folded_answer(
    model: Model, rows: FoldedRows, memory: Memory, rng: np.random.Generator, size: int
) -> tuple[Answer, Memory]:
    """Evidence and posterior, and what the next rows need: a sample, and the quadratic of all rows.

    The model is log-concave, with Hessians in closed form, in coordinates that suit far columns.  The memory
    comes empty: it says how many rows are kept.  :class:`FoldsDoNotSuffice` says why in words.
    """
    share = len(rows) and rows.total_weight / rows.sample.total_weight
    if not model.resolves(rows.sample.scaled(share)):
        raise FoldsDoNotSuffice(
            "columns of X, times their prior scales, differ too much for sums in double precision: centre "
            "and scale X"
        )
    start = concave_mode(model, rows.sample, rng, np.zeros(model.n_params))
    anchor = folded_mode(FoldedTarget(model, rows), np.zeros(model.n_params) if start is None else start.a)
    try:
        if anchor is None:
            raise np.linalg.LinAlgError
        q = Gaussian.of_precision(*gaussian(model, anchor))
    except np.linalg.LinAlgError:
        raise FoldsDoNotSuffice("Newton steps find no mode of the posterior of all rows") from None
    memory, is_whole = remembered(model, rows, anchor, q, memory, rng)
    draws = _by_sample(model, q, memory, max(size, N_PROPOSED), rng)
    # standard error, nats, that the sample may leave in log Z; beyond it draws are weighed by all rows
    if not (is_whole and draws.noise_var < 0.02**2):
        draws = Draws.of(FoldedTarget(model, rows), q, draws.phi[:N_WEIGHED])
    if draws.suffice:
        return draws.answer(q, len(rows), size), memory
    return _by_bridge(model, rows, q, memory, rng), memory


def remembered(
    model: Model, rows: FoldedRows, anchor: Anchor, q: Gaussian, memory: Memory, rng: np.random.Generator
) -> tuple[Memory, bool]:
    """Sample, quadratic and rows that a sample would miss; whether these are all of them."""
    influence = Influence(model, anchor.a, q.theta(rng.standard_normal((N_INFLUENCE_DRAWS, len(q.m)))))
    n, capacity = len(rows), memory.reservoir.capacity or len(rows.sample)
    most = int(MAX_HIGH_LEVERAGE_SHARE * min(capacity, n))
    numbers, high_leverage = rows.selected(partial(_outstanding, influence, most, n))
    parts = np.searchsorted(np.cumsum(rows.lengths), numbers, side="right")
    found = np.bincount(parts, minlength=len(rows.lengths))
    limits = np.array([_limit(int(length), most, n) for length in rows.lengths])
    is_whole = not np.any((found == limits) & (limits > 0)) and len(numbers) <= most
    kept = influence.still(high_leverage, most, n) if len(numbers) else numbers
    numbers, high_leverage = numbers[kept], high_leverage.take(kept)
    rest = rows.sample.take(np.flatnonzero(~np.isin(rows.sample_numbers, numbers)))
    n_rows, weight = n - len(high_leverage), rows.total_weight - high_leverage.total_weight
    reservoir = Reservoir(memory.reservoir.capacity, rest, n_rows, weight, rows.equal_weights)
    kept_for_leverage = high_leverage if len(high_leverage) else None
    return Memory(reservoir, anchor, None, memory.largest, kept_for_leverage), bool(is_whole)


def _limit(length: int, most: int, n: int) -> int:
    """Rows of a part that may be kept for their leverage."""
    # rows of a part that may be kept for their leverage, whatever its share of all rows
    return min(length, most, max(64, 2 * most * length // n))


def _outstanding(influence: Influence, most: int, n: int, part: Rows) -> tuple[np.ndarray, Rows]:
    """Numbers of the rows in the part that a sample would miss, and these rows."""
    found = influence.outstanding(part, _limit(len(part), most, n), n)
    return found, part.take(found)


def _by_sample(model: Model, q: Gaussian, memory: Memory, size: int, rng: np.random.Generator) -> Draws:
    """Draws of q, weighed by the quadratic and what the sample says beyond it."""
    phi = rng.standard_normal((size, len(q.m)))
    log_p, noise_var = log_joint_by_sample(model, memory, q.theta(phi), rng, whole_rows=0)
    return Draws(phi, log_p - q.log_density(phi), noise_var)


def _by_bridge(
    model: Model, rows: FoldedRows, q: Gaussian, memory: Memory, rng: np.random.Generator
) -> Answer:
    """A bridge to the posterior that quadratic and sample make, whose draws are weighed by all rows."""
    kept = memory.reservoir
    target = Target(
        model, sampled(model, kept.rows, memory.anchor, BRIDGED_ROWS, rng, kept.n, memory.high_leverage)
    )
    try:
        q = refined(target, q, rng)
        draws = Draws.of(target, q, rng.standard_normal((N_PROPOSED, len(q.m))))
        answer = bridged(target, q, draws, N_BRIDGE_CHAINS, N_BRIDGE_CHAINS, rng)
    except np.linalg.LinAlgError:  # no Gaussian with these moments
        answer = None
    if answer is not None:
        ratio = Weights(FoldedTarget(model, rows).value(answer.theta) - target.value(answer.theta))
        if ratio.ess > BRIDGED_SHARE * ratio.M and pareto_k(ratio.log_w) < MAX_PARETO_K:
            std = float(np.hypot(answer.log_evidence_std, ratio.relative_variance**0.5))
            log_evidence = answer.log_evidence + ratio.log_mean
            return answer._replace(log_w=ratio.log_w, log_evidence=log_evidence, log_evidence_std=std)
    raise FoldsDoNotSuffice("the posterior of all rows is too far from a Gaussian")
