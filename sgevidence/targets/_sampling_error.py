"""Noise of a sub-sample of the history, from disjoint blocks of the sub-sample.

Symbols: ``estimates`` = the whole sum, from each block at each particle, (B, M); ``share`` = the blocks'
share of the sampled weight; ``n`` = total weight that the sample stands for.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..history import N_BLOCKS, Anchor, Memory, Rows
from ..models import Model
from ._target import Path

#: Spread of the sampling error over particles, in nats, above which an answer is flagged.
TOO_NOISY = 0.5
#: Rows by which the noise of a sample is judged before it is taken.
JUDGED_ROWS = 512


class SampleEstimate(NamedTuple):
    """A sum over the history, estimated from blocks of a sample."""

    value: np.ndarray  #: (M,)
    common_var: float  #: variance of the error that all particles share: it goes straight into log Ẑ
    spread_var: float  #: mean variance of what differs between particles: it distorts the posterior

    @property
    def variance(self) -> float:
        """Variance of the error of log Ẑ."""
        return self.common_var + (self.spread_var / 2) ** 2

    @classmethod
    def from_blocks(cls, blocks: list[tuple[np.ndarray, float]], n: float) -> "SampleEstimate":
        """The estimate of a sum over rows of weight n: each block gives its own, (M,), and its weight."""
        estimates, weights = (np.array(one) for one in zip(*blocks))
        share = weights / weights.sum()
        value = share @ estimates
        finite = np.isfinite(value)
        error = share[:, None] * (estimates[:, finite] - value[finite])
        common = error.mean(axis=1, keepdims=True)
        spread = np.sum((error - common) ** 2) / max(finite.sum(), 1)
        rest = max(1.0 - weights.sum() / n, 0.0)  # drawn without replacement: nothing is unknown of all rows
        return cls(value, rest * float(np.sum(common**2)), rest * float(spread))


def remainder(model: Model, theta: np.ndarray, own: Anchor, rows: Rows) -> np.ndarray:
    """Σ w [log p(y|θ) − its quadratic about a]: what the anchor leaves to the sample, (M,)."""
    return model.sum_log_likelihood(theta, rows) - own(theta)


def standing_for(n: float, rows: Rows, order: np.ndarray) -> Iterator[tuple[Rows, float]]:
    """Disjoint blocks of some rows, each weighted to stand for n, and what each weighs itself.

    The weight is with the rows from the start: the precision of a sum depends on it.
    """
    for part in np.array_split(order, min(N_BLOCKS, len(order))):  # a reservoir may be smaller
        block = rows.take(np.sort(part))
        yield block.scaled(n / block.total_weight), block.total_weight


def remainders(
    model: Model, theta: np.ndarray, a: np.ndarray, rows: Rows, n: float, order: np.ndarray
) -> list[tuple[np.ndarray, float]]:
    """The remainder of rows that stand for n, from each block of those in ``order``, and its weight."""
    return [
        (remainder(model, theta, Anchor.of(model, a, block), block), weight)
        for block, weight in standing_for(n, rows, order)
    ]


def by_blocks(
    model: Model, theta: np.ndarray, a: np.ndarray, rows: Rows, n: float, order: np.ndarray
) -> SampleEstimate:
    """The remainder of rows that stand for n."""
    return SampleEstimate.from_blocks(remainders(model, theta, a, rows, n, order), n)


def surrogate_spread(path: Path, theta: np.ndarray, rng: np.random.Generator) -> float:
    """Standard deviation over particles, in nats, of the error of the reservoir's log-likelihood."""
    history = path.memory.reservoir
    order = rng.permutation(len(history))[: history.capacity]
    found = by_blocks(path.model, theta, path.memory.sums.a, history.rows, history.n, order)
    return float(np.sqrt(found.spread_var))


def rows_enough(path: Path, theta: np.ndarray, noise: float, rng: np.random.Generator) -> float:
    """Rows of history and of chunk from which log f_1 errs by less than ``noise`` nats over the particles.

    From the spread over a first few, of which twice as many are taken as are needed.
    """
    variance, a = 0.0, path.memory.sums.a
    for part in (path.memory.reservoir, path.chunk_memory.reservoir):
        order = rng.permutation(len(part))[:JUDGED_ROWS]
        if len(order):
            variance += by_blocks(path.model, theta, a, part.rows, part.n, order).spread_var
    return JUDGED_ROWS * max(2.0 * variance / noise**2, 1.0)


def estimate(
    model: Model,
    theta: np.ndarray,
    memory: Memory,
    rng: np.random.Generator,
    *,
    whole_rows: int,
    noise: float,
) -> SampleEstimate:
    """log L_hist from the anchor, its remainder from as many rows as the noise asks for.

    Rows of high leverage stand for themselves, and have no part in the noise: blocks would know nothing of a
    few that are all that is known of a parameter.  The sample grows fourfold from ``JUDGED_ROWS`` until what
    it adds to log Ẑ, from 16 disjoint blocks, is below ``noise`` nats; all rows at hand are the limit.  A
    complete history is used whole up to ``whole_rows``, or if half of it would not do.
    """
    history, high_leverage, anchor = memory.reservoir, memory.high_leverage, memory.sums
    rows, size, done, blocks = history.rows, JUDGED_ROWS, 0, list[tuple[np.ndarray, float]]()

    def whole() -> SampleEstimate:
        total = model.sum_log_likelihood(theta, rows)
        kept = 0.0 if high_leverage is None else model.sum_log_likelihood(theta, high_leverage)
        return SampleEstimate(total + kept, 0.0, 0.0)

    if history.complete and len(rows) <= whole_rows:
        return whole()
    known = anchor(theta)
    if high_leverage is not None:
        own = Anchor.of(model, anchor.a, high_leverage)
        known = known + remainder(model, theta, own, high_leverage)
    order = np.arange(len(rows), dtype=np.int32 if len(rows) < 2**31 else np.int64)  # rows may be many
    rng.shuffle(order)
    while True:
        size = min(len(rows), size)
        blocks += remainders(model, theta, anchor.a, rows, history.n, order[done:size])
        result = SampleEstimate.from_blocks(blocks, history.n)
        if size == len(rows) or result.variance < noise**2:
            return result._replace(value=known + result.value)
        if history.complete and 2 * size * max(result.variance, 4 * noise**2) > noise**2 * len(rows):
            return whole()
        done, size = size, 4 * size
