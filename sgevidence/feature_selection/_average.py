"""The posterior averaged over subsets: by moments of linear regressions, by draws of others.

Draws of all subsets are together, with zeros where a column is out.  One regression on all columns predicts
by them.

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
from ._moments import Moments


class Average(NamedTuple):
    """Coefficients and intercept of the line α + (x − m)·w, in the data's units."""

    m: np.ndarray  #: (p,)
    alpha: float
    coef_: np.ndarray  #: (p,)
    intercept_: float
    covariance: np.ndarray  #: of (w, α), (p + 1, p + 1)
    noise_variance: float
    noise_std_: float

    @property
    def coef_std_(self) -> np.ndarray:
        """(p,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance)[:-1], 0.0))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Mean, (n,)."""
        return self.alpha + (X - self.m) @ self.coef_

    def std(self, X: np.ndarray) -> np.ndarray:
        """Standard deviation of new values of y, (n,)."""
        phi = np.column_stack([X - self.m, np.ones(len(X))])
        return np.sqrt(self.noise_variance + np.maximum(np.sum((phi @ self.covariance) * phi, axis=1), 0.0))


def average(moments: Moments, grid: Any, subsets: list[list[int]], weight: np.ndarray) -> Average:
    """Over subsets of columns with weights that sum to one; the ``grid`` knows the posterior given one."""
    p = len(moments.m)
    mean, square = np.zeros((len(subsets), p + 1)), np.zeros((p + 1, p + 1))
    intercepts, noises = np.zeros(len(subsets)), np.zeros((len(subsets), 2))
    for k, columns in enumerate(subsets):
        at = [*columns, p]
        mean[k, at], covariance, intercepts[k], noises[k] = grid.given(columns)
        square[np.ix_(at, at)] += weight[k] * covariance
    center = weight @ mean
    deviation = mean - center
    square += (deviation * weight[:, None]).T @ deviation
    units = moments.unit / np.append(moments.units, 1.0)
    noise = weight @ noises
    return Average(
        m=moments.m * moments.units,
        alpha=float(center[p] * moments.unit),
        coef_=center[:p] * units[:p],
        intercept_=float(weight @ intercepts * moments.unit),
        covariance=square * np.multiply.outer(units, units),
        noise_variance=float(noise[0] * moments.unit**2),
        noise_std_=float(noise[1] * moments.unit),
    )


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
