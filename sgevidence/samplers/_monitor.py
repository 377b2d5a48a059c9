"""What a sub-sample of the history cannot know: its noise, from disjoint blocks of itself.

Symbols: ``values`` = sums over each block at each particle, (B, M); ``share`` = the blocks' share of
the sampled weight; ``n`` = total weight that the sample stands for.
"""

from typing import NamedTuple

import numpy as np

from ..history import Anchor

N_BLOCKS = 16
#: Spread of the sampling error over particles, in nats, above which an answer is flagged.
TOO_NOISY = 0.5


class SampleEstimate(NamedTuple):
    """A sum over the history, estimated from blocks of a sample."""

    value: np.ndarray  #: (M,)
    common_var: float  #: variance of the error that all particles share: it goes straight into log Ẑ
    spread_var: float  #: mean variance of what differs between particles: it distorts the posterior

    @classmethod
    def from_blocks(cls, values, weights, n: float) -> "SampleEstimate":
        values, weights = np.asarray(values), np.asarray(weights)
        share = weights / weights.sum()
        estimates = values * (n / weights)[:, None]
        value = share @ estimates
        finite = np.isfinite(value)
        error = share[:, None] * (estimates[:, finite] - value[finite])
        common = error.mean(axis=1, keepdims=True)
        spread = np.sum((error - common) ** 2) / max(finite.sum(), 1)
        rest = max(
            1.0 - weights.sum() / n, 0.0
        )  # without replacement: nothing is unknown when all is sampled
        return cls(value, rest * float(np.sum(common**2)), rest * float(spread))


def remainder(model, theta, own: Anchor, rows) -> np.ndarray:
    """Σ w [log p(y|θ) − its quadratic about a]: what the anchor leaves to the sample, (M,)."""
    return model.sum_log_likelihood(theta, rows) - own(theta)


def surrogate_spread(model, theta, history, anchor: Anchor, size: int, rng) -> float:
    """Standard deviation over particles, in nats, of the error of a sample's log-likelihood."""
    values, weights = [], []
    for part in np.array_split(rng.permutation(len(history))[:size], N_BLOCKS):
        rows = history.rows.take(np.sort(part))
        values.append(remainder(model, theta, Anchor.of(model, anchor.a, rows), rows))
        weights.append(rows.total_weight)
    return float(np.sqrt(SampleEstimate.from_blocks(values, weights, history.n).spread_var))
