"""Rows in the order of the levels of the largest term, so that sums by level are sums of stretches.

Symbols: ``R`` = all columns but those of the largest term (n, r), ``W`` = its own (n, q), ``M`` =
hyperparameters, ``G`` = stretches.
"""

from typing import Any, NamedTuple

import numpy as np

from ..models import Family
from ._gaussian import parted_columns
from ._layout import Layout


class OrderedRows(NamedTuple):
    """All rows, and the family that they have."""

    R: Any  #: sparse where most of it is zero
    W: np.ndarray
    starts: np.ndarray  #: first row of each stretch, (G,)
    counts: np.ndarray  #: rows of each stretch, (G,)
    level: np.ndarray  #: level of each stretch, (G,): levels without rows have none
    n_levels: int
    y: np.ndarray
    weight: np.ndarray
    offset: Any  #: (n,) or 0
    trials: tuple[np.ndarray, ...]
    family: Family

    @classmethod
    def of(
        cls, layout: Layout, rows: Any, offset: Any, trials: tuple[np.ndarray, ...], family: Family
    ) -> "OrderedRows":
        """Rows as they come, sorted."""
        R, W, level, n_levels = parted_columns(layout, rows.X)
        order = np.argsort(level, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(level[order]) > 0])
        counts = np.diff(np.r_[starts, len(level)])
        offset = offset if np.ndim(offset) == 0 else offset[order]
        trials = tuple(one[order] for one in trials)
        y, weight = np.asarray(rows.y, dtype=float)[order], rows.weight[order]
        known = starts, counts, level[order][starts], n_levels, y, weight, offset, trials, family
        return cls(R[order], W[order], *known)

    def log_likelihood(self, eta: np.ndarray, own: list[np.ndarray]) -> np.ndarray:
        """w log p(y | η), (M, n), of η (M, n) and own parameters (M, 1)."""
        with np.errstate(all="ignore"):
            found = self.family.log_density(eta, self.y, *self.trials, *own)
        return self.weight * np.where(np.isnan(found), -np.inf, found)

    def derivatives(self, eta: np.ndarray, own: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """w times the score and the curvature, (M, n) each; the curvature is not negative."""
        with np.errstate(all="ignore"):
            more = *self.trials, *own
            score, h = self.family.score(eta, self.y, *more), self.family.curvature(eta, self.y, *more)
        score = np.clip(np.nan_to_num(score), -1e100, 1e100)
        return self.weight * score, self.weight * np.clip(np.nan_to_num(h, nan=0.0), 0.0, 1e100)

    def by_level(self, a: np.ndarray) -> np.ndarray:
        """Sums over stretches of the second axis, (M, G, …)."""
        return np.add.reduceat(a, self.starts, axis=1)

    def columns(self, factor: np.ndarray) -> np.ndarray:
        """Columns that the standard normal effects of each row's level multiply, W Λ, (M, n, q)."""
        return self.W @ factor

    def of_effects(self, U: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Their part of η, (M, n), of U (M, n, q) and v (M, G, q)."""
        found = U[..., 0] * np.repeat(v[..., 0], self.counts, axis=1)
        for j in range(1, U.shape[2]):
            found += U[..., j] * np.repeat(v[..., j], self.counts, axis=1)
        return found
