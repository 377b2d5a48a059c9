"""The effects of one term integrated level by level, by adaptive Gauss–Hermite quadrature.

Rows are in the order of the levels of the largest term, so that sums by level are sums of stretches.  Given
the rest of η the levels are independent, and each has a few effects v ~ N(0, I):

    log ∫ Π_{r: g_r = g} p(y_r | o_r + U_r·v) N(v; 0, I) dv
        ≈ log Σ_k ω_k exp(½|z_k|²) p(y_g, v̂ + C⁻ᵀ z_k) − log |C|,

z_k, ω_k the nodes and weights of the normal density, v̂ the mode and C Cᵀ the curvature there, so that few
nodes are enough (Pinheiro and Bates 1995).  Where the rows say nothing of v, as at τ = 0, two are.

Symbols
-------
=====  ============  ====================================================
R      ``R``         all columns but those of the largest term, (n, r)
W      ``W``         its own columns, (n, q)
M, G   ``M, G``      hyperparameters, stretches
o      ``offset``    the rest of η, (M, n)
U      ``U``         W Λ, (M, n, q)
v̂, C   ``v, C``      (M, G, q), (M, G, q, q)
z, ω   ``nodes``     (K, q), (K,)
=====  ============  ====================================================
"""

from collections.abc import Callable
from functools import cache
from itertools import product
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


#: Nodes of each dimension that are tried for one, two, three and four effects a level.  The most are taken
#: for right: 15 of one effect were 0.02 nats low for 300 levels of three counts at τ = 2, 43 were 10⁻⁵.
NODE_COUNTS = ((5, 7, 9, 11, 15, 21, 31, 43), (5, 7, 9, 13, 17, 21), (5, 7, 9, 11), (5, 7))
#: Newton steps, the change of η in one of them, and the change of v at which they end: nodes around a point
#: near the mode serve as well.
MAX_NEWTON_STEPS, MAX_CHANGE, MODE_CHANGE_TOLERANCE = 60, 3.0, 0.02
#: Candidates of a draw of each level's effects, and their width in that of the curvature.
N_CANDIDATES, WIDTH_FACTOR = 8, 1.1


def enough_nodes(log_f: Callable[[int], np.ndarray], n_effects: int) -> tuple[int, float]:
    """The least number of nodes that differs by little from the most at some points, and by how much."""
    *fewer, most = NODE_COUNTS[n_effects - 1]
    right, gap = log_f(most), 0.0
    for n_nodes in fewer:
        gap = float(np.max(np.abs(log_f(n_nodes) - right), where=np.isfinite(right), initial=0.0))
        # nats of difference from the most nodes, in the sum over levels at a few points: fewer nodes will do
        if gap < 0.003:
            return n_nodes, gap
    return most, gap


@cache
def grid(n_effects: int, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (K, q) and log weights + ½|z|² (K,)."""
    z, w = np.polynomial.hermite_e.hermegauss(n_nodes)
    nodes = np.array(list(product(z, repeat=n_effects)))
    log_w = np.sum(list(product(np.log(w), repeat=n_effects)), axis=1)
    return nodes, log_w + 0.5 * np.sum(nodes**2, axis=1)


class LevelModes(NamedTuple):
    """Mode and Cholesky factor of the curvature of each level."""

    v: np.ndarray
    C: np.ndarray
    U: np.ndarray


def level_modes(
    rows: OrderedRows, offset: np.ndarray, factor: np.ndarray, own: list[np.ndarray], start: np.ndarray
) -> LevelModes:
    """By Newton steps from ``start``, (G, q) or (M, G, q), all levels at once."""
    U = rows.columns(factor)
    v = np.broadcast_to(start, (len(offset), *start.shape[-2:])).copy()
    eye = np.eye(U.shape[2])
    for step_number in range(MAX_NEWTON_STEPS + 1):
        score, h = rows.derivatives(offset + rows.of_effects(U, v), own)
        H = rows.by_level((h[..., None] * U)[..., None] * U[..., None, :]) + eye
        C = np.linalg.cholesky(H)
        if step_number == MAX_NEWTON_STEPS:
            break
        grad = rows.by_level(score[..., None] * U) - v
        step = np.linalg.solve(H, grad[..., None])[..., 0] if U.shape[2] > 1 else grad / H[..., 0]
        change = np.maximum.reduceat(np.abs(rows.of_effects(U, step)), rows.starts, axis=1)
        v += step * np.minimum(1.0, MAX_CHANGE / np.maximum(change, 1e-300))[..., None]
        if np.max(np.abs(step)) < MODE_CHANGE_TOLERANCE:
            break
    return LevelModes(v, C, U)


def log_integrals(
    rows: OrderedRows,
    offset: np.ndarray,
    factor: np.ndarray,
    own: list[np.ndarray],
    start: np.ndarray,
    n_nodes: int,
) -> np.ndarray:
    """log p(y | rest of η, Λ), the sum over levels, (M,)."""
    at = level_modes(rows, offset, factor, own, start)
    q = at.v.shape[2]
    nodes, log_w = grid(q, n_nodes)
    spread = np.linalg.inv(at.C).swapaxes(-1, -2) if q > 1 else 1 / at.C
    values = np.empty((len(nodes), *at.v.shape[:2]))
    for k, z in enumerate(nodes):
        v = at.v + spread @ z
        joint = rows.by_level(rows.log_likelihood(offset + rows.of_effects(at.U, v), own))
        values[k] = joint - 0.5 * np.sum(v * v, axis=2) + log_w[k]
    top = values.max(axis=0)
    log_det = np.sum(np.log(np.diagonal(at.C, axis1=-2, axis2=-1)), axis=2)
    with np.errstate(all="ignore"):
        found = top + np.log(np.sum(np.exp(values - top), axis=0)) - log_det
    return np.sum(found - 0.5 * q * np.log(2 * np.pi), axis=1)


def level_draws(
    rows: OrderedRows,
    offset: np.ndarray,
    factor: np.ndarray,
    own: list[np.ndarray],
    start: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """A draw of all levels' effects given the rest, (M, L, q), levels without rows from the prior.

    Each is one of :data:`N_CANDIDATES`, by weight, of the Gaussian at its mode and of the prior, which has
    the tail where the rows say only that an effect is large.
    """
    at = level_modes(rows, offset, factor, own, start)
    M, G, q = at.v.shape
    best, chosen = np.full((M, G), -np.inf), at.v
    log_det = np.sum(np.log(np.diagonal(at.C, axis1=-2, axis2=-1) / WIDTH_FACTOR), axis=2)
    for candidate in range(N_CANDIDATES):
        v = rng.standard_normal((M, G, q))
        if candidate % 4:
            v = at.v + WIDTH_FACTOR * np.linalg.solve(at.C.swapaxes(-1, -2), v[..., None])[..., 0]
        z = (at.C.swapaxes(-1, -2) @ (v - at.v)[..., None])[..., 0] / WIDTH_FACTOR
        log_prior = -0.5 * np.sum(v * v, axis=2)
        log_q = np.logaddexp(np.log(3) + log_det - 0.5 * np.sum(z * z, axis=2), log_prior)
        log_w = rows.by_level(rows.log_likelihood(offset + rows.of_effects(at.U, v), own)) + log_prior - log_q
        key = log_w + rng.gumbel(size=(M, G))  # the largest of these is a draw by weight
        chosen, best = np.where((key > best)[..., None], v, chosen), np.maximum(best, key)
    out = rng.standard_normal((M, rows.n_levels, q))
    out[:, rows.level] = chosen
    return out
