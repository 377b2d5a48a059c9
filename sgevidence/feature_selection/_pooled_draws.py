"""The posterior averaged over subsets: draws of all of them together, with zeros where a column is out.

One regression on all columns predicts by them.

Symbols: θ ``theta`` = coefficients and what follows them of one subset, (M, K d); of all columns, (M, K q), K
being the number of classes, 1 of other families.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..history import Rows
from ..models import FarColumns, Model
from ..particles import Weights, systematic
from ..samplers import EvidenceResult, Progress

#: Draws of the average: means are then known to a fortieth of a posterior standard deviation.
N_POOLED_DRAWS = 2000


class PooledDraws(NamedTuple):
    """A sampler whose draws are known before it sees a row."""

    theta: np.ndarray  #: (M, K q)

    def run(self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress) -> EvidenceResult:
        """The draws."""
        M = len(self.theta)
        return EvidenceResult(np.nan, np.nan, self.theta, np.full(M, 1 / M), {}, 0.0, 0.0, 0.0)


def resampled(
    subsets: Sequence[EvidenceResult], weight: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """Draws of each subset, in proportion to its weight, ``N_POOLED_DRAWS`` in all."""
    log_weight = [np.log(share) + np.log(one.weights + 1e-300) for share, one in zip(weight, subsets)]
    chosen = systematic(Weights(np.concatenate(log_weight)).W, rng, N_POOLED_DRAWS)
    ends = np.cumsum([len(one.weights) for one in subsets])
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    return [one.theta[part - end + len(one.weights)] for one, part, end in zip(subsets, parts, ends)]


def on_all_columns(whole: Any, model: Model, columns: Sequence[int], theta: np.ndarray) -> np.ndarray:
    """Draws of the ``model`` of some columns as those of the whole one, (M, K q)."""
    K = getattr(whole, "n_classes", 1)
    plain = model.in_plain(theta)[1].reshape(len(theta), K, -1)
    p, q = getattr(whole, "plain", whole).n_features, whole.n_params // K
    spread = np.zeros((len(theta), K, q))
    spread[:, :, [*columns, *range(p, q)]] = plain
    if not isinstance(whole, FarColumns):
        return spread.reshape(len(theta), -1)
    seen = np.zeros((len(theta), K, p + 1))
    if isinstance(model, FarColumns):
        seen[:, :, [*columns, p]] = model.seen(theta)
    else:
        seen[:, :, :p] = spread[:, :, :p]
        seen[:, :, p] = seen[:, :, :p] @ whole.centre
        seen[:, :, p] += spread[:, :, p] if whole.plain.fit_intercept else 0.0
    return whole.from_plain(spread, seen)


def of_both_classes(delta: np.ndarray, scales: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """θ of both classes (M, 2q) from their differences (M, q), with prior ``scales`` (q,); 0 stays 0."""
    middle = 0.5 * scales * rng.standard_normal(delta.shape) * (delta != 0)
    return np.concatenate([middle - 0.5 * delta, middle + 0.5 * delta], axis=1)
